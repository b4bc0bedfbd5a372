"""The title of a session: the user's first words.

Owns: which words of a request are the user's own, and not what a client puts around them.
Must not know: where requests are stored.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from keepwhole.canonical.utf8 import showable
from keepwhole.wire.dialects import decode_message
from keepwhole.wire.request_body import read_request

_LENGTH = 120
_LOOKED_AT = 12
"""Messages at the beginning of a request among which the user's words are looked for."""
_TAG = re.compile(r"<(/?)([a-z][\w-]*+)[^<>]*+>", re.I)
_NOT_SAID = ("# AGENTS.md", "# Instructions", "Caveat:", "This session is being continued")


def title_of_request(body: bytes) -> str | None:
    """The user's first words in a request; None where there are none."""
    request = read_request(body)
    if request is None:
        return None
    given = request.fields.get("input")
    if isinstance(given, str):
        return title_of(given)
    said = (decode_message(message) for message in request.messages[:_LOOKED_AT])
    titles = (title_of(message.said) for message in said if message.role == "user" and message.said)
    return next((title for title in titles if title is not None), None)


def newest_words_of_request(body: bytes) -> str | None:
    """The user's words at the end of a request, behind the last answer; None where there are none."""
    request = read_request(body)
    if request is None:
        return None
    given = request.fields.get("input")
    if isinstance(given, str):
        return title_of(given)
    for value in reversed(request.messages[-_LOOKED_AT:]):
        message = decode_message(value)
        if message.role == "assistant":
            return None
        title = title_of(message.said) if message.role == "user" and message.said else None
        if title is not None:
            return title
    return None


def title_of(words: str) -> str | None:
    """Words as a title: one line of at most 120 characters; None where nothing of them is the user's own.

    >>> title_of("<system-reminder>Today is Monday.</system-reminder> Fix the  tests, please.")
    'Fix the tests, please.'
    """
    own = " ".join(_untagged(words[:20_000]).split())
    if not own or own.startswith(_NOT_SAID):
        return None
    text = showable("".join(char if char.isprintable() else " " for char in own[: 2 * _LENGTH]))
    return text if len(text) <= _LENGTH else text[: _LENGTH - 1] + "…"


class SaidPiece(NamedTuple):
    """Words of a message, or an element in which a client has put something into them."""

    text: str
    tag: str = ""
    """The element's name; empty of plain words."""


def split_by_tags(words: str) -> Iterator[SaidPiece]:
    """The words of a message and, apart from them, the elements in it that clients write, in their order.

    Names of those have a hyphen or an underscore, so that HTML in what a user says is left alone.

    >>> [each.tag for each in split_by_tags("<system-reminder>Monday</system-reminder>Fix <b>it</b>.")]
    ['system-reminder', '']
    """
    at, begin, name = 0, 0, ""  # of the last element, or of several with one name that follow each other
    for element in _elements(words):
        if "-" not in element.name and "_" not in element.name:
            continue
        if element.name != name or words[at : element.start].strip():
            yield from _pieces(words, begin, at, element.start, name)
            begin, name = element.start, element.name
        at = element.end
    yield from _pieces(words, begin, at, len(words), name)


def _pieces(words: str, begin: int, end: int, upto: int, name: str) -> Iterator[SaidPiece]:
    """What an element has, and the plain words behind it."""
    if begin < end:
        yield SaidPiece(words[begin:end], name)
    if words[end:upto].strip():
        yield SaidPiece(words[end:upto])


def _untagged(words: str) -> str:
    """Words without what clients put around them: reminders, the environment, instructions."""
    kept, at = list[str](), 0
    for element in _elements(words):
        kept.append(words[at : element.start])
        at = element.end
    return " ".join((*kept, words[at:]))


class _Element(NamedTuple):
    start: int
    end: int
    name: str


def _elements(words: str) -> Iterator[_Element]:
    """The elements of a text that are in no other one, in their order."""
    ends, found = dict[str, list[int]](), list[_Element]()
    for tag in reversed(list(_TAG.finditer(words))):
        name = tag[2].lower()
        if tag[1]:
            ends.setdefault(name, []).append(tag.end())
        elif ends.get(name):
            found.append(_Element(tag.start(), ends[name].pop(), name))
    at = 0
    for element in reversed(found):
        if element.start >= at:
            yield element
            at = element.end
