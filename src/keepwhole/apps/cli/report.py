"""`keepwhole report`: compares sessions with views to sessions that were held out; `--tools`: tool declarations."""

import argparse
import math
import time
from collections.abc import Sequence

from keepwhole.apps import report as figures
from keepwhole.apps.cli import screen
from keepwhole.apps.cli.command_context import CommandContext, add_options
from keepwhole.apps.cli.declared_tools import print_declared
from keepwhole.apps.declared_tools import ServerTools, add_up, session_tools
from keepwhole.apps.request_figures import profiles_with, turns
from keepwhole.apps.stated_cost import ASSUMPTION, state_cost
from keepwhole.errors import UsageError
from keepwhole.exchange.request_log import LoggedRequest, RequestLog
from keepwhole.replay.intervals import Interval

_DAY = 86_400_000
_UNITS = {"cost": ", in uncached tokens"}
"""The units of figures that are plain numbers."""


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    add_options(parser, session=False)
    parser.add_argument("--since", type=float, metavar="DAYS", help="only sessions from the last N days")
    parser.add_argument(
        "--tools",
        action="store_true",
        help="the tokens of tool declarations, by server, and which tools were never called",
    )
    parser.set_defaults(act=report)


def report(args: argparse.Namespace) -> int:
    """Print the comparison, or what tool declarations take."""
    if args.since is not None and not 0 < args.since < math.inf:
        raise UsageError(f"`--since {args.since:g}`: give a number of days above 0, such as 30.")
    context = CommandContext(args)
    try:
        by_name = _sessions(context, args.since)
        if args.tools:
            found = add_up(session_tools(context.store, name, turns(steps)) for name, steps in by_name.items())
            return _report_tools(found, args.json)
    finally:
        context.close()
    sessions = list(by_name.values())
    found = figures.compare_sessions(sessions, profiles_with(context.settings.models))
    if args.json:
        screen.print_json(_as_dict(found))
        return 0
    if not sessions:
        screen.say("No request is recorded yet. `keepwhole wrap` and `keepwhole proxy` record them.")
        return 0
    screen.print_table(("", figures.VIEWED.capitalize(), figures.HELD_OUT.capitalize()), _rows(found))
    if found.mixed:
        screen.say(f"\nIn neither column: {screen.plural(found.mixed, 'session')} with requests of both kinds.")
    screen.say()
    for sentence in found.says:
        screen.say(sentence)
    if any(group.cost is not None for group in found.groups.values()):
        screen.say(screen.dim(ASSUMPTION))
    return 0


def _report_tools(found: list[tuple[ServerTools, int]], json: bool) -> int:
    if json:
        screen.print_json({"servers": [{**one._asdict(), "sessions": sessions} for one, sessions in found]})
    elif not found:
        screen.say("No recorded request declares a tool.")
    else:
        print_declared(found)
        screen.say("\nTokens are those of one request, averaged over the sessions that declare the tools.")
    return 0


def _sessions(context: CommandContext, days: float | None) -> dict[str, list[LoggedRequest]]:
    """The requests of every session that has any, by its name."""
    since = 0 if days is None else int(time.time() * 1000 - days * _DAY)
    found = {info.name: RequestLog(context.session(info.name)).all() for info in context.store.sessions()}
    return {name: steps for name, steps in found.items() if steps and steps[0].request.at >= since}


def _rows(found: figures.Report) -> list[tuple[str, ...]]:
    groups = [found.groups[name] for name in (figures.VIEWED, figures.HELD_OUT)]
    rows: list[tuple[str, ...]] = [("sessions", *(f"{group.sessions:,}" for group in groups))]
    for measure in figures.MEASURES:
        cells = [_cell(measure.name, group.measures.get(measure.name), group.counts[measure.name]) for group in groups]
        rows.append((measure.words + _UNITS.get(measure.name, ""), *cells))
    return rows + _cost_rows(groups)


def _cost_rows(groups: Sequence[figures.Group]) -> list[tuple[str, ...]]:
    """The cost of all sessions of each group, beside what it would have been with `mode: off`."""
    stated = [None if group.cost is None else state_cost(group.cost) for group in groups]
    at = " (at list price)" if any(one is not None and one.is_list_price for one in stated) else ""
    names = (f"paid for the input of all sessions{at}", f"would have paid with `mode: off`{at}", f"saved{at}")
    cells = [("–",) * 3 if one is None else one.amounts for one in stated]
    return [(name, *row) for name, row in zip(names, zip(*cells, strict=True), strict=True)]


def _cell(name: str, value: Interval | None, count: int) -> str:
    """A mean with its interval; with too few sessions, with their number instead."""
    if value is None:
        return "–"
    form = "{:.0%}" if name in ("cached", "filled") else "{:,.0f}"
    low, mean, high = (form.format(number).replace("%", " %") for number in (value.low, value.value, value.high))
    return f"{mean} ({low} to {high})" if count >= figures.FEWEST else f"{mean} (of {count})"


def _as_dict(found: figures.Report) -> dict[str, object]:
    return {
        "groups": {
            name.replace(" ", "_"): {
                "sessions": group.sessions,
                "input": None if group.cost is None else state_cost(group.cost).as_dict,
                **{key: {**value._asdict(), "sessions": group.counts[key]} for key, value in group.measures.items()},
            }
            for name, group in found.groups.items()
        },
        "assumes": ASSUMPTION,
        "mixed": found.mixed,
        "ratios": {name: ratio._asdict() for name, ratio in found.ratios.items()},
        "says": list(found.says),
    }
