"""Amazon's frames: read as botocore reads them, written as it takes them, at every cut, and never when damaged."""

import base64
import binascii
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwhole.wire.event_stream import BadFrame, FramedStream, Frames, read_frame, write_frame

CHUNK = {":event-type": "chunk", ":content-type": "application/json", ":message-type": "event"}
EVENTS: list[dict[str, Any]] = [
    {"type": "message_start", "message": {"usage": {"input_tokens": 3}}},
    {"type": "ping"},
    {"type": "ping"},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "wörds\n"}},
    {"type": "message_stop"},
]


def frame_of(event: dict[str, Any], padding: str = "abc") -> bytes:
    inner = base64.b64encode(json.dumps(event).encode()).decode()
    return write_frame(CHUNK, json.dumps({"bytes": inner, "p": padding}).encode())


STREAM = b"".join(frame_of(event, "p" * at) for at, event in enumerate(EVENTS))


def test_what_nobody_changed_goes_back_in_its_own_frames_at_every_cut() -> None:
    for cut in range(len(STREAM) + 1):
        stream = FramedStream()
        sent = b"".join(stream.encode(stream.decode(piece)) for piece in (STREAM[:cut], STREAM[cut:]))
        assert (sent, stream.rest()) == (STREAM, b"")


def test_botocore_reads_the_frames_of_changed_events() -> None:
    eventstream: Any = pytest.importorskip("botocore.eventstream")
    stream, buffer = FramedStream(), eventstream.EventStreamBuffer()
    assert stream.decode(STREAM).count(b"\n\n") == len(EVENTS)
    buffer.add_data(
        stream.encode(b'event: ping\ndata: {"type":"new"}\n\nevent: error\ndata: {"error":{"message":"m"}}\n\n')
    )
    chunk, failed = list(buffer)
    assert base64.b64decode(json.loads(chunk.payload)["bytes"]) == b'{"type":"new"}'
    assert chunk.to_response_dict()["headers"][":event-type"] == "chunk"
    assert (failed.to_response_dict()["status_code"], json.loads(failed.payload)) == (400, {"message": "m"})


@given(st.dictionaries(st.text(min_size=1, max_size=20), st.text(max_size=50), max_size=4), st.binary(max_size=200))
def test_a_frame_is_read_as_it_was_written(headers: dict[str, str], payload: bytes) -> None:
    raw = write_frame(headers, payload)
    assert read_frame(raw) == (headers, payload, raw)


@given(st.integers(0, len(STREAM) - 1), st.integers(1, 255))
def test_no_damaged_frame_is_taken_for_an_event(at: int, flip: int) -> None:
    damaged = bytearray(STREAM)
    damaged[at] ^= flip
    stream = FramedStream()
    passed = stream.encode(stream.decode(bytes(damaged)))
    assert passed + stream.rest() == bytes(damaged)
    assert STREAM.startswith(passed)


def test_headers_of_every_type_are_skipped_or_read() -> None:
    values = [
        b"\x00",
        b"\x01",
        b"\x02a",
        b"\x03ab",
        b"\x04abcd",
        b"\x05" + b"x" * 8,
        b"\x06\x00\x02ab",
        b"\x08" + b"x" * 8,
    ]
    headers = b"".join(b"\x01n" + value for value in [*values, b"\x09" + b"x" * 16, b"\x07\x00\x03yes"])
    whole = write_frame({}, headers)
    raw = bytearray(whole)
    raw[4:8] = len(headers).to_bytes(4, "big")
    raw[8:12] = binascii.crc32(raw[:8]).to_bytes(4, "big")
    raw[-4:] = binascii.crc32(raw[:-4]).to_bytes(4, "big")
    assert read_frame(bytes(raw)).headers == {"n": "yes"}


def test_bytes_that_are_no_frame_are_refused() -> None:
    with pytest.raises(BadFrame, match="prelude"):
        Frames().feed(b"data: {}\n\ndata: {}\n\n")
    assert FramedStream().events_in(b"data: {}\n\n") == b"data: {}\n\n"
