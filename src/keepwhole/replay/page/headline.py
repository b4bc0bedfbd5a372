"""The result in a sentence or two, and the facts about the logs it is based on."""

from collections.abc import Sequence

from keepwhole.replay.page.figures import (
    NONE,
    Part,
    all_in,
    count,
    dollars,
    in_context,
    number,
    part,
    parts,
    plural,
    share,
    tokens,
    words,
)
from keepwhole.replay.page.markup import Inside, Markup, short, tag


def headline(report: Part) -> Markup:
    """Return the sentence that sums up the report."""
    inside = [
        *_cost_sentence(part(report, "totals")),
        " ",
        *_savings_sentence(_recommended_row(report), row_named(report, "everything")),
    ]
    return tag("h1", inside)


def facts(report: Part) -> Markup:
    """Return what was read and at what prices, in one row."""
    totals, read, price = part(report, "totals"), part(report, "read"), part(report, "price")
    pairs = [
        ("Runs", _runs(totals)),
        ("Steps", count(number(totals, "steps"))),
        ("Tokens", tokens(number(totals, "tokens"))),
        ("Window", tokens(number(report, "window"))),
        ("Prices", _price_text(words(report, "provider"), price)),
        ("Read from", ", ".join(f"{name} {many}" for name, many in part(read, "sources").items())),
    ]
    return tag(
        "dl",
        [tag("div", tag("dt", name), tag("dd", value)) for name, value in pairs if value not in ("", NONE)],
        class_="facts",
    )


def row_named(report: Part, name: str) -> Part:
    """Return the row of a policy, or an empty one."""
    found = [row for row in parts(report, "policies") if words(row, "name") == name]
    return found[0] if found else {}


def examined_policy(report: Part) -> str:
    """Return the name of the policy of which the report has details."""
    return words(part(report, "hidden"), "policy") or "auto"


def _cost_sentence(totals: Part) -> Sequence[Inside]:
    results, unused = number(totals, "share"), number(totals, "never_used")
    if results is None:
        return ("No run here is long enough to say what its tool results cost.",)
    first = (_figure(results), " of the tokens were tool results")
    if unused is None:
        return (*first, ".")
    return (*first, ", and ", _figure(unused), " of those were never used again.")


def _recommended_row(report: Part) -> Part:
    """Return the row of the policy that is recommended, or of the examined one where none is."""
    return row_named(report, words(part(report, "recommended"), "name") or examined_policy(report))


def _dollars_text(row: Part, everything: Part) -> str:
    """Return the dollars with everything and with a policy, where they are known."""
    before, after = number(everything, "dollars"), number(row, "dollars")
    return "" if before is None or after is None else f": {dollars(before)} → {dollars(after)}"


def _savings_sentence(row: Part, everything: Part) -> Sequence[Inside]:
    cost, kept = all_in(row), in_context(row)
    if cost is None:
        return ()
    money = _dollars_text(row, everything)
    compared = f"{'less' if cost.value <= 1 else 'more'}{money}"
    words_of_cost = (" would have cost ", _figure(abs(1 - cost.value)), f" {compared}")
    sentence = ("With ", tag("em", short(words(row, "name"), 40)), " the same runs", *words_of_cost)
    if kept is None:
        return (*sentence, ".")
    return (*sentence, ", with ", _figure(kept.value), " of what was needed later still in context.")


def _figure(value: float) -> Markup:
    return tag("b", share(value))


def _runs(totals: Part) -> str:
    runs, replayed = number(totals, "runs"), number(totals, "replayed")
    return count(runs) if replayed is None or replayed == runs else f"{count(replayed)} of {count(runs)}"


def _price_text(provider: str, price: Part) -> str:
    read, write = number(price, "read"), number(price, "write")
    if read is None or write is None:
        return provider
    return f"{provider} (cached {read:g}×, written {write:g}×)".strip()


def title(report: Part) -> str:
    """Return the title of the browser window."""
    return f"Keepwhole replay: {plural(number(part(report, 'totals'), 'runs'), 'run')}"
