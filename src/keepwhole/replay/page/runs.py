"""The frame of the chart of one run; `page.js` draws what is chosen, from the data in the page."""

from keepwhole.replay.page.figures import Part, number, part, parts, plural, tokens, words
from keepwhole.replay.page.markup import Markup, joined, short, tag


def runs(report: Part) -> Markup | None:
    """A choice of runs and an empty chart."""
    found = [(at, run) for at, run in enumerate(parts(report, "runs")) if part(run, "context")]
    if not found:
        return None
    choice = tag("select", [tag("option", _named(run), value=str(at)) for at, run in found], id="run")
    return joined(
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


def _named(run: Part) -> str:
    name = short(words(run, "task") or words(run, "id"), 80)
    return f"{name} · {plural(number(run, 'steps'), 'step')} · {tokens(number(run, 'tokens'))}"
