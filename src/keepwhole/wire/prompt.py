"""Requests as a provider's cache sees them: a digest, a size and the breakpoints, element by element.

Owns: what of a request goes into the prompt, and what of it a cache does not look at: its markers, and whether one
text is a string or a list of one block.
Must not know: what a cache has (`models.forecast`).

A request is mostly the one before and a bit more, so texts that are as they were are not looked at again.
"""

from collections import deque
from collections.abc import Iterator
from hashlib import blake2b
from itertools import accumulate
from typing import Any, NamedTuple

from keepwhole.canonical.json_text import find_span
from keepwhole.models.forecast import Breakpoint, Prompt
from keepwhole.models.tokens import estimate
from keepwhole.wire import dialects
from keepwhole.wire.cache_markers import NAME, cache_markers, unmarked
from keepwhole.wire.content import fields_of, parts_of, size_of
from keepwhole.wire.request_body import RequestBody

_EXPLICIT = ("tool_choice", "thinking")
"""Fields that change the prompt from its beginning on where it is cached at breakpoints."""
_TEXT = frozenset(("type", "text", NAME))
_BRANCHES = 8
_BYTES = ("base64", '"file_data"', '"input_audio"', '"inlineData"', '"inline_data"', '"bytes"')
_SHORT = 1_000
"""Characters of a message that has no image in it worth counting."""


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
            yield _element(text, text, _blocks_in_front(request), None)
        else:
            message = request.messages[at - 1] if request.messages else None
            content = fields_of(message).get("content")
            yield _element(text, _plain(text, content), max(1, len(parts_of(content))), message)


def _blocks_in_front(request: RequestBody) -> int:
    """The tools, and the blocks of the system prompt."""
    fields = request.fields
    tools = fields.get("tools") or fields_of(fields.get("toolConfig")).get("tools")
    return len(parts_of(tools)) + max(1, len(parts_of(fields.get("system"))))


def _element(text: str, seen: str, blocks: int, message: Any) -> _Element:
    seen = unmarked(seen)
    digest = blake2b(seen.encode("utf-8", "replace"), digest_size=16).digest()
    return _Element(text, digest, size_of(message) if _has_bytes(seen) else estimate(seen), blocks)


def _has_bytes(text: str) -> bool:
    """Whether images or documents are in a message, whose base64 says nothing of their tokens."""
    return len(text) > _SHORT and any(name in text for name in _BYTES)


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
