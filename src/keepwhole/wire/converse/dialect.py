"""Bedrock's Converse as a dialect.

Owns: its names of fields and paths, its tools, answers, usage and errors.
Must not know: the other dialects; sockets; signatures.
"""

import re
from collections.abc import Collection, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, final

from keepwhole.canonical.media import MediaBytes
from keepwhole.canonical.message import Path
from keepwhole.canonical.steps import Ties
from keepwhole.wire.cache_markers import with_cache_point
from keepwhole.wire.content import Json, Wire, blocks_of, contents, count_in, fields_of, parts_of, role_of, text_of
from keepwhole.wire.content import words_in as words_of_blocks
from keepwhole.wire.converse import messages as own
from keepwhole.wire.converse.media import media_part
from keepwhole.wire.converse.stream import ConverseStream
from keepwhole.wire.dialect import Dialect, Names, PathPattern, Reply, end_reason
from keepwhole.wire.enclosed_request import Enclosure
from keepwhole.wire.fields import field_of
from keepwhole.wire.media import IMAGE_TYPES, PDF
from keepwhole.wire.pairs import FindLost, Repairs, newest_of_model
from keepwhole.wire.sse import Events, written
from keepwhole.wire.tools import ToolCall, ToolSpec
from keepwhole.wire.usage import Usage

if TYPE_CHECKING:
    from keepwhole.wire.request_body import RequestBody

_MODEL = "/model/(?P<model>[^/]+)"
_OF_CALLS = frozenset(("toolUseId", "name", "input"))
_LAST = 65_536
"""Bytes at the end of a stream in which its last words are looked for."""
_END = re.compile(rb"(?:^|\n)event: metadata\ndata: [^\n]*+\n\n")
"""Events are written here, out of frames, so they always look like this."""
_METADATA = b"event: metadata\n"


@final
class ConverseDialect(Dialect):
    """Amazon Bedrock's Converse and ConverseStream."""

    name = "converse"
    aliases = ("bedrock",)
    needs_call_id = True
    shown_types = IMAGE_TYPES | {PDF}
    provider = "bedrock"
    upstream = ""
    own_headers = ()
    paths = MappingProxyType({})
    path_patterns = (
        PathPattern(re.compile(rf"{_MODEL}/converse$"), "turn"),
        PathPattern(re.compile(rf"{_MODEL}/converse-stream$"), "turn", frames="events"),
        PathPattern(re.compile(rf"{_MODEL}/count-tokens$"), "count", enclosure=Enclosure((("input", "converse"),))),
    )
    messages_field = "messages"
    takes_text = False
    tools_fields = ("toolConfig",)
    prompt_fields = ("toolConfig", "system")
    instructions_fields = ("system",)
    answer_limit_fields = ()
    previous_answer_field = conversation_field = ""
    is_answer_in_items = False
    caches_at_breakpoints = True

    decode = staticmethod(own.decode)

    def read_call(self, call: object) -> ToolCall | None:
        """A block with a `toolUse`, or that itself."""
        found = field_of(call, own.CALL) or call
        name, call_id = field_of(found, "name"), field_of(found, "toolUseId")
        if not isinstance(name, str) or not isinstance(call_id, str):
            return None
        return ToolCall(name=name, arguments=field_of(found, "input"), call_id=call_id, dialect=self)

    def result_block(
        self, call_id: str | None, content: str, is_error: bool = False, media: MediaBytes | None = None, tool: str = ""
    ) -> Json:
        """A `toolResult` block, without a `status`: only some vendors' models take one, and the text says it too."""
        return own.shown_block(call_id, content, media)

    def media_part(self, media: MediaBytes) -> Json:
        """An `image` or a `document` with its bytes."""
        return media_part(media)

    def tool_definition(self, tool: ToolSpec) -> Json:
        """A `toolSpec`, whose schema is the `json` of its `inputSchema`. A parameter that may be anything is given as a
        text, since not every vendor's model takes one without a type."""
        properties = {key: value or {"type": "string"} for key, value in tool.parameters["properties"].items()}
        schema = {"json": {**tool.parameters, "properties": properties}}
        return {"toolSpec": {"name": tool.name, "description": tool.description, "inputSchema": schema}}

    def is_own(self, message: Json, kinds: Collection[str]) -> bool:
        """A message with blocks that have no type."""
        return own.is_own(message)

    def ties(self, message: Wire) -> Ties:
        """Only calls that the client answers; what Bedrock's own tools did needs no result of it."""
        return Ties(role_of(message), tuple(own.call_ids(message)), tuple(own.result_ids(message)))

    def words(self, message: Wire) -> str:
        """The texts of its blocks."""
        return words_of_blocks(message)

    def is_answer(self, message: Json) -> bool:
        """An assistant's message."""
        return message.get("role") == "assistant"

    def arguments_path(self, message: Json, call_id: str) -> Path | None:
        """The `input` of a `toolUse` block."""
        for at, block in enumerate(blocks_of(message)):
            call = own.call_of(block)
            if call is not None and call["toolUseId"] == call_id:
                return ("content", at, own.CALL, "input") if call.keys() <= _OF_CALLS else None
        return None

    def is_signed(self, message: Json) -> bool:
        """A message with reasoning, which has a signature or is encrypted."""
        return any(own.REASONING in block for block in blocks_of(message))

    def is_opaque(self, message: Json) -> bool:
        """False: there is no compaction."""
        return False

    def summary_message(self, text: str) -> Wire:
        """A user's message of one block."""
        return {"role": "user", "content": [{"text": text}]}

    def joined_around(self, messages: Sequence[Wire], places: Sequence[int | None], summary: Wire) -> list[Wire]:
        """Roles must alternate."""
        return own.alternating(messages, places, summary)

    def has_broken_pairs(self, messages: Sequence[Wire]) -> bool:
        """A result must come in the user's message after the call."""
        return own.has_broken_pairs(messages)

    def with_whole_pairs(self, messages: Sequence[Wire]) -> tuple[list[Wire], Repairs]:
        """Results open the user's message after the one that called."""
        return own.with_whole_pairs(messages)

    def with_lost_results(self, messages: Sequence[Wire], find: FindLost) -> Sequence[Wire]:
        """Each where its dialect wants it; those of one turn in the order of its calls."""
        return own.with_lost_results(messages, find)

    def start_of_turn(self, messages: Sequence[Any], length: int) -> int:
        """A message of the model ends all turns before it."""
        return newest_of_model(messages, length)

    def with_results(self, messages: Sequence[Any], results: Sequence[Json]) -> list[Any]:
        """All results of a turn are in one message."""
        first = fields_of(messages[0])
        return [{**first, "content": [*results, *contents(first)]}, *messages[1:]]

    def messages_of(self, request: "RequestBody") -> list[Any]:
        """The messages of a request."""
        return request.messages

    def tools_path(self, fields: Json) -> Path:
        """The tools are one field further in."""
        return ("toolConfig", "tools")

    def tool_names(self, fields: Json) -> list[str]:
        """The names of its tools; a cache marker among them is none."""
        tools = map(fields_of, parts_of(fields_of(fields.get("toolConfig")).get("tools")))
        found = [
            fields_of(tool.get("toolSpec") or tool.get("systemTool")) for tool in tools if "cachePoint" not in tool
        ]
        return [text_of(tool.get("name")) for tool in found]

    def may_hide_rounds(self, fields: Json, is_recorded: bool) -> bool:
        """True: there is one answer, and every request has the whole conversation."""
        return True

    def has_format(self, fields: Json) -> bool:
        """In `outputConfig`."""
        return bool(fields_of(fields.get("outputConfig")).get("textFormat"))

    def refusal(self, fields: Json) -> Json | None:
        """None: every request has the whole conversation."""
        return None

    def with_cache_marker(self, request: "RequestBody", index: int, most: int) -> bytes | None:
        """A `cachePoint` as the last block of the message."""
        return with_cache_point(request, index, most)

    def read_reply(self, body: Json, names: Names) -> Reply:
        """The message of a response."""
        return own.read_reply(_message(body), body.get("stopReason"), names)

    def joined_reply(self, body: Json, shown: Sequence[Json], names: Names) -> Json:
        """The blocks of all rounds; it ends for a tool's sake only if one of the client's is called."""
        waits = any(own.call_of(fields_of(block)) for block in shown)
        reason = end_reason(body.get("stopReason"), "tool_use", waits, "end_turn")
        message = {"role": "assistant", **_message(body), "content": list(shown)}
        return {**body, "output": {**fields_of(body.get("output")), "message": message}, "stopReason": reason}

    def shown_messages(self, shown: Sequence[Json]) -> list[Json]:
        """The blocks as one message."""
        return [{"role": "assistant", "content": list(shown)}] if shown else []

    def result_messages(self, results: Sequence[Json]) -> list[Json]:
        """The blocks as one message of the user."""
        return [{"role": "user", "content": list(results)}]

    def stream(self, names: Names) -> ConverseStream:
        """A new streamed answer."""
        return ConverseStream(names)

    def is_stream_whole(self, data: bytes) -> bool:
        """It ends with the counts of tokens, behind the reason why the model ended."""
        return _END.search(data[-_LAST:]) is not None

    def usage_in(self, body: Json) -> Usage | None:
        """The counts of `usage`, whose input leaves out what was read from a cache and written to it."""
        usage = fields_of(body.get("usage"))
        uncached = count_in(usage, "inputTokens")
        if uncached is None:
            return None
        cached = count_in(usage, "cacheReadInputTokens")
        stored = count_in(usage, "cacheWriteInputTokens") or 0
        details = map(fields_of, parts_of(usage.get("cacheDetails")))
        hours = (count_in(each, "inputTokens") or 0 for each in details if each.get("ttl") == "1h")
        router = fields_of(fields_of(body.get("trace")).get("promptRouter"))
        return Usage(
            uncached + (cached or 0) + stored,
            cached or 0,
            stored,
            count_in(usage, "outputTokens") or 0,
            says_cached=cached is not None,
            model=text_of(router.get("invokedModelId")),
            written_hour=min(stored, sum(hours)),
        )

    def usage_in_stream(self, data: bytes) -> Usage | None:
        """The counts of `metadata`, which is the last event."""
        at = data.rfind(_METADATA)
        events = Events().feed(data[at:]) if at >= 0 else []
        return self.usage_in(events[0].data()) if events else None

    def error_event(self, error: object) -> bytes:
        """An event called `error`, of which `event_stream` makes an exception."""
        return written("error", {"error": error})

    def error_body(self, kind: str, message: str) -> Json:
        """A message; what kind it is of, Amazon's clients read in a header."""
        return {"message": message}

    def is_logged(self, request: Json, response: Json) -> bool:
        """A response with an `output`, or fields that only Converse has."""
        is_asked = isinstance(request.get("messages"), list)
        return is_asked and ("content" in _message(response) or "toolConfig" in request or "inferenceConfig" in request)

    def logged_messages(self, request: Json) -> list[Any]:
        """The system prompt and the messages."""
        system = [{"role": "system", "content": request["system"]}] if request.get("system") else []
        return [*system, *parts_of(request.get("messages"))]

    def logged_answer(self, response: Json) -> list[Any]:
        """The message that came back."""
        message = _message(response)
        return [{"role": "assistant", **message}] if message else []


def _message(body: Json) -> Json:
    return fields_of(fields_of(body.get("output")).get("message"))


CONVERSE = ConverseDialect()
