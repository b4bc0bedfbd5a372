"""The output of a replay on a terminal: totals, a table that fits the width, verdicts, settings to copy.

Owns: the layout.
Must not know: how figures are computed; it gets the report.
"""

import shutil
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from keepwhole.apps.cli import screen
from keepwhole.logs.locations import LogLocation
from keepwhole.replay.report import ReplayReport
from keepwhole.replay.survey import LogTotals
from keepwhole.replay.token_sources import MEANINGS
from keepwhole.truncation.notice import size_text

_TOOLS = 6
_UNREAD = 5
_BAR = 24
_MISSED = 60
"""Characters of a hidden string that are shown."""


_LEGEND = (
    "All-in cost: the input with prompt caching, plus one call to fetch back each result that lacked something, "
    "as a share of sending everything. Evidence kept: the share of what later steps used that they would still see."
)


def terminal_width() -> int:
    """The columns of the terminal; 100 without a terminal."""
    return shutil.get_terminal_size((100, 24)).columns


def print_paragraph(text: str) -> None:
    """Print a paragraph within the terminal's width."""
    for line in textwrap.wrap(screen.safe(text), min(terminal_width(), 110), break_on_hyphens=False):
        screen.say(line)


def format_count(number: float) -> str:
    """A number of tokens for people.

    >>> format_count(950), format_count(48_300), format_count(5_410_000)
    ('950', '48k', '5.4M')
    """
    return f"{number:.0f}" if number < 1_000 else f"{number / 1e3:.0f}k" if number < 1e6 else f"{number / 1e6:.1f}M"


def format_percent(share: float | None) -> str:
    """A share for people; a dash for None, and nearly all is not rounded to all.

    >>> [format_percent(share) for share in (0.541, 0.9968, 0.99999, 1.0, None)]
    ['54 %', '99.7 %', '>99.9 %', '100 %', '–']
    """
    if share is None:
        return "–"
    nearly = share < 1 <= round(share, 2)
    return f"{share:.{int(nearly)}%}".replace("100.0%", ">99.9%").replace("%", " %")


def print_places(found: Sequence[LogLocation]) -> None:
    """Print where logs were found."""
    rows = [(place.client, str(place.path), f"{len(place.files):,}", size_text(place.bytes)) for place in found]
    screen.print_table(("Client", "Folder", "Logs", "Size"), rows, right=(2, 3))


def print_first_totals(totals: LogTotals) -> None:
    """Print the first useful line, while most is still unread."""
    largest = ", ".join(f"{screen.line(tool, 30)} {format_count(size)}" for tool, size in totals.tools.most_common(3))
    share = f"{format_percent(totals.share)} of them tool results"
    print_paragraph(
        f"So far {format_count(totals.tokens)} tokens in {_runs(totals.runs)}, {share} ({largest}). Reading on …"
    )


def print_totals(found: LogTotals) -> None:
    """Print what was read, and what it consists of."""
    sources = ", ".join(f"{screen.line(source, 40)} {runs:,}" for source, runs in found.sources.most_common(8))
    files = f"{found.files:,} file{'s' * (found.files != 1)}"
    print_paragraph(f"Read {_runs(found.runs)} in {files}, {size_text(found.bytes)}{sources and f': {sources}'}.")
    print_unread(found.unread)
    if not found.runs:
        screen.say("There is nothing to replay in these logs. Look at made-up ones: `keepwhole replay --sample`.")
        return
    share = f"{format_percent(found.share)} of them tool results"
    screen.say("")
    for line in textwrap.wrap(
        f"{format_count(found.tokens)} tokens in {found.steps:,} steps, {share}", terminal_width()
    ):
        screen.say(screen.bold(line))
    most = max(found.tools.values(), default=0) or 1
    name = min(24, max((len(screen.line(tool, 24)) for tool, _ in found.tools.most_common(_TOOLS)), default=0))
    bars = min(_BAR, terminal_width() - name - 19)
    for tool, tokens in found.tools.most_common(_TOOLS):
        bar = "█" * max(1, round(bars * tokens / most))
        part = format_percent(tokens / (found.result_tokens or 1))
        screen.say(f"  {screen.line(tool, 24):<{name}}  {format_count(tokens):>6}  {part:>5}  {screen.dim(bar)}")
    others = found.tools.most_common()[_TOOLS:]
    if others:
        tokens = format_count(sum(tokens for _, tokens in others))
        screen.say(f"  and {tokens} by {screen.plural(len(others), 'other tool')}")


def print_unread(found: Sequence[Mapping[str, Any]]) -> None:
    """Print what could not be read, and why."""
    for one in found[:_UNREAD]:
        times = f" ({one['count']:,} times)" if one["count"] > 1 else ""
        screen.warn(f"  not read: {screen.line(str(one['path']), 100)}: {screen.line(one['why'], 80)}{times}")
    if len(found) > _UNREAD:
        screen.warn(f"  and {len(found) - _UNREAD:,} more; `--json` lists them")


def print_policies(report: ReplayReport) -> None:
    """Print a table with a row for each policy, then a verdict on each."""
    replayed, runs = report.totals["replayed"], report.totals["runs"]
    which = f"{replayed:,} of {_runs(runs)}" if replayed != runs else f"all {_runs(runs)}" if runs > 1 else _runs(runs)
    price = f"cached {report.price['read']:g}, written {report.price['write']:g} of the input price"
    screen.say("")
    if report.totals["never_used"] is not None:
        share = format_percent(report.totals["never_used"])
        print_paragraph(f"{share} of what tools returned was in results that were never used again.")
    print_paragraph(
        f"Replayed {which} at the prices of {report.provider} ({price}), window {format_count(report.window)}:"
    )
    screen.say("")
    _table(report.policies)
    screen.say("")
    print_paragraph(_LEGEND)
    screen.say("")
    _print_sources(report.policies)
    _print_verdicts(report.policies[1:])
    _warn_of_masking(report)


def _print_sources(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print where the tokens of all requests come from, as shares of what is sent with everything."""
    whole = sum(rows[0]["sent_from"].values()) if rows else 0
    if not whole:
        return
    names = [name for name in MEANINGS if any(row["sent_from"][name] for row in rows)]
    heads = ("Sent, by source", *map(str.capitalize, names), "Arguments kept")
    cells = [
        [
            screen.line(row["name"], 30),
            *(format_percent(row["sent_from"][name] / whole) for name in names),
            format_percent(row["arguments_kept"]),
        ]
        for row in rows
    ]
    _print_fitting(heads, cells)
    screen.say("")


def _print_verdicts(rows: Sequence[Mapping[str, Any]]) -> None:
    names = [screen.line(row["name"], 30) for row in rows]
    column = max(map(len, names), default=0) + 4
    for name, row in zip(names, rows, strict=True):
        words = textwrap.wrap(screen.safe(row["verdict"]), max(20, terminal_width() - column))
        screen.say(f"  {name:<{column - 2}}" + ("\n" + " " * column).join(words))


_Row: TypeAlias = Mapping[str, Any]
_COLUMNS: dict[str, Callable[[_Row], str]] = {
    "Policy": lambda row: str(row["name"]),
    "All-in cost (95 %)": lambda row: _interval(row, "all_in_context"),
    "Dollars": lambda row: "–" if row["dollars"] is None else f"{row['dollars']:,.2f}",
    "Evidence kept": lambda row: _interval(row, "in_context"),
    "Overflow": lambda row: format_percent(row["overflow"]),
    "First compaction": lambda row: _compacts(row),
}
"""The most important first; columns that do not fit are left out from the end."""


def _table(rows: Sequence[_Row]) -> None:
    columns = {name: cell for name, cell in _COLUMNS.items() if name != "Dollars" or rows[0]["dollars"] is not None}
    names = list(columns)
    _print_fitting(names, [[screen.line(cell(row), 30) for cell in columns.values()] for row in rows])


def _print_fitting(names: Sequence[str], cells: Sequence[Sequence[str]]) -> None:
    """Print a table without the columns that do not fit."""
    widths = [max(map(len, column)) for column in zip(names, *cells, strict=True)]
    fitting = len(widths)
    while fitting > 2 and sum(widths[:fitting]) + 2 * (fitting - 1) > terminal_width():
        fitting -= 1
    screen.print_table(names[:fitting], [row[:fitting] for row in cells], right=range(1, fitting))


def _interval(row: Mapping[str, Any], name: str) -> str:
    one = row[name]
    if row["runs"] < 2 or row["name"] == "everything":
        return format_percent(one["value"])
    return f"{format_percent(one['value'])} ({one['low'] * 100:.0f}–{one['high'] * 100:.0f})"


def _compacts(row: Mapping[str, Any]) -> str:
    step, runs = row["first_compaction"]["median_step"], row["first_compaction"]["runs"]
    return "never" if step is None else f"step {step:.0f} ({format_percent(runs)})"


def _warn_of_masking(report: ReplayReport) -> None:
    if report.policies and report.policies[0]["recorded_under_masking"]:
        print_paragraph(
            "These runs seem to come from an agent that saw recent results only: what is hidden looks free here."
        )


def print_hidden(report: ReplayReport, listed: bool) -> None:
    """Print what the policy hid that was used later, and whether one call brings it back."""
    found, name = report.hidden, report.hidden["policy"]
    if name is None:
        return
    screen.say("")
    if not found["hidden"]:
        print_paragraph(f"{name} would have hidden nothing that the agent used later.")
        return
    back = "all" if found["brought_back"] == found["hidden"] else f"{found['brought_back']:,}"
    things = f"{found['hidden']:,} of {found['evidence']:,} things"
    words = f"{name} would have hidden {things} that the agent used later; "
    print_paragraph(words + f"one call brings back {back} of them." + ("" if listed else " `--missed` lists them."))
    if listed:
        _print_missed(report.missed)
        if len(report.missed) < found["hidden"]:
            screen.say(f"  and {found['hidden'] - len(report.missed):,} more")


def _print_missed(found: Sequence[Mapping[str, Any]]) -> None:
    screen.say("")
    rows = [
        (
            screen.line(one["run"], 20),
            one["step"],
            one["shown_at"],
            one["tool"],
            one["rule"],
            screen.line(one["text"], _MISSED),
            "yes" if one["brought_back"] else "no",
        )
        for one in found
    ]
    screen.print_table(("Run", "Step", "Shown at", "Tool", "Rule", "What", "Comes back"), rows, right=(1, 2))


def print_settings(report: ReplayReport) -> None:
    """Print the settings to copy."""
    screen.say("")
    if report.settings is None:
        print_paragraph(
            "No setting of Keepwhole saves on these runs without hiding much, so there is nothing to set: `auto`, the "
            "default, does not change short conversations."
        )
        return
    if report.recommended is not None:
        print_paragraph(f"Recommended: {report.recommended['name']}, because {report.recommended['reason']}.")
    screen.say("Copy into keepwhole.yaml:\n")
    screen.say(screen.safe(textwrap.indent(report.settings.rstrip(), "    ")))


def _runs(number: int) -> str:
    return f"{number:,} run{'s' * (number != 1)}"
