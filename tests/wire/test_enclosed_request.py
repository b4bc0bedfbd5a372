"""Requests inside of other bodies are found, and changed without changing a byte around them."""

import base64
import json

import pytest

from keepwhole.wire.dialects import enclosed_in, endpoint_of
from keepwhole.wire.enclosed_request import Enclosure, take_out

STUDIO = "/v1beta/models/gemini-3-pro:countTokens"
VERTEX = "/v1/projects/p/locations/us/publishers/google/models/gemini-3-pro:countTokens"
CLAUDE = "/model/eu.anthropic.claude-sonnet-5/count-tokens"
OTHER = "/model/amazon.nova-pro-v1%3A0/count-tokens"
CONVERSE = b'{"input" :\n{"converse": {"messages": [ ], "n": 1E5}, "x": "\xc3\xa9"} }'


def invoked(request: bytes) -> bytes:
    return json.dumps({"input": {"invokeModel": {"body": base64.b64encode(request).decode()}}}).encode()


@pytest.mark.parametrize(
    ("path", "body", "dialect", "request_inside"),
    [
        (CLAUDE, CONVERSE, "converse", b'{"messages": [ ], "n": 1E5}'),
        (OTHER, CONVERSE, "converse", b'{"messages": [ ], "n": 1E5}'),
        (CLAUDE, invoked(b'{"messages": []}'), "anthropic", b'{"messages": []}'),
        (STUDIO, b'{"generateContentRequest": {"contents": []}}', "gemini", b'{"contents": []}'),
        (VERTEX, b'{"generate_content_request": {"contents": []}}', "gemini", b'{"contents": []}'),
        (STUDIO, b'{"contents": []}', "gemini", b'{"contents": []}'),
        (VERTEX, b'{"contents": [], "tools": []}', "gemini", b'{"contents": [], "tools": []}'),
    ],
)
def test_the_request_is_found_in_its_dialect(path: str, body: bytes, dialect: str, request_inside: bytes) -> None:
    found = enclosed_in(path, body)
    assert found is not None
    endpoint, inside = found
    assert (endpoint.dialect.name, endpoint.counts, inside.data) == (dialect, True, request_inside)
    assert endpoint.provider == endpoint_of(path).provider  # pyright: ignore[reportOptionalMemberAccess]
    assert inside.around(inside.data) == body, "nothing to change is the same bytes"


def test_every_byte_around_a_changed_request_stays() -> None:
    found = enclosed_in(OTHER, CONVERSE)
    assert found is not None
    changed = '{"messages": ["ü"]}'.encode()
    assert found[1].around(changed) == CONVERSE.replace(b'{"messages": [ ], "n": 1E5}', changed)
    within = enclosed_in(CLAUDE, invoked(b'{"messages": []}'))
    assert within is not None
    assert within[1].around(changed) == invoked(changed)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"\xff{}",
        b"{}",
        b'{"input": {"converse": {}}} more',
        b'{"input": {"converse": {}, "converse": {}}}',
        b'{"input": {"converse": {}}, "input": {"converse": {}}}',
        b'{"input": {"invokeModel": {"body": "no base64!"}}}',
        b'{"input": {"invokeModel": {"body": 7}}}',
        b'{"input": "converse"}',
        b'{"input": ' + b"[" * 100_000,
    ],
)
def test_what_cannot_be_understood_is_passed_on(body: bytes) -> None:
    assert enclosed_in(CLAUDE, body) is None


def test_two_requests_in_one_body_are_none() -> None:
    both = b'{"a": {}, "b": {}}'
    assert take_out(both, Enclosure((("a",), ("b",)))) is None
    assert take_out(both, Enclosure((("a",), ("c",)))) is not None
