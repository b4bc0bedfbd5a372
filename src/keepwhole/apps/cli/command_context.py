"""The settings, the store and the session of a command, from its options, the environment and the folder.

Owns: the options that commands share, and the rules by which a session is found.
Must not know: what a command does.
"""

import argparse
import hashlib
import os
from collections.abc import Callable
from typing import TypeAlias

from keepwhole import config
from keepwhole.apps.cli.parser import WholeNumber
from keepwhole.errors import NotFound, UsageError
from keepwhole.session import Session
from keepwhole.store.protocol import Row, SessionInfo

Actions: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # pyright: ignore[reportPrivateUsage]


def add_config(parser: argparse.ArgumentParser, option: str = "--config") -> None:
    """Add the option that names the settings file."""
    parser.add_argument(option, metavar="FILE", help="settings file (default: the nearest keepwhole.yaml)")


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add the option that prints JSON."""
    parser.add_argument("--json", action="store_true", help="print JSON for programs")


def add_count(parser: argparse.ArgumentParser, option: str, help: str, default: int | None = None) -> None:
    """Add an option that takes a whole number, one at least."""
    parser.add_argument(option, type=WholeNumber(1), default=default, metavar="N", help=help)


def add_mode(parser: argparse.ArgumentParser) -> None:
    """Add the option that sets the mode."""
    parser.add_argument(
        "--mode",
        choices=("off", "shadow", "on"),
        help="off: change nothing; shadow: only report what would change; on: do it",
    )


def add_options(parser: argparse.ArgumentParser, session: bool = True) -> None:
    """Add the options that most commands have."""
    add_config(parser)
    add_json(parser)
    if session:
        parser.add_argument(
            "--session", metavar="ID", help="session (default: $KEEPWHOLE_SESSION, else the newest here)"
        )


def add_action(
    actions: Actions,
    name: str,
    act: Callable[[argparse.Namespace], int],
    help: str,
    session: bool = True,
) -> argparse.ArgumentParser:
    """Add one action of a command (`sessions list`), with the options that most commands have."""
    parser = actions.add_parser(name, help=help)
    add_options(parser, session)
    parser.set_defaults(act=act)
    return parser


def add_part(parser: argparse.ArgumentParser) -> "argparse._MutuallyExclusiveGroup":  # pyright: ignore[reportPrivateUsage]
    """Add the options that choose a part of a result; return their group."""
    part = parser.add_mutually_exclusive_group()
    part.add_argument("--lines", metavar="A-B", help="these lines, counted from 1")
    part.add_argument("--chars", metavar="A-B", help="these characters, counted from 0, B not included")
    return part


def refuse_together(args: argparse.Namespace, first: str, second: str) -> None:
    """Refuse two options of which one would be ignored."""
    if all(getattr(args, option.replace("-", "_")) for option in (first, second)):
        raise UsageError(f"`--{first}` and `--{second}` contradict each other. Leave one of them out.")


class CommandContext:
    """The settings, the store and the session of one command."""

    def __init__(self, args: argparse.Namespace, patience: float | None = None, home: str | None = None) -> None:
        """`patience` limits the seconds of waiting for other writers; `home` chooses another record."""
        self.settings = config.load(args.config, home=home)
        self.store = config.open_record(self.settings, patience)
        self._asked: str | None = getattr(args, "session", None) or os.environ.get("KEEPWHOLE_SESSION")

    def current_session(self) -> SessionInfo:
        """The session asked for, else the newest in this folder, else the newest of all."""
        if self._asked:
            return self.find_session(self._asked)
        sessions = self.store.sessions()
        if not sessions:
            raise NotFound(
                f"There is no session in `{self.settings.home}` yet. Keep something first, for example with "
                "`keepwhole run -- ls`."
            )
        here = os.getcwd()
        return next((info for info in sessions if _inside(here, info.workspace)), sessions[0])

    def find_session(self, name: str) -> SessionInfo:
        """The session called `name`, else the only one that a client calls so, else the only one that begins so."""
        near = self._near(name)
        if len(near) != 1:
            what = "Several sessions begin with" if near else "No session is named"
            raise NotFound(f"{what} `{name}`. List them with `keepwhole sessions list`.")
        return near[0]

    def _near(self, name: str) -> list[SessionInfo]:
        """The sessions that `name` may mean; the proxy calls the session `name` of an owner `name@owner`."""
        exact = self.store.session(name)
        if exact:
            return [exact]
        near = [info for info in self.store.sessions() if info.name.startswith(name)]
        return [info for info in near if info.name.startswith(f"{name}@")] or near

    def _names_asked(self) -> list[str]:
        """The names of the sessions in which an id is looked for: those asked for, else all."""
        near = self._near(self._asked) if self._asked else self.store.sessions()
        return [info.name for info in near]

    def session(self, name: str) -> Session:
        """A session in this store."""
        return Session(name, store=self.store, settings=self.settings)

    def shell_session(self) -> Session:
        """The session that `run` and `keep` write to: the one asked for, else this workspace's shell session."""
        workspace = os.getcwd()
        own = os.path.dirname(self.settings.home)
        if os.path.basename(self.settings.home) == config.FOLDER and _inside(workspace, own):
            name, workspace = ("shell", own) if own != os.path.expanduser("~") else (_shell(workspace), workspace)
        else:
            name = _shell(workspace)
        return Session(
            self._asked or name,
            agent="shell",
            store=self.store,
            settings=self.settings,
            workspace=workspace,
        )

    def find_result(self, any_id: str) -> Row:
        """The result with this id, also with the brackets of a notice: in the session asked for, else anywhere."""
        from keepwhole.recall.answer import id_in  # most commands find none

        any_id = id_in(any_id)
        for name in self._names_asked():
            row = self.store.find(name, any_id)
            if row is not None:
                return row
        raise NotFound(f"No result has the id `{any_id[:80]}` here. List them with `keepwhole artifacts list`.")

    def session_with(self, kind: str, trace_id: str) -> str | None:
        """The name of the session with an entry of this kind and id: the one asked for, or any."""
        return next((name for name in self._names_asked() if self.store.newest(name, kind, trace_id) is not None), None)

    def close(self) -> None:
        """Close the store."""
        self.store.close()


def _inside(folder: str, workspace: str | None) -> bool:
    return workspace is not None and (folder == workspace or folder.startswith(workspace.rstrip("/") + "/"))


def _shell(workspace: str) -> str:
    """The name of a workspace's shell session in a record that many workspaces share."""
    return "shell-" + hashlib.sha256(os.fsencode(workspace)).hexdigest()[:10]
