"""How a replay looks at a terminal: totals, a table that fits the width, plain words, settings to copy.

Owns: the layout.
Must not know: how figures are made; it is given the report.
"""

import shutil
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from holdfast.apps.cli import screen
from holdfast.replay.report import Report
from holdfast.replay.survey import Totals
from holdfast.truncation.notice import size_text

_TOOLS = 6
_UNREAD = 5
_BAR = 24
_MISSED = 60
"""Characters of a hidden string that are shown."""


def width() -> int:
    """Columns of the terminal; a hundred where there is none."""
    return shutil.get_terminal_size((100, 24)).columns


def wrapped(text: str, indent: str = "") -> None:
    """Print a paragraph of ours within the terminal's width."""
    for line in textwrap.wrap(screen.safe(text), min(width(), 110), initial_indent=indent, subsequent_indent=indent):
        screen.say(line)


def count(number: float) -> str:
    """A number of tokens for people.

    >>> count(950), count(48_300), count(5_410_000)
    ('950', '48k', '5.4M')
    """
    return f"{number:.0f}" if number < 1_000 else f"{number / 1e3:.0f}k" if number < 1e6 else f"{number / 1e6:.1f}M"


def percent(share: float | None) -> str:
    """A share for people; a dash where there is none."""
    return "–" if share is None else f"{share:.0%}".replace("%", " %")


def early(totals: Totals) -> None:
    """The first useful line, while most is still unread."""
    largest = ", ".join(f"{screen.line(tool, 30)} {count(size)}" for tool, size in totals.tools.most_common(3))
    words = f"So far {count(totals.tokens)} tokens in {_runs(totals.runs)}, {percent(totals.share)} of them tool results"
    wrapped(f"{words} ({largest}). Reading on …")


def totals(found: Totals) -> None:
    """What was read, and what it consists of."""
    sources = ", ".join(f"{screen.line(source, 40)} {runs:,}" for source, runs in found.sources.most_common(8))
    files = f"{found.files:,} file{'s' * (found.files != 1)}"
    wrapped(f"Read {_runs(found.runs)} in {files}, {size_text(found.bytes)}: {sources or 'none'}.")
    unread(found.unread)
    if not found.runs:
        return
    share = f"{percent(found.share)} of them tool results"
    screen.say(screen.bold(f"\n{count(found.tokens)} tokens in {found.steps:,} steps, {share}"))
    most = max(found.tools.values(), default=0) or 1
    name = min(24, max((len(screen.line(tool, 24)) for tool, _ in found.tools.most_common(_TOOLS)), default=0))
    for tool, tokens in found.tools.most_common(_TOOLS):
        bar = "█" * max(1, round(_BAR * tokens / most))
        part = percent(tokens / (found.result_tokens or 1))
        screen.say(f"  {screen.line(tool, 24):<{name}}  {count(tokens):>6}  {part:>5}  {screen.dim(bar)}")
    others = found.tools.most_common()[_TOOLS:]
    if others:
        screen.say(f"  and {count(sum(tokens for _, tokens in others))} by {len(others)} other tools")


def unread(found: Sequence[Mapping[str, Any]]) -> None:
    """What could not be read, and why."""
    for one in found[:_UNREAD]:
        times = f" ({one['count']:,} times)" if one["count"] > 1 else ""
        screen.warn(f"  not read: {screen.line(str(one['path']), 100)}: {screen.line(one['why'], 80)}{times}")
    if len(found) > _UNREAD:
        screen.warn(f"  and {len(found) - _UNREAD:,} more; `--json` lists them")


def policies(report: Report) -> None:
    """A row a policy, then each in plain words."""
    replayed, runs = report.totals["replayed"], report.totals["runs"]
    which = f"all {_runs(runs)}" if replayed == runs else f"{replayed:,} of {_runs(runs)}"
    price = f"cached {report.price['read']:g}, written {report.price['write']:g} of the input price"
    screen.say("")
    if report.totals["never_used"] is not None:
        wrapped(f"{percent(report.totals['never_used'])} of what tools returned was never quoted or used again.")
    wrapped(f"Replayed {which} at the prices of {report.provider} ({price}), window {count(report.window)}:")
    screen.say("")
    _table(report.policies)
    screen.say("")
    name = max(len(row["name"]) for row in report.policies)
    for row in report.policies[1:]:
        screen.say(f"  {screen.line(row['name'], 30):<{name}}  {screen.line(row['verdict'], max(40, width() - name - 4))}")
    _masked(report)


class _Column(NamedTuple):
    name: str
    cell: Callable[[Mapping[str, Any]], str]


_COLUMNS = (
    _Column("policy", lambda row: row["name"]),
    _Column("cost (95 %)", lambda row: _interval(row, "cost")),
    _Column("evidence kept", lambda row: _interval(row, "in_context")),
    _Column("cost with fetching", lambda row: _interval(row, "all_in_context")),
    _Column("overflow", lambda row: percent(row["overflow"])),
    _Column("compacts first", lambda row: _compacts(row)),
    _Column("dollars", lambda row: "–" if row["dollars"] is None else f"{row['dollars']:,.2f}"),
)
"""The most telling first; what does not fit is left out from the end."""


def _table(rows: Sequence[Mapping[str, Any]]) -> None:
    cells = [[screen.line(column.cell(row), 30) for column in _COLUMNS] for row in rows]
    widths = [max(len(column.name), *(len(row[at]) for row in cells)) for at, column in enumerate(_COLUMNS)]
    fitting = len(widths)
    while fitting > 2 and sum(widths[:fitting]) + 2 * (fitting - 1) > width():
        fitting -= 1
    names = [column.name for column in _COLUMNS[:fitting]]
    screen.table(names, [row[:fitting] for row in cells], right=range(1, fitting))


def _interval(row: Mapping[str, Any], name: str) -> str:
    one = row[name]
    if row["runs"] < 2 or row["name"] == "everything":
        return percent(one["value"])
    return f"{percent(one['value'])} ({one['low'] * 100:.0f}–{one['high'] * 100:.0f})"


def _compacts(row: Mapping[str, Any]) -> str:
    step, runs = row["first_compaction"]["median_step"], row["first_compaction"]["runs"]
    return "never" if step is None else f"step {step:.0f} ({percent(runs)})"


def _masked(report: Report) -> None:
    if report.policies and report.policies[0]["recorded_under_masking"]:
        wrapped("These runs seem to come from an agent that saw recent results only: what is hidden looks free here.")


def hidden(report: Report, listed: bool) -> None:
    """What the policy hid that was used later, and whether one call brings it back."""
    found, name = report.hidden, report.hidden["policy"]
    if name is None:
        return
    screen.say("")
    if not found["hidden"]:
        wrapped(f"{name} would have hidden nothing of {found['evidence']:,} things that the agent used later.")
        return
    back = "all" if found["brought_back"] == found["hidden"] else f"{found['brought_back']:,}"
    words = f"{name} would have hidden {found['hidden']:,} of {found['evidence']:,} things that the agent used later; "
    wrapped(words + f"one call brings back {back} of them." + ("" if listed else " `--missed` lists them."))
    if listed:
        _missed(report.missed)
        if len(report.missed) < found["hidden"]:
            screen.say(f"  and {found['hidden'] - len(report.missed):,} more")


def _missed(found: Sequence[Mapping[str, Any]]) -> None:
    screen.say("")
    rows = [
        (
            one["run"][:12],
            one["step"],
            one["shown_at"],
            one["tool"],
            one["rule"],
            screen.line(one["text"], _MISSED),
            "yes" if one["brought_back"] else "no",
        )
        for one in found
    ]
    screen.table(("run", "step", "shown at", "tool", "rule", "what", "comes back"), rows, right=(1, 2))


def settings(report: Report) -> None:
    """What to copy."""
    screen.say("")
    if report.settings is None:
        wrapped(
            "There is nothing to save on these runs, so there is nothing to set: `auto`, the default, leaves short "
            "conversations as they are."
        )
        return
    screen.say("Copy into holdfast.yaml:\n")
    screen.say(screen.safe(textwrap.indent(report.settings.rstrip(), "    ")))


def _runs(number: int) -> str:
    return f"{number:,} run{'s' * (number != 1)}"
