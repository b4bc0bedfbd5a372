"""`keepwhole artifacts list | show | search | clean | collect`: the results that were shown cut or replaced."""

import argparse
import sys
import time
from typing import Any

from keepwhole.apps.cli import screen
from keepwhole.apps.cli.command_context import CommandContext, add_action, add_part
from keepwhole.apps.cli.recall_command import RecallCommand, check_range
from keepwhole.apps.cli.search import index_with_progress
from keepwhole.errors import UsageError
from keepwhole.recall.get_artifact import arguments_reader
from keepwhole.recall.page import page
from keepwhole.recall.ranges import parse_chars, parse_lines
from keepwhole.record.fork import purge_with_files
from keepwhole.store.protocol import CollectsOrphans, SessionInfo, body_of, entry_of, result_of
from keepwhole.store.sqlite.store import SqliteStore
from keepwhole.truncation.notice import binary, size_text
from keepwhole.truncation.present import summarize


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the commands' options."""
    commands = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = add_action(commands, "list", list_artifacts, help="the artifacts of a session")
    listing.add_argument("--all", action="store_true", help="of all sessions")
    listing.add_argument("--limit", type=int, default=200, metavar="N", help="the newest N of each (default: 200)")
    showing = add_action(commands, "show", show_artifact, help="the content of one")
    showing.add_argument("id", metavar="ID", help="artifact id or trace id")
    part = add_part(showing)
    showing.add_argument("--part", choices=("result", "arguments"), default="result", help="what its call was given")
    part.add_argument("--raw", action="store_true", help="all of it, byte for byte")
    showing.add_argument("--force", action="store_true", help="let --raw write to a terminal")
    searching = add_action(commands, "search", search_artifacts, help="results in which all these words occur")
    searching.add_argument("text", metavar="TEXT", nargs="+", help="words, or beginnings of words")
    searching.add_argument("--limit", type=int, default=20, help="at most this many (default: 20)")
    cleaning = add_action(
        commands, "clean", clean_artifacts, help="purge sessions that are over: ended and ephemeral ones"
    )
    cleaning.add_argument("--all", action="store_true", help="purge every session; asks first")
    cleaning.add_argument("--yes", action="store_true", help="do not ask")
    collecting = add_action(
        commands, "collect", collect_orphans, help="move bodies that no entry has to `trash/`", session=False
    )
    collecting.add_argument("--all", action="store_true", help="even if they are more than a few per cent")


def list_artifacts(args: argparse.Namespace) -> int:
    """List artifacts."""
    context = CommandContext(args)
    sessions = context.store.sessions() if args.all else [context.current_session()]
    rows: list[dict[str, Any]] = []
    for info in sessions:
        decided = context.store.last_decided(info.name, max(0, args.limit) + 1)
        if len(decided) > args.limit:
            note = f"only the newest {args.limit:,} artifacts of {info.name} are listed; more with `--limit N`"
            print(f"keepwhole: {note}", file=sys.stderr)
        found = (context.store.find(info.name, trace_id) for trace_id in decided[: args.limit])
        for row in sorted((row for row in found if row is not None), key=lambda row: row.seq):
            result, facts = result_of(row), entry_of(row).facts
            source = summarize(result.tool, result.arguments)
            rows.append(
                {"id": result.artifact_id, "bytes": facts.size, "lines": facts.lines, "source": source}
                | {"session": info.name, "at": result.at, "trace_id": result.trace_id}
            )
    context.close()
    if args.json:
        screen.print_json(rows)
    elif not rows:
        screen.say("No artifacts: everything kept so far was shown whole.")
    else:
        cells = [(r["id"], size_text(r["bytes"]), f"{r['lines']:,}", r["source"]) for r in rows]
        screen.print_table(("ID", "Size", "Lines", "Source"), cells, right=(1, 2))
    return 0


def show_artifact(args: argparse.Namespace) -> int:
    """Show the content of one artifact, or a part of it."""
    context = CommandContext(args)
    row = context.find_result(args.id)
    result = result_of(row)
    of_call = args.part == "arguments"
    with arguments_reader(result) if of_call else context.store.open(body_of(row)) as reader:
        if args.raw:
            if sys.stdout.isatty() and not args.force:
                raise UsageError("`--raw` writes control bytes too. Send it to a file or a pipe, or add `--force`.")
            for chunk in reader.stream():
                sys.stdout.buffer.write(chunk)
            sys.stdout.buffer.flush()
            return 0
        asked = parse_lines(args.lines) if args.lines else parse_chars(args.chars) if args.chars else None
        limit = context.settings.retrieval_limit if asked is None else reader.chars + 1_000
        if result.media_type != "text/plain" and not of_call:
            text = binary(result.media_type, reader.facts.size, reader.facts.digest)
        else:
            check_range(reader, asked)
            command = f"keepwhole artifacts show --part {args.part}" if of_call else "keepwhole artifacts show"
            text = page(reader, RecallCommand(args.id, command), asked, limit)
    context.close()
    if args.json:
        screen.print_json({"id": args.id, "tool": result.tool, "content": text})
    else:
        screen.show(text)
    return 0


def search_artifacts(args: argparse.Namespace) -> int:
    """Search the results of a session."""
    context = CommandContext(args)
    info = context.current_session()
    index_with_progress(context, info.name)
    found = context.store.search(info.name, " ".join(args.text), args.limit)
    rows: list[dict[str, Any]] = []
    for match in found:
        row = context.store.find(info.name, match.trace_id)
        if row is not None:
            result = result_of(row)
            rows.append(
                {"id": result.artifact_id, "tool": result.tool, "line": match.line, "text": match.text}
                | {"trace_id": match.trace_id, "part": match.part}
            )
    context.close()
    if args.json:
        screen.print_json(rows)
    elif not rows:
        screen.say(f"Nothing in session {info.name} has all of: {screen.line(' '.join(args.text))}")
    else:
        cells = [(r["id"], r["tool"], _place(r), r["text"]) for r in rows]
        screen.print_table(("ID", "Tool", "Line", "Text"), cells, right=(2,))
    return 0 if rows else 1


def _place(found: dict[str, Any]) -> str:
    return f"{found['line']:,}" if found["part"] == "result" else str(found["part"])


def clean_artifacts(args: argparse.Namespace) -> int:
    """Purge sessions that are over."""
    context = CommandContext(args)
    sessions = _to_clean(args, context)
    asks = args.all or args.session
    count = f"{len(sessions)} session{'s' if len(sessions) != 1 else ''}"
    freed = sum(info.stored for info in sessions)
    if asks and sessions and not screen.confirm(f"Purge {count} with {size_text(freed)} for good?", args.yes):
        return 1
    with screen.Progress("purging", len(sessions)) as progress:
        for info in sessions:
            purge_with_files(context.store, info.name, int(time.time() * 1000))
            progress.step()
    context.close()
    if args.json:
        screen.print_json({"purged": [info.name for info in sessions], "bytes": freed})
    else:
        screen.say(f"Purged {count}, {size_text(freed)}.")
    return 0


def collect_orphans(args: argparse.Namespace) -> int:
    """Move away bodies that killed processes left behind."""
    context = CommandContext(args)
    if isinstance(context.store, SqliteStore):
        count, done = (
            context.store.collect_orphans(any_number=args.all),
            "moved to `trash/`; delete it when you are sure",
        )
    elif isinstance(context.store, CollectsOrphans):
        count, done = context.store.collect_orphans(), "removed"
    else:
        raise UsageError("This record leaves no bodies behind that could be collected.")
    context.close()
    if args.json:
        screen.print_json({"collected": count})
    else:
        bodies = f"{count} {'body' if count == 1 else 'bodies'} that no entry has"
        screen.say(f"{bodies}: {done}." if count else "Every body has an entry; nothing was moved.")
    return 0


def _to_clean(args: argparse.Namespace, context: CommandContext) -> list[SessionInfo]:
    if args.session:
        return [context.current_session()]
    sessions = context.store.sessions()
    if args.all:
        return sessions
    over = [info for info in sessions if info.ended_at is not None or info.ephemeral]
    return [info for info in over if not context.store.is_held(info.name)]
