"""The log of what was sent to a provider and what came back: any past request again, byte for byte.

Owns: the order of things: catch up with the record, write the manifest against a base, append, and make sure that what
the manifest rests on is still there.
Must not know: how a request is split (`manifest_writer`), how bytes are sent.
"""

import hashlib
import threading
import zlib
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias

from keepwhole import events
from keepwhole.canonical.entry import Request, Response
from keepwhole.canonical.manifest import encode_manifest
from keepwhole.errors import Damaged, NotFound
from keepwhole.exchange.manifest_writer import (
    EarlierRequest,
    EarlierRequests,
    ManifestPieces,
    as_bytes,
    split,
    split_into_pieces,
)
from keepwhole.models.profiles import is_listed
from keepwhole.session import Session
from keepwhole.store.protocol import Row, Store, body_of, entry_of
from keepwhole.store.requests import Requests

Outcome: TypeAlias = Literal["complete", "incomplete", "refused"]
NO_ANSWER = "no answer"
_SMALLEST_PACKED = 1_024


class RequestFacts(NamedTuple):
    """What is recorded of a request besides its bytes; the fields are those of the entry `Request`."""

    dialect: str = ""
    model: str = ""
    branch: str = "main"
    purpose: str = "turn"
    policy: str = ""
    mode: str = ""
    tokens_whole: int = 0
    tokens_sent: int = 0
    predicted: int | None = None
    edited: int = 0
    decisions: int = 0
    recall: str = ""
    scale: float = 0.0
    would_send: int | None = None
    would_edit: int | None = None
    by_plan: bool | None = None


class AnswerFacts(NamedTuple):
    """What a provider billed and how long it took; the fields are those of the entry `Response`."""

    input: int | None = None
    cached: int | None = None
    written: int | None = None
    output: int | None = None
    first_ms: int | None = None
    total_ms: int | None = None
    queue_ms: int | None = None
    own_ms: int | None = None
    limits: str | None = None
    answered_by: str | None = None
    written_hour: int | None = None


class LoggedAnswer(NamedTuple):
    """What came back for a request."""

    data: bytes
    status: int
    outcome: Outcome = "complete"
    response_id: str | None = None
    usage: AnswerFacts = AnswerFacts()


class LoggedRequest(NamedTuple):
    """One request on record, and its answer if there is one."""

    seq: int
    request: Request
    response: Response | None

    @property
    def answered_by(self) -> str | None:
        """The model that the provider says it used, where the request names another."""
        return self.response.answered_by if self.response is not None else None

    @property
    def model(self) -> str:
        """The model whose prices count: the one that the provider says it used, where the request's name is no
        model's."""
        answered_by = self.answered_by
        return answered_by if answered_by and not is_listed(self.request.model) else self.request.model

    @property
    def outcome(self) -> str:
        """How it ended."""
        return NO_ANSWER if self.response is None else self.response.outcome


class RequestLog:
    """The requests of one session. Safe from threads. Writing never raises: the request is sent all the same."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._lock = threading.Lock()
        self._earlier = EarlierRequests()

    def add(self, body: bytes, facts: RequestFacts | None = None, answer: LoggedAnswer | None = None) -> str | None:
        """Record a request, with its answer where it is there; return its id, or None where it cannot be stored."""
        try:
            with self._lock:
                return self._add(body, facts or RequestFacts(), answer)
        except Exception as error:  # the log must never stand in the way of what is sent
            events.log_unrecorded(self._session.id, "request", type(error).__name__)
            return None

    def add_answer(self, trace_id: str, answer: LoggedAnswer) -> bool:
        """Record what came back for a request; return whether that could be done."""
        try:
            data, packing = _pack(answer.data)
            self._session.writer.append_made((lambda at, _: _response(answer, packing, at, trace_id), data))
        except Exception as error:
            events.log_unrecorded(self._session.id, "response", type(error).__name__)
            return False
        return True

    def all(self) -> list[LoggedRequest]:
        """Every request in order with the newest answer to it, without bodies; damaged entries are left out."""
        requests: dict[str, tuple[int, Request]] = {}
        responses: dict[str, Response] = {}
        for row in self._session.store.rows(self._session.id, kind=("request", "response"), light=True):
            try:
                header = entry_of(row).header
            except Damaged:
                continue
            if isinstance(header, Request):
                requests[row.trace_id] = row.seq, header
            elif isinstance(header, Response):
                responses[row.trace_id] = header
        return [LoggedRequest(seq, request, responses.get(name)) for name, (seq, request) in requests.items()]

    def body(self, trace_id: str) -> bytes:
        """Read a request exactly as it was sent."""
        return Requests(self._session.store, self._session.id).body(self._find_row("request", trace_id))

    def response(self, trace_id: str) -> bytes:
        """Read what came back for a request, exactly as it came."""
        return read_response(self._session.store, self._find_row("response", trace_id))

    def _find_row(self, kind: str, trace_id: str) -> Row:
        row = self._session.store.newest(self._session.id, kind, trace_id)
        if row is None:
            name = self._session.id
            list_command = f"`keepwhole sent --session {name}`"
            raise NotFound(f"Session `{name}` has no {kind} `{trace_id[:80]}`. {list_command} lists what was sent.")
        return row

    def _add(self, body: bytes, facts: RequestFacts, answer: LoggedAnswer | None) -> str:
        data, packing = _pack(answer.data if answer is not None else b"")
        beside = [(partial(_response, answer, packing), data)] if answer is not None else []
        parts = split(body, self._earlier.parts_of_branch(facts.branch))
        journal = self._session.conversations.journal
        while True:
            with journal.lock:
                journal.catch_up()
                base = self._find_base(parts, facts.branch)
                made = split_into_pieces(parts, base, journal.origins_of)
                known_up_to = journal.seq
            request = partial(_request, body, facts, base, made, parts)
            entry = self._session.writer.append_made((request, encode_manifest(made.pieces)), *beside)
            if self._is_there(max(known_up_to, base.seq if base else 0)):
                break  # else the session was purged just now, and what this request rests on is gone
            self._earlier.forget()
        self._earlier.add(made.request, entry.seq, facts.branch, base)
        return entry.header.trace_id

    def _find_base(self, parts: list[str], branch: str) -> EarlierRequest | None:
        """The request to write another one against."""
        base = self._earlier.best_base(parts, branch)
        if base is None or self._is_there(base.seq):
            return base
        self._earlier.forget()
        return None

    def _is_there(self, seq: int) -> bool:
        return not seq or self._session.store.entry(self._session.id, seq) is not None


def read_response(store: Store, row: Row) -> bytes:
    """Read the response that a row records, exactly as it came."""
    header = entry_of(row).header
    with store.open(body_of(row)) as reader:
        data = reader.read()
    return zlib.decompress(data) if isinstance(header, Response) and header.packing else data


def _request(
    body: bytes,
    facts: RequestFacts,
    base: EarlierRequest | None,
    made: ManifestPieces,
    parts: list[str],
    at: int,
    trace_id: str,
) -> Request:
    return Request(
        at=at,
        trace_id=trace_id,
        size=len(body),
        digest=hashlib.sha256(body).hexdigest(),
        base=base.seq if base else None,
        same=len(as_bytes("".join(parts[: made.same]))),
        **facts._asdict(),
    )


def _pack(data: bytes) -> tuple[bytes, str]:
    """What is stored of an answer, and how it is packed."""
    packed = zlib.compress(data, 1) if len(data) >= _SMALLEST_PACKED else data
    return (packed, "zlib") if len(packed) < len(data) else (data, "")


def _response(answer: LoggedAnswer, packing: str, at: int, trace_id: str) -> Response:
    usage: dict[str, Any] = answer.usage._asdict()
    return Response(
        at=at,
        trace_id=trace_id,
        status=answer.status,
        outcome=answer.outcome,
        response_id=answer.response_id,
        packing=packing,
        **usage,
    )
