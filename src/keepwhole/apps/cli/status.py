"""`keepwhole status`: how full the context window is with tool results, the three thresholds, and the input's cost."""

import argparse

from keepwhole.apps import request_figures
from keepwhole.apps.cli import screen
from keepwhole.apps.cli.command_context import CommandContext, add_options
from keepwhole.apps.stated_cost import StatedCost, state_cost
from keepwhole.exchange.request_log import LoggedRequest, RequestLog
from keepwhole.models.profiles import profile_for
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


def status(args: argparse.Namespace) -> int:
    """Show the indicator of one session."""
    context = CommandContext(args)
    info = context.current_session()
    shown: dict[str, int] = {}
    whole = 0
    for row in context.store.rows(info.name, kind=("result", "decision"), light=True):
        entry = entry_of(row)
        if entry.kind == "result":
            shown[row.trace_id] = entry.facts.chars
            whole += entry.facts.chars
        elif entry.kind == "decision":
            shown[row.trace_id] = decision_of(row).shown_chars
    steps = request_figures.turns(RequestLog(context.session(info.name)).all())
    cost = _cost(context, steps)
    context.close()
    settings = context.settings
    last = steps[-1].request if steps else None
    model = args.model or (last.model if last is not None else None)
    window = profile_for(model, settings.models).window
    tokens, tokens_whole = estimate_from_length(sum(shown.values())), estimate_from_length(whole)
    counted = "results" if last is None else "request"
    if steps:
        tokens, tokens_whole = (round(size) for size in request_figures.sizes(steps[-1]))
    state = settings.thresholds.indicator(tokens, window)
    if args.json:
        screen.print_json(
            {
                "session": info.name,
                "results": len(shown),
                "tokens_shown": state.tokens,
                "tokens_whole": tokens_whole,
                "window": window,
                "share": state.share,
                "level": state.level,
                "thresholds": [line._asdict() for line in state.lines],
                "counted": counted,
                "input": None if cost is None else cost.as_dict,
            }
        )
        return 0
    filled = min(_WIDTH, round(state.share * _WIDTH))
    screen.say(f"{screen.bold(info.name)}  {len(shown)} results, policy {settings.policy}, {settings.mode}")
    screen.say(f"[{'█' * filled}{'·' * (_WIDTH - filled)}] ≈ {state.tokens:,} of {window:,} tokens ({state.share:.0%})")
    what = "The last request" if last is not None else "The results alone, since no request is on record"
    screen.say(f"{what}: whole, that would be ≈ {tokens_whole:,} tokens.\n")
    for line in state.lines:
        screen.say(f"{line.label} ({line.tokens:,} tokens): {line.explanation}")
    if cost is not None:
        screen.say(f"\nInput: {cost.sentence}.")
    return 0


def _cost(context: CommandContext, steps: list[LoggedRequest]) -> StatedCost | None:
    """The cost of the session's requests; None where no provider billed them."""
    cost = request_figures.cost_of(steps, lambda model: profile_for(model, context.settings.models))
    return None if cost is None else state_cost(cost)
