"""`keepwhole status`: what fills the context window, the three thresholds, the input's cost, limits, declared tools."""

import argparse
from collections.abc import Sequence
from typing import Any, NamedTuple

from keepwhole.apps import request_figures, window_contents
from keepwhole.apps.cli import screen
from keepwhole.apps.cli.command_context import CommandContext, add_options
from keepwhole.apps.cli.declared_tools import print_declared
from keepwhole.apps.conversations import current_request
from keepwhole.apps.declared_tools import ServerTools, session_tools
from keepwhole.apps.kept_words import KeptCounts, count_kept, recall_folder, shown_tokens, tokens_as_sent
from keepwhole.apps.stated_cost import ASSUMPTION, StatedCost, state_cost
from keepwhole.apps.window_contents import WindowUse
from keepwhole.canonical.entry import OWN_TOOLS, Result
from keepwhole.errors import StoreError
from keepwhole.exchange.request_log import LoggedRequest, RequestLog
from keepwhole.models.profiles import profile_for
from keepwhole.models.thresholds import Indicator
from keepwhole.store.protocol import decision_of, entry_of
from keepwhole.wire.rate_limits import RateLimit, parse_limits

_WIDTH = 40
_SMALL = 0.1
"""A share below which its first decimal is told, as on the page."""
_LISTED = 10
"""Items of the window that are listed for people."""
_COUNTED = {
    "bill": "The last request, as the provider billed it",
    "estimate": "The last request, estimated, since no bill is recorded",
    "results": "The results alone, since no request is recorded",
}


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    add_options(parser)
    parser.add_argument(
        "--model",
        metavar="NAME",
        help="the model whose window applies (default: that of the last request, else 200,000 tokens)",
    )
    parser.set_defaults(act=status)


class _Results(NamedTuple):
    """The results of a session."""

    shown: list[tuple[Result, int]]
    """Each with the tokens that are shown of it."""
    whole: int
    """Tokens of all of them as they came."""
    kept: KeptCounts


class _Status(NamedTuple):
    """What is printed of one session."""

    session: str
    results: int
    kept: KeptCounts
    use: WindowUse
    window: Indicator
    cost: StatedCost | None
    limits: list[RateLimit]
    declared: list[ServerTools]

    @property
    def items(self) -> list[window_contents.WindowItem]:
        """What fills the window, the largest first; together exactly its tokens."""
        return window_contents.scale_items(self.use.items, self.use.used)


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
    results = _read_results(context, info.name)
    log = RequestLog(context.session(info.name))
    steps = log.all()
    use = _window_use(context, log, steps, results, model)
    told = (step.response.limits for step in reversed(steps) if step.response is not None and step.response.limits)
    return _Status(
        info.name,
        len(results.shown),
        results.kept,
        use,
        settings.thresholds.indicator(use.used, use.profile.window),
        _cost(context, steps),
        parse_limits(next(told, None)),
        session_tools(context.store, info.name, request_figures.turns(steps)),
    )


def _window_use(
    context: CommandContext, log: RequestLog, steps: list[LoggedRequest], results: _Results, model: str | None
) -> WindowUse:
    """What fills the window: the request that is in it now, or the results where no request is on record."""
    current = current_request(steps, log.body)
    if current is None:
        items = window_contents.items_of_results(results.shown)
        profile, used = profile_for(model, context.settings.models), sum(item.tokens for item in items)
        return WindowUse(used, results.whole, "results", model or "", profile, items)
    used, whole = map(round, request_figures.sizes(current))
    name, answered_by = (model, None) if model else (current.request.model, current.answered_by)
    counted = "estimate" if request_figures.billed(current) is None else "bill"
    profile = profile_for(name, context.settings.models, answered_by)
    return WindowUse(used, whole, counted, name, profile, _items(log, current, results.shown))


def _items(
    log: RequestLog, current: LoggedRequest, results: Sequence[tuple[Result, int]]
) -> list[window_contents.WindowItem]:
    by_call = {result.call_id: result for result, _ in results}
    try:
        return window_contents.items_of_request(log.body(current.request.trace_id), by_call.get)
    except StoreError:  # a damaged request has a size, but no items
        return []


def _read_results(context: CommandContext, session: str) -> _Results:
    """The results of a session, without Keepwhole's own notes."""
    found: dict[str, tuple[Result, int]] = {}
    whole = 0
    for row in context.store.rows(session, kind=("result", "decision"), light=True):
        entry = entry_of(row)
        if isinstance(entry.header, Result):
            if not entry.header.tool.startswith(OWN_TOOLS):
                tokens = tokens_as_sent(entry.header, entry.facts, ())
                found[row.trace_id] = entry.header, tokens
                whole += tokens
        elif row.trace_id in found:
            found[row.trace_id] = found[row.trace_id][0], shown_tokens(decision_of(row))
    results = list(found.values())
    return _Results(results, whole, count_kept((one for one, _ in results), recall_folder(context.settings.home)))


def _as_dict(found: _Status) -> dict[str, Any]:
    return {
        "session": found.session,
        "results": found.results,
        "cut_by_client": found.kept.cut,
        "tokens_shown": found.window.tokens,
        "tokens_whole": found.use.whole,
        "model": found.use.model or None,
        "window": found.window.window,
        "window_is_known": found.use.is_known,
        "share": found.window.share,
        "level": found.window.level,
        "thresholds": [line._asdict() for line in found.window.lines],
        "counted": found.use.counted,
        "items": [{**item._asdict(), "recall": item.recall} for item in window_contents.largest_items(found.items)],
        "input": None if found.cost is None else found.cost.as_dict,
        "assumes": ASSUMPTION,
        "limits": [one._asdict() for one in found.limits],
        "declarations": [one._asdict() for one in found.declared],
    }


def _print(found: _Status, how: str) -> None:
    state, use = found.window, found.use
    filled = min(_WIDTH, round(state.share * _WIDTH))
    full = screen.percent(state.share, 1 if state.share < _SMALL else 0)
    bar = "█" * filled + "·" * (_WIDTH - filled)
    screen.say(f"{screen.bold(found.session)}  {found.kept.words}, {how}")
    screen.say(f"[{bar}] ≈ {state.tokens:,} of {state.window:,} tokens ({full})")
    if not use.is_known:
        name = f"model `{screen.line(use.model, 60)}`" if use.model else "model"
        screen.say(f"The {name} is unknown, so the window is a guess; set `models.{use.model or 'NAME'}.window`.")
    screen.say(f"{_COUNTED[use.counted]}. With every result in full: ≈ {use.whole:,} tokens.\n")
    _print_items(found.items, state.window)
    for line in state.lines:
        screen.say(f"{line.label} ({line.tokens:,} tokens): {line.explanation}")
    if found.cost is not None:
        screen.say(f"\nInput: {found.cost.sentence}.")
        screen.say(screen.dim(ASSUMPTION))
    if found.limits:
        screen.say(f"\nLimits: {'; '.join(screen.line(one.words, 60) for one in found.limits)}.")
    if found.declared:
        total = sum(one.tokens for one in found.declared)
        screen.say(f"\nTool declarations: ≈ {total:,} tokens in every request, called or not.")
        print_declared([(one, None) for one in found.declared])


def _print_items(items: list[window_contents.WindowItem], window: int) -> None:
    """Print what fills the window, the largest first, each with the command that reads it back."""
    if not items:
        return
    rows = [
        (
            f"{item.tokens:,}",
            screen.percent(item.tokens / window, 1),
            screen.line(f"{item.label} {item.argument or ''}".strip(), 60),
            f"keepwhole show {item.artifact_id}" if item.artifact_id else "",
        )
        for item in window_contents.largest_items(items, _LISTED)
    ]
    screen.print_table(("Tokens", "Share", "What fills the window", "Read it"), rows, right=(0, 1))
    screen.say()


def _cost(context: CommandContext, steps: list[LoggedRequest]) -> StatedCost | None:
    """The cost of the session's requests; None where no provider billed them."""
    cost = request_figures.cost_of(steps, request_figures.profiles_with(context.settings.models))
    return None if cost is None else state_cost(cost)
