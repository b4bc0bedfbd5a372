"""The JSON answer of each address of the page: one function per address, run on worker threads.

Owns: which part of the inspector answers which address.
Must not know: sockets, who may ask.
"""

import hashlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from keepwhole.apps.inspector import health, results, shapes, what_if
from keepwhole.apps.inspector.record import PATIENCE
from keepwhole.apps.inspector.services import InspectorServices
from keepwhole.apps.undo_figures import foresee_undo
from keepwhole.errors import NotFound

_NOTHING: Mapping[str, Any] = MappingProxyType({})
_PAGE = 65_536
"""The most characters of a request or a response in one answer."""


class PageRequest(NamedTuple):
    """What a request of the page asks for."""

    names: tuple[str, ...] = ()
    """The variable segments of the path: a session, then a result or a request of it."""
    query: Mapping[str, str] = _NOTHING
    given: Mapping[str, Any] = _NOTHING
    """The body."""

    @property
    def session(self) -> str:
        """The name of the session."""
        return self.names[0]

    @property
    def id(self) -> str:
        """The id of the result or request."""
        return self.names[1]


def list_sessions(services: InspectorServices, asked: PageRequest) -> Mapping[str, Any]:
    """The sessions of the record."""
    return services.sessions.list_page(asked.query)


def one_session(services: InspectorServices, asked: PageRequest) -> Mapping[str, Any]:
    """One session at a glance."""
    return services.sessions.describe(asked.session)


def list_steps(services: InspectorServices, asked: PageRequest) -> Mapping[str, Any]:
    """A page of a session's steps; of a long session that is still being read, those of the page that are read."""
    start, count = shapes.number(asked.query, "from", 0, 0, 1 << 40), shapes.number(asked.query, "count", 40, 1, 100)
    timeline = services.record.timeline(asked.session, PATIENCE, lambda timeline: len(timeline.steps) > start)
    with timeline.lock:
        total = len(timeline.steps)
        start = min(start, total)
        wanted = timeline.steps[start : start + count]
        about = {"total": total, "from": start, "seq": timeline.seq}
    return {**about, "steps": services.step_fields(timeline, wanted)}


def window_of_step(services: InspectorServices, asked: PageRequest) -> Mapping[str, Any]:
    """What fills the window at one step."""
    index = asked.id if asked.id.isascii() and asked.id.isdecimal() else "-1"
    return services.sessions.window_of_step(asked.session, int(index[:9]))


def list_results(services: InspectorServices, asked: PageRequest) -> Mapping[str, Any]:
    """A page of a session's results."""
    return results.list_results(services.record, asked.session, asked.query)


def search(services: InspectorServices, asked: PageRequest) -> Mapping[str, Any]:
    """The results that contain these words."""
    most, below = shapes.number(asked.query, "most", 20, 1, 100), shapes.number(asked.query, "after", 0, 0, 1 << 40)
    return services.search(asked.session, asked.query.get("query", ""), most, below or None)


def one_result(services: InspectorServices, asked: PageRequest) -> Mapping[str, Any]:
    """One result and the view of it."""
    return results.describe_result(services.record, asked.session, asked.id, asked.query)


def lines(services: InspectorServices, asked: PageRequest) -> Mapping[str, Any]:
    """A page of a result's lines."""
    return results.read_lines(services.record, asked.session, asked.id, asked.query)


def lines_if_ready(services: InspectorServices, asked: PageRequest) -> Mapping[str, Any] | None:
    """The same where the result is open already; else None."""
    return results.read_lines_if_ready(services.record, asked.session, asked.id, asked.query)


def find(services: InspectorServices, asked: PageRequest) -> Mapping[str, Any]:
    """The lines of a result that contain a text."""
    return results.find_text(services.record, asked.session, asked.id, asked.query)


def one_request(services: InspectorServices, asked: PageRequest) -> Mapping[str, Any]:
    """A page of a request as it was sent."""
    return _text_page(services.record.request_body(asked.session, asked.id), asked.query)


def one_response(services: InspectorServices, asked: PageRequest) -> Mapping[str, Any]:
    """A page of the response to a request."""
    return _text_page(services.record.response_body(asked.session, asked.id), asked.query)


def request_messages(services: InspectorServices, asked: PageRequest) -> Mapping[str, Any]:
    """A request as messages, with its changes since the one before."""
    return services.stories.request(asked.session, asked.id, asked.query)


def answer_messages(services: InspectorServices, asked: PageRequest) -> Mapping[str, Any]:
    """The answer to a request as messages."""
    return services.stories.answer(asked.session, asked.id, asked.query)


def story(services: InspectorServices, asked: PageRequest) -> Mapping[str, Any]:
    """What came in with a request, what the model answered, and what followed."""
    return services.stories.tell(asked.session, asked.id, asked.query)


def verify(services: InspectorServices, asked: PageRequest) -> Mapping[str, Any]:
    """Verify a session byte by byte."""
    return health.verify_session(services.record, asked.session)


def pin(services: InspectorServices, asked: PageRequest) -> Mapping[str, Any]:
    """Pin a result: it is shown in full from the next request on."""
    figures = foresee(services, asked)
    services.record.session(asked.session).pin(asked.id)
    return figures


def undo(services: InspectorServices, asked: PageRequest) -> Mapping[str, Any]:
    """Undo the decisions on a result: it is shown in full again."""
    figures = foresee(services, asked)
    services.record.session(asked.session).undo(asked.id)
    return figures


def foresee(services: InspectorServices, asked: PageRequest) -> Mapping[str, Any]:
    """What showing a result whole again would add to the next request, and what it would cost."""
    kept = services.record.find_result(asked.session, asked.id)
    session = services.record.session(asked.session)
    row = session.store.find(asked.session, kept.result.trace_id)
    if row is None:
        raise NotFound(f"Session `{asked.session[:80]}` no longer has the result `{asked.id[:80]}`.")
    return foresee_undo(session, row).as_dict()


def policies(services: InspectorServices, asked: PageRequest) -> Mapping[str, Any]:
    """The policies and settings that can be tried."""
    return what_if.policies(services.record.settings)


def health_report(services: InspectorServices, asked: PageRequest) -> Mapping[str, Any]:
    """The health of the record."""
    return services.health.report()


def _text_page(data: bytes, query: Mapping[str, str]) -> dict[str, Any]:
    """A page of a request or a response as text."""
    start, count = shapes.number(query, "from", 0, 0, 1 << 40), shapes.number(query, "count", _PAGE, 1, _PAGE)
    text = data.decode("utf-8", "replace")
    return {
        "size": len(data),
        "digest": hashlib.sha256(data).hexdigest(),
        "from": start,
        "chars": len(text),
        "text": text[start : start + count],
        "more": start + count < len(text),
    }
