"""`keepwhole forget ID | --text STRING`: remove one result, or a string wherever it was kept, for good."""

import argparse
import glob
import os
import sys

from keepwhole.apps.cli import screen
from keepwhole.apps.cli.command_context import CommandContext, add_options
from keepwhole.record.forget import Forgetting, as_forgetful, carry_out, has_text, plan_by_result, plan_by_text
from keepwhole.store.protocol import Forgets

_ON_A_SERVER = (
    "The server's files have its bytes until the tables are rewritten: as their owner, run `VACUUM FULL` on `entries`, "
    "`pieces` and `passages`. Its write-ahead log, standbys, dumps and older versions of objects in a bucket have them "
    "until those expire, and other machines may have copies for reading under `results/` in their homes."
)


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    add_options(parser)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("id", metavar="ID", nargs="?", help="a trace id or an artifact id")
    what.add_argument(
        "--text", metavar="STRING", help="delete every entry that contains this string; - reads it from standard input"
    )
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.set_defaults(act=forget)


def forget(args: argparse.Namespace) -> int:
    """Forget a result or a string, and say what may still have it."""
    context = CommandContext(args)
    try:
        store = as_forgetful(context.store)
        text = sys.stdin.read().rstrip("\n") if args.text == "-" else args.text
        plans = _plans(context, args, text)
        count = sum(len(plan.seqs) for plan in plans)
        if count and not screen.confirm(f"Permanently delete {_described(plans)}?", args.yes):
            return 1
        for plan in plans:
            if plan.seqs:
                carry_out(context.store, plan)
        files = _remove_leftovers(store, text)
        _report(context, args, plans, files)
        return 0 if count or files else 1
    finally:
        context.close()


def _plans(context: CommandContext, args: argparse.Namespace, text: str | None) -> list[Forgetting]:
    if text is None:
        row = context.find_result(args.id)
        return [plan_by_result(context.store, row.session, row)]
    sessions = [context.current_session()] if args.session else context.store.sessions()
    return [plan_by_text(context.store, info.name, text) for info in sessions]


def _remove_leftovers(store: Forgets, text: str | None) -> int:
    if text is None:
        return 0
    return store.remove_leftovers(lambda data: has_text(data, text))


def _described(plans: list[Forgetting]) -> str:
    kinds: dict[str, int] = {}
    for plan in plans:
        for kind, count in plan.kinds.items():
            kinds[kind] = kinds.get(kind, 0) + count
    words = [f"{count:,} {kind}{'' if count == 1 else 's'}" for kind, count in kinds.items()]
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:]))) or "nothing"


def _report(context: CommandContext, args: argparse.Namespace, plans: list[Forgetting], files: int) -> None:
    older = sorted(glob.glob(os.path.join(glob.escape(context.settings.home), "record.db.before-*")))
    gone = {plan.session: list(plan.seqs) for plan in plans if plan.seqs}
    if args.json:
        screen.print_json({"forgotten": gone, "files": files, "still_in": older})
        return
    if not gone and not files:
        screen.say(
            "Nothing was removed: no entry contains this text. `keepwhole search --by words WORD` finds what is there."
        )
        return
    extra = f" and {files} cop{'y' if files == 1 else 'ies'} that no entry needs" if files else ""
    screen.say(f"Removed {_described(plans)}{extra}. Their hashes stay, and `keepwhole sessions verify` accepts them.")
    for path in older:
        screen.say(f"It may still be in {screen.line(path)}, which was made before an update; delete that file.")
    if context.settings.store:
        screen.say(_ON_A_SERVER)
    screen.say(
        "Backups, exports and copies made earlier still have it, and so does an agent that continues to send it."
    )
