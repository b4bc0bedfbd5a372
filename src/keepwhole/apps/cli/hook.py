"""`keepwhole hook install | uninstall | status | run CLIENT`: connects coding agents by their hooks."""

import argparse
import os
from typing import TYPE_CHECKING

from keepwhole.apps.hooks.run import CLIENTS, run

if TYPE_CHECKING:
    from keepwhole.apps.hooks.install import Target

_NOT_INSTALLED = 1
_NEXT = {
    "claude-code": "It applies to sessions that start from now on.",
    "codex": "Codex asks once whether it may run them: start `codex`, open `/hooks`, and trust them.",
    "opencode": "It applies to sessions that start from now on.",
}


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the commands' options."""
    commands = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, summary, act in (
        ("install", "add Keepwhole's hooks to a client's settings; your own hooks stay", install),
        ("uninstall", "remove them again; nothing else in the file changes", uninstall),
        ("status", "say where hooks are installed; exit code 1 if they are not", status),
    ):
        own = commands.add_parser(name, help=summary)
        own.add_argument("client", choices=CLIENTS, metavar="CLIENT", help=" | ".join(CLIENTS))
        own.add_argument(
            "--scope", choices=("user", "project"), default="user", help="user (default), or project: this folder"
        )
        own.set_defaults(act=act)
    running = commands.add_parser("run", help="the command that the client runs: reads its JSON from standard input")
    running.add_argument("client", choices=CLIENTS, metavar="CLIENT", help=" | ".join(CLIENTS))
    running.set_defaults(act=answer)


def answer(args: argparse.Namespace) -> int:
    """Answer the hook on standard input."""
    return run(args.client)


def install(args: argparse.Namespace) -> int:
    """Install."""
    from keepwhole.apps.cli import screen
    from keepwhole.apps.hooks.install import install

    target = _target(args)
    if install(target):
        screen.say(f"Installed in {screen.safe(target.path)}: {args.client} runs `{screen.safe(target.command)}`.")
        screen.say(_NEXT[args.client])
        screen.say(_advice(args.client))
    else:
        screen.say(f"Already installed in {screen.safe(target.path)}.")
    return 0


def uninstall(args: argparse.Namespace) -> int:
    """Uninstall."""
    from keepwhole.apps.cli import screen
    from keepwhole.apps.hooks.install import uninstall

    target = _target(args)
    gone = uninstall(target)
    screen.say(f"{'Removed from' if gone else 'No hook of Keepwhole is in'} {screen.safe(target.path)}.")
    return 0


def status(args: argparse.Namespace) -> int:
    """Say where hooks are installed."""
    from keepwhole.apps.cli import screen
    from keepwhole.apps.hooks.install import installed

    target = _target(args)
    found = installed(target)
    words = ", ".join(f"`{screen.safe(command)}`" for command in found) if found else "not installed"
    screen.say(f"{args.client} ({target.scope}, {screen.safe(target.path)}): {words}")
    scope = "" if target.scope == "user" else f" --scope {target.scope}"
    screen.say(_advice(args.client) if found else f"Install it with `keepwhole hook install {args.client}{scope}`.")
    return 0 if found else _NOT_INSTALLED


def _advice(client: str) -> str:
    """Whether the client may read results back, and what to do where it may not."""
    from keepwhole.apps.cli import screen
    from keepwhole.apps.hooks.permission import advice
    from keepwhole.config import find_home

    results = os.path.join(find_home(os.environ, os.getcwd()), "results")
    return screen.safe(advice(client, results, os.environ, os.getcwd()))


def _target(args: argparse.Namespace) -> "Target":
    from keepwhole.apps.hooks.install import target

    return target(args.client, args.scope, os.environ, os.getcwd())
