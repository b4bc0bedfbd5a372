"""What the declarations of tools take of every request, server by server, and which tools were never called.

Owns: putting together what the newest request of a session declares and which tools have results on record.
Must not know: how it is printed.
"""

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple

from keepwhole.errors import Damaged, StoreError
from keepwhole.exchange.request_log import LoggedRequest
from keepwhole.recall.names import is_recall
from keepwhole.store.protocol import Store, result_of
from keepwhole.store.requests import Requests
from keepwhole.wire.declarations import Declaration, by_server, declarations_in
from keepwhole.wire.request_body import read_request

OURS = "keepwhole"


class ServerTools(NamedTuple):
    """The tools of one server, or of the client itself, that a session declares."""

    server: str
    """Empty for the client's own tools."""
    tools: tuple[str, ...]
    tokens: int
    """Tokens of their declarations in every request."""
    never_called: tuple[str, ...]
    """The tools that have no result on record."""

    @property
    def title(self) -> str:
        """What people read."""
        return self.server or "the client's own"


def declared_tools(body: bytes, called: Collection[str]) -> list[ServerTools]:
    """Return the tools that a request declares, given the names of all that were called."""
    request = read_request(body)
    declared = [] if request is None else declarations_in(request.fields)
    named = [one._replace(server=OURS) if is_recall(one.name) else one for one in declared]
    return [
        ServerTools(
            server, tuple(one.name for one in tools), sum(one.tokens for one in tools), _uncalled(tools, called)
        )
        for server, tools in by_server(named).items()
    ]


def _uncalled(tools: Iterable[Declaration], called: Collection[str]) -> tuple[str, ...]:
    """Recall tools are answered on the way: their calls are no results of the session."""
    return tuple(one.name for one in tools if one.server != OURS and one.name not in called)


def session_tools(store: Store, session: str, steps: Iterable[LoggedRequest]) -> list[ServerTools]:
    """Return what the newest of a session's requests that declares tools tells; empty where none does."""
    called, requests = _called_tools(store, session), Requests(store, session)
    for step in sorted(steps, key=lambda step: -step.seq):
        row = store.entry(session, step.seq)
        try:
            found = [] if row is None else declared_tools(requests.body(row), called)
        except StoreError:
            found = []
        if found:
            return found
    return []


def _called_tools(store: Store, session: str) -> set[str]:
    """Return the names of the tools that have results on record; damaged entries are left out."""
    found: set[str] = set()
    for row in store.rows(session, kind="result", light=True):
        with suppress(Damaged):
            found.add(result_of(row).tool)
    return found


def add_up(sessions: Iterable[Iterable[ServerTools]]) -> list[tuple[ServerTools, int]]:
    """Return the tools of several sessions by server, each with the number of sessions that declare some of them.

    Tokens are those of a session, on average; a tool was never called if no session called it.
    """
    found: dict[str, list[ServerTools]] = {}
    for tools in sessions:
        for one in tools:
            found.setdefault(one.server, []).append(one)
    rows = [(_joined(server, several), len(several)) for server, several in found.items()]
    return sorted(rows, key=lambda row: -row[0].tokens * row[1])


def _joined(server: str, several: Sequence[ServerTools]) -> ServerTools:
    names = dict.fromkeys(name for one in several for name in one.tools)
    called = {name for one in several for name in one.tools if name not in one.never_called}
    tokens = round(sum(one.tokens for one in several) / len(several))
    never = () if server == OURS else tuple(name for name in names if name not in called)
    return ServerTools(server, tuple(names), tokens, never)
