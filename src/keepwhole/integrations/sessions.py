"""Which session a framework's conversation belongs to.

Owns: the three ways in which an adapter is given sessions. Must not know: any framework.
"""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import TypeAlias

from keepwhole.canonical.ids import is_session_id
from keepwhole.session import Session

SessionOf: TypeAlias = Callable[[str], Session]
"""Returns the session of a conversation, given the framework's id of it."""
_MOST = 256
"""Conversations whose sessions stay open; that of another one is opened again from the record."""


def session_finder(given: Session | SessionOf | None, agent: str) -> SessionOf:
    """The function that finds sessions: the one given, or one that names each session like its conversation."""
    if isinstance(given, Session):
        return lambda _: given
    return given if given is not None else _ByName(agent)


class _ByName:
    """Sessions by the names of conversations, over one store. Safe from threads; opened with the first one."""

    def __init__(self, agent: str) -> None:
        self._agent = agent
        self._lock = threading.Lock()
        self._first: Session | None = None
        self._open: OrderedDict[str, Session] = OrderedDict()

    def __call__(self, conversation: str) -> Session:
        with self._lock:
            if conversation not in self._open:
                self._open[conversation] = self._session(conversation)
            self._open.move_to_end(conversation)
            if len(self._open) > _MOST:
                self._open.popitem(last=False)
            return self._open[conversation]

    def _session(self, conversation: str) -> Session:
        name = conversation if is_session_id(conversation) else _digest(conversation)
        if self._first is None:
            self._first = Session(name, agent=self._agent)
            return self._first
        return Session(name, agent=self._agent, store=self._first.store, settings=self._first.settings)


def _digest(name: str) -> str:
    return "told-" + hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:32]
