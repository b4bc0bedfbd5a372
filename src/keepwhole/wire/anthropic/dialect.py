"""Anthropic's Messages API as a dialect.

Owns: its names of fields, paths and headers, its tools, answers, usage and errors.
Must not know: the other dialects; sockets.
"""

import re
from collections.abc import Collection, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, final

from keepwhole.canonical.media import MediaBytes
from keepwhole.canonical.message import Path
from keepwhole.canonical.steps import Ties
from keepwhole.wire.anthropic import messages as own
from keepwhole.wire.anthropic.stream import AnthropicStream
from keepwhole.wire.cache_markers import with_cache_marker
from keepwhole.wire.content import (
    Json,
    Wire,
    blocks_of,
    contents,
    count_in,
    fields_of,
    kind_of_part,
    parts_of,
    role_of,
    text_of,
    words_in,
)
from keepwhole.wire.dialect import Dialect, Names, PathPattern, Provider, Reply, end_reason
from keepwhole.wire.enclosed_request import Enclosure
from keepwhole.wire.fields import field_of
from keepwhole.wire.media import IMAGE_TYPES, PDF
from keepwhole.wire.pairs import FindLost, Repairs, newest_of_model
from keepwhole.wire.sse import written
from keepwhole.wire.tools import ToolCall, ToolSpec
from keepwhole.wire.usage import Usage, streamed_body

if TYPE_CHECKING:
    from keepwhole.wire.request_body import RequestBody

_CLIENTS = ("tool_use", "tool_result", "image", "document", "search_result")
_SERVERS = ("thinking", "redacted_thinking", "server_tool_use", "mcp_tool_use", "mcp_tool_result", "compaction")
_BLOCKS = frozenset((*_CLIENTS, *_SERVERS))
"""Types of blocks that no other dialect has in a message's content."""
_THINKING = ("thinking", "redacted_thinking")
_OF_CALLS = frozenset(("type", "id", "name", "input", "cache_control"))
_LAST = 4_096
"""Bytes at the end of a stream in which its last words are looked for."""
# At the start of a line, since a model may say the same words; with their data, which a cut may leave out.
# The look behind comes second, so that the search for the letters before it stays fast.
_END = re.compile(rb"event:(?<![^\r\n]event:) ?message_stop\r?\n?data:[^\r\n]*[\r\n]")

_VERTEX = Provider("vertex", "https://aiplatform.googleapis.com")
_BEDROCK = Provider("bedrock")
_BEDROCK_MODEL = "/model/(?P<model>[^/]+)"
_VERSION = "anthropic_version"
"""What every body of Anthropic has at Bedrock. Names of models say nothing: that of an inference profile is its own."""
_INVOKED = Enclosure((("input", "invokeModel", "body"),), is_base64=True)
_VERTEX_MODELS = "/projects/[^/]+/locations/[^/]+/publishers/anthropic/models"


@final
class AnthropicDialect(Dialect):
    """Anthropic's Messages API."""

    name = "anthropic"
    aliases = ()
    needs_call_id = True
    shown_types = IMAGE_TYPES | {PDF}
    provider = "anthropic"
    upstream = "https://api.anthropic.com"
    own_headers = ("anthropic-version", "x-api-key")
    paths = MappingProxyType({"/messages": "turn", "/messages/count_tokens": "count"})
    path_patterns = (
        PathPattern(re.compile(rf"{_VERTEX_MODELS}/count-tokens:rawPredict$"), "count", _VERTEX),
        PathPattern(re.compile(rf"{_VERTEX_MODELS}/(?P<model>[^/:]+):(?:raw|streamRaw)Predict$"), "turn", _VERTEX),
        PathPattern(re.compile(rf"{_BEDROCK_MODEL}/invoke$"), "turn", _BEDROCK, own_field=_VERSION),
        PathPattern(
            re.compile(rf"{_BEDROCK_MODEL}/invoke-with-response-stream$"),
            "turn",
            _BEDROCK,
            "chunks",
            own_field=_VERSION,
        ),
        PathPattern(
            re.compile(rf"{_BEDROCK_MODEL}/count-tokens$"), "count", _BEDROCK, enclosure=_INVOKED, own_field=_VERSION
        ),
    )
    messages_field = "messages"
    takes_text = False
    tools_fields = ("tools",)
    prompt_fields = ("tools", "system")
    instructions_fields = ("system",)
    answer_limit_fields = ("max_tokens",)
    previous_answer_field = conversation_field = ""
    is_answer_in_items = False
    caches_at_breakpoints = True

    decode = staticmethod(own.decode)

    def read_call(self, call: object) -> ToolCall | None:
        """A `tool_use` block."""
        name = field_of(call, "name")
        if field_of(call, "type") != "tool_use" or not isinstance(name, str):
            return None
        return ToolCall(name=name, arguments=field_of(call, "input"), call_id=field_of(call, "id"), dialect=self)

    def result_block(
        self, call_id: str | None, content: str, is_error: bool = False, media: MediaBytes | None = None, tool: str = ""
    ) -> Json:
        """A `tool_result` block."""
        block = own.result_block(call_id, content, is_error)
        if media is None:
            return block
        return {**block, "content": [{"type": "text", "text": content}, own.media_part(media)]}

    def media_part(self, media: MediaBytes) -> Json:
        """An `image` or a `document` with its bytes."""
        return own.media_part(media)

    def tool_definition(self, tool: ToolSpec) -> Json:
        """The schema is called `input_schema`."""
        return {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}

    def is_own(self, message: Json, kinds: Collection[str]) -> bool:
        """A message with a block that only Anthropic has."""
        return not _BLOCKS.isdisjoint(kinds) and message.get("role") != "tool" and "tool_calls" not in message

    def ties(self, message: Wire) -> Ties:
        """Only calls that the client answers; what Anthropic's own tools did needs no result of it."""
        blocks = blocks_of(message)
        calls = tuple(str(block.get("id")) for block in blocks if block.get("type") == "tool_use")
        results = tuple(str(block.get("tool_use_id")) for block in blocks if block.get("type") == "tool_result")
        return Ties(role_of(message), calls, results)

    def words(self, message: Wire) -> str:
        """The texts of its blocks."""
        return words_in(message)

    def is_answer(self, message: Json) -> bool:
        """An assistant's message."""
        return message.get("role") == "assistant"

    def arguments_path(self, message: Json, call_id: str) -> Path | None:
        """The `input` of a `tool_use` block; not that of a call which another tool's code made (`caller`)."""
        for at, block in enumerate(blocks_of(message)):
            if block.get("type") == "tool_use" and block.get("id") == call_id:
                return ("content", at, "input") if block.keys() <= _OF_CALLS else None
        return None

    def is_signed(self, message: Json) -> bool:
        """A message with thinking, which has a signature or is encrypted."""
        return any(block.get("type") in _THINKING for block in blocks_of(message))

    def is_opaque(self, message: Json) -> bool:
        """A message with a `compaction` block."""
        return any(block.get("type") == "compaction" for block in blocks_of(message))

    def summary_message(self, text: str) -> Wire:
        """A list of one block, so that other blocks can be joined to it."""
        return {"role": "user", "content": [{"type": "text", "text": text}]}

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

    def tool_names(self, fields: Json) -> list[str]:
        """The names of its tools."""
        return [text_of(fields_of(tool).get("name")) for tool in parts_of(fields.get("tools"))]

    def may_hide_rounds(self, fields: Json, is_recorded: bool) -> bool:
        """Only where one answer is wanted; gateways know `n` in every dialect."""
        return fields.get("n") in (None, 1)

    def has_format(self, fields: Json) -> bool:
        """In `output_config`, or as the SDK's betas have it, in `output_format`."""
        return bool(fields_of(fields.get("output_config")).get("format") or fields.get("output_format"))

    def refusal(self, fields: Json) -> Json | None:
        """A thread, which the provider stores: the error makes Anthropic's SDK send all messages, and go on so."""
        if "thread" not in fields:
            return None
        message = "Keepwhole needs the whole conversation, so it serves no threads. Send all messages."
        details = {"error_code": "thread_unsupported_request", "unsupported": ["thread"]}
        return {"type": "error", "error": {"type": "invalid_request_error", "message": message, "details": details}}

    def with_cache_marker(self, request: "RequestBody", index: int, most: int) -> bytes | None:
        """A `cache_control` on the last block of the message."""
        return with_cache_marker(request, index, most)

    def read_reply(self, body: Json, names: Names) -> Reply:
        """The blocks of a response."""
        return own.read_reply(body, names)

    def joined_reply(self, body: Json, shown: Sequence[Json], names: Names) -> Json:
        """The blocks of all rounds; it ends for a tool's sake only if one of the client's is called."""
        waits = any(block.get("type") == "tool_use" for block in shown)
        reason = end_reason(body.get("stop_reason"), "tool_use", waits, "end_turn")
        return {**body, "content": list(shown), "stop_reason": reason}

    def shown_messages(self, shown: Sequence[Json]) -> list[Json]:
        """The blocks as one message."""
        return [{"role": "assistant", "content": list(shown)}] if shown else []

    def result_messages(self, results: Sequence[Json]) -> list[Json]:
        """The blocks as one message of the user."""
        return [{"role": "user", "content": list(results)}]

    def stream(self, names: Names) -> AnthropicStream:
        """A new streamed answer."""
        return AnthropicStream(names)

    def is_stream_whole(self, data: bytes) -> bool:
        """It ends with `message_stop`."""
        return _END.search(data[-_LAST:]) is not None

    def usage_in(self, body: Json) -> Usage | None:
        """The counts at the top; `iterations` repeats them, turn by turn."""
        usage = fields_of(body.get("usage"))
        uncached = count_in(usage, "input_tokens")
        if uncached is None:
            return None
        cached = count_in(usage, "cache_read_input_tokens")
        stored = count_in(usage, "cache_creation_input_tokens") or 0
        turns = [kind_of_part(fields_of(turn)) for turn in parts_of(usage.get("iterations"))]
        return Usage(
            uncached + (cached or 0) + stored,
            cached or 0,
            stored,
            count_in(usage, "output_tokens") or 0,
            fields_of(body.get("context_management")).get("applied_edits"),
            cached is not None,
            max(1, turns.count("message")),
            text_of(body.get("model")),
            min(stored, count_in(fields_of(usage.get("cache_creation")), "ephemeral_1h_input_tokens") or 0),
        )

    def usage_in_stream(self, data: bytes) -> Usage | None:
        """The counts of `message_start`, corrected by `message_delta`."""
        return self.usage_in(streamed_body(data))

    def error_event(self, error: object) -> bytes:
        """An event called `error`."""
        return written("error", {"type": "error", "error": error})

    def error_body(self, kind: str, message: str) -> Json:
        """An object of type `error`."""
        return {"type": "error", "error": {"type": kind, "message": message}}

    def is_logged(self, request: Json, response: Json) -> bool:
        """A system prompt beside the messages, or a response that is a message."""
        is_message = kind_of_part(response) == "message" and "content" in response
        return isinstance(request.get("messages"), list) and ("system" in request or is_message)

    def logged_messages(self, request: Json) -> list[Any]:
        """The system prompt and the messages."""
        system = [{"role": "system", "content": request["system"]}] if request.get("system") else []
        return [*system, *parts_of(request.get("messages"))]

    def logged_answer(self, response: Json) -> list[Any]:
        """The message that came back."""
        is_message = kind_of_part(response) == "message"
        return [{"role": "assistant", "content": response.get("content")}] if is_message else []


ANTHROPIC = AnthropicDialect()
