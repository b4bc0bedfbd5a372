"""Where a command works: settings, store and session, from the options, the environment and the folder.

Owns: the rules of which session is meant.
Must not know: what a command does there.
"""

import argparse
import hashlib
import os

from keepwhole import config
from keepwhole.errors import NotFound
from keepwhole.session import Session
from keepwhole.store.factory import open_store
from keepwhole.store.protocol import Row, SessionInfo


def add_options(parser: argparse.ArgumentParser, session: bool = True) -> None:
    """The options that most commands have."""
    parser.add_argument("--config", metavar="FILE", help="settings file (default: the nearest keepwhole.yaml)")
    parser.add_argument("--json", action="store_true", help="print JSON for programs")
    if session:
        parser.add_argument(
            "--session", metavar="ID", help="session (default: $KEEPWHOLE_SESSION, else the newest here)"
        )


class Place:
    """The record that holds here."""

    def __init__(self, args: argparse.Namespace, patience: float | None = None, home: str | None = None) -> None:
        """With `patience`, nobody waits longer than so many seconds for others who write; `home` is another record."""
        self.settings = config.load(args.config, home=home)
        self.store = open_store(
            self.settings.store,
            self.settings.home,
            blobs=self.settings.blobs,
            inline_body=self.settings.inline_body,
            patience=patience,
        )
        self._asked: str | None = getattr(args, "session", None) or os.environ.get("KEEPWHOLE_SESSION")

    def current(self) -> SessionInfo:
        """The session that is meant: the one asked for, else the newest in this folder, else the newest."""
        if self._asked:
            return self.info(self._asked)
        sessions = self.store.sessions()
        if not sessions:
            raise NotFound(
                f"There is no session in `{self.settings.home}` yet. Keep something first, for example with "
                "`keepwhole run -- ls`."
            )
        here = os.getcwd()
        return next((info for info in sessions if _inside(here, info.workspace)), sessions[0])

    def info(self, name: str) -> SessionInfo:
        """The session called `name`, or the only one whose name begins so."""
        exact = self.store.session(name)
        near = [exact] if exact else [info for info in self.store.sessions() if info.name.startswith(name)]
        if len(near) != 1:
            how = "several sessions begin" if near else "there is no session"
            raise NotFound(f"For `{name}` {how} like that. `keepwhole sessions list` shows them.")
        return near[0]

    def session(self, name: str) -> Session:
        """A session over this place's store."""
        return Session(name, store=self.store, settings=self.settings, policy=self.settings.truncation)

    def writing(self) -> Session:
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
            policy=self.settings.truncation,
            workspace=workspace,
        )

    def find(self, any_id: str) -> Row:
        """The result with this id: in the session asked for, else anywhere in the record."""
        names = [self._asked] if self._asked else [info.name for info in self.store.sessions()]
        for name in names:
            row = self.store.find(name, any_id)
            if row is not None:
                return row
        raise NotFound(f"There is no result `{any_id[:80]}` here. `keepwhole artifacts list` shows what there is.")

    def holder(self, kind: str, trace_id: str) -> str | None:
        """The session that has an entry of this kind with this id: the one asked for, or any."""
        names = [self._asked] if self._asked else [info.name for info in self.store.sessions()]
        return next((name for name in names if self.store.newest(name, kind, trace_id) is not None), None)

    def close(self) -> None:
        """Close the store."""
        self.store.close()


def _inside(folder: str, workspace: str | None) -> bool:
    return workspace is not None and (folder == workspace or folder.startswith(workspace.rstrip("/") + "/"))


def _shell(workspace: str) -> str:
    """The name of a workspace's shell session in a record that many workspaces share."""
    return "shell-" + hashlib.sha256(os.fsencode(workspace)).hexdigest()[:10]
