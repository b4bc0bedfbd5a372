"""What was sent to a provider and what came back, on record: any past request again, byte for byte.

Owns: the order of things: catch up, write against a base, append, and make sure that what it rests on is still there.
Must not know: how a request is taken apart, how bytes are sent.
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
from keepwhole.exchange.manifest_writer import Bases, Known, Written, written
from keepwhole.record.text_origins import Texts
from keepwhole.session import Session
from keepwhole.store.protocol import Row, body_of, entry_of
from keepwhole.store.requests import Requests
from keepwhole.wire.request_parts import as_bytes, split

Outcome: TypeAlias = Literal["complete", "incomplete", "refused"]
NO_ANSWER = "no answer"
_LEAST_PACKED = 1_024


class About(NamedTuple):
    """What is said of a request beside its bytes; the words are those of `Request`."""

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


class Usage(NamedTuple):
    """What a provider billed and how long it took; the words are those of `Response`."""

    input: int | None = None
    cached: int | None = None
    written: int | None = None
    output: int | None = None
    first_ms: int | None = None
    total_ms: int | None = None


class Answer(NamedTuple):
    """What came back for a request."""

    data: bytes
    status: int
    outcome: Outcome = "complete"
    response_id: str | None = None
    usage: Usage = Usage()


class Step(NamedTuple):
    """One request on record, and its answer if there is one."""

    seq: int
    request: Request
    response: Response | None

    @property
    def outcome(self) -> str:
        """How it ended."""
        return NO_ANSWER if self.response is None else self.response.outcome


class Sent:
    """The requests of one session. Safe from threads; trouble with the record never comes out of writing."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._lock = threading.Lock()
        self._texts = Texts(session.store, session.id)
        self._bases = Bases()

    def add(self, body: bytes, about: About | None = None, answer: Answer | None = None) -> str | None:
        """Put a request on record, with its answer where that is there already; gives its id, or None where it
        could not be stored."""
        try:
            with self._lock:
                return self._add(body, about or About(), answer)
        except Exception as error:  # what is put on record must never stand in the way of what is sent
            events.log_unrecorded(self._session.id, "request", type(error).__name__)
            return None

    def answered(self, trace_id: str, answer: Answer) -> bool:
        """Put on record what came back for a request; whether that could be done."""
        try:
            data, packing = _packed(answer.data)
            self._session.enter((lambda at, _: _response(answer, packing, at, trace_id), data))
        except Exception as error:
            events.log_unrecorded(self._session.id, "response", type(error).__name__)
            return False
        return True

    def all(self) -> list[Step]:
        """Every request in order with the newest answer to it, without bodies; what is damaged is left out."""
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
        return [Step(seq, request, responses.get(name)) for name, (seq, request) in requests.items()]

    def body(self, trace_id: str) -> bytes:
        """A request exactly as it was sent."""
        return Requests(self._session.store, self._session.id).body(self._row("request", trace_id))

    def response(self, trace_id: str) -> bytes:
        """What came back for a request, as it came."""
        row = self._row("response", trace_id)
        header = entry_of(row).header
        with self._session.store.open(body_of(row)) as reader:
            data = reader.read()
        return zlib.decompress(data) if isinstance(header, Response) and header.packing else data

    def _row(self, kind: str, trace_id: str) -> Row:
        row = self._session.store.newest(self._session.id, kind, trace_id)
        if row is None:
            raise NotFound(
                f"Session `{self._session.id}` has no {kind} `{trace_id[:80]}`. `keepwhole sent` lists what was sent."
            )
        return row

    def _add(self, body: bytes, about: About, answer: Answer | None) -> str:
        data, packing = _packed(answer.data if answer is not None else b"")
        beside = [(partial(_response, answer, packing), data)] if answer is not None else []
        parts = split(body, self._bases.like(about.branch))
        while True:
            base = self._base(parts, about.branch)
            made = written(parts, base, self._texts.find)
            request = partial(_request, body, about, base, made, parts)
            entry = self._session.enter((request, encode_manifest(made.pieces)), *beside)
            if self._is_there(max(self._texts.seen, base.seq if base else 0)):
                break  # else somebody purged the session just now, and what this request rests on is gone
            self._bases.forget()
        self._bases.add(made.known, entry.seq, about.branch, base)
        return entry.header.trace_id

    def _base(self, parts: list[str], branch: str) -> Known | None:
        """The request to write another against; the texts on record are known then."""
        self._texts.catch_up()
        base = self._bases.best_for(parts, branch)
        if base is None or self._is_there(base.seq):
            return base
        self._bases.forget()
        return None

    def _is_there(self, seq: int) -> bool:
        return not seq or self._session.store.entry(self._session.id, seq) is not None


def _request(
    body: bytes, about: About, base: Known | None, made: Written, parts: list[str], at: int, trace_id: str
) -> Request:
    return Request(
        at=at,
        trace_id=trace_id,
        size=len(body),
        digest=hashlib.sha256(body).hexdigest(),
        base=base.seq if base else None,
        same=len(as_bytes("".join(parts[: made.same]))),
        **about._asdict(),
    )


def _packed(data: bytes) -> tuple[bytes, str]:
    """What is stored of an answer, and how it is packed."""
    packed = zlib.compress(data, 1) if len(data) >= _LEAST_PACKED else data
    return (packed, "zlib") if len(packed) < len(data) else (data, "")


def _response(answer: Answer, packing: str, at: int, trace_id: str) -> Response:
    about: dict[str, Any] = answer.usage._asdict()
    return Response(
        at=at,
        trace_id=trace_id,
        status=answer.status,
        outcome=answer.outcome,
        response_id=answer.response_id,
        packing=packing,
        **about,
    )
