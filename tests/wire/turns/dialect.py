"""The made-up dialect as an object."""

import json
import re
from collections.abc import Collection, Sequence
from types import MappingProxyType
from typing import Any, final

from keepwhole.canonical.media import MediaBytes
from keepwhole.canonical.message import Path
from keepwhole.canonical.steps import Ties, ties_of
from keepwhole.wire.content import Json, Wire, fields_of, parts_of
from keepwhole.wire.dialect import Dialect, Names, PathPattern, Provider, Reply
from keepwhole.wire.fields import field_of
from keepwhole.wire.pairs import FindLost, Repairs
from keepwhole.wire.request_body import RequestBody
from keepwhole.wire.sse import Events, written
from keepwhole.wire.tools import ToolCall, ToolSpec
from keepwhole.wire.usage import Usage
from tests.wire.turns import messages as own
from tests.wire.turns.stream import TurnsStream


@final
class TurnsDialect(Dialect):
    name = "turns"
    aliases = ("made_up",)
    needs_call_id = True
    shown_types: frozenset[str] = frozenset()
    provider = "turns"
    upstream = "https://turns.example"
    own_headers = ("turns-key",)
    paths = MappingProxyType({"/turns": "turn", "/turns/count": "count"})
    path_patterns = (
        PathPattern(
            re.compile(r"/models/(?P<model>[^/:]+):take$"), "turn", Provider("cloud", "https://turns.cloud.example")
        ),
    )
    messages_field = "turns"
    takes_text = False
    tools_fields = ("instruments",)
    prompt_fields = ("instruments", "rules")
    instructions_fields = ("rules",)
    answer_limit_fields = ("longest",)
    previous_answer_field = conversation_field = ""
    is_answer_in_items = True
    caches_at_breakpoints = False

    decode = staticmethod(own.decode)

    def read_call(self, call: object) -> ToolCall | None:
        name = field_of(call, "tool")
        if not isinstance(name, str):
            return None
        return ToolCall(name=name, arguments=field_of(call, "with"), call_id=field_of(call, "id"), dialect=self)

    def result_block(
        self, call_id: str | None, content: str, is_error: bool = False, media: MediaBytes | None = None, tool: str = ""
    ) -> Json:
        return {"kind": "output", "for": call_id, "body": content}

    def media_part(self, media: MediaBytes) -> Json:
        return own.media_part(media)

    def tool_definition(self, tool: ToolSpec) -> Json:
        return {"tool": tool.name, "about": tool.description, "takes": tool.parameters}

    def is_own(self, message: Json, kinds: Collection[str]) -> bool:
        return "kind" in message

    def ties(self, message: Wire) -> Ties:
        decoded = own.decode(fields_of(message))
        return ties_of(decoded) if decoded is not None else Ties("other")

    def words(self, message: Wire) -> str:
        return "".join(str(message.get("body", "")).split()) if message.get("kind") == "say" else ""

    def is_answer(self, message: Json) -> bool:
        return message.get("kind") == "call" or message.get("who") == "model"

    def arguments_path(self, message: Json, call_id: str) -> Path | None:
        return ("with",) if message.get("kind") == "call" and message.get("id") == call_id else None

    def is_signed(self, message: Json) -> bool:
        return False

    def is_opaque(self, message: Json) -> bool:
        return False

    def summary_message(self, text: str) -> Wire:
        return {"kind": "say", "who": "human", "body": text}

    def joined_around(self, messages: Sequence[Wire], places: Sequence[int | None], summary: Wire) -> list[Wire]:
        return [summary if place is None else messages[place] for place in places]

    def has_broken_pairs(self, messages: Sequence[Wire]) -> bool:
        return own.has_broken_pairs(messages)

    def with_whole_pairs(self, messages: Sequence[Wire]) -> tuple[list[Wire], Repairs]:
        return own.with_whole_pairs(messages)

    def with_lost_results(self, messages: Sequence[Wire], find: FindLost) -> Sequence[Wire]:
        return own.with_lost_results(messages, find)

    def with_results(self, messages: Sequence[Any], results: Sequence[Json]) -> list[Any]:
        return [*results, *messages]

    def messages_of(self, request: RequestBody) -> list[Any]:
        return request.messages

    def tool_names(self, fields: Json) -> list[str]:
        return [tool["tool"] for tool in parts_of(fields.get("instruments"))]

    def has_format(self, fields: Json) -> bool:
        return "form" in fields

    def may_hide_rounds(self, fields: Json, is_recorded: bool) -> bool:
        return True

    def refusal(self, fields: Json) -> Json | None:
        return {"wrong": "Send all turns."} if "since" in fields else None

    def with_cache_marker(self, request: RequestBody, index: int, most: int) -> bytes | None:
        return None

    def read_reply(self, body: Json, names: Names) -> Reply:
        return own.read_reply(body, names)

    def joined_reply(self, body: Json, shown: Sequence[Json], names: Names) -> Json:
        return {**body, "answer": list(shown)}

    def shown_messages(self, shown: Sequence[Json]) -> list[Json]:
        return list(shown)

    def result_messages(self, results: Sequence[Json]) -> list[Json]:
        return list(results)

    def stream(self, names: Names) -> TurnsStream:
        return TurnsStream(names)

    def is_stream_whole(self, data: bytes) -> bool:
        return b'data: {"end"' in data

    def usage_in(self, body: Json) -> Usage | None:
        spent = body.get("spent")
        return Usage(spent["read"], output=spent["wrote"], says_cached=False) if spent else None

    def usage_in_stream(self, data: bytes) -> Usage | None:
        found = (self.usage_in(event.data()) for event in Events().feed(data))
        return next((usage for usage in found if usage is not None), None)

    def error_event(self, error: object) -> bytes:
        return written("", {"wrong": error})

    def error_body(self, kind: str, message: str) -> Json:
        return {"wrong": message, "kind": kind}

    def is_logged(self, request: Json, response: Json) -> bool:
        return "turns" in request

    def logged_messages(self, request: Json) -> list[Any]:
        return parts_of(request.get("turns"))

    def logged_answer(self, response: Json) -> list[Any]:
        return parts_of(response.get("answer"))


TURNS = TurnsDialect()


def request(turns: list[Json], **fields: Any) -> bytes:
    """A request of a client that has a tool of its own."""
    instruments: list[Json] = [{"tool": "run", "about": "Runs a command.", "takes": {}}]
    return json.dumps({"model": "m-1", "instruments": instruments, "turns": turns, **fields}).encode()
