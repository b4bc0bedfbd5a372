"""`keepwhole import PATH…`: imports the logs of agents into the record, to search and show past runs."""

import argparse
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from keepwhole.apps.cli import screen
from keepwhole.apps.cli.command_context import CommandContext, add_options
from keepwhole.apps.cli.replay_screen import print_unread
from keepwhole.errors import UsageError
from keepwhole.logs.duplicates import read_all
from keepwhole.logs.lines import UnreadPart, file_size
from keepwhole.logs.reader import find_logs
from keepwhole.logs.run import Run
from keepwhole.record.log_import import Imported, import_run, session_of

_NOTHING = 1
_LISTED = 20
"""Sessions that are listed for people."""
_SUMS = ("results", "added", "truncated", "restored", "refused")


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    add_options(parser, session=False)
    parser.add_argument(
        "paths", nargs="+", type=Path, metavar="PATH", help="logs that `replay` reads, or folders of them"
    )
    parser.epilog = "What was imported before is not added again. To import an archive: `keepwhole sessions import`."
    parser.set_defaults(act=import_logs)


def import_logs(args: argparse.Namespace) -> int:
    """Read logs and record their results; exit code 1 where there are none."""
    missing = [path for path in args.paths if not path.exists()]
    if missing:
        raise UsageError(f"There is no `{missing[0]}`. Give a log, or a folder of logs.")
    context = CommandContext(args)
    paths = find_logs(args.paths)
    done: list[Imported] = []
    bad: list[UnreadPart] = []
    apart = 0
    try:
        for found, name in _imported(context, paths):
            if isinstance(found, UnreadPart):
                bad.append(found)
            else:
                done.append(found)
                apart += found.session != name
    finally:
        context.close()
    report = _report(done, bad, apart)
    if args.json:
        screen.print_json(report)
    else:
        _print(done, report)
    return 0 if done else _NOTHING


def _imported(context: CommandContext, paths: Sequence[Path]) -> Iterator[tuple[Imported | UnreadPart, str]]:
    """Import runs; yield each with the usual name of its session, and every part that could not be read."""
    now, chars = int(time.time() * 1000), 0
    with screen.Progress("importing", sum(map(file_size, paths)), in_bytes=True) as progress:
        for found in read_all(paths):
            if isinstance(found, UnreadPart):
                yield found, ""
                continue
            chars += found.chars
            progress.set_done(chars)
            if _has_results(found):
                settings = context.settings
                imported = import_run(
                    context.store,
                    found,
                    quota=settings.session_quota,
                    now=now,
                    random=os.urandom,
                    with_words=settings.store_words == "on",
                )
                yield imported, session_of(found)


def _has_results(run: Run) -> bool:
    return any(message.returned for message in run.messages)


def _report(done: Sequence[Imported], bad: Sequence[UnreadPart], apart: int) -> dict[str, Any]:
    return {
        "runs": len(done),
        **{key: sum(getattr(one, key) for one in done) for key in _SUMS},
        "apart": apart,
        "sessions": [one._asdict() for one in done],
        "unread": [{**one.as_dict(), "path": str(one.path)} for one in bad],
    }


def _print(done: Sequence[Imported], report: dict[str, Any]) -> None:
    print_unread(report["unread"])
    if not done:
        screen.say(
            "There are no tool results in these logs. Give other logs; Claude Code, for example, writes its own to "
            "`~/.claude/projects`."
        )
        return
    news = [one for one in done if one.added]
    if news:
        rows = [(one.session, f"{one.added:,}", f"{one.truncated:,}", f"{one.restored:,}") for one in news[:_LISTED]]
        screen.print_table(("Session", "Results", "Cut before", "Restored"), rows, right=(1, 2, 3))
    if len(news) > _LISTED:
        screen.say(f"and {len(news) - _LISTED:,} more")
    known = report["results"] - report["added"] - report["refused"]
    runs, added = screen.plural(report["runs"], "run"), screen.plural(report["added"], "result")
    screen.say(f"\n{runs}, {added} added, {known:,} already in the record.")
    if report["truncated"]:
        screen.say(
            f"{report['truncated']:,} had been cut before they were imported; they are marked `legacy_truncated`."
        )
    if report["restored"]:
        screen.say(f"{report['restored']:,} are complete again, from copies beside the logs.")
    if report["refused"]:
        screen.warn(f"{report['refused']:,} are over `session_quota` and were left out. Raise it and import again.")
    if report["apart"]:
        screen.say(f"{report['apart']:,} have the source and id of another run; a number was added to their names.")
    screen.say(screen.dim(f"search one: keepwhole search --session {done[0].session} WORDS"))
