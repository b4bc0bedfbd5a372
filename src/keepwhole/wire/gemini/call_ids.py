"""Ids for the calls and results of Gemini, which may come without any.

Owns: naming calls so that the same conversation always gets the same ids, matching results with them, and taking the
made ids off again, since a provider gets no id that its client did not send.
Must not know: what a result says.

Theory of operation
-------------------

Gemini matches results with calls by their order and name inside a step:

    model   [functionCall read {"path": "a"}] [functionCall read {"path": "b"}]
    user    [functionResponse read {"output": "A"}] [functionResponse read {"output": "B"}]

Everything behind the wire knows a result by the id of its call. So a request that was read gets ids where it has none:
`kw-<name>-<digest of name and arguments>-<number>`, numbered where a tool is called again with the same arguments. A
result gets the id of the first call of its name that still waits in the step before it. Ids that the client sent stay.

A result whose id no call has, while calls without ids wait, is the result of the first of its name too: some clients
give ids to results alone. It is read with the id of its call.

The bytes of a request never have a made id: they are edited in place, and what is written anew is written without.

Google's parser reads an object in place of a list as a list of one, and Google's own examples write `parts` so.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, cast

from keepwhole.canonical.message import Path
from keepwhole.wire.content import Wire, fields_of, json_text, parts_of, text_of

CALL = ("functionCall", "function_call")
RESULT = ("functionResponse", "function_response")
"""The names of a part's fields: JSON may have them in either case, objects of the SDK have the second one."""
_MADE = re.compile(r"(kw-.*-[0-9a-f]{12})-(\d{1,9})", re.DOTALL)


def listed_parts(message: Wire) -> list[Any]:
    """The parts of a message; an object in place of a list is the only one.

    >>> listed_parts({"parts": {"text": "hi"}})
    [{'text': 'hi'}]
    """
    parts = message.get("parts")
    return [cast("Any", parts)] if isinstance(parts, dict) else parts_of(parts)


def part_path(message: Wire, at: int) -> Path:
    """Where a message has a part."""
    return ("parts",) if isinstance(message.get("parts"), dict) else ("parts", at)


def inner(part: Wire, names: Iterable[str]) -> tuple[str, Any] | None:
    """The first of these fields that a part has: its name and its value."""
    for name in names:
        value = part.get(name)
        if value is not None:
            return name, value
    return None


def is_made(call_id: object) -> bool:
    """Whether an id was made here."""
    return isinstance(call_id, str) and _MADE.fullmatch(call_id) is not None


def with_call_ids(messages: Sequence[Any]) -> list[Any]:
    """The messages with an id for each call and each result; the same objects where they have them."""
    names = _Names()
    return [names.named(message) for message in messages]


def without_made_ids(message: Any) -> Any:
    """A message, or an object of the SDK, without the ids that were made here; itself where it has none."""
    for at, part in enumerate(listed_parts(fields_of(message))):
        found = inner(fields_of(part), (*CALL, *RESULT))
        if found is not None and is_made(fields_of(found[1]).get("id")):
            message = _with_id(message, at, found[0], None)
    return message


class _Names:
    """The ids of one conversation, given in order."""

    def __init__(self) -> None:
        self._made: Counter[str] = Counter()
        self._waiting: list[tuple[str, str]] = []
        """The names and ids of the calls of the newest step that have no result yet."""
        self._is_model = False
        """Whether the model wrote the message before: its messages in a row are one answer."""

    def named(self, message: Any) -> Any:
        """A message with ids."""
        fields = fields_of(message)
        is_model = fields.get("role") == "model"
        if is_model and not self._is_model:
            self._waiting = []
        self._is_model = is_model
        for at, part in enumerate(listed_parts(fields)):
            own = part if part.__class__ is dict else fields_of(part)
            if (call := inner(own, CALL)) is not None:
                message = self._named_call(message, at, *call)
            elif (result := inner(own, RESULT)) is not None:
                message = self._named_result(message, at, *result)
        return message

    def _named_call(self, message: Any, at: int, key: str, call: Any) -> Any:
        fields = fields_of(call)
        name, call_id = text_of(fields.get("name")), text_of(fields.get("id"))
        known = _MADE.fullmatch(call_id) if call_id else None
        if known is not None:
            self._made[known[1]] = max(self._made[known[1]], int(known[2]) + 1)
        if not call_id:
            call_id = self._new(name, json_text(fields.get("args")))
            message = _with_id(message, at, key, call_id)
        self._waiting.append((name, call_id))
        return message

    def _named_result(self, message: Any, at: int, key: str, result: Any) -> Any:
        fields = fields_of(result)
        name, call_id = text_of(fields.get("name")), text_of(fields.get("id"))
        found = self._call_of(name, call_id)
        if found is not None:
            self._waiting.remove(found)
        answered = (call_id or self._new(name, "")) if found is None else found[1]
        return message if answered == call_id else _with_id(message, at, key, answered)

    def _call_of(self, name: str, call_id: str) -> tuple[str, str] | None:
        """The call that a result answers: that of its id; else the first one of its name, which has no id of its own if
        the result has one."""
        same_id = next((one for one in self._waiting if one[1] == call_id), None)
        same_name = (one for one in self._waiting if one[0] == name and (not call_id or is_made(one[1])))
        return same_id or next(same_name, None)

    def _new(self, name: str, arguments: str) -> str:
        digest = hashlib.sha256(f"{name}\n{arguments}".encode("utf-8", "surrogatepass")).hexdigest()[:12]
        base = f"kw-{name}-{digest}"
        self._made[base] += 1
        return f"{base}-{self._made[base] - 1}"


def _with_id(message: Any, at: int, key: str, call_id: str | None) -> Any:
    """A copy of a message with another id in the call or the result of its part at `at`; without one for None."""
    fields = fields_of(message)
    parts = list(listed_parts(fields))
    named = _with_field(fields_of(parts[at])[key], "id", call_id)
    parts[at] = _with_field(parts[at], key, named)
    return _with_field(message, "parts", parts[0] if isinstance(fields.get("parts"), dict) else parts)


def _with_field(value: Any, key: str, new: Any) -> Any:
    if not isinstance(value, dict):
        return value.model_copy(update={key: new}) if hasattr(value, "model_copy") else value
    fields = cast("dict[str, Any]", value)
    return {**fields, key: new} if new is not None else {name: one for name, one in fields.items() if name != key}
