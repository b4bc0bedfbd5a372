"""`keepwhole store backup FILE`: the whole record in one file, while others write to it."""

import argparse
import errno
import os
import sys
from collections.abc import Iterator
from typing import Any

from keepwhole.apps.cli import screen
from keepwhole.apps.cli.command_context import CommandContext, add_options
from keepwhole.errors import StoreError, UsageError
from keepwhole.store.durable import write_file
from keepwhole.transfer.backup import Backup, compressed, is_backup
from keepwhole.truncation.notice import size_text

_LEFT_OUT = 1
_ELSEWHERE = "Name a file in a folder that you may write to."


def describe(commands: Any) -> None:
    """Describe the command's options."""
    parser = commands.add_parser("backup", help="write the record to one file that `restore` reads")
    add_options(parser, session=False)
    parser.add_argument(
        "file", metavar="FILE", help="the file to write, which replaces an earlier backup; - for standard output"
    )
    parser.set_defaults(act=back_up)


def back_up(args: argparse.Namespace) -> int:
    """Write a backup; exit code 1 where a session had to be left out."""
    if args.file == "-" and sys.stdout.isatty():
        raise UsageError("A backup is not printed on a terminal. Name a file, or send it to a pipe.")
    if os.path.lexists(args.file) and not is_backup(args.file):
        raise UsageError(f"`{args.file}` exists and is not a backup, so it is not replaced. Name another file.")
    context = CommandContext(args)
    try:
        total = sum(info.stored for info in context.store.sessions())
        with screen.Progress("backing up", total, in_bytes=True) as progress:
            backup = Backup(context.store, progress.step)
            written = _write(args.file, compressed(backup.lines()))
    finally:
        context.close()
    _say(args, backup, written)
    return _LEFT_OUT if backup.left_out else 0


def _write(path: str, chunks: Iterator[bytes]) -> int:
    """Write to a file, all of it or nothing, or to standard output; return the number of bytes."""
    written = 0

    def count_bytes() -> Iterator[bytes]:
        nonlocal written
        for chunk in chunks:
            written += len(chunk)
            yield chunk

    if path == "-":
        for chunk in count_bytes():
            sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()
        return written
    try:
        write_file(path, count_bytes(), 0o600)
    except OSError as error:
        is_full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        advice = "Free some space, or name a file on another disk." if is_full else _ELSEWHERE
        raise StoreError(f"`{path}` could not be written ({error.strerror}). Nothing was changed. {advice}") from error
    return written


def _say(args: argparse.Namespace, backup: Backup, written: int) -> None:
    counts = {"sessions": backup.sessions, "entries": backup.entries, "bytes": written, "head": backup.head}
    if args.json and args.file != "-":
        left_out = [{"session": name, "why": why} for name, why in backup.left_out]
        screen.print_json({"file": args.file, **counts, "left_out": left_out})
        return
    say = screen.warn if args.file == "-" else screen.say
    for name, why in backup.left_out:
        say(f"✗ {name} was left out: {screen.line(why)}")
    counted = f"{screen.plural(backup.sessions, 'session')}, {screen.plural(backup.entries, 'entry', 'entries')}"
    say(f"✓ {args.file}: {counted} in {size_text(written)}, head {backup.head[:16]}")
