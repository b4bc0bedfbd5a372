"""`keepwhole explain [SESSION [NUMBER]|NUMBER|ID]`: which rule edited what, when, what it saved, how to undo it."""

import argparse
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from typing import Any

from keepwhole.apps.cli import screen
from keepwhole.apps.cli.command_context import CommandContext, add_options
from keepwhole.apps.kept_words import shown_tokens, tokens_as_sent
from keepwhole.errors import NotFound
from keepwhole.exchange.request_log import RequestLog
from keepwhole.policies.account import Edit
from keepwhole.policies.policy import rule_meaning
from keepwhole.session import Session
from keepwhole.store.memory import MemoryStore
from keepwhole.store.protocol import decision_of, entry_of, result_of


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    add_options(parser, session=False)
    parser.add_argument(
        "session",
        metavar="SESSION",
        nargs="?",
        help="session, or a result's ID or number (default: the newest session here)",
    )
    parser.add_argument("step", metavar="NUMBER", nargs="?", type=int, help="only the result with this number")
    parser.set_defaults(act=explain)


def explain(args: argparse.Namespace) -> int:
    """Explain every result that is not shown in full."""
    context, session, number = _asked_for(args)
    found = [each for each in _explain(context, session) if number in (None, each["step"])]
    would_be = [] if found else _would_be(context, session)
    context.close()
    if would_be and number is None:
        return _print_shadow(session, would_be, args.json)
    if number is not None and not found:
        raise NotFound(
            f"Result {number} of session `{session}` was not shortened by any rule. "
            f"`keepwhole explain {session}` lists those that were."
        )
    if args.json:
        screen.print_json({"session": session, "edits": found})
        return 0
    _print(session, found)
    return 0


def _asked_for(args: argparse.Namespace) -> tuple[CommandContext, str, int | None]:
    """The record, and the session and the number that are asked for: by themselves, or by a result's id or number."""
    if (args.session or "").startswith(("art_", "trace_")) and args.step is None:
        context = CommandContext(argparse.Namespace(config=args.config))
        with suppress(NotFound):  # then a session has such a name
            row = context.find_result(args.session)
            results = context.store.rows(row.session, kind="result", light=True)
            return context, row.session, 1 + sum(each.seq < row.seq for each in results)
        context.close()
    context = CommandContext(args)
    is_number = args.step is None and (args.session or "").isdecimal()
    with suppress(NotFound) if is_number else nullcontext():  # a session may have a number as its name
        return context, context.current_session().name, args.step
    context.close()
    context = CommandContext(argparse.Namespace(config=args.config))
    return context, context.current_session().name, int(args.session)


def _explain(context: CommandContext, session: str) -> Iterator[dict[str, Any]]:
    """The results that have decisions, each with all of them in order."""
    decisions: dict[str, list[Any]] = {}
    for row in context.store.rows(session, kind="decision", light=True):
        decisions.setdefault(row.trace_id, []).append(decision_of(row))
    for step, row in enumerate(context.store.rows(session, kind="result", light=True), 1):
        made = decisions.get(row.trace_id)
        if not made:
            continue
        result, facts = result_of(row), entry_of(row).facts
        before, after = tokens_as_sent(result, facts, made), shown_tokens(made[-1])
        yield {
            "step": step,
            "tool": result.tool,
            "arguments": result.arguments,
            "artifact_id": result.artifact_id,
            "rule": made[-1].rule,
            "strategy": made[-1].strategy,
            "why": rule_meaning(made[-1].rule, made[-1].reason),
            "at": made[-1].at,
            "tokens_before": before,
            "tokens_after": after,
            "tokens_saved": before - after,
            "undo": f"keepwhole undo {result.artifact_id}",
            "history": [{"rule": each.rule, "at": each.at, "shown_chars": each.shown_chars} for each in made],
        }


def _would_be(context: CommandContext, session: str) -> list[Edit]:
    """The edits that the last request would have had, where it was sent in the shadow.

    All requests of its branch are viewed in a record of its own: in this one their results are known, and what was sent
    whole stays whole.
    """
    log = RequestLog(context.session(session))
    turns = [step.request for step in log.all() if step.request.purpose == "turn"]
    if not turns or turns[-1].mode != "shadow":
        return []
    acting = Session(session, store=MemoryStore(), settings=context.settings)
    edits: tuple[Edit, ...] = ()
    for request in turns:
        if request.branch == turns[-1].branch:
            edits = acting.projection(log.body(request.trace_id), mode="on").edits
    return list(edits)


def _print_shadow(session: str, edits: list[Edit], as_json: bool) -> int:
    """Print what would be shown otherwise if it were not the shadow."""
    if as_json:
        screen.print_json({"session": session, "edits": [], "would_be": [_as_dict(edit) for edit in edits]})
        return 0
    screen.say(
        f"Session {session} is in shadow mode: everything is sent unchanged. "
        "In its last request, these results would be shortened:\n"
    )
    rows = [
        (str(each.step), screen.line(each.tool, 24), each.rule, each.strategy, each.tokens_before, each.tokens_after)
        for each in edits
    ]
    screen.print_table(("Result", "Tool", "Rule", "Strategy", "≈ Tokens", "Would be"), rows, right=(4, 5))
    return 0


def _as_dict(edit: Edit) -> dict[str, Any]:
    """An edit without the ids, which are not those of the session's own record."""
    names = ("index", "step", "tool", "rule", "strategy", "tokens_before", "tokens_after")
    return {name: getattr(edit, name) for name in names}


def _print(session: str, found: list[dict[str, Any]]) -> None:
    if not found:
        screen.say(f"Every result of session {session} is shown in full.")
        return
    rows = [
        (
            str(e["step"]),
            screen.line(e["tool"], 24),
            e["rule"],
            e["strategy"],
            screen.format_time(e["at"]),
            _savings_text(e),
        )
        for e in found
    ]
    screen.print_table(("Result", "Tool", "Rule", "Strategy", "Time", "≈ Tokens saved"), rows)
    for rule in dict.fromkeys(e["rule"] for e in found):
        why = found[0]["why"] if len(found) == 1 else rule_meaning(rule)
        screen.say(f"\n{screen.bold(rule)}: {why}.")
    screen.say(f"\nUndo one of them with its id, for example: {found[-1]['undo']}")


def _savings_text(edit: dict[str, Any]) -> str:
    return f"{edit['tokens_saved']:,} of {edit['tokens_before']:,}"
