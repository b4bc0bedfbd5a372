"""The table of where the tokens of requests come from, under each policy."""

from keepwhole.replay.page.figures import Part, number, part, parts, share, tokens, words
from keepwhole.replay.page.markup import Markup, short, tag
from keepwhole.replay.token_sources import MEANINGS


def sources(report: Part) -> Markup | None:
    """Return the table, each cell with its share of all tokens that are sent with everything; None without figures."""
    rows = [row for row in parts(report, "policies") if part(row, "sent_from")]
    whole = sum(number(part(rows[0], "sent_from"), name) or 0 for name in MEANINGS) if rows else 0
    if not whole:
        return None
    names = [name for name in MEANINGS if any(number(part(row, "sent_from"), name) for row in rows)]
    heads = [tag("th", name.capitalize(), scope="col", title=MEANINGS[name]) for name in names]
    head = tag("thead", tag("tr", tag("th", "Policy", scope="col"), heads, tag("th", "Arguments kept", scope="col")))
    caption = tag("caption", "Tokens of all requests, by where they come from", class_="aside")
    body = tag("tbody", [_row(row, names, whole) for row in rows])
    return tag(
        "div", tag("table", caption, head, body), class_="scroll", role="region", aria_label="Sources", tabindex="0"
    )


def _row(row: Part, names: list[str], whole: float) -> Markup:
    found = part(row, "sent_from")
    cells = [_cell(number(found, name), whole) for name in names]
    kept = tag("td", share(number(row, "arguments_kept")))
    return tag("tr", tag("th", short(words(row, "name"), 40), scope="row"), cells, kept)


def _cell(value: float | None, whole: float) -> Markup:
    return tag("td", tokens(value), tag("small", share((value or 0) / whole)))
