"""`keepwhole artifacts list | show | search | clean | collect`: the results that were shown cut or replaced."""

import argparse
import sys
import time
from typing import Any

from keepwhole.apps.cli import screen, search, show
from keepwhole.apps.cli.command_context import CommandContext, add_action, add_count, refuse_together
from keepwhole.errors import UsageError
from keepwhole.store.protocol import CollectsOrphans, SessionInfo, entry_of, result_of
from keepwhole.store.sqlite.store import SqliteStore
from keepwhole.truncation.notice import size_text
from keepwhole.truncation.present import summarize


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the commands' options."""
    commands = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = add_action(commands, "list", list_artifacts, help="list the artifacts of a session")
    listing.add_argument("--all", action="store_true", help="list the artifacts of all sessions")
    add_count(listing, "--limit", "the newest N of each (default: 200)", 200)
    showing = add_action(commands, "show", show.show, help="show the content of one artifact")
    show.add_show(showing, "content", "keepwhole artifacts show")
    searching = add_action(commands, "search", search.search, help="find lines that contain all these words")
    search.add_search(searching, "words")
    cleaning = add_action(
        commands, "clean", clean_artifacts, help="delete sessions that have ended, and ephemeral ones"
    )
    cleaning.add_argument("--all", action="store_true", help="purge every session; asks first")
    cleaning.add_argument("--yes", action="store_true", help="do not ask")
    collecting = add_action(
        commands, "collect", collect_orphans, help="move bodies that belong to no entry to `trash/`", session=False
    )
    collecting.add_argument("--all", action="store_true", help="even if they are more than a few percent of all bodies")


def list_artifacts(args: argparse.Namespace) -> int:
    """List artifacts."""
    refuse_together(args, "all", "session")
    context = CommandContext(args)
    sessions = context.store.sessions() if args.all else [context.current_session()]
    rows: list[dict[str, Any]] = []
    for info in sessions:
        decided = context.store.last_decided(info.name, max(0, args.limit) + 1)
        if len(decided) > args.limit:
            count = screen.plural(args.limit, "artifact")
            note = f"the list of {info.name} ends after the newest {count}; `--limit N` lists more"
            print(f"keepwhole: {note}", file=sys.stderr)
        found = (context.store.find(info.name, trace_id) for trace_id in decided[: args.limit])
        for row in sorted((row for row in found if row is not None), key=lambda row: row.seq):
            result, facts = result_of(row), entry_of(row).facts
            source = summarize(result.tool, result.arguments)
            rows.append(
                {"artifact_id": result.artifact_id, "bytes": facts.size, "lines": facts.lines, "source": source}
                | {"session": info.name, "at": result.at, "trace_id": result.trace_id}
            )
    context.close()
    if args.json:
        screen.print_json(rows)
    elif not rows:
        screen.say("No artifacts: every result so far was shown in full.")
    else:
        cells = [(r["artifact_id"], size_text(r["bytes"]), f"{r['lines']:,}", r["source"]) for r in rows]
        screen.print_table(("ID", "Size", "Lines", "Source"), cells, right=(1, 2))
    return 0


def clean_artifacts(args: argparse.Namespace) -> int:
    """Purge sessions that are over."""
    from keepwhole.record.fork import purge_with_files  # with it comes what a record is read by, which `show` spares

    refuse_together(args, "all", "session")
    context = CommandContext(args)
    sessions = _to_clean(args, context)
    asks = args.all or args.session
    count = f"{len(sessions)} session{'s' if len(sessions) != 1 else ''}"
    freed = sum(info.stored for info in sessions)
    if asks and sessions and not screen.confirm(f"Permanently purge {count} with {size_text(freed)}?", args.yes):
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
        bodies = f"{count} {'body' if count == 1 else 'bodies'} without an entry"
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
