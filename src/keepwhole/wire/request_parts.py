"""A request taken apart where the next one will differ: at its messages, its large fields and its long strings.

Owns: where the parts of a request begin and end. Put together in order they are the request again, whatever it is.
Must not know: what is done with the parts, dialects.

A message's part begins where the one before ends, so that one more message leaves all others as they are.
"""

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import cast

from keepwhole.canonical.json_text import expect, find_strings, skip_space, value_stop
from keepwhole.wire.request_body import read_request

LONG = 256
"""Characters of a field or a string that is a part of its own."""


def split(data: bytes, like: Sequence[str] = ()) -> list[str]:
    """The parts of a request: messages, large fields, and what lies between; one part if we cannot read it.

    What it has in common at either end with an earlier request, whose parts are `like`, is not read again.

    >>> split(b'{"model": "m", "messages": [{"role": "user"}, {"role": "user"}]}')
    ['{"model": "m", "messages": [', '{"role": "user"}', ', {"role": "user"}', ']}']
    """
    text = as_text(data)
    known = _split_alike(text, like) if like else None
    return known or _split_anew(data, text)


def _split_anew(data: bytes, text: str) -> list[str]:
    request = read_request(data)
    if request is None:
        return [text]
    places = {0, len(text), *request.starts[:1], *request.stops}
    places.update(place for span in request.spans.values() if span[1] - span[0] >= LONG for place in span)
    return [text[start:stop] for start, stop in pairwise(sorted(places))]


def _split_alike(text: str, like: Sequence[str]) -> list[str] | None:
    """The parts where all that is new are messages; None where it is something else.

    A part that is cut elsewhere than it would be anew is as right: it only makes for a longer manifest.
    """
    front, start = 0, 0
    for part in like:
        if not text.startswith(part, start):
            break
        front, start = front + 1, start + len(part)
    back, stop = len(like), len(text)
    while back > front and stop - len(like[back - 1]) >= start and text.endswith(like[back - 1], start, stop):
        back, stop = back - 1, stop - len(like[back - 1])
    new = _messages(text, start, stop) if front else None
    return None if new is None else [*like[:front], *new, *like[back:]]


def _messages(text: str, at: int, stop: int) -> list[str] | None:
    """The messages of a stretch of a list, each with the comma before it; None if it is not made of such."""
    found: list[str] = []
    while at < stop:
        try:
            start = skip_space(text, expect(text, skip_space(text, at), ","))
            end = value_stop(text, start)
        except (ValueError, StopIteration, IndexError, RecursionError):
            return None
        if end > stop:
            return None
        found.append(text[at:end])
        at = end
    return found


def strings(part: str) -> list[str]:
    """A part taken apart at its long strings, quotes included; they are every second one, the first is none."""
    found: list[str] = []
    at = 0
    if len(part) >= LONG:
        for match in find_strings(part):
            start, stop = match.span()
            if stop - start >= LONG:
                found += (part[at:start], part[start:stop])
                at = stop
    return [*found, part[at:]]


def string_of(written: str) -> str | None:
    """The text that a JSON string stands for; None if it is none."""
    try:
        return cast("str", json.loads(written))
    except ValueError:
        return None


def as_text(data: bytes) -> str:
    """Any bytes as text."""
    return data.decode("utf-8", "surrogateescape")


def as_bytes(part: str) -> bytes:
    """The bytes of a part."""
    return part.encode("utf-8", "surrogateescape")
