"""Cache markers of a request: where a client put them, and one that Keepwhole adds.

Owns: `cache_control` on a block and `cachePoint` behind one, how many of them a request may have, and the text of a
message without them. Anthropic defines the first, and gateways to its models take it in other dialects too; the second
is Bedrock's.
Must not know: where a marker pays (`models.forecast`).
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from keepwhole.canonical.json_text import find_span
from keepwhole.wire.content import Json, blocks_of, fields_of, kind_of_part, parts_of

if TYPE_CHECKING:
    from keepwhole.wire.request_body import RequestBody

NAME, POINT = "cache_control", "cachePoint"
_NAMED = re.compile(rf'"(?:{NAME}|{POINT})"\s*:')
"""The names of the fields in a request; a string that quotes one has backslashes before its quotes."""
_POINT = rf'\{{\s*+"{POINT}"\s*+:\s*+\{{[^{{}}]*+\}}\s*+\}}'
_VALUE = rf'(?:"{NAME}"\s*+:\s*+(?:\{{[^{{}}]*+\}}|null)|{_POINT})'
_MARKER = re.compile(rf"(?<!\s)\s*+,\s*+{_VALUE}|{_VALUE}\s*+,?\s*+")
"""A marker with one comma; a run of white space is only looked at from its beginning, so no run is looked at twice."""
_BARE = frozenset(("thinking", "redacted_thinking"))
"""Blocks that may not carry a marker."""
_SECONDS = {"5m": 300, "1h": 3_600}


class Marker(NamedTuple):
    """One marker of a request."""

    message: int
    """Its index; -2 for tools, -1 for the system prompt, the number of messages for one at the top of the request."""
    block: int
    """Of its message, its tool, or its part of the system prompt."""
    ttl: str | None
    """How long the client wants the cache's entry to live."""

    @property
    def seconds(self) -> int | None:
        """The same in seconds, where the client says."""
        return _SECONDS.get(self.ttl or "")


def cache_markers(request: "RequestBody") -> list[Marker]:
    """The markers of a request, in the order of the prompt; only messages that have one are read."""
    fields = request.fields
    tools = fields.get("tools") or fields_of(fields.get("toolConfig")).get("tools")
    found = [*_in_list(-2, tools), *_in_list(-1, fields.get("system"))]
    for index in _marked(request):
        found += _in_list(index, fields_of(request.messages[index]).get("content"))
    return [*found, *_on(len(request.messages), 0, fields)]


def with_cache_marker(request: "RequestBody", index: int, most: int) -> bytes | None:
    """The request with a marker on the last block of a message; None where that cannot be, or `most` are there."""
    known = cache_markers(request)
    if len(known) >= most or not 0 <= index < len(request.messages) or any(one.message == index for one in known):
        return None
    written = f'"{NAME}": {{"type": "ephemeral"{_ttl_at(index, known)}}}'
    content = fields_of(request.messages[index]).get("content")
    if isinstance(content, str):
        return _on_text(request, index, written) if content.strip() else None
    last = fields_of(parts_of(content)[-1]) if parts_of(content) else {}
    if not last or kind_of_part(last) in _BARE or (kind_of_part(last) == "text" and not str(last.get("text")).strip()):
        return None
    span = find_span(request.text, request.starts[index], ("content", len(parts_of(content)) - 1))
    if span is None:
        return None
    return request.replaced_at(span[1] - 1, span[1] - 1, f", {written}")


def with_cache_point(request: "RequestBody", index: int, most: int) -> bytes | None:
    """The same for Bedrock's Converse, where a marker is a block of its own."""
    known = cache_markers(request)
    if len(known) >= most or not 0 <= index < len(request.messages) or any(one.message == index for one in known):
        return None
    blocks = blocks_of(fields_of(request.messages[index]))
    if not blocks or "reasoningContent" in blocks[-1]:
        return None
    span = find_span(request.text, request.starts[index], ("content", len(blocks) - 1))
    if span is None:
        return None
    written = f'{{"{POINT}": {{"type": "default"{_ttl_at(index, known)}}}}}'
    return request.replaced_at(span[1], span[1], f", {written}")


def unmarked(text: str) -> str:
    """A piece of a request's text without its markers.

    >>> unmarked('{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}')
    '{"type": "text", "text": "x"}'
    """
    return _MARKER.sub("", text) if NAME in text or POINT in text else text


def with_client_marker(answer: list[Json], own: Sequence[Any]) -> list[Json]:
    """The messages of an answer with the marker that the client has put on the part of it that it knows, `own`."""
    own_blocks = [block for message in own for block in blocks_of(fields_of(message))]
    markers = [block[NAME] for block in own_blocks if NAME in block]
    points = [block for block in own_blocks if POINT in block]
    blocks = blocks_of(answer[-1]) if answer else []
    if points and blocks and not any(name in blocks[-1] for name in (POINT, "reasoningContent")):
        return [*answer[:-1], {**answer[-1], "content": [*blocks, points[-1]]}]
    if not markers or not blocks or blocks[-1].get("type") in _BARE:
        return answer
    return [*answer[:-1], {**answer[-1], "content": [*blocks[:-1], {**blocks[-1], NAME: markers[-1]}]}]


def _on_text(request: "RequestBody", index: int, written: str) -> bytes | None:
    span = find_span(request.text, request.starts[index], ("content",))
    if span is None:
        return None
    return request.replaced_at(*span, f'[{{"type": "text", "text": {request.text[slice(*span)]}, {written}}}]')


def _ttl_at(index: int, known: list[Marker]) -> str:
    """The life of a new marker: that of the next one, else of the one before; entries that live longer come first."""
    near = next((one for one in known if one.message > index), known[-1] if known else None)
    return "" if near is None or near.ttl is None else f', "ttl": "{near.ttl}"'


def _marked(request: "RequestBody") -> list[int]:
    """The messages in whose text a marker is."""
    if not request.starts or (NAME not in request.text and POINT not in request.text):
        return []
    places = (found.start() for found in _NAMED.finditer(request.text, request.starts[0], request.stops[-1]))
    return list(dict.fromkeys(bisect_right(request.starts, at) - 1 for at in places))


def _in_list(index: int, blocks: Any) -> Iterator[Marker]:
    """The markers in a list of blocks, those inside results too."""
    for number, block in enumerate(parts_of(blocks)):
        fields = fields_of(block)
        for inner in parts_of(fields.get("content")):
            yield from _on(index, number, fields_of(inner))
        yield from _on(index, number, fields)


def _on(index: int, number: int, fields: dict[str, Any]) -> Iterator[Marker]:
    marker = fields.get(NAME) or fields.get(POINT)
    if marker:
        ttl = fields_of(marker).get("ttl")
        yield Marker(index, number, ttl if isinstance(ttl, str) and ttl in _SECONDS else None)
