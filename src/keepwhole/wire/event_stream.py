"""Amazon's event-stream framing (`application/vnd.amazon.eventstream`), and its frames as server-sent events.

Owns: where a frame ends, its headers and checksums, and which frame an event goes back into.
Must not know: what an event says; sockets.

Theory of operation
-------------------

Bedrock streams an answer in binary frames. A frame is

    total length (4) | length of headers (4) | CRC32 of these eight bytes (4) | headers | payload | CRC32 of all (4)

and a header is a length (1), a name, a type (1) and a value. For a model of Anthropic each frame of the event `chunk`
has the payload `{"bytes": "<base64 of an event>", "p": "<padding>"}`, and the event is one that Anthropic itself would
stream. So an answer is read as Anthropic's: `FramedStream.decode` gives each frame as one server-sent event, and
`encode` puts events back into frames. An event that nobody changed goes back in the very frame that it came in; a new
one gets a new frame. ConverseStream has no chunks: the frame's own event type is the name of the event, and its payload
is the data.

Invariants: frames with a wrong checksum or length are never taken for events: from there on all bytes pass as they
came, and the client's own reader refuses them; a frame that is cut stays held until the rest of it is there.
"""

import base64
import binascii
import json
import struct
from collections import deque
from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeAlias

from keepwhole.wire.fields import fields_of
from keepwhole.wire.sse import Event, Events

FrameKind: TypeAlias = Literal["chunks", "events"]
"""Whether a frame has an event of another provider in a chunk, or is an event itself."""
_PRELUDE = struct.Struct(">III")
_CRC = struct.Struct(">I")
_LENGTH = struct.Struct(">H")
_LARGEST = 24 * 1024 * 1024
"""Most bytes of a frame, as in Amazon's own reader, which allows 16 MB of payload."""
_SIZES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""Bytes of a header's value by its type, for types of a fixed size."""
_BYTES, _TEXT = 6, 7
_EVENT = {":content-type": "application/json", ":message-type": "event"}
_FAILED = {":content-type": "application/json", ":message-type": "exception"}
_EXCEPTIONS = {
    "invalid_request_error": "validationException",
    "rate_limit_error": "throttlingException",
    "overloaded_error": "serviceUnavailableException",
}
"""What Amazon calls the errors of other dialects, by which its clients decide whether to ask again."""
_OTHER = "aws"
"""The name of an event that no dialect knows, so it passes: an exception, or what is no chunk among chunks."""


class BadFrame(ValueError):
    """Bytes that are no frame."""


class Frame(NamedTuple):
    """One frame of a stream."""

    headers: dict[str, str]
    """Those that are texts."""
    payload: bytes
    raw: bytes


class Frames:
    """Bytes in, whole frames out."""

    def __init__(self) -> None:
        self._held = bytearray()

    def feed(self, data: bytes) -> list[Frame]:
        """Take bytes and return the frames that are whole by now; `BadFrame` where the next one is none."""
        self._held += data
        found: list[Frame] = []
        try:
            while (frame := self._next()) is not None:
                found.append(frame)
                del self._held[: len(frame.raw)]
        except BadFrame:
            if not found:
                raise
        return found

    def _next(self) -> Frame | None:
        """The frame with which what is held begins; None where it is not whole yet."""
        if len(self._held) < _PRELUDE.size:
            return None
        total, _, checksum = _PRELUDE.unpack_from(self._held)
        if not 16 <= total <= _LARGEST or binascii.crc32(self._held[:8]) != checksum:
            raise BadFrame("the prelude of a frame is damaged")
        return read_frame(bytes(self._held[:total])) if len(self._held) >= total else None

    def rest(self) -> bytes:
        """What came after the last whole frame."""
        rest, self._held = bytes(self._held), bytearray()
        return rest


def read_frame(raw: bytes) -> Frame:
    """Read one frame; `BadFrame` where a length or a checksum is wrong."""
    total, length, _ = _PRELUDE.unpack_from(raw)
    end = _PRELUDE.size + length
    if total != len(raw) or end > total - _CRC.size:
        raise BadFrame("the lengths of a frame do not fit")
    if _CRC.unpack_from(raw, total - _CRC.size)[0] != binascii.crc32(raw[: -_CRC.size]):
        raise BadFrame("the checksum of a frame is wrong")
    try:
        return Frame(_read_headers(raw[_PRELUDE.size : end]), raw[end : -_CRC.size], raw)
    except (IndexError, KeyError, struct.error, UnicodeDecodeError) as error:
        raise BadFrame("the headers of a frame cannot be read") from error


def _read_headers(data: bytes) -> dict[str, str]:
    headers: dict[str, str] = {}
    at = 0
    while at < len(data):
        stop = at + 1 + data[at]
        name, kind = data[at + 1 : stop].decode(), data[stop]
        at = stop + 1
        if kind in (_BYTES, _TEXT):
            size, at = _LENGTH.unpack_from(data, at)[0], at + _LENGTH.size
        else:
            size = _SIZES[kind]
        if at + size > len(data):
            raise IndexError
        if kind == _TEXT:
            headers[name] = data[at : at + size].decode()
        at += size
    return headers


def write_frame(headers: Mapping[str, str], payload: bytes) -> bytes:
    """A frame with text headers.

    >>> read_frame(write_frame({":event-type": "chunk"}, b"{}"))[:2]
    ({':event-type': 'chunk'}, b'{}')
    """
    written = b"".join(_write_header(name.encode(), value.encode()) for name, value in headers.items())
    lengths = struct.pack(">II", 16 + len(written) + len(payload), len(written))
    frame = lengths + _CRC.pack(binascii.crc32(lengths)) + written + payload
    return frame + _CRC.pack(binascii.crc32(frame))


def _write_header(name: bytes, value: bytes) -> bytes:
    return bytes((len(name),)) + name + bytes((_TEXT,)) + _LENGTH.pack(len(value)) + value


class FramedStream:
    """One streamed answer: frames in and events out, events in and frames out."""

    def __init__(self, kind: FrameKind = "chunks") -> None:
        self._kind: FrameKind = kind
        self._frames = Frames()
        self._came_in: dict[bytes, deque[bytes]] = {}
        """The frames of the events that were handed out and not put back yet, by the event's bytes."""
        self.is_broken = False
        """Whether the stream is no longer read, since a frame was damaged."""

    def decode(self, data: bytes) -> bytes:
        """Take bytes of the provider and return the events in the frames that are whole by now.

        Where a frame is damaged, `is_broken` is set, and `rest` has the bytes from there on.
        """
        try:
            found = self._frames.feed(data)
        except BadFrame:
            self.is_broken = True
            return b""
        return b"".join(map(self._hand_out, found))

    def encode(self, events: bytes) -> bytes:
        """The frames of whole events."""
        return b"".join(map(self._put_back, Events().feed(events)))

    def rest(self) -> bytes:
        """What came after the last whole frame."""
        return self._frames.rest()

    def events_in(self, data: bytes) -> bytes:
        """All whole frames of an answer as events, up to the first that is damaged; an error that is JSON stays."""
        return FramedStream(self._kind).decode(data) if data[:1] == b"\0" else data

    def _hand_out(self, frame: Frame) -> bytes:
        event = event_of(frame) if self._kind == "chunks" else written_event(_name_of(frame), frame.payload)
        self._came_in.setdefault(event, deque()).append(frame.raw)
        return event

    def _put_back(self, event: Event) -> bytes:
        frames = self._came_in.get(event.raw)
        if frames:
            return frames.popleft()
        if event.name == "error":
            error = fields_of(event.data().get("error"))
            kind = _EXCEPTIONS.get(str(error.get("type")), "modelStreamErrorException")
            data = json.dumps({"message": str(error.get("message"))}).encode()
            return write_frame({":exception-type": kind, **_FAILED}, data)
        if self._kind == "events":
            return write_frame({":event-type": event.name, **_EVENT}, event.text.encode())
        chunk = json.dumps({"bytes": base64.b64encode(event.text.encode()).decode()})
        return write_frame({":event-type": "chunk", **_EVENT}, chunk.encode())


def _name_of(frame: Frame) -> str:
    name = frame.headers.get(":event-type", "")
    is_event = frame.headers.get(":message-type") == "event" and name.isalnum()
    return name if is_event else _OTHER


def event_of(frame: Frame) -> bytes:
    """A frame as a server-sent event: what is inside of a chunk, or the payload of any other frame."""
    if frame.headers.get(":event-type") == "chunk":
        try:
            return chunk_event(base64.b64decode(fields_of(json.loads(frame.payload))["bytes"], validate=True))
        except (ValueError, KeyError, TypeError, RecursionError):
            pass  # it passes like any other frame
    return written_event(_OTHER, frame.payload)


def chunk_event(inner: bytes) -> bytes:
    """The server-sent event that a chunk carries.

    >>> chunk_event(b'{"type":"ping"}')
    b'event: ping\\ndata: {"type":"ping"}\\n\\n'
    """
    return written_event(str(fields_of(json.loads(inner)).get("type", _OTHER)), inner)


def written_event(name: str, data: bytes) -> bytes:
    """A server-sent event with these bytes as its data."""
    lines = b"".join(b"data: %s\n" % line for line in data.splitlines() or [b""])
    return b"event: %s\n%s\n" % (name.encode(), lines)


def is_framed(content_type: str) -> bool:
    """Whether a response of this type comes in frames."""
    return content_type.lower().startswith("application/vnd.amazon.eventstream")
