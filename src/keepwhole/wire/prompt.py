"""Requests as a provider's cache sees them: a digest, a size and the breakpoints, element by element.

Owns: what of a request goes into the prompt, and what of it a cache does not look at: its markers, and whether one
text is a string or a list of one block. Cache markers (`cache_control`): where a client put them, how many a request
may have, and the one that Keepwhole adds. Anthropic defines them; gateways to its models take them in other dialects.
Must not know: what a cache has, where a marker pays (`models.forecast`).

A request is mostly the one before and a bit more, so texts that are as they were are not looked at again.
"""

import re
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from itertools import accumulate
from typing import Any, NamedTuple

from keepwhole.canonical.json_text import find_span
from keepwhole.models.forecast import Breakpoint, Prompt
from keepwhole.models.tokens import estimate
from keepwhole.wire import dialects
from keepwhole.wire.content import Json, blocks_of, fields_of, kind_of_part, parts_of
from keepwhole.wire.request_body import RequestBody

NAME = "cache_control"
_NAMED = re.compile(rf'"{NAME}"\s*:')
"""The name of the field in a request; a string that quotes it has backslashes before its quotes."""
_VALUE = rf'"{NAME}"\s*:\s*(?:\{{[^{{}}]*\}}|null)'
_MARKER = re.compile(rf"\s*,\s*{_VALUE}|{_VALUE}\s*,?\s*")
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


def cache_markers(request: RequestBody) -> list[Marker]:
    """The markers of a request, in the order of the prompt; only messages that have one are read."""
    fields = request.fields
    found = [*_in_list(-2, fields.get("tools")), *_in_list(-1, fields.get("system"))]
    for index in _marked(request):
        found += _in_list(index, fields_of(request.messages[index]).get("content"))
    return [*found, *_on(len(request.messages), 0, fields)]


def with_cache_marker(request: RequestBody, index: int, most: int) -> bytes | None:
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


def unmarked(text: str) -> str:
    """A piece of a request's text without its markers.

    >>> unmarked('{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}')
    '{"type": "text", "text": "x"}'
    """
    return _MARKER.sub("", text) if NAME in text else text


def with_client_marker(answer: list[Json], own: Sequence[Any]) -> list[Json]:
    """The messages of an answer with the marker that the client has put on the part of it that it knows, `own`."""
    markers = [block[NAME] for message in own for block in blocks_of(fields_of(message)) if NAME in block]
    blocks = blocks_of(answer[-1]) if answer else []
    if not markers or not blocks or blocks[-1].get("type") in _BARE:
        return answer
    return [*answer[:-1], {**answer[-1], "content": [*blocks[:-1], {**blocks[-1], NAME: markers[-1]}]}]


def _on_text(request: RequestBody, index: int, written: str) -> bytes | None:
    span = find_span(request.text, request.starts[index], ("content",))
    if span is None:
        return None
    return request.replaced_at(*span, f'[{{"type": "text", "text": {request.text[slice(*span)]}, {written}}}]')


def _ttl_at(index: int, known: list[Marker]) -> str:
    """The life of a new marker: that of the next one, else of the one before; entries that live longer come first."""
    near = next((one for one in known if one.message > index), known[-1] if known else None)
    return "" if near is None or near.ttl is None else f', "ttl": "{near.ttl}"'


def _marked(request: RequestBody) -> list[int]:
    """The messages in whose text a marker is."""
    if not request.starts or NAME not in request.text:
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
    if fields.get(NAME):
        ttl = fields_of(fields[NAME]).get("ttl")
        yield Marker(index, number, ttl if isinstance(ttl, str) and ttl in _SECONDS else None)


_EXPLICIT = ("tool_choice", "thinking")
"""Fields that change the prompt from its beginning on where it is cached at breakpoints."""
_TEXT = frozenset(("type", "text", NAME))
_BRANCHES = 8


class _Element(NamedTuple):
    """One element, remembered by its text."""

    text: str
    digest: bytes
    """Of this element alone."""
    tokens: int
    blocks: int


class _Branch(NamedTuple):
    elements: list[_Element]
    digests: list[bytes]


class Prompts:
    """The prompts of one session. Not safe from threads."""

    def __init__(self) -> None:
        self._branches: deque[_Branch] = deque(maxlen=_BRANCHES)

    def read(self, request: RequestBody, explicit: bool) -> Prompt:
        """A request's prompt; `explicit` where it is cached at breakpoints."""
        texts = [_front(request, explicit), *_slices(request)]
        before = max(self._branches, key=lambda branch: _alike(branch, texts), default=None)
        elements = list(_elements(request, texts, before.elements if before else []))
        digests = list(_rolled(elements, before))
        if before is not None:
            self._branches.remove(before) if _is_extended(before, digests) else None
        self._branches.append(_Branch(elements, digests))
        tokens = list(accumulate(element.tokens for element in elements))
        blocks = list(accumulate(element.blocks for element in elements))
        return Prompt(digests, tokens, blocks, tuple(_points(request)) if explicit else None)


def _front(request: RequestBody, explicit: bool) -> str:
    names = ("model", *dialects.TABLE.prompt_fields, *(_EXPLICIT if explicit else ()))
    text, spans = request.text, request.spans
    return "\0".join(text[slice(*spans[name])] for name in names if name in spans)


def _slices(request: RequestBody) -> Iterator[str]:
    if not request.starts and request.key in request.spans:
        yield request.text[slice(*request.spans[request.key])]
    text = request.text
    for start, stop in zip(request.starts, request.stops, strict=True):
        yield text[start:stop]


def _alike(branch: _Branch, texts: list[str]) -> int:
    """How many elements at the front have the same text."""
    pairs = zip(branch.elements, texts, strict=False)
    return next((at for at, (element, text) in enumerate(pairs) if element.text != text), len(texts))


def _elements(request: RequestBody, texts: list[str], before: list[_Element]) -> Iterator[_Element]:
    for at, text in enumerate(texts):
        if at < len(before) and before[at].text == text:
            yield before[at]
        elif at == 0:
            blocks = len(parts_of(request.fields.get("tools"))) + max(1, len(parts_of(request.fields.get("system"))))
            yield _element(text, text, blocks)
        else:
            message = request.messages[at - 1] if request.messages else None
            content = fields_of(message).get("content")
            yield _element(text, _plain(text, content), max(1, len(parts_of(content))))


def _element(text: str, seen: str, blocks: int) -> _Element:
    seen = unmarked(seen)
    return _Element(text, blake2b(seen.encode("utf-8", "replace"), digest_size=16).digest(), estimate(seen), blocks)


def _plain(text: str, content: Any) -> str:
    """A message's text where its content, if that is one block of text, is that text alone."""
    parts = parts_of(content)
    if len(parts) != 1 or fields_of(parts[0]).get("type") != "text" or not fields_of(parts[0]).keys() <= _TEXT:
        return text
    whole, inner = find_span(text, 0, ("content",)), find_span(text, 0, ("content", 0, "text"))
    return text if whole is None or inner is None else text[: whole[0]] + text[slice(*inner)] + text[whole[1] :]


def _rolled(elements: list[_Element], before: _Branch | None) -> Iterator[bytes]:
    """The digests of all that goes before, element by element."""
    is_same, last = before is not None, b""
    for at, element in enumerate(elements):
        is_same = is_same and before is not None and at < len(before.elements)
        if is_same and before is not None and before.elements[at].digest == element.digest:
            last = before.digests[at]
        else:
            is_same = False
            last = blake2b(last + element.digest, digest_size=16).digest()
        yield last


def _is_extended(branch: _Branch, digests: list[bytes]) -> bool:
    length = len(branch.digests)
    return length <= len(digests) and digests[length - 1] == branch.digests[-1]


def _points(request: RequestBody) -> Iterator[Breakpoint]:
    """The breakpoints; one inside a message counts from the message before."""
    for marker in cache_markers(request):
        index = marker.message
        is_top = index == len(request.messages)
        inside = index >= 0 and not is_top and marker.block + 1 < _blocks(request, index)
        yield Breakpoint(max(0, index + (0 if inside or is_top else 1)), marker.seconds)


def _blocks(request: RequestBody, index: int) -> int:
    return len(parts_of(fields_of(request.messages[index]).get("content")))
