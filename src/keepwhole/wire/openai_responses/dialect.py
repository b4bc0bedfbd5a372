"""OpenAI's Responses API as a dialect.

Owns: its names of fields and paths, its tools, answers, usage and errors.
Must not know: the other dialects; sockets.
"""

import re
from collections.abc import Collection, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, final

from keepwhole.canonical.media import MediaBytes
from keepwhole.canonical.message import Path
from keepwhole.canonical.steps import Ties
from keepwhole.wire.content import Json, Wire, fields_of, kind_of_part, parts_of, role_of, text_of, words_in
from keepwhole.wire.dialect import Dialect, Names, Reply
from keepwhole.wire.fields import field_of
from keepwhole.wire.media import IMAGE_TYPES, PDF
from keepwhole.wire.openai_responses import messages as own
from keepwhole.wire.openai_responses.stream import ResponsesStream
from keepwhole.wire.pairs import FindLost, Repairs
from keepwhole.wire.sse import written
from keepwhole.wire.tools import ToolCall, ToolSpec
from keepwhole.wire.usage import Usage, openai_usage, streamed_body

if TYPE_CHECKING:
    from keepwhole.wire.request_body import RequestBody

_PARTS = frozenset(("input_text", "output_text", "input_image", "input_file"))
"""Types of parts that no other dialect has in a message's content."""
_ARGUMENTS = MappingProxyType({"function_call": "arguments", "custom_tool_call": "input"})
"""Types of calls with arguments that a client's tool takes, each with the field that has them."""
# At the start of a line, since a model may say the same words; with its data, which a cut may leave out. That is the
# whole response again, so the words may be anywhere in the stream.
_END = re.compile(rb"event:(?<![^\r\n]event:) ?response\.(?:completed|incomplete|failed)\r?\n?data:[^\r\n]*[\r\n]")


@final
class ResponsesDialect(Dialect):
    """OpenAI's Responses API."""

    name = "openai_responses"
    aliases = ("responses",)
    needs_call_id = True
    shown_types = IMAGE_TYPES | {PDF}
    provider = "openai"
    upstream = "https://api.openai.com"
    own_headers = ()
    paths = MappingProxyType(
        {"/responses": "turn", "/responses/input_tokens": "count", "/responses/compact": "compaction"}
    )
    path_patterns = ()
    messages_field = "input"
    takes_text = True
    tools_fields = ("tools",)
    prompt_fields = ("tools", "instructions")
    instructions_fields = ("instructions",)
    answer_limit_fields = ("max_output_tokens",)
    previous_answer_field = "previous_response_id"
    conversation_field = "conversation"
    is_answer_in_items = True
    caches_at_breakpoints = False

    decode = staticmethod(own.decode)

    def read_call(self, call: object) -> ToolCall | None:
        """An item of type `function_call`."""
        name = field_of(call, "name")
        if field_of(call, "type") != "function_call" or not isinstance(name, str):
            return None
        arguments = field_of(call, "arguments")
        return ToolCall(name=name, arguments=arguments, call_id=field_of(call, "call_id"), dialect=self)

    def result_block(
        self, call_id: str | None, content: str, is_error: bool = False, media: MediaBytes | None = None, tool: str = ""
    ) -> Json:
        """An item of type `function_call_output`, which cannot say that a call failed."""
        output = content if media is None else [{"type": "input_text", "text": content}, own.media_part(media)]
        return {"type": "function_call_output", "call_id": call_id, "output": output}

    def media_part(self, media: MediaBytes) -> Json:
        """An `input_image` or an `input_file` with its bytes."""
        return own.media_part(media)

    def tool_definition(self, tool: ToolSpec) -> Json:
        """A tool that is a function."""
        about = {"name": tool.name, "description": tool.description}
        return {"type": "function", **about, "parameters": tool.parameters}

    def is_own(self, message: Json, kinds: Collection[str]) -> bool:
        """An item, or a message with a part that only Responses have."""
        return not _PARTS.isdisjoint(kinds) or bool(kind_of_part(message))

    def ties(self, message: Wire) -> Ties:
        """The call or the result that an item is."""
        kind, call_id = message.get("type"), message.get("call_id")
        if isinstance(kind, str) and kind.endswith("_call_output"):
            return Ties("tool", (), (str(call_id or message.get("id")),))
        if isinstance(call_id, str):
            return Ties("assistant", (call_id,))
        return Ties(role_of(message))

    def words(self, message: Wire) -> str:
        """The texts of a message."""
        return words_in(message)

    def is_answer(self, message: Json) -> bool:
        """An assistant's message, reasoning, or a call."""
        if "role" in message:
            return message["role"] == "assistant"
        kind = kind_of_part(message)
        return kind == "reasoning" or kind.endswith("_call")

    def arguments_path(self, message: Json, call_id: str) -> Path | None:
        """The `arguments` of a function, the `input` of a custom tool; tools that OpenAI defines are left alone."""
        key = _ARGUMENTS.get(kind_of_part(message))
        return (key,) if key is not None and message.get("call_id") == call_id else None

    def is_signed(self, message: Json) -> bool:
        """An item of reasoning: encrypted, or stored by OpenAI under its id."""
        return kind_of_part(message) == "reasoning"

    def is_opaque(self, message: Json) -> bool:
        """An item of type `compaction`."""
        return message.get("type") == "compaction"

    def summary_message(self, text: str) -> Wire:
        """A user's message."""
        return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}

    def joined_around(self, messages: Sequence[Wire], places: Sequence[int | None], summary: Wire) -> list[Wire]:
        """Any item may follow any other."""
        return [summary if place is None else messages[place] for place in places]

    def has_broken_pairs(self, messages: Sequence[Wire]) -> bool:
        """A result may come any time after its call."""
        return own.has_broken_pairs(messages)

    def with_whole_pairs(self, messages: Sequence[Wire]) -> tuple[list[Wire], Repairs]:
        """Notices follow the run of calls that got no result."""
        return own.with_whole_pairs(messages)

    def with_lost_results(self, messages: Sequence[Wire], find: FindLost) -> Sequence[Wire]:
        """Each where its dialect wants it; those of one turn in the order of its calls."""
        return own.with_lost_results(messages, find)

    def with_results(self, messages: Sequence[Any], results: Sequence[Json]) -> list[Any]:
        """Each result is an item."""
        return [*results, *messages]

    def messages_of(self, request: "RequestBody") -> list[Any]:
        """The items; an input that is one text is what the user says."""
        return request.messages or [{"role": "user", "content": request.fields.get("input", "")}]

    def tool_names(self, fields: Json) -> list[str]:
        """The names of its functions; hosted tools have none."""
        return [text_of(fields_of(tool).get("name")) for tool in parts_of(fields.get("tools"))]

    def may_hide_rounds(self, fields: Json, is_recorded: bool) -> bool:
        """Only where one answer is wanted. One that is stored may be continued by its id, so it must be on record; one
        that is made in the background is fetched where nobody reads it."""
        is_read = fields.get("n") in (None, 1) and not fields.get("background")
        return is_read and (is_recorded or fields.get("store") is False)

    def has_format(self, fields: Json) -> bool:
        """In `text`; its type `text` says nothing."""
        return fields_of(fields_of(fields.get("text")).get("format")).get("type") not in (None, "text")

    def refusal(self, fields: Json) -> Json | None:
        """None: a request that continues another one is followed by the ids of answers."""
        return None

    def with_cache_marker(self, request: "RequestBody", index: int, most: int) -> bytes | None:
        """None: the provider caches by itself."""
        return None

    def read_reply(self, body: Json, names: Names) -> Reply:
        """The items of a response."""
        return own.read_reply(body, names)

    def joined_reply(self, body: Json, shown: Sequence[Json], names: Names) -> Json:
        """The items of all rounds."""
        return {**body, "output": list(shown)}

    def shown_messages(self, shown: Sequence[Json]) -> list[Json]:
        """The items themselves."""
        return list(shown)

    def result_messages(self, results: Sequence[Json]) -> list[Json]:
        """Each result is an item."""
        return list(results)

    def stream(self, names: Names) -> ResponsesStream:
        """A new streamed answer."""
        return ResponsesStream(names)

    def is_stream_whole(self, data: bytes) -> bool:
        """It ends with `response.completed`, `.incomplete` or `.failed`."""
        return _END.search(data) is not None

    def usage_in(self, body: Json) -> Usage | None:
        """Cached tokens are in `input_tokens_details`."""
        return openai_usage(body)

    def usage_in_stream(self, data: bytes) -> Usage | None:
        """The counts of the last event's response."""
        return openai_usage(streamed_body(data))

    def error_event(self, error: object) -> bytes:
        """An event called `error` with the error's fields at its top."""
        return written("error", {"type": "error", "error": error} | fields_of(error) | {"type": "error"})

    def error_body(self, kind: str, message: str) -> Json:
        """An object `error` with a parameter and a code."""
        return {"error": {"message": message, "type": kind, "param": None, "code": None}}

    def is_logged(self, request: Json, response: Json) -> bool:
        """An `input`, of something that is a request or has its output."""
        is_input = isinstance(request.get("input"), list | str)
        return is_input and ("model" in request or "output" in response)

    def logged_messages(self, request: Json) -> list[Any]:
        """The items, the instructions first: these come with each request, so not where another one is continued."""
        given, instructions = request.get("input"), request.get("instructions")
        is_continued = bool(text_of(request.get(self.previous_answer_field)))
        system = [{"role": "system", "content": instructions}] if instructions and not is_continued else []
        return [*system, *([{"role": "user", "content": given}] if isinstance(given, str) else parts_of(given))]

    def logged_answer(self, response: Json) -> list[Any]:
        """The items that came back."""
        return parts_of(response.get("output"))


OPENAI_RESPONSES = ResponsesDialect()
