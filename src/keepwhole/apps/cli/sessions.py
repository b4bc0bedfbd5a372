"""`keepwhole sessions list | show | verify | purge | export | import`."""

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from typing import Any, BinaryIO

from keepwhole.apps.argument_words import telling_argument
from keepwhole.apps.cli import export_page, screen
from keepwhole.apps.cli.command_context import Actions, CommandContext, add_action, add_count, refuse_together
from keepwhole.apps.cli.session_list import describe_session
from keepwhole.apps.kept_words import count_kept, recall_folder
from keepwhole.apps.redaction import has_key_shape
from keepwhole.canonical.entry import Result
from keepwhole.errors import Damaged, NotFound, UsageError
from keepwhole.metrics import Metrics
from keepwhole.record.arrival import CLIENT_CUT
from keepwhole.record.forget import plan_by_shape
from keepwhole.record.fork import purge_with_files
from keepwhole.record.journal import origin_of
from keepwhole.record.words_note import TOOL as WORDS
from keepwhole.store.protocol import ChecksStorage, SessionInfo, Store, entry_of, result_of
from keepwhole.store.verify import Verification, verify
from keepwhole.transfer.archive import export_session, import_session
from keepwhole.transfer.json_lines import lines_in
from keepwhole.truncation.notice import size_text


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the commands' options."""
    commands = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = add_action(commands, "list", list_sessions, help="list all sessions, the newest first", session=False)
    add_count(listing, "--limit", "at most this many (default: all)")
    _add_action_with_id(commands, "show", show_session, help="list the results of a session")
    verifying = _add_action_with_id(
        commands, "verify", verify_sessions, help="prove that nothing has changed since it was kept"
    )
    verifying.add_argument("--all", action="store_true", help="verify every session")
    purging = add_action(
        commands, "purge", purge_session, help="delete a session permanently; a tombstone stays", session=False
    )
    purging.add_argument("id", metavar="ID", nargs="?", help="the session")
    purging.add_argument(
        "--older-than", metavar="AGE", help="every session without a new entry for this long: `30d`, `12h`, `8w`"
    )
    purging.add_argument("--dry-run", action="store_true", help="only list them")
    purging.add_argument("--yes", action="store_true", help="do not ask")
    exporting = _add_action_with_id(commands, "export", export, help="write a session to a file that `import` reads")
    exporting.add_argument("-o", "--output", metavar="FILE", help="the file to write (default: standard output)")
    export_page.add_options(exporting)
    importing = add_action(commands, "import", import_, help="bring an exported session back", session=False)
    importing.add_argument("file", metavar="FILE", help="the archive; - for standard input")
    importing.add_argument("--as", dest="name", metavar="NAME", help="import it under this name")


def _add_action_with_id(
    actions: Actions, name: str, act: Callable[[argparse.Namespace], int], help: str
) -> argparse.ArgumentParser:
    parser = add_action(actions, name, act, help)
    parser.add_argument("id", metavar="ID", nargs="?", help="the session (default: the newest here)")
    return parser


def _session_of(args: argparse.Namespace, context: CommandContext) -> SessionInfo:
    if not args.id:
        return context.current_session()
    found = context.find_session(args.id)
    if args.session and context.find_session(args.session).name != found.name:
        raise UsageError("A name and `--session` contradict each other. Leave one of them out.")
    return found


def list_sessions(args: argparse.Namespace) -> int:
    """List sessions."""
    context = CommandContext(args)
    sessions = context.store.sessions(args.limit if args.limit is None else max(0, args.limit))
    listed = [describe_session(context, info) for info in sessions]
    context.close()
    if args.json:
        screen.print_json([_as_dict(info) | one.as_dict() for info, one in zip(sessions, listed, strict=True)])
    elif not sessions:
        screen.say(f"No sessions in {context.settings.home} yet. Begin with `keepwhole run -- ls`.")
    else:
        rows = [
            (
                info.name,
                screen.line(one.title or "", 40),
                info.agent or "",
                f"{info.entries:,}",
                size_text(info.stored),
                f"{one.errors:,}" if one.errors else "",
                one.cost_words,
                screen.format_time(info.last_at),
                _state(info) + (f", fork of {screen.line(one.fork_of, 40)}" if one.fork_of else ""),
            )
            for info, one in zip(sessions, listed, strict=True)
        ]
        heads = ("Session", "Title", "Agent", "Entries", "Size", "Errors", "Paid (saved)", "Last active", "State")
        screen.print_table(heads, rows, right=(3, 4, 5, 6))
    return 0


def _notes(step: dict[str, Any]) -> Iterator[str]:
    """What is said of one step."""
    if step["is_error"]:
        yield "error"
    if step["cut_by_client"]:
        yield "cut by the client"


def show_session(args: argparse.Namespace) -> int:
    """List the results of a session."""
    context = CommandContext(args)
    info, metrics = _session_of(args, context), Metrics()
    origin = origin_of(context.store, info.name)
    steps: list[dict[str, Any]] = []
    results: list[Result] = []
    for row in context.store.rows(info.name, kind=("result", "decision"), light=True):
        entry = entry_of(row)
        if isinstance(entry.header, Result) and entry.header.tool == WORDS:
            continue
        metrics.observe(entry)
        if row.kind == "result":
            result = result_of(row)
            results.append(result)
            steps.append(
                {"step": len(steps) + 1, "tool": result.tool, "argument": telling_argument(result.arguments)}
                | {"bytes": entry.facts.size, "lines": entry.facts.lines}
                | {"cut_by_client": CLIENT_CUT in result.flags}
                | {"is_error": result.is_error, "exit_code": result.exit_code}
                | {"at": result.at, "trace_id": result.trace_id, "artifact_id": result.artifact_id}
            )
    context.close()
    if args.json:
        screen.print_json({**_as_dict(info), "fork_of": origin, "metrics": metrics.as_dict(), "steps": steps})
        return 0
    entries = screen.plural(info.entries, "entry", "entries")
    screen.say(f"{screen.bold(info.name)}  {_state(info)}, {entries}, {size_text(info.stored)}")
    screen.say(f"agent {screen.line(info.agent or '-')}, folder {screen.line(info.workspace or '-')}")
    screen.say(f"kept {count_kept(results, recall_folder(context.settings.home)).words}")
    screen.say(f"fork of {screen.line(origin)}\n" if origin else "")
    rows = [
        (
            s["step"],
            s["tool"],
            screen.line(s["argument"] or "", 40),
            size_text(s["bytes"]),
            f"{s['lines']:,}",
            ", ".join(_notes(s)),
            s["trace_id"],
        )
        for s in steps
    ]
    screen.print_table(("Result", "Tool", "Call", "Size", "Lines", "", "Trace"), rows, right=(0, 3, 4))
    screen.say()
    screen.print_table(
        ("Counter", "Value"),
        [
            (name, f"{value:,}" if isinstance(value, int) else f"{value:.3f}")
            for name, value in metrics.as_dict().items()
        ],
        right=(1,),
    )
    return 0


def verify_sessions(args: argparse.Namespace) -> int:
    """Verify one session, or all."""
    if args.all and args.id:
        raise UsageError("`--all` verifies every session. Leave out the name, or `--all`.")
    refuse_together(args, "all", "session")
    context = CommandContext(args)
    sessions = context.store.sessions() if args.all else [_session_of(args, context)]
    if not sessions:
        raise NotFound(f"There is no session in `{context.settings.home}`, so nothing was verified.")
    around = list(context.store.record_findings()) if args.all and isinstance(context.store, ChecksStorage) else []
    reports: list[Verification] = []
    with screen.Progress("verifying entries", sum(info.entries for info in sessions)) as progress:
        for info in sessions:
            reports.append(verify(context.store, info.name, lambda _: progress.step()))
    context.close()
    if args.json:
        screen.print_json([_report(report) for report in reports])
    for report in reports if not args.json else ():
        gone = f" ({report.forgotten:,} forgotten)" if report.forgotten else ""
        entries = screen.plural(report.entries, "entry", "entries") + gone
        words = f"{report.session}: {entries}, {size_text(report.bytes)}, head {report.head[:16]}"
        screen.say(f"{'✓' if report.whole else '✗'} {words}")
        for finding in report.findings:
            about = f"entry {finding.seq}: " if finding.seq else ""
            screen.say(f"    {about}{screen.line(screen.in_full_list(finding.what), 500)}")
    for what in around:
        print(f"keepwhole: {screen.line(what, 500)}", file=sys.stderr)
    return 0 if not around and all(report.whole for report in reports) else 1


def purge_session(args: argparse.Namespace) -> int:
    """Purge a session, or all that are older than an age."""
    if (args.id is None) == (args.older_than is None):
        raise UsageError("Name one session, or an age: `keepwhole sessions purge --older-than 30d`.")
    context, now = CommandContext(args), int(time.time() * 1000)
    before = now - age_in_ms(args.older_than) if args.older_than else None
    sessions = [context.find_session(args.id)] if before is None else _older_than(context.store, before)
    what = sessions[0].name if args.id else screen.plural(len(sessions), "session")
    if args.dry_run:
        return _print_purged(args, sessions, "Would purge")
    size = size_text(sum(info.stored for info in sessions))
    if sessions and not screen.confirm(f"Permanently purge {what} with {size}?", args.yes):
        return 1
    purged: list[SessionInfo] = []
    with screen.Progress("purging sessions", len(sessions)) as progress:
        for info in sessions:
            there = context.store.session(info.name)
            if before is None or (there is not None and _is_older(context.store, there, before)):
                purge_with_files(context.store, info.name, now)
                purged.append(info)
            progress.step()
    context.close()
    return _print_purged(args, purged, "Purged")


def _older_than(store: Store, before: int) -> list[SessionInfo]:
    """The sessions whose entries are all older, the oldest first."""
    old = [info for info in store.sessions() if _is_older(store, info, before)]
    return sorted(old, key=lambda info: info.last_at or info.created_at)


def _is_older(store: Store, info: SessionInfo, before: int) -> bool:
    """Whether nothing of a session is as new, whatever its order: a clock may have been set back meanwhile."""
    if max(info.last_at or info.created_at, info.created_at) >= before:
        return False
    for row in store.rows(info.name, light=True):
        with suppress(Damaged):  # what cannot be read keeps nothing
            if entry_of(row).header.at >= before:
                return False
    return True


def age_in_ms(text: str) -> int:
    """An age such as `30d` in milliseconds.

    >>> age_in_ms("2h")
    7200000
    """
    hours = {"h": 1, "d": 24, "w": 168}.get(text[-1:])
    if hours is None or not text[:-1].isdecimal() or not text.isascii() or len(text) > 7:
        raise UsageError(f"`{text}` is not an age. Give a number and `h`, `d` or `w`, such as `30d`.")
    if not int(text[:-1]):
        raise UsageError(
            f"`{text}` would be every session. Give `1h` or more, or purge all: `keepwhole artifacts clean --all`."
        )
    return int(text[:-1]) * hours * 3_600_000


def _print_purged(args: argparse.Namespace, sessions: list[SessionInfo], verb: str) -> int:
    entries, stored = sum(info.entries for info in sessions), sum(info.stored for info in sessions)
    if args.json:
        names = [info.name for info in sessions]
        screen.print_json({"purged": names, "entries": entries, "bytes": stored})
        return 0
    for info in sessions if args.older_than else ():
        screen.say(f"{screen.format_time(info.last_at)}  {screen.line(info.name, 80)}  {size_text(info.stored)}")
    what = sessions[0].name if args.id else screen.plural(len(sessions), "session")
    stays = "" if args.dry_run or not sessions else " A tombstone stays." if args.id else " Tombstones stay."
    screen.say(f"{verb} {what}: {screen.plural(entries, 'entry', 'entries')}, {size_text(stored)}.{stays}")
    return 0


def export(args: argparse.Namespace) -> int:
    """Export a session."""
    if args.steps and args.format == "archive":
        raise UsageError("An archive has all steps. Add `--format html` or `--format json`, or leave out `--steps`.")
    context = CommandContext(args)
    info = _session_of(args, context)
    if args.output is None and sys.stdout.isatty():
        raise UsageError("An export is not printed on a terminal. Add `-o FILE`, or send it to a pipe.")
    seqs = () if args.raw else plan_by_shape(context.store, info.name, has_key_shape).seqs
    withheld: frozenset[int] = frozenset(seqs)
    made = export_page.export(context, info.name, args) if args.format != "archive" else None
    with ExitStack() as stack:
        target = sys.stdout.buffer if args.output is None else stack.enter_context(_create_private_file(args.output))
        if made is not None:
            target.write(made)
            return 0
        progress = stack.enter_context(screen.Progress("exporting", info.stored, in_bytes=True))
        for line in export_session(context.store, info, withheld):
            target.write(line)
            progress.step(len(line) * 3 // 4)
        target.flush()
    context.close()
    if withheld:
        screen.warn(
            f"keepwhole: {len(withheld):,} of {info.entries:,} entries contain what looks like a key, or depend on "
            "such an entry. Only their hashes are exported. `--raw` exports everything."
        )
    return 0


def _create_private_file(path: str) -> BinaryIO:
    """Create a file that only its owner may read."""
    try:
        return open(path, "xb", opener=lambda name, flags: os.open(name, flags, 0o600))
    except FileExistsError:
        raise UsageError(f"`{path}` already exists. Name another file.") from None
    except OSError as error:
        raise UsageError(f"`{path}` cannot be written ({error.strerror}). Name another file.") from error


def import_(args: argparse.Namespace) -> int:
    """Import a session."""
    context = CommandContext(args)
    try:
        source = sys.stdin.buffer if args.file == "-" else open(args.file, "rb")  # noqa: SIM115
    except OSError as error:
        raise UsageError(f"`{args.file}` cannot be opened ({error.strerror}). Check the path.") from error
    with source, screen.Progress("importing entries", 0) as progress:
        info = import_session(context.store, lines_in(source), args.name, lambda _: progress.step())
    report = verify(context.store, info.name)
    context.close()
    if args.json:
        screen.print_json(_report(report))
    else:
        screen.say(
            f"Imported {info.name}: {screen.plural(report.entries, 'entry', 'entries')}, head {report.head[:16]}"
        )
    return 0 if report.whole else 1


def _state(info: SessionInfo) -> str:
    return "ended" if info.ended_at is not None else "ephemeral" if info.ephemeral else "open"


def _as_dict(info: SessionInfo) -> dict[str, Any]:
    return {
        "session": info.name,
        "agent": info.agent,
        "workspace": info.workspace,
        "entries": info.entries,
        "bytes": info.stored,
        "created_at": info.created_at,
        "last_at": info.last_at,
        "state": _state(info),
    }


def _report(report: Verification) -> dict[str, Any]:
    findings = [{"entry": finding.seq, "what": screen.in_full_list(finding.what)} for finding in report.findings]
    return {
        "session": report.session,
        "whole": report.whole,
        "entries": report.entries,
        "forgotten": report.forgotten,
        "bytes": report.bytes,
        "head": report.head,
        "findings": findings,
    }
