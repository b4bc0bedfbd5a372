"""The smaller charts: tokens by tool as bars, and the frame of the chart of one run.

`page.js` draws the run that is chosen, from the data in the page.
"""

from collections.abc import Sequence

from keepwhole.replay.page.figures import Part, count, number, part, parts, plural, share, tokens, words
from keepwhole.replay.page.markup import Markup, join, short, tag

_MOST = 12
"""Tools with a row of their own; the others share one row."""


def tools(report: Part) -> Markup | None:
    """Return the bars as a table, so that screen readers can read them; None if no tool is known."""
    found = parts(part(report, "totals"), "tools")
    if not found:
        return None
    most = max((number(tool, "tokens") or 0 for tool in found), default=0) or 1
    heads = [tag("th", name, scope="col") for name in ("Tool", "Results", "Tokens")]
    heads.append(tag("th", _key(), scope="col", class_="wide"))
    heads.append(tag("th", "Never used again", scope="col"))
    body = [_row(tool, most) for tool in _fold_tools(found)]
    caption = tag("caption", "Tokens of tool results, by tool", class_="aside")
    return tag("table", caption, tag("thead", tag("tr", heads)), tag("tbody", body), class_="bars")


def _key() -> Markup:
    return join(tag("span", "used", class_="key used"), tag("span", "never used", class_="key unused"))


def _fold_tools(found: Sequence[Part]) -> list[Part]:
    """Return the largest tools, and the sum of the others as one."""
    if len(found) <= _MOST:
        return list(found)
    rest = found[_MOST - 1 :]
    sums = {key: sum(number(tool, key) or 0 for tool in rest) for key in ("results", "tokens", "share")}
    unused = sum((number(tool, "tokens") or 0) * (number(tool, "never_used") or 0) for tool in rest)
    name = f"{len(rest)} others"
    return [*found[: _MOST - 1], {"tool": name, **sums, "never_used": unused / (sums["tokens"] or 1)}]


def _row(tool: Part, most: float) -> Markup:
    return tag(
        "tr",
        tag("th", tag("bdi", short(words(tool, "tool"), 40)), scope="row"),
        tag("td", count(number(tool, "results"))),
        tag("td", tokens(number(tool, "tokens")), tag("small", share(number(tool, "share")))),
        tag("td", _bar(tool, most), class_="wide"),
        tag("td", share(number(tool, "never_used"))),
    )


def _bar(tool: Part, most: float) -> Markup:
    """Return a bar. Its length is an attribute, since the page forbids inline styles."""
    width = 100 * (number(tool, "tokens") or 0) / most
    unused = width * min(1.0, max(0.0, number(tool, "never_used") or 0))
    return tag(
        "svg",
        tag("rect", width=width - unused, height=10, class_="used"),
        tag("rect", x=width - unused, width=unused, height=10, class_="unused"),
        viewBox="0 0 100 10",
        preserveAspectRatio="none",
        aria_hidden="true",
    )


def runs(report: Part) -> Markup | None:
    """Return a choice of runs and an empty chart; None if no run has figures."""
    found = [(at, run) for at, run in enumerate(parts(report, "runs")) if part(run, "context")]
    if not found:
        return None
    choice = tag("select", [tag("option", _run_label(run), value=str(at)) for at, run in found], id="run")
    return join(
        tag("p", tag("label", "Run ", choice), class_="control scripted"),
        tag(
            "figure",
            tag("div", id="lines", class_="lines", role="group", aria_label="Policies shown"),
            tag("div", id="chart", class_="chart"),
            tag("figcaption", tag("output", "", id="readout", for_="run"), class_="readout"),
            class_="scripted",
        ),
        tag("p", "The chart of a run needs JavaScript; the rest of this page does not.", class_="unscripted"),
    )


def _run_label(run: Part) -> str:
    name = short(words(run, "task") or words(run, "id"), 80)
    return f"{name} · {plural(number(run, 'steps'), 'step')} · {tokens(number(run, 'tokens'))}"
