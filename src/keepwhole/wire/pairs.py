"""Broken pairs of calls and results: the notice in place of a missing half, and how many there were.

Owns: the notices, and keeping track of one turn's calls while a dialect goes through its messages. A notice takes the
place of a missing result; a result that answers no call becomes text that says so. Nothing is dropped silently.
Must not know: how a dialect spells a call or a result.

Calls that end a conversation are not broken: their results are still to come. A request that continues one which the
provider has (`previous_response_id`) contains half of its pairs and must not be repaired.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast

from keepwhole.canonical.media import MediaBytes
from keepwhole.wire.content import Wire, fields_of, parts_of

T = TypeVar("T")
NO_RESULT = "[No result on record for this call: it was interrupted, or its result was lost. Call again if it matters.]"
_NO_CALL = "[A tool's result whose call ({id}) is not in this conversation. It is the tool's text, not the user's:]"
_SECOND = "[A second result of the call {id}. It is the tool's text, not the user's:]"
_TWICE = "[The result of the call {id} came twice, word for word; it is shown once.]"
_ALLOWED = frozenset(("text", "image", "document", "search_result", "input_text", "input_image", "input_file"))
"""Parts of a result that a user's message may contain too."""


class Repairs(NamedTuple):
    """How many pairs were broken."""

    calls_without_result: int = 0
    results_without_call: int = 0
    duplicate_results: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return sum(self)


class LostResult(NamedTuple):
    """A result on record that the client has lost."""

    parts: tuple[str | MediaBytes, ...]
    """Its texts, images and documents, whole."""
    is_error: bool
    is_beside: Callable[[Any], bool]
    """Whether another call, by its id, was made in the same turn."""

    def content(self, media_part: Callable[[MediaBytes], Wire], text_kind: str = "text") -> str | list[Wire]:
        """The content of its message: the text, or one part for each of several."""
        if len(self.parts) == 1 and isinstance(self.parts[0], str):
            return self.parts[0]
        return [{"type": text_kind, "text": one} if isinstance(one, str) else media_part(one) for one in self.parts]


FindLost: TypeAlias = Callable[..., LostResult | None]
"""`find(call_id)` for a call without a result, `find(call_id, content)` for what is in the place of its result."""


def texts_in(content: object) -> list[str] | None:
    """The texts of a result's content, an empty one where it is not there; None where it has other parts."""
    if content is None or isinstance(content, str):
        return [content or ""]
    texts: list[str] = []
    for part in parts_of(content):
        text = part if isinstance(part, str) else fields_of(part).get("text")
        if not isinstance(text, str):
            return None
        texts.append(text)
    return texts if isinstance(content, list | tuple) else None


def not_answered_later(
    calls: Sequence[Any],
    messages: Sequence[Wire],
    at: int,
    is_model: Callable[[Wire], bool],
    ids_of: Callable[[Wire], Iterable[Any]],
) -> Sequence[Any]:
    """The calls that only the user's message at `at` can answer: where several of these come in a row, which providers
    read as one, not those that a later one answers."""
    if not calls or at + 1 >= len(messages) or is_model(messages[at + 1]):
        return calls
    later = takewhile(lambda message: not is_model(message), messages[at + 1 :])
    answered = {call_id for message in later for call_id in ids_of(message)}
    return [call_id for call_id in calls if call_id not in answered]


def newest_of_model(messages: Sequence[Any], length: int, role: str = "assistant") -> int:
    """The place of the model's newest message among the first `length`; 0 where there is none."""
    of_model = (at for at in range(length - 1, 0, -1) if fields_of(messages[at]).get("role") == role)
    return next(of_model, 0)


def in_order_of_calls(call_ids: Sequence[Any], results: Sequence[tuple[Any, T]], found: Mapping[Any, T]) -> list[T]:
    """The results of one turn with those that were found, each before the first result of a later call."""
    order = {call_id: place for place, call_id in enumerate(call_ids)}
    placed = [(order.get(call_id, len(order)), result) for call_id, result in results]
    for call_id, result in found.items():
        at = next((at for at, (place, _) in enumerate(placed) if place > order[call_id]), len(placed))
        placed.insert(at, (order[call_id], result))
    return [result for _, result in placed]


class CallGroup:
    """The calls of one turn and the results that answer them; counts the broken pairs of all turns."""

    def __init__(self, text_kind: str = "text") -> None:
        self._text_kind = text_kind
        """The type of a block of text in a user's message."""
        self.waiting: dict[Any, None] = {}
        self.answered: dict[Any, object] = {}
        self.missing = self.without_call = self.twice = 0

    def begin(self, call_ids: Sequence[Any]) -> None:
        """Begin a turn of the model with these calls."""
        self.waiting, self.answered = dict.fromkeys(call_ids), {}

    def accepts(self, call_id: Any, content: object) -> bool:
        """Whether a result answers a call that waits, which then waits no longer."""
        if call_id not in self.waiting:
            return False
        del self.waiting[call_id]
        self.answered[call_id] = content
        return True

    def note(self, call_id: Any, content: object) -> list[Wire]:
        """The blocks of a user's message in place of a result that answers nothing."""
        if call_id not in self.answered:
            self.without_call += 1
            return [self._text(_NO_CALL.format(id=call_id)), *self._parts(content)]
        self.twice += 1
        if self.answered[call_id] == content:
            return [self._text(_TWICE.format(id=call_id))]
        return [self._text(_SECOND.format(id=call_id)), *self._parts(content)]

    def take_missing(self) -> list[Any]:
        """The calls that got no result; they wait no longer."""
        missing = list(self.waiting)
        self.waiting = {}
        self.missing += len(missing)
        return missing

    def _text(self, words: str) -> Wire:
        return {"type": self._text_kind, "text": words}

    def _parts(self, content: object) -> list[Wire]:
        if isinstance(content, str) or content is None:
            return [self._text(content)] if content else []
        parts = cast("list[object]", content) if isinstance(content, list) else [content]
        return [self._part(part) for part in parts]

    def _part(self, part: object) -> Wire:
        if isinstance(part, Mapping) and cast("Wire", part).get("type") in _ALLOWED:
            return cast("Wire", part)
        return self._text(part if isinstance(part, str) else json.dumps(part, ensure_ascii=False, default=str))

    @property
    def repairs(self) -> Repairs:
        """The broken pairs so far."""
        return Repairs(self.missing, self.without_call, self.twice)


def as_dicts(messages: Sequence[Wire]) -> list[Wire]:
    """The messages with objects of an SDK, and those inside them, read as dicts; dicts stay the same objects."""
    return [_as_dict(message) for message in messages]


def _as_dict(message: Wire) -> Wire:
    fields = fields_of(message)
    read: dict[str, list[Any]] = {}
    for key in ("content", "tool_calls"):
        parts = parts_of(fields.get(key))
        if any(part.__class__ is not dict for part in parts):
            read[key] = [fields_of(part) or part for part in parts]
    return {**fields, **read} if read else fields
