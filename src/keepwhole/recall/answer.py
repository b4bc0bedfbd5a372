"""The answer of a recall tool to the model, and the next call that it prints."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from keepwhole.canonical.media import MediaBytes
from keepwhole.canonical.value import Value
from keepwhole.recall.names import GET_ARTIFACT
from keepwhole.truncation import notice

LISTED = 10
NOT_TEXT = "\n[Not text: "
"""What follows what is said of an image or a document: how to get its bytes."""
ROOM = 200
"""Characters reserved, beside the printed call, for the line that says what is shown."""


class RecallAnswer(Value):
    """The answer of a recall tool to the model."""

    content: str
    is_error: bool = False
    media: MediaBytes | None = None
    """The image or document that was asked for; `content` describes it where it cannot be shown."""

    @property
    def beside_media(self) -> str:
        """The words beside the image or document where it is shown; they do not say how else to get its bytes."""
        return self.content.partition(NOT_TEXT)[0]


class StoredArtifact(Value):
    """An artifact that an answer may name."""

    artifact_id: str
    summary: str
    size: int


class RecallCall(Value):
    """A call of a recall tool as answers print it: the arguments given so far, to which a range is added."""

    id: str
    tool: str = GET_ARTIFACT
    key: str = "id"
    given: tuple[tuple[str, object], ...] = ()

    def text(self, **more: object) -> str:
        """The call in full, ready to be run as printed.

        >>> RecallCall("art_1_x").text(lines="1-9")
        'get_artifact(id="art_1_x", lines="1-9")'
        """
        words = ((self.key, self.id), *self.given, *more.items())
        return f"{self.tool}({', '.join(f'{key}={_literal(value)}' for key, value in words)})"

    def with_arguments(self, **more: object) -> "RecallCall":
        """The same call with more arguments."""
        return self.replace(given=(*self.given, *more.items()))

    def room(self, limit: int) -> int:
        """The number of characters that are left for text in an answer of at most `limit`."""
        return limit - ROOM - len(self.text())


def _literal(value: object) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else str(value)


_ID = re.compile(r"\b(?:art_\d{1,12}|trace)_[0-9A-Za-z]+\b")
_LONGEST_GIVEN = 500
"""Characters of what is given as an id, in which one is looked for."""


def read_id(arguments: Mapping[str, Any]) -> str:
    """The id that a call asks for, under any of the names that notices and documents use.

    Models copy what stands around an id too:

    >>> read_id({"id": "[Artifact: art_1_x]"})
    'art_1_x'
    """
    given = next(filter(None, map(arguments.get, ("id", "artifact_id", "trace_id", "traceId", "artifactId"))), "")
    return id_in(str(given))


def id_in(text: str) -> str:
    """The one id in a text that was copied with what stands around it; the text itself where that is not so."""
    found = _ID.findall(text[:_LONGEST_GIVEN])
    return found[0] if len(found) == 1 else text


def unknown(asked: str, known: Sequence[StoredArtifact], limit: int = 32_000) -> RecallAnswer:
    """The answer for an id that is foreign, purged, misspelled or invented: a list of what this session has. It prints
    no call: a model makes every one, and nobody knows which result is meant."""
    shown = asked if asked.isprintable() and len(asked) <= 80 else "?"
    if not known:
        return RecallAnswer(f'404: there is no artifact "{shown}" in this session. It has none yet.', is_error=True)
    listed, room = "", limit - 2 * ROOM
    for number, artifact in enumerate(reversed(known[-LISTED:])):
        line = f"- {notice.reference(artifact.artifact_id, artifact.summary, artifact.size)}\n"
        if number and len(listed) + len(line) > room:
            break
        listed = line + listed
    more = "(older ones not listed)\n" if len(known) > listed.count("\n") else ""
    said = f'404: there is no artifact "{shown}" in this session. It has:\n{listed}{more}'
    return RecallAnswer(said.rstrip("\n"), is_error=True)
