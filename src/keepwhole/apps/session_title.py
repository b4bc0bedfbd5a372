"""The title of a session: the user's first words.

Owns: which words of a request are the user's own, and not what a client puts before them.
Must not know: where requests are stored.
"""

import re

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


def _untagged(words: str) -> str:
    """Words without what clients put around them: reminders, the environment, instructions."""
    ends, elements = dict[str, list[int]](), list[tuple[int, int]]()
    for tag in reversed(list(_TAG.finditer(words))):
        name = tag[2].lower()
        if tag[1]:
            ends.setdefault(name, []).append(tag.end())
        elif ends.get(name):
            elements.append((tag.start(), ends[name].pop()))
    kept, at = list[str](), 0
    for start, end in reversed(elements):
        if start >= at:
            kept.append(words[at:start])
            at = end
    return " ".join((*kept, words[at:]))
