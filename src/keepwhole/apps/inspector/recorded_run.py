"""A session of the record as a run that `replay` measures.

Owns: which messages of which requests make up the whole conversation, and that every result in it is whole.
Must not know: policies, figures.

A request has all messages of its conversation until a summary takes the place of the older ones. So the requests just
before such a change are read, and the newest one, and from each of them what comes behind the last call that is known:

    request 248   user  call 1 … call 247                     all of it
    request 249   user with a summary  call 246  call 247      a summary: not read by itself
    request 434   user with a summary  call 246 … call 433     what is behind call 247
"""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

from keepwhole.apps.conversations import TURNS
from keepwhole.apps.inspector.record import Record
from keepwhole.apps.inspector.timeline import Timeline
from keepwhole.canonical.entry import Request
from keepwhole.errors import KeepwholeError, StoreError
from keepwhole.exchange.request_log import LoggedRequest
from keepwhole.logs.own_format import run_of
from keepwhole.logs.run import Run
from keepwhole.wire import dialects
from keepwhole.wire.dialects import decode_message
from keepwhole.wire.request_body import RequestBody, read_request


class NotEnoughRecorded(KeepwholeError):
    """Too little of a session is recorded to replay it, or too much to do so while somebody waits."""


def run_of_session(record: Record, timeline: Timeline) -> tuple[Run, list[str]]:
    """A session as a run: what its requests have, with every result whole, or its results where it has no request."""
    newest = newest_turn(record, timeline)
    with timeline.lock:
        results = [kept.result for kept in timeline.results.values()]
        steps = timeline.totals.main.own(timeline.steps)
    if newest is not None:
        sent = [step.request for step in steps if step.request is not None and step.seq <= newest.seq]
        own = [request for request in sent if request.purpose in TURNS]
        made = {"source": "record", "id": timeline.session, "messages": _conversation(record, timeline.session, own)}
        return run_of({**made, "meta": {"model": newest.model}}), []
    messages = [message for result in results for message in _messages(record, timeline.session, result)]
    notes = ["No request was recorded: results and calls are replayed, without the words of user and assistant."]
    return run_of({"source": "record", "id": timeline.session, "messages": messages}), notes


def newest_turn(record: Record, timeline: Timeline) -> LoggedRequest | None:
    """The newest request of a session's main agent; None where it has none."""
    with timeline.lock:
        found = timeline.totals.main.current(partial(record.request_body, timeline.session))
        return None if found is None else found.sent


def _conversation(record: Record, name: str, requests: Sequence[Request]) -> list[Any]:
    """The messages of a branch, from its first request to its newest."""
    newest = _body(record, name, requests[-1])
    if newest is None or not newest.messages:
        raise NotEnoughRecorded("The newest request has no messages that can be read.")
    fields = (newest.fields.get(key) for key in dialects.TABLE.instructions_fields)
    system = [{"role": "system", "content": value} for value in fields if value]
    found: list[Any] = []
    known: set[str] = set()
    for body in (*_before_summaries(record, name, requests), newest):
        fresh = list(body.messages[_behind_known(body.messages, known) :])
        known.update(call for message in fresh for call in _calls(message))
        found += record.session(name).hydrate(fresh)
    end = {"role": "assistant", "content": ""}  # the step that the newest request was made for
    return [*system, *found, end]


def _before_summaries(record: Record, name: str, requests: Sequence[Request]) -> Iterator[RequestBody]:
    """The last requests before one with fewer messages."""
    for before, after in pairwise(requests):
        if after.size >= before.size:
            continue  # batches make requests smaller too; only a summary makes messages fewer
        longer, shorter = _body(record, name, before), _body(record, name, after)
        if longer is not None and shorter is not None and len(shorter.messages) < len(longer.messages):
            yield longer


def _body(record: Record, name: str, request: Request) -> RequestBody | None:
    """A request; None where it is damaged or has another form."""
    try:
        return read_request(record.request_body(name, request.trace_id))
    except StoreError:
        return None


def _behind_known(messages: Sequence[Any], known: set[str]) -> int:
    """Where the messages begin that come after the last one with a known call; 0 where there is none."""
    return next((at + 1 for at in range(len(messages) - 1, -1, -1) if known.intersection(_calls(messages[at]))), 0)


def _calls(message: Any) -> list[str]:
    """The ids of the calls that a message makes or answers."""
    decoded = decode_message(message)
    return [call.call_id for call in decoded.calls] + [one.call_id for one in decoded.returned]


def _messages(record: Record, name: str, result: Any) -> Iterator[dict[str, Any]]:
    """A call and its result as two messages of a chat."""
    with record.open_result(name, result.trace_id) as (kept, reader):
        text = reader.text() if kept.result.media_type == "text/plain" else ""
    call = {"name": result.tool, "arguments": result.arguments or "{}"}
    calls = [{"id": result.trace_id, "type": "function", "function": call}]
    yield {"role": "assistant", "content": None, "tool_calls": calls}
    yield {"role": "tool", "tool_call_id": result.trace_id, "content": text}
