"""What each address of the page tells, as JSON: a function an address. They run on worker threads.

Owns: which question goes to whom.
Must not know: sockets, who may ask.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from keepwhole.apps.inspector import health, requests, results, shapes, what_if_settings
from keepwhole.apps.inspector.services import Desk

_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Asked(NamedTuple):
    """What a request asks for."""

    names: tuple[str, ...] = ()
    """What stands in the places of the path: a session, then a result or a request of it."""
    query: Mapping[str, str] = _NOTHING
    given: Mapping[str, Any] = _NOTHING
    """The body."""

    @property
    def session(self) -> str:
        """The session that is meant."""
        return self.names[0]

    @property
    def id(self) -> str:
        """The result or request that is meant."""
        return self.names[1]


def list_sessions(desk: Desk, asked: Asked) -> Mapping[str, Any]:
    """The sessions of the record."""
    return desk.sessions.listed(asked.query)


def one_session(desk: Desk, asked: Asked) -> Mapping[str, Any]:
    """One session at a glance."""
    return desk.sessions.one(asked.session)


def list_steps(desk: Desk, asked: Asked) -> Mapping[str, Any]:
    """Some steps of a session."""
    timeline = desk.record.timeline(asked.session)
    with timeline.lock:
        total = len(timeline.steps)
        start, count = shapes.number(asked.query, "from", 0, 0, total), shapes.number(asked.query, "count", 40, 1, 100)
        steps = [shapes.step(step) for step in timeline.steps[start : start + count]]
        return {"total": total, "from": start, "seq": timeline.seq, "steps": steps}


def list_results(desk: Desk, asked: Asked) -> Mapping[str, Any]:
    """Some results of a session."""
    return results.listed(desk.record, asked.session, asked.query)


def search(desk: Desk, asked: Asked) -> Mapping[str, Any]:
    """The results in which some words are."""
    return desk.search(asked.session, asked.query.get("query", ""), shapes.number(asked.query, "most", 20, 1, 100))


def one_result(desk: Desk, asked: Asked) -> Mapping[str, Any]:
    """One result beside what is shown of it."""
    return results.one(desk.record, asked.session, asked.id, asked.query)


def lines(desk: Desk, asked: Asked) -> Mapping[str, Any]:
    """Some lines of a result."""
    return results.lines(desk.record, asked.session, asked.id, asked.query)


def lines_at_once(desk: Desk, asked: Asked) -> Mapping[str, Any] | None:
    """The same, where it takes hardly any time; else None."""
    return results.lines_at_once(desk.record, asked.session, asked.id, asked.query)


def find(desk: Desk, asked: Asked) -> Mapping[str, Any]:
    """The lines of a result in which a text is."""
    return results.find(desk.record, asked.session, asked.id, asked.query)


def one_request(desk: Desk, asked: Asked) -> Mapping[str, Any]:
    """Some of a request as it was sent."""
    return requests.request(desk.record, asked.session, asked.id, asked.query)


def one_response(desk: Desk, asked: Asked) -> Mapping[str, Any]:
    """Some of what came back for a request."""
    return requests.response(desk.record, asked.session, asked.id, asked.query)


def play(desk: Desk, asked: Asked) -> Mapping[str, Any]:
    """What other settings would have come to."""
    return desk.play.play(asked.session, asked.given)


def verify(desk: Desk, asked: Asked) -> Mapping[str, Any]:
    """Proof that a session is what was written."""
    return health.verified(desk.record, asked.session)


def pin(desk: Desk, asked: Asked) -> Mapping[str, Any]:
    """Keep a result whole from now on."""
    return {"tokens": desk.record.session(asked.session).pin(asked.id)}


def undo(desk: Desk, asked: Asked) -> Mapping[str, Any]:
    """Show a result whole again."""
    return {"tokens": desk.record.session(asked.session).undo(asked.id)}


def policies(desk: Desk, asked: Asked) -> Mapping[str, Any]:
    """What can be tried."""
    return what_if_settings.policies(desk.record.settings)


def look(desk: Desk, asked: Asked) -> Mapping[str, Any]:
    """How the record is."""
    return desk.health.look()
