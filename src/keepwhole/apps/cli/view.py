"""`keepwhole view FILE --policy NAME --diff`: what would be sent of a conversation, and what is left out."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any, cast

from keepwhole.apps.cli import screen
from keepwhole.apps.cli.command_context import add_json
from keepwhole.errors import UsageError
from keepwhole.policies.account import Edit, Projection
from keepwhole.policies.policy import rule_meaning
from keepwhole.session import Session
from keepwhole.store.memory import MemoryStore

_EXCERPT = 12
"""Lines of either side that `--diff` shows of an edit."""


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    parser.add_argument("file", metavar="FILE", help="messages, or a whole request, as JSON; - for standard input")
    parser.add_argument(
        "--policy", metavar="NAME", help="auto, truncation, retention, rolling, or a policy of another system"
    )
    parser.add_argument("--model", metavar="NAME", help="the model whose window and prices apply")
    parser.add_argument("--diff", action="store_true", help="show each edit beside what is kept")
    parser.add_argument("--out", metavar="FILE", help="write what would be sent to this file")
    add_json(parser)
    parser.set_defaults(act=view)


def view(args: argparse.Namespace) -> int:
    """Show what a policy would send; nothing is stored."""
    messages = _messages(args.file)
    session = Session("view", store=MemoryStore())
    projection = session.projection(messages, model=args.model, policy=args.policy)
    if args.out:
        _write(args.out, json.dumps(projection.messages, ensure_ascii=False))
    if args.json:
        edits = [edit.as_dict() | {"path": list(edit.path), "undo": edit.undo} for edit in projection.edits]
        account = projection.account.as_dict() | {"tokens_saved": projection.account.tokens_saved}
        screen.print_json({"account": account, "edits": edits})
        return 0
    _print(projection)
    if args.diff:
        for edit in projection.edits:
            _print_edit(session, projection.messages, edit)
    return 0


def _messages(path: str) -> list[Any]:
    try:
        raw: Any = json.loads(sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes())
    except OSError as error:
        raise UsageError(f"`{path}` cannot be read ({error.strerror}). Check the path.") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"`{path}` is not JSON ({error}). Give a list of messages or a request.") from error
    fields = cast("dict[str, Any]", raw) if isinstance(raw, dict) else {"messages": raw}
    found: Any = fields.get("messages", fields.get("input"))
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in cast("list[Any]", found)):
        raise UsageError(f"`{path}` has no messages. Give a list of them, or a request with `messages` or `input`.")
    return cast("list[Any]", found)


def _write(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"`{path}` cannot be written ({error.strerror}). Name another file.") from error


def _print(projection: Projection) -> None:
    account = projection.account
    if projection.edits:
        rows = [
            (str(e.step), screen.line(e.tool, 24), e.rule, e.strategy, f"{e.tokens_before:,}", f"{e.tokens_after:,}")
            for e in projection.edits
        ]
        screen.print_table(("Step", "Tool", "Rule", "Strategy", "≈ Tokens kept", "≈ Sent"), rows)
        screen.say()
    share = account.tokens_sent / max(1, account.tokens_whole)
    screen.say(
        f"Policy {account.policy}: {account.edited} of {account.results} results edited, "
        f"≈ {account.tokens_sent:,} of {account.tokens_whole:,} tokens sent ({screen.percent(share)})."
    )


def _print_edit(session: Session, sent: list[Any], edit: Edit) -> None:
    value: Any = sent[edit.index]
    for key in edit.path:
        value = value[key]
    screen.say(f"\n{screen.bold(screen.line(edit.tool))}, step {edit.step}: {rule_meaning(edit.rule)}")
    for mark, text in (("-", session.recall(edit.trace_id)), ("+", str(value))):
        lines = text.splitlines()
        for line in lines[:_EXCERPT]:
            screen.say(f"{mark} {screen.line(line, 110)}")
        if len(lines) > _EXCERPT:
            screen.say(screen.dim(f"{mark} … {len(lines) - _EXCERPT:,} more lines"))
