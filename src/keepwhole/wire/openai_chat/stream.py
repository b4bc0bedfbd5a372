"""A streamed answer of OpenAI's Chat Completions: the part that a client sees, and all that the
model wrote.

Owns: leaving out calls of recall tools, numbering the others, holding back the end.
Must not know: who answers the calls.
"""

from typing import Any, NamedTuple

from keepwhole.wire.content import Json, fields_of, parts_of, text_of
from keepwhole.wire.dialect import AnswerStream, Names, Reply, end_reason
from keepwhole.wire.openai_chat.messages import BREAK, calls_recall, joined_content, read_message
from keepwhole.wire.sse import DONE, Event, written

_CALLED = ("function", "custom")
"""The fields of a call with what is called."""


class _StreamedCall(NamedTuple):
    """A call as far as it has come.

    Its deltas name it by an `index`. Some servers leave that out, or give calls that are made at once the same; then an
    id or a name of its own begins another call. Some repeat the id and the name in every delta.
    """

    number: object
    """As the server counts it."""
    is_hidden: bool
    """Whether it is one of a recall tool."""
    moved: int
    """Calls before it that the client does not see."""
    spelled: Json

    def goes_on_with(self, delta: Json) -> bool:
        """Whether a delta is a piece of this call."""
        if delta.get("index") not in (None, self.number):
            return False
        if not _name_in(delta) or not _name_in(self.spelled):
            return True
        call_id, own_id = delta.get("id"), self.spelled["id"]
        return call_id == own_id if call_id and own_id else delta.get("index") is not None

    def add(self, delta: Json) -> None:
        """Add a delta to it."""
        for key, value in delta.items():
            if value and key in _CALLED:
                self._add_called(self.spelled.setdefault(key, {}), fields_of(value))
            elif value and key != "index":
                self.spelled[key] = (self.spelled["id"] or value) if key == "id" else value

    def _add_called(self, called: Json, delta: Json) -> None:
        """Add to what is called, and with which arguments."""
        for key, value in delta.items():
            before = called.get(key)
            if value is None or (key == "name" and value == before):
                continue
            called[key] = before + value if isinstance(value, str) and isinstance(before, str) else value

    def shown(self, delta: Json) -> Json:
        """A delta of it as the client counts calls."""
        return {**delta, "index": self.number - self.moved} if isinstance(self.number, int) and self.moved else delta


def _name_in(call: Json) -> str:
    return next((name for kind in _CALLED if (name := text_of(fields_of(call.get(kind)).get("name")))), "")


class ChatStream(AnswerStream):
    """All rounds of one answer."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._round = 0
        self._id: Any = None
        """The id of the first chunk, which all chunks of an answer have."""
        self._has_words = False
        self._begin()

    def _begin(self) -> None:
        self._message: Json = {"role": "assistant", "content": None}
        self._calls: dict[int, list[_StreamedCall]] = {}
        """The calls of each choice."""
        self._held: list[tuple[Event, Json]] = []
        """The events from the one that ends the answer on, and what is shown of each."""
        self._reason: str | None = None
        self._has_failed = False
        self._choices = 0
        self._break = self._has_words

    def feed(self, event: Event) -> bytes:
        """Take an event and return what the client gets of it."""
        data = event.data()
        if event.text.strip() == DONE:
            self._reason = self._reason or self._unstated_reason()
            return self._hold(event, data)
        if not isinstance(data.get("choices"), list):
            self._has_failed = self._has_failed or "error" in data
            return self._hold(event, data) if self._held else event.raw
        self._id = self._id or data.get("id")
        choices = [fields_of(choice) for choice in parts_of(data["choices"])]
        if not choices and not data.get("usage"):
            return b"" if self._round else event.raw  # Azure begins with what its filter found in the prompt
        if not choices:
            return self._hold(event, {**data, "id": self._id})
        shown = [self._choice(choice) for choice in choices]
        if not any(choice.get("finish_reason") for choice in choices):
            return self._passed(event, data, choices, [choice for choice in shown if choice["delta"]])
        self._hold(event, {**data, "id": self._id, "choices": [{**choice, "delta": {}} for choice in shown]})
        said = [{**choice, "finish_reason": None} for choice in shown if choice["delta"]]
        return written(event.name, {**data, "id": self._id, "choices": said}) if said else b""

    def reply(self) -> Reply | None:
        """The answer of this round; None where it broke off."""
        if self._reason is None:
            return None
        calls = [call.spelled for call in self._calls.get(0, ())]
        reply = read_message(
            {**self._message, "tool_calls": calls} if calls else self._message, self._reason, self._names
        )
        return reply._replace(whole=reply.whole and self._choices == 1)

    def end(self, waits: bool) -> bytes:
        """The chunks that end the answer."""
        return b"".join(_ended(event, data, waits) for event, data in self._held)

    def go_on(self) -> None:
        """Begin another round."""
        self._round += 1
        self._begin()

    def ids(self) -> tuple[object, object]:
        """None: no request can name an answer."""
        return None, None

    def _hold(self, event: Event, shown: Json) -> bytes:
        self._held.append((event, shown))
        return b""

    def _passed(self, event: Event, data: Json, choices: list[Json], shown: list[Json]) -> bytes:
        if shown == choices and data.get("id") == self._id:
            return event.raw
        return written(event.name, {**data, "id": self._id, "choices": shown}) if shown else b""

    def _choice(self, choice: Json) -> Json:
        """A choice as it is shown; the first one is remembered."""
        at, delta = choice.get("index") or 0, dict(fields_of(choice.get("delta")))
        self._choices = max(self._choices, at + 1)
        if at == 0:
            self._reason = choice.get("finish_reason") or self._reason
            self._add(delta)
            delta = self._after_a_break(delta)
        calls = parts_of(delta.get("tool_calls"))
        if calls:
            shown = [one for call in calls if (one := self._call(at, fields_of(call)))]
            delta = {key: value for key, value in delta.items() if key != "tool_calls"}
            delta |= {"tool_calls": shown} if shown else {}
            if not any(value for key, value in delta.items() if key != "role"):
                delta = {}
        return {**choice, "delta": delta}

    def _call(self, at: int, delta: Json) -> Json | None:
        """A delta of a call as it is shown; None for one of a recall tool."""
        calls = self._calls.setdefault(at, [])
        call = next((one for one in reversed(calls) if one.goes_on_with(delta)), None)
        if call is None:
            index, is_hidden = delta.get("index"), calls_recall(delta, self._names)
            moved = sum(one.is_hidden and one.number != index for one in calls)
            call = _StreamedCall(index, is_hidden, moved, {"id": delta.get("id"), "type": "function"})
            calls.append(call)
        call.add(delta)
        return None if call.is_hidden else call.shown(delta)

    def _after_a_break(self, delta: Json) -> Json:
        """A delta of a later round: without the role, and with a break before its first words."""
        if self._round:
            delta.pop("role", None)
        if delta.get("content"):
            if self._break:
                delta["content"] = joined_content(BREAK, delta["content"])
            self._break, self._has_words = False, True
        return delta

    def _add(self, delta: Json) -> None:
        for key, value in delta.items():
            before = self._message.get(key)
            if key == "tool_calls":
                continue  # which `_call` adds
            if key == "role" or not isinstance(value, str | list):
                self._message.setdefault(key, value)
            else:
                self._message[key] = value if before is None else joined_content(before, delta[key])

    def _unstated_reason(self) -> str | None:
        """Why an answer ended that says no more than that it did; None for one that has failed, or said nothing."""
        return "stop" if self._choices and not self._has_failed else None


def _ended(event: Event, data: Json, waits: bool) -> bytes:
    """An event at the end of the last round; the same bytes where nothing changes."""
    for choice in map(fields_of, parts_of(data.get("choices"))):
        if "finish_reason" in choice:
            choice["finish_reason"] = end_reason(choice["finish_reason"], "tool_calls", waits, "stop")
    return event.raw if data == event.data() else written(event.name, data)
