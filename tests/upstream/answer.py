"""What a provider answers, and how it misbehaves: late, torn, stalled, packed, refused, or no answer at all.

Owns: statuses, headers and bytes of an answer. Must not know: sockets.
"""

import gzip
import itertools
import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

from tests.upstream.spelling import SPELLINGS, Dialect, Json, Part, event

Then: TypeAlias = Literal["close", "reset", "stall"]
_KINDS = {429: "rate_limit_error", 500: "api_error", 529: "overloaded_error"}


_STATUSES = {429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE"}
_EXCEPTIONS = {429: "ThrottlingException", 500: "InternalServerException", 503: "ServiceUnavailableException"}


class Answer(NamedTuple):
    """An answer to one request."""

    said: Sequence[Part] = ()
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    """These bytes in place of what was said."""
    delay: float = 0.0
    """Seconds before the first byte."""
    after: int | None = None
    """So many bytes of the body come, and then something happens."""
    then: Then = "close"
    breaks_off: int | None = None
    """So many events of a stream come, and then an error."""
    packed: bool = False
    piece: int | None = None
    """A stream comes in pieces of so many bytes, whatever its events are."""
    pause: float = 0.0
    """Seconds before every piece."""


def refusal(dialect: Dialect, status: int, message: str, code: str | None = None, param: str | None = None) -> Answer:
    """An error as this dialect's provider writes it."""
    if dialect == "gemini":
        own = {"error": {"code": status, "message": message, "status": _STATUSES.get(status, "INVALID_ARGUMENT")}}
        return Answer(status=status, body=json.dumps(own).encode(), headers=(("content-type", "application/json"),))
    if dialect == "converse":
        kind = ("x-amzn-errortype", _EXCEPTIONS.get(status, "ValidationException"))
        headers = (("content-type", "application/json"), kind)
        return Answer(status=status, body=json.dumps({"message": message}).encode(), headers=headers)
    kind = _KINDS.get(status, "invalid_request_error")
    error: Json = {"type": kind, "message": message}
    body = {"type": "error", "error": error} if dialect == "anthropic" else {"error": {**error, "code": code}}
    if dialect != "anthropic":
        body["error"]["param"] = param
    return Answer(status=status, body=json.dumps(body).encode(), headers=(("content-type", "application/json"),))


def written(answer: Answer, dialect: Dialect, streamed: bool, number: int, usage: Json | None) -> Iterator[bytes]:
    """The pieces of an answer's body; a single one, if it does not come as a stream."""
    if answer.body is not None:
        whole = [answer.body]
    elif streamed:
        whole = _events(answer, dialect, number, usage)
    else:
        whole = [json.dumps(SPELLINGS[dialect].whole(list(answer.said), number, usage)).encode()]
    if answer.packed:
        whole = _packed(whole) if streamed else [gzip.compress(b"".join(whole))]
    return iter(whole) if answer.piece is None else _in_pieces(b"".join(whole), answer.piece)


def _events(answer: Answer, dialect: Dialect, number: int, usage: Json | None) -> Iterator[bytes]:
    events = SPELLINGS[dialect].events(list(answer.said), number, usage)
    if answer.breaks_off is None:
        yield from events
        return
    yield from itertools.islice(events, answer.breaks_off)
    error: Json = {"type": "overloaded_error", "message": "Overloaded"}
    if dialect == "openai_chat":
        yield event("", {"error": error})
    elif dialect == "gemini":
        yield event("", {"error": {"code": 503, "message": "Overloaded", "status": "UNAVAILABLE"}})
    elif dialect == "converse":
        yield event("error", {"message": "Overloaded"})
    elif dialect == "anthropic":
        yield event("error", {"type": "error", "error": error})
    else:
        yield event("error", {"type": "error", "code": "server_error", "message": "Overloaded", "param": None})


def _packed(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """A stream packed so that every event can be read when it comes."""
    pack = zlib.compressobj(wbits=31)
    for piece in pieces:
        yield pack.compress(piece) + pack.flush(zlib.Z_SYNC_FLUSH)
    yield pack.flush()


def _in_pieces(data: bytes, size: int) -> Iterator[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))
