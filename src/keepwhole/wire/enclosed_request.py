"""A request inside of a field of another body: some endpoints count the tokens of a request as it would be sent.

    Gemini            {"generateContentRequest": {"contents": [...], "tools": [...]}}
    Bedrock           {"input": {"converse": {"messages": [...], "toolConfig": {...}}}}
                      {"input": {"invokeModel": {"body": "eyJtZXNzYWdlcyI6IFsuLi5dfQ=="}}}

Owns: taking it out, and writing a view of it in its place; every byte around it stays as it came.
Must not know: what a request says.
"""

import base64
from collections.abc import Callable
from typing import NamedTuple

from keepwhole.canonical.json_steps import expect, skip_space, value_stop
from keepwhole.canonical.json_text import find_span, read_value
from keepwhole.canonical.message import Path


class Enclosure(NamedTuple):
    """Where a body has a request."""

    paths: tuple[Path, ...]
    """Where it may be; one of them in each body."""
    is_base64: bool = False
    """Whether it is a text, the bytes of the request in base64."""


class EnclosedRequest(NamedTuple):
    """A request that was taken out of a body."""

    data: bytes
    around: Callable[[bytes], bytes]
    """The body with another request in its place."""


def take_out(body: bytes, enclosure: Enclosure) -> EnclosedRequest | None:
    """The request in a body; None where there is none, or several, or the body cannot be read.

    >>> found = take_out(b'{"a": 1e0, "input": {"converse": {"messages": []}}}', Enclosure((("input", "converse"),)))
    >>> found.data, found.around(b"{}")
    (b'{"messages": []}', b'{"a": 1e0, "input": {"converse": {}}}')
    """
    try:
        text = body.decode()
        start = expect(text, skip_space(text, 0), "{") - 1
        if skip_space(text, value_stop(text, start)) != len(text):
            return None
        spans = [found for path in enclosure.paths if (found := find_span(text, start, path)) is not None]
        if len(spans) != 1:
            return None
        first, last = spans[0]
        inside = base64.b64decode(read_value(text, first)[0], validate=True) if enclosure.is_base64 else None
    except (ValueError, StopIteration, IndexError, RecursionError, TypeError):
        return None

    def around(data: bytes) -> bytes:
        """The body with another request; the same bytes where the request is the same."""
        if data == inside:
            return body
        written = data.decode() if inside is None else f'"{base64.b64encode(data).decode("ascii")}"'
        return (text[:first] + written + text[last:]).encode()

    return EnclosedRequest(text[first:last].encode() if inside is None else inside, around)
