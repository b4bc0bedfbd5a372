"""`keepwhole status`: how full the context window is, the three thresholds, the input's cost, the tools declared."""

import argparse
from typing import Any, Literal, NamedTuple

from keepwhole.apps import request_figures
from keepwhole.apps.cli import screen
from keepwhole.apps.cli.command_context import CommandContext, add_options
from keepwhole.apps.cli.declared_tools import print_declared
from keepwhole.apps.declared_tools import ServerTools, session_tools
from keepwhole.apps.kept_words import KeptCounts, count_kept
from keepwhole.apps.stated_cost import StatedCost, state_cost
from keepwhole.canonical.entry import OWN_TOOLS, Result
from keepwhole.exchange.request_log import LoggedRequest, RequestLog
from keepwhole.models.profiles import profile_for
from keepwhole.models.thresholds import Indicator
from keepwhole.models.tokens import estimate_from_length
from keepwhole.store.protocol import decision_of, entry_of

_WIDTH = 40


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    add_options(parser)
    parser.add_argument(
        "--model", metavar="NAME", help="whose window is meant (default: the last request's, else 200,000 tokens)"
    )
    parser.set_defaults(act=status)


class _Status(NamedTuple):
    """What is printed of one session."""

    session: str
    results: int
    kept: KeptCounts
    counted: Literal["request", "results"]
    """Whether the tokens are those of the last request, or of the results alone where no request is on record."""
    tokens_whole: int
    window: Indicator
    cost: StatedCost | None
    declared: list[ServerTools]


def status(args: argparse.Namespace) -> int:
    """Show the indicator of one session."""
    context = CommandContext(args)
    try:
        found = _read(context, args.model)
    finally:
        context.close()
    if args.json:
        screen.print_json(_as_dict(found))
    else:
        _print(found, f"policy {context.settings.policy}, {context.settings.mode}")
    return 0


def _read(context: CommandContext, model: str | None) -> _Status:
    info, settings = context.current_session(), context.settings
    chars, kept = _read_results(context, info.name)
    steps = request_figures.turns(RequestLog(context.session(info.name)).all())
    if steps:
        shown, whole = (round(size) for size in request_figures.sizes(steps[-1]))
    else:
        shown, whole = (estimate_from_length(sum(each[at] for each in chars.values())) for at in (0, 1))
    window = profile_for(model or (steps[-1].request.model if steps else None), settings.models).window
    return _Status(
        info.name,
        len(chars),
        kept,
        "request" if steps else "results",
        whole,
        settings.thresholds.indicator(shown, window),
        _cost(context, steps),
        session_tools(context.store, info.name, steps),
    )


def _read_results(context: CommandContext, session: str) -> tuple[dict[str, tuple[int, int]], KeptCounts]:
    """The characters of each result as it is shown and as it came, by its id, and how the results were kept."""
    found: dict[str, tuple[int, int]] = {}
    results: list[Result] = []
    for row in context.store.rows(session, kind=("result", "decision"), light=True):
        entry = entry_of(row)
        if isinstance(entry.header, Result):
            results.append(entry.header)
            found[row.trace_id] = entry.facts.chars, entry.facts.chars
        elif row.trace_id in found:
            found[row.trace_id] = decision_of(row).shown_chars, found[row.trace_id][1]
    return found, count_kept(one for one in results if not one.tool.startswith(OWN_TOOLS))


def _as_dict(found: _Status) -> dict[str, Any]:
    return {
        "session": found.session,
        "results": found.results,
        "cut_by_client": found.kept.cut,
        "tokens_shown": found.window.tokens,
        "tokens_whole": found.tokens_whole,
        "window": found.window.window,
        "share": found.window.share,
        "level": found.window.level,
        "thresholds": [line._asdict() for line in found.window.lines],
        "counted": found.counted,
        "input": None if found.cost is None else found.cost.as_dict,
        "declarations": [one._asdict() for one in found.declared],
    }


def _print(found: _Status, how: str) -> None:
    state = found.window
    filled = min(_WIDTH, round(state.share * _WIDTH))
    bar = "█" * filled + "·" * (_WIDTH - filled)
    screen.say(f"{screen.bold(found.session)}  {found.kept.words}, {how}")
    screen.say(f"[{bar}] ≈ {state.tokens:,} of {state.window:,} tokens ({state.share:.0%})")
    is_request = found.counted == "request"
    what = "The last request" if is_request else "The results alone, since no request is on record"
    screen.say(f"{what}: whole, that would be ≈ {found.tokens_whole:,} tokens.\n")
    for line in state.lines:
        screen.say(f"{line.label} ({line.tokens:,} tokens): {line.explanation}")
    if found.cost is not None:
        screen.say(f"\nInput: {found.cost.sentence}.")
    if found.declared:
        total = sum(one.tokens for one in found.declared)
        screen.say(f"\nTool declarations: ≈ {total:,} tokens in every request, called or not.")
        print_declared([(one, None) for one in found.declared])


def _cost(context: CommandContext, steps: list[LoggedRequest]) -> StatedCost | None:
    """The cost of the session's requests; None where no provider billed them."""
    cost = request_figures.cost_of(steps, lambda model: profile_for(model, context.settings.models))
    return None if cost is None else state_cost(cost)
