"""OpenAI's Chat Completions as a dialect.

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
from keepwhole.wire.content import Json, Wire, fields_of, parts_of, role_of, text_of, words_in
from keepwhole.wire.dialect import Dialect, Names, PathPattern, Provider, Reply, end_reason
from keepwhole.wire.fields import field_of
from keepwhole.wire.openai_chat import messages as own
from keepwhole.wire.openai_chat.stream import ChatStream
from keepwhole.wire.pairs import FindLost, Repairs, newest_of_model
from keepwhole.wire.sse import written
from keepwhole.wire.tools import ToolCall, ToolSpec
from keepwhole.wire.usage import Usage, openai_usage, streamed_body

if TYPE_CHECKING:
    from keepwhole.wire.request_body import RequestBody

_PARTS = frozenset(("image_url", "input_audio", "file", "refusal"))
"""Types of parts that no other dialect has in a message's content."""
_OF_CALLS = frozenset(("id", "type", "index", "function", "custom"))
_SIGNED = frozenset(("reasoning_details", "thinking_blocks", "extra_content", "provider_specific_fields"))
"""Fields with signed reasoning: OpenRouter's, LiteLLM's, Gemini's."""
_AZURE = Provider("azure")
_LAST = 4_096
"""Bytes at the end of a stream in which its last words are looked for."""
# At the start of a line, since a model may say the same words.
_END = re.compile(rb"data:(?<![^\r\n]data:) ?\[DONE\] *[\r\n]")


@final
class ChatDialect(Dialect):
    """OpenAI's Chat Completions, and everyone who speaks like it."""

    name = "openai_chat"
    aliases = ("openai",)
    needs_call_id = True
    shown_types: frozenset[str] = frozenset()
    provider = "openai"
    upstream = "https://api.openai.com"
    own_headers = ()
    paths = MappingProxyType({"/chat/completions": "turn"})
    path_patterns = (
        PathPattern(re.compile(r"/openai/deployments/(?P<model>[^/]+)/chat/completions$"), "turn", _AZURE),
        PathPattern(re.compile(r"/openai/deployments/"), "other", _AZURE),
        PathPattern(
            re.compile(r"/openai/|/models/(?:chat/completions|(?:images/)?embeddings|info)$"),
            "other",
            _AZURE,
            parameter="api-version",
        ),
    )
    messages_field = "messages"
    takes_text = False
    tools_fields = ("tools", "functions")
    prompt_fields = ("tools",)
    instructions_fields = ()
    answer_limit_fields = ("max_tokens", "max_completion_tokens")
    previous_answer_field = conversation_field = ""
    is_answer_in_items = False
    caches_at_breakpoints = False

    decode = staticmethod(own.decode)

    def read_call(self, call: object) -> ToolCall | None:
        """An element of `tool_calls`."""
        function = field_of(call, "function")
        name = field_of(function, "name")
        if not isinstance(name, str):
            return None
        arguments = field_of(function, "arguments")
        return ToolCall(name=name, arguments=arguments, call_id=field_of(call, "id"), dialect=self)

    def result_block(
        self, call_id: str | None, content: str, is_error: bool = False, media: MediaBytes | None = None, tool: str = ""
    ) -> Json:
        """A message of role `tool`, which cannot say that a call failed, and has nothing but text."""
        return own.result_message(call_id, content)

    def media_part(self, media: MediaBytes) -> Json:
        """An `image_url` that holds the bytes; other servers take these in a result, OpenAI's does not."""
        return own.media_part(media)

    def tool_definition(self, tool: ToolSpec) -> Json:
        """A function inside of a tool."""
        function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        return {"type": "function", "function": function}

    def is_own(self, message: Json, kinds: Collection[str]) -> bool:
        """A message with calls, with a result, or with a part that only Chat has."""
        return message.get("role") == "tool" or "tool_calls" in message or not _PARTS.isdisjoint(kinds)

    def ties(self, message: Wire) -> Ties:
        """The calls of an assistant's message, or the result that a message is."""
        role = role_of(message)
        if role == "tool":
            return Ties(role, (), (str(message.get("tool_call_id")),))
        if role != "assistant":
            return Ties(role)
        return Ties(role, tuple(str(fields_of(call).get("id")) for call in parts_of(message.get("tool_calls"))))

    def words(self, message: Wire) -> str:
        """The texts of its content."""
        return words_in(message)

    def is_answer(self, message: Json) -> bool:
        """An assistant's message."""
        return message.get("role") == "assistant"

    def arguments_path(self, message: Json, call_id: str) -> Path | None:
        """The `arguments` of a function, the `input` of a custom tool; not of a call with more than OpenAI's fields,
        which may be a signature (Gemini has one in `extra_content`)."""
        for at, call in enumerate(map(fields_of, parts_of(message.get("tool_calls")))):
            if call.get("id") == call_id:
                kind, key = ("function", "arguments") if "function" in call else ("custom", "input")
                return ("tool_calls", at, kind, key) if call.keys() <= _OF_CALLS else None
        return None

    def is_signed(self, message: Json) -> bool:
        """A message in which another provider's signed reasoning is passed on."""
        return not _SIGNED.isdisjoint(message)

    def is_opaque(self, message: Json) -> bool:
        """False: there is no compaction."""
        return False

    def summary_message(self, text: str) -> Wire:
        """A user's message."""
        return {"role": "user", "content": text}

    def joined_around(self, messages: Sequence[Wire], places: Sequence[int | None], summary: Wire) -> list[Wire]:
        """Any message may follow any other."""
        return [summary if place is None else messages[place] for place in places]

    def has_broken_pairs(self, messages: Sequence[Wire]) -> bool:
        """A result must follow its call before anybody else speaks."""
        return own.has_broken_pairs(messages)

    def with_whole_pairs(self, messages: Sequence[Wire]) -> tuple[list[Wire], Repairs]:
        """Results follow the message that called."""
        return own.with_whole_pairs(messages)

    def with_lost_results(self, messages: Sequence[Wire], find: FindLost) -> Sequence[Wire]:
        """Each where its dialect wants it; those of one turn in the order of its calls."""
        return own.with_lost_results(messages, find)

    def start_of_turn(self, messages: Sequence[Any], length: int) -> int:
        """A message of the model ends all turns before it."""
        return newest_of_model(messages, length)

    def with_results(self, messages: Sequence[Any], results: Sequence[Json]) -> list[Any]:
        """Each result is a message."""
        return [*results, *messages]

    def messages_of(self, request: "RequestBody") -> list[Any]:
        """The messages of a request."""
        return request.messages

    def tool_names(self, fields: Json) -> list[str]:
        """The names of its functions; gateways offer tools of other dialects too."""
        tools = [fields_of(tool) for tool in parts_of(fields.get("tools"))]
        return [text_of(fields_of(tool.get("function")).get("name", tool.get("name"))) for tool in tools]

    def may_hide_rounds(self, fields: Json, is_recorded: bool) -> bool:
        """Only where one choice is wanted."""
        return fields.get("n") in (None, 1)

    def has_format(self, fields: Json) -> bool:
        """In `response_format`; its type `text` says nothing."""
        return fields_of(fields.get("response_format")).get("type") not in (None, "text")

    def refusal(self, fields: Json) -> Json | None:
        """None: every request has the whole conversation."""
        return None

    def with_cache_marker(self, request: "RequestBody", index: int, most: int) -> bytes | None:
        """None: the provider caches by itself."""
        return None

    def read_reply(self, body: Json, names: Names) -> Reply:
        """The first choice of a response."""
        choices = [fields_of(choice) for choice in parts_of(body.get("choices"))]
        if not choices:
            return Reply([], [], [], waits=False, whole=False)
        reply = own.read_message(fields_of(choices[0].get("message")), choices[0].get("finish_reason"), names)
        return reply._replace(whole=reply.whole and len(choices) == 1)

    def joined_reply(self, body: Json, shown: Sequence[Json], names: Names) -> Json:
        """The first choice is the message of all rounds; the others are those of the last one."""
        choices = [fields_of(choice) for choice in parts_of(body.get("choices"))]
        replies = [own.read_message(fields_of(choice.get("message")), None, names) for choice in choices]
        messages = [own.one_message(shown), *(reply.shown[0] for reply in replies[1:])]
        ends = [
            end_reason(choice.get("finish_reason"), "tool_calls", bool(message.get("tool_calls")), "stop")
            for choice, message in zip(choices, messages, strict=False)
        ]
        joined = [
            {**choice, "message": message, "finish_reason": end}
            for choice, message, end in zip(choices, messages, ends, strict=False)
        ]
        return {**body, "choices": joined}

    def shown_messages(self, shown: Sequence[Json]) -> list[Json]:
        """The messages of all rounds as one."""
        return [own.one_message(shown)]

    def result_messages(self, results: Sequence[Json]) -> list[Json]:
        """Each result is a message."""
        return list(results)

    def stream(self, names: Names) -> ChatStream:
        """A new streamed answer."""
        return ChatStream(names)

    def is_stream_whole(self, data: bytes) -> bool:
        """It ends with `[DONE]`."""
        return _END.search(data[-_LAST:]) is not None

    def usage_in(self, body: Json) -> Usage | None:
        """Cached tokens are in `prompt_tokens_details`."""
        return openai_usage(body)

    def usage_in_stream(self, data: bytes) -> Usage | None:
        """The counts of the last chunk."""
        return openai_usage(streamed_body(data))

    def error_event(self, error: object) -> bytes:
        """An event without a name."""
        return written("", {"error": error})

    def error_body(self, kind: str, message: str) -> Json:
        """An object `error` with a parameter and a code."""
        return {"error": {"message": message, "type": kind, "param": None, "code": None}}

    def is_logged(self, request: Json, response: Json) -> bool:
        """Messages in, choices out."""
        return isinstance(request.get("messages"), list) and "system" not in request and "choices" in response

    def logged_messages(self, request: Json) -> list[Any]:
        """The messages, the system's among them."""
        return parts_of(request.get("messages"))

    def logged_answer(self, response: Json) -> list[Any]:
        """The first choice."""
        chosen = [fields_of(fields_of(choice).get("message")) for choice in parts_of(response.get("choices"))[:1]]
        return [message for message in chosen if message]


OPENAI_CHAT = ChatDialect()
