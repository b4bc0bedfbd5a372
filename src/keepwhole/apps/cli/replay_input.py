"""The input of `keepwhole replay`: policies by name or settings file, and the logs to replay.

Owns: finding both, and asking before the logs of a client are read.
Must not know: how runs are replayed.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from keepwhole import config
from keepwhole.apps.cli import replay_screen, screen
from keepwhole.errors import UsageError
from keepwhole.logs.locations import find_log_locations
from keepwhole.logs.reader import find_logs
from keepwhole.policies.catalog import BUILT_IN, policy_named
from keepwhole.recall.names import OFFERED_TOKENS
from keepwhole.replay.contenders import Contender, contender_named, contender_names, same_policy
from keepwhole.replay.samples.files import write_samples


def contender(name: str) -> Contender:
    """A policy by name, or by a settings file that chooses one; only the file counts, not the environment."""
    if name in contender_names() or not os.path.exists(name):
        return contender_named(name)
    if not name.endswith((".yaml", ".yml")):
        raise UsageError(f"`{name}` is not a settings file (`.yaml`). Give logs before `--policy`.")
    found = config.load(name, environ={})
    with open(name, encoding="utf-8") as file:
        text = file.read()
    policy = found.policy if found.mode != "off" else "everything"
    make = same_policy(lambda: policy_named(policy, auto=found.auto, truncation=found.truncation))
    return Contender(name, make, text, ours=True, tools=OFFERED_TOKENS if policy in BUILT_IN else 0)


@contextmanager
def logs_to_replay(args: argparse.Namespace) -> Generator[Sequence[Path] | None]:
    """The logs to replay: those named, made-up ones, or those of the clients on this machine."""
    if args.sample and args.paths:
        raise UsageError("`--sample` replays made-up sessions. Leave out the logs, or `--sample`.")
    if args.sample:
        with tempfile.TemporaryDirectory(prefix="keepwhole-replay-") as folder:
            write_samples(Path(folder))
            yield find_logs([Path(folder)])
    elif args.paths:
        missing = [path for path in args.paths if not path.exists()]
        if missing:
            raise UsageError(f"There is no `{missing[0]}`. Give a log, or a folder of logs.")
        yield find_logs(args.paths)
    else:
        yield _find_client_logs(ask=not args.json)


def _find_client_logs(ask: bool) -> Sequence[Path] | None:
    """The logs of the clients on this machine; None where the user does not want them replayed."""
    found = find_log_locations(Path.home(), os.environ)
    if not found:
        screen.warn(
            "No logs of Claude Code, Codex, Gemini CLI, opencode or SWE-agent were found here.\n"
            "Name some: `keepwhole replay PATH`. Or look at made-up ones: `keepwhole replay --sample`."
        )
    elif ask:
        replay_screen.print_places(found)
        if not _ask_permission():
            return None
    return [path for place in found for path in place.files]


def _ask_permission() -> bool:
    """Whether the user agrees; without a terminal the answer is yes."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return True
    print("Replay these? Nothing leaves this machine. [Y/n] ", end="", flush=True)
    return sys.stdin.readline().lower() in ("\n", "y\n", "yes\n")  # the end of input means no
