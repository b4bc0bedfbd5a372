"""The last sections: settings to copy, what was not read, and how it was measured."""

from collections.abc import Sequence

from keepwhole.replay.page.figures import Part, count, number, part, parts, plural, verdict, words
from keepwhole.replay.page.headline import row_named
from keepwhole.replay.page.markup import Markup, join, short, tag
from keepwhole.truncation.notice import size_text

_DEFINITIONS = (
    (
        "Replay",
        "Before each recorded step, a policy chooses what it would have sent. The recorded calls stay as they were.",
    ),
    (
        "Evidence",
        "A string that a step used, that it could only know from an earlier tool result, and that is not common.",
    ),
    ("In context", "The request of that step shows the evidence, together with what stood around it."),
    ("Steps ok", "Steps with evidence of which all was shown: one missing id fails a call."),
    ("Cost", "Input tokens at the provider's price, with its cache, as a share of what sending everything costs."),
    ("All-in", "Cost, plus a round trip for each result from which something was missing."),
    ("Blind", "The same, if the agent that fetches does not know where in the result to look."),
    ("Tail", "Cost, if the client marks only the ends of requests for the cache."),
    (
        "Clairvoyant",
        "A policy that knows the future and hides nothing that is needed. One that hides something may cost less.",
    ),
    ("Intervals", "95%, by drawing tasks again and again, with all runs of each."),
)


def settings(report: Part) -> Markup | None:
    """Return the recommended settings, then those of every other policy that has some; None if none has."""
    rows = [row for row in parts(report, "policies") if words(row, "settings").strip()]
    chosen = words(report if "settings" in report else row_named(report, "auto"), "settings")
    others = [row for row in rows if words(row, "settings") != chosen]
    if not rows and not chosen.strip():
        return None
    first = (
        _recommendation(chosen, rows, words(part(report, "recommended"), "reason"))
        if chosen.strip()
        else tag("p", "On these runs no setting of Keepwhole saves anything without hiding much.")
    )
    return join(first, [_other(row) for row in others])


def _recommendation(text: str, rows: Sequence[Part], reason: str) -> Markup:
    """Return the recommended settings with the name and the verdict of their policy, and the reason."""
    named = [f"{words(row, 'name')}: {verdict(row)}" for row in rows if words(row, "settings") == text][:1]
    why = [tag("p", tag("strong", "Because "), short(reason, 400), ".")] if reason else []
    return join([tag("p", short(name.removesuffix(": "), 200)) for name in named], why, _block(text))


def _other(row: Part) -> Markup:
    return tag("details", tag("summary", short(words(row, "name"), 40)), _block(words(row, "settings")))


def _block(text: str) -> Markup:
    return tag("pre", tag("code", text.strip("\n"), data_copy=True), tabindex="0")


def unread(report: Part) -> Markup:
    """Return every path that was not read, with the reason."""
    read = part(report, "read")
    found = parts(read, "unread")
    files, size = number(read, "files"), number(read, "bytes")
    amount = "" if size is None else f" ({size_text(int(size))})"
    first = tag("p", f"{plural(files, 'file')}{amount} held {plural(number(read, 'runs'), 'run')}.")
    if not found:
        return join(first, tag("p", "Nothing was left out."))
    return join(first, tag("ul", [_unread_item(each) for each in found], class_="unread"))


def _unread_item(one: Part) -> Markup:
    many = number(one, "count")
    times = f", {count(many)} times" if many is not None and many != 1 else ""
    return tag("li", tag("code", tag("bdi", short(words(one, "path"), 200))), " ", short(words(one, "why"), 200), times)


def method(_report: Part) -> Markup:
    """Return the definitions of the terms on this page."""
    pairs = [tag("div", tag("dt", name), tag("dd", means)) for name, means in _DEFINITIONS]
    return join(
        tag(
            "p",
            tag("strong", "No model was run."),
            " The figures compare policies and bound the harm that they could have done; they are not success rates. "
            "What a model understood without quoting it is not seen.",
        ),
        tag("dl", pairs, class_="definitions"),
    )
