"""`keepwhole store copy FROM TO`: copies one record into another, with the same hashes."""

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from keepwhole import config
from keepwhole.apps.cli import screen
from keepwhole.apps.cli.addresses import HELP, open_existing_record, open_record_at, printable_address
from keepwhole.apps.cli.command_context import add_config, add_json
from keepwhole.canonical.entry import Entry
from keepwhole.errors import Damaged, NotFound, UsageError
from keepwhole.store.protocol import Store
from keepwhole.transfer.copy import Comparison, CopyStep, carry_out, compare, plan
from keepwhole.truncation.notice import size_text

_DIFFERENT = 1
_LISTED = 20
_SECONDS = 10.0
"""Seconds between two lines of progress without a terminal."""


def describe(commands: Any) -> None:
    """Describe the command's options."""
    parser = commands.add_parser(
        "copy", help="copy every session into another record, with the same hashes; run it again to continue"
    )
    parser.add_argument("source", metavar="FROM", help=HELP)
    parser.add_argument("target", metavar="TO", help=HELP)
    for side in ("from", "to"):
        where = f"where {side.upper()} has its large bodies, if not with the rest: s3://… or a folder"
        parser.add_argument(f"--{side}-blobs", metavar="PLACE", help=where)
    parser.add_argument(
        "--session", action="append", metavar="NAME", default=[], help="only this session; can be repeated"
    )
    parser.add_argument(
        "--quick", action="store_true", help="at the end compare only heads, not the hash of each entry"
    )
    parser.add_argument("--yes", action="store_true", help="erase in TO what was erased in FROM, without asking")
    add_config(parser)
    add_json(parser)
    parser.set_defaults(act=copy)


def copy(args: argparse.Namespace) -> int:
    """Copy, compare, print the result; exit code 1 where heads differ."""
    settings = config.load(args.config)
    source = open_existing_record(args.source, settings, args.from_blobs)
    target = open_record_at(args.target, settings, args.to_blobs)
    try:
        if source.identity() == target.identity():
            raise UsageError("FROM and TO are the same record. Name another place for TO.")
        return _copy(args, source, target)
    except KeyboardInterrupt:
        screen.warn("Stopped. The same command continues where it stopped.")
        raise
    finally:
        source.close()
        target.close()


def _copy(args: argparse.Namespace, source: Store, target: Store) -> int:
    steps = plan(source, target, args.session)
    erased = [step for step in steps if step.verdict == "erase"]
    if erased and not _confirm_erasure(erased, args):
        erased, todo = [], [step for step in steps if step.verdict != "erase"]
    else:
        todo = steps
    failed, watch = _run_steps(source, target, todo)
    compared = compare(source, target, [step.name for step in steps], quick=args.quick)
    reasons = {**{one.name: one.why for one in compared.differences}, **failed}
    _say(args, steps, [step.name for step in erased], watch, compared, reasons)
    return _DIFFERENT if reasons else 0


def _confirm_erasure(erased: Sequence[CopyStep], args: argparse.Namespace) -> bool:
    for step in erased[:_LISTED]:
        screen.warn(f"  {step.name}: {_entries(step.here.entries)} that FROM has erased")
    if len(erased) > _LISTED:
        screen.warn(f"  and {screen.plural(len(erased) - _LISTED, 'session')} more")
    return screen.confirm(f"Permanently erase them in {printable_address(args.target)} too?", args.yes)


def _run_steps(source: Store, target: Store, steps: Sequence[CopyStep]) -> tuple[dict[str, str], "_Watch"]:
    """Carry out the steps; return the sessions that failed with the reasons, and the progress."""
    failed: dict[str, str] = {}
    with screen.Progress("copying", sum(_bytes(step) for step in steps), in_bytes=True) as progress:
        watch = _Watch(progress, steps)
        for step in steps:
            try:
                carry_out(source, target, step, watch.entry)
            except (Damaged, NotFound) as error:
                failed[step.name] = str(error)
            watch.session()
    return failed, watch


def _bytes(step: CopyStep) -> int:
    """The approximate bytes of bodies in a step, by the average size of the session's entries."""
    if step.info is None or not step.there.entries:
        return 0
    return step.info.stored * step.entries // step.there.entries


def _entries(number: int) -> str:
    return screen.plural(number, "entry", "entries")


class _Watch:
    """The progress of a copy: a bar on a terminal, else a line now and then."""

    def __init__(self, progress: screen.Progress, steps: Sequence[CopyStep]) -> None:
        self._progress, self._sessions = progress, len(steps)
        self._printed_at, self._lines = time.monotonic(), not sys.stderr.isatty()
        self.entries = self.bytes = self.done = 0

    def entry(self, entry: Entry) -> None:
        """Count an entry that is durable in the copy."""
        self.entries += 1
        self.bytes += entry.facts.size
        self._progress.set_done(self.bytes)
        if self._lines and time.monotonic() - self._printed_at > _SECONDS:
            self._printed_at = time.monotonic()
            sessions = f"{self.done:,} of {self._sessions:,} sessions"
            screen.warn(f"copying: {sessions}, {self.entries:,} entries, {size_text(self.bytes)}")

    def session(self) -> None:
        """Count a session that is done."""
        self.done += 1


def _say(
    args: argparse.Namespace,
    steps: Sequence[CopyStep],
    erased: Sequence[str],
    watch: _Watch,
    compared: Comparison,
    reasons: Mapping[str, str],
) -> None:
    kept = [step.name for step in steps if step.is_kept_erased]
    if args.json:
        places = {"from": printable_address(args.source), "to": printable_address(args.target)}
        counts = {"sessions": sum(step.info is not None for step in steps), "entries": compared.entries}
        done = {"copied": watch.entries, "bytes": watch.bytes, "erased": erased, "kept_erased": kept}
        screen.print_json({**places, **counts, **done, "equal": not reasons, "head": compared.head, "differ": reasons})
        return
    screen.say(f"Copied {_entries(watch.entries)}, {size_text(watch.bytes)}.")
    for name in kept[:_LISTED]:
        screen.say(f"  {name}: was erased in TO, and stays so")
    for name in list(reasons)[:_LISTED]:
        screen.say(f"✗ {name}: {screen.line(reasons[name])}")
    if reasons:
        screen.say(
            f"✗ {len(reasons):,} of {len(steps):,} sessions differ. Run the same command again to copy what is missing."
        )
    else:
        sessions = sum(step.info is not None for step in steps)
        words = f"{screen.plural(sessions, 'session')}, {_entries(compared.entries)}"
        screen.say(f"✓ {words}, heads equal: {compared.head[:16]}")
