"""A streamed answer of OpenAI's Chat Completions: the part that a client sees, and all that the
model wrote.

Owns: leaving out calls of recall tools, numbering the others, holding back the end.
Must not know: who answers the calls.
"""

from typing import Any

from keepwhole.wire.content import Json, fields_of, parts_of
from keepwhole.wire.dialect import AnswerStream, Names, Reply, end_reason
from keepwhole.wire.openai_chat.messages import BREAK, calls_recall, read_message
from keepwhole.wire.sse import DONE, Event, written


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
        self._calls: dict[int, Json] = {}
        self._numbers: dict[tuple[int, int], int | None] = {}
        """The client's number of each call, by choice and place; None for a call of a recall tool."""
        self._held: list[tuple[Event, Json]] = []
        """The events from the one that ends the answer on, and what is shown of each."""
        self._reason: str | None = None
        self._choices = 0
        self._break = self._has_words

    def feed(self, event: Event) -> bytes:
        """Take an event and return what the client gets of it."""
        data = event.data()
        if event.text.strip() == DONE or not isinstance(data.get("choices"), list):
            return self._hold(event, data) if self._held or event.text.strip() == DONE else event.raw
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
        calls = [self._calls[at] for at in sorted(self._calls)]
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
        at, delta = choice.get("index", 0), dict(fields_of(choice.get("delta")))
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

    def _call(self, at: int, call: Json) -> Json | None:
        place = at, call.get("index", 0)
        if place not in self._numbers:
            taken = sum(number is not None for (choice, _), number in self._numbers.items() if choice == at)
            self._numbers[place] = None if calls_recall(call, self._names) else taken
        number = self._numbers[place]
        return None if number is None else {**call, "index": number}

    def _after_a_break(self, delta: Json) -> Json:
        """A delta of a later round: without the role, and with a break before its first words."""
        if self._round:
            delta.pop("role", None)
        if delta.get("content"):
            if self._break:
                delta["content"] = BREAK + delta["content"]
            self._break, self._has_words = False, True
        return delta

    def _add(self, delta: Json) -> None:
        for key, value in delta.items():
            if key == "tool_calls":
                for call in map(fields_of, parts_of(value)):
                    self._add_call(call)
            elif key == "role" or not isinstance(value, str | list):
                self._message.setdefault(key, value)
            else:
                before = self._message.get(key)
                self._message[key] = value if before is None else before + value

    def _add_call(self, call: Json) -> None:
        known = self._calls.setdefault(call.get("index", 0), {"id": None, "type": "function", "function": {}})
        known |= {key: value for key, value in call.items() if key not in ("index", "function") and value}
        function = known["function"]
        for key, value in fields_of(call.get("function")).items():
            if isinstance(value, str):
                function[key] = function.get(key, "") + value


def _ended(event: Event, data: Json, waits: bool) -> bytes:
    """An event at the end of the last round; the same bytes where nothing changes."""
    for choice in map(fields_of, parts_of(data.get("choices"))):
        if "finish_reason" in choice:
            choice["finish_reason"] = end_reason(choice["finish_reason"], "tool_calls", waits, "stop")
    return event.raw if data == event.data() else written(event.name, data)
