"""`keepwhole doctor`: is the record safe here? Each check reports what it found and what to do."""

import argparse

from keepwhole.apps import doctor as checks
from keepwhole.apps.cli import screen
from keepwhole.apps.cli.advice import without_own_advice
from keepwhole.apps.cli.command_context import CommandContext, add_options
from keepwhole.store.protocol import ChecksStorage

_SIGNS: dict[checks.Grade, str] = {"ok": "✓", "note": "•", "bad": "✗"}


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    add_options(parser, session=False)
    parser.add_argument("--full", action="store_true", help="also verify every byte of every session")
    parser.add_argument(
        "--accept", action="store_true", help="accept that a record went back in time, and what it lost"
    )
    parser.set_defaults(act=doctor)


def doctor(args: argparse.Namespace) -> int:
    """Run all checks; exit code 1 if anything is bad."""
    context = CommandContext(args)
    if args.accept and isinstance(context.store, ChecksStorage):
        context.store.accept()
    found = [one for _, one in checks.examine_record(context.settings, context.store)]
    if args.full and not checks.any_bad(found):
        entries = sum(info.entries for info in context.store.sessions())
        with screen.Progress("verifying entries", entries) as progress:
            verified = checks.verify_sessions(context.store, lambda _: progress.step())
        found += [one.replace(what=screen.in_full_list(one.what)) for one in verified]
    context.close()
    found = [one.replace(what=without_own_advice(one.what, ("doctor",))) for one in found]
    if args.json:
        screen.print_json([{"grade": one.grade, "what": one.what} for one in found])
    else:
        for one in found:
            screen.say(f"{_SIGNS[one.grade]} {screen.line(one.what, 600)}")
    return 1 if checks.any_bad(found) else 0
