"""Gemini's `generateContent` as a dialect.

Owns: its names of fields, paths and headers, its tools, answers, usage and errors.
Must not know: the other dialects; sockets.
"""

import json
import re
from collections.abc import Collection, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast, final

from keepwhole.canonical.media import MediaBytes
from keepwhole.canonical.message import Path
from keepwhole.canonical.steps import Ties, ties_of
from keepwhole.wire.content import Json, Wire, count_in, fields_of, parts_of, text_of
from keepwhole.wire.dialect import Dialect, Names, PathPattern, Provider, Reply
from keepwhole.wire.enclosed_request import Enclosure
from keepwhole.wire.fields import field_of
from keepwhole.wire.gemini import messages as own
from keepwhole.wire.gemini.call_ids import CALL, inner, listed_parts, part_path, with_call_ids, without_made_ids
from keepwhole.wire.gemini.stream import GeminiStream, first_candidate, has_ended, joined_body, joined_parts
from keepwhole.wire.media import PDF
from keepwhole.wire.pairs import FindLost, Repairs, newest_of_model
from keepwhole.wire.sse import Events, written
from keepwhole.wire.tools import ToolCall, ToolSpec
from keepwhole.wire.usage import Usage

if TYPE_CHECKING:
    from keepwhole.wire.request_body import RequestBody

_MODEL = r"/(?:models|tunedModels|endpoints)/(?P<model>[^/:]+)(?::|%3[Aa])"
_PROJECT = r"/(?:projects/[^/]+/locations/[^/]+|publishers/google)(?:/[^/:]+)*?"
_TURN, _COUNT = r"(?:generateContent|streamGenerateContent)$", r"countTokens$"
_COUNTED = Enclosure((("generateContentRequest",), ("generate_content_request",)))
_VERTEX = Provider("vertex", "https://aiplatform.googleapis.com")
_DECLARATIONS = ("functionDeclarations", "function_declarations")
_SIGNATURES = ("thoughtSignature", "thought_signature")
_OF_CALLS = frozenset(("id", "name", "args"))
_LAST = 65_536
"""Bytes at the end of a stream in which its last words are looked for."""
_END = re.compile(rb'"(?:finishReason|blockReason)"\s*+:\s*+["1-9]')
"""Looked for where lines are whole, since an event may be cut; a text that quotes it has backslashes before quotes. The
reason is a number where a client asks for enums as numbers."""
_STATUSES = {
    "invalid_request_error": (400, "INVALID_ARGUMENT"),
    "authentication_error": (401, "UNAUTHENTICATED"),
    "permission_error": (403, "PERMISSION_DENIED"),
    "timeout_error": (408, "DEADLINE_EXCEEDED"),
    "request_too_large": (413, "INVALID_ARGUMENT"),
    "rate_limit_error": (429, "RESOURCE_EXHAUSTED"),
    "overloaded_error": (503, "UNAVAILABLE"),
}
_INTERNAL = (500, "INTERNAL")


@final
class GeminiDialect(Dialect):
    """Gemini's `generateContent`, at AI Studio and at Vertex AI."""

    name = "gemini"
    aliases = ("google",)
    needs_call_id = False
    shown_types = frozenset(("image/png", "image/jpeg", "image/webp", PDF))
    provider = "gemini"
    upstream = "https://generativelanguage.googleapis.com"
    own_headers = ("x-goog-api-key", "x-goog-api-client")
    paths = MappingProxyType({})
    path_patterns = (
        PathPattern(re.compile(_PROJECT + _MODEL + _TURN), "turn", _VERTEX),
        PathPattern(re.compile(_PROJECT + _MODEL + _COUNT), "count", _VERTEX, enclosure=_COUNTED),
        PathPattern(re.compile(_PROJECT + _MODEL + _COUNT), "count", _VERTEX),
        PathPattern(re.compile(_MODEL + _TURN), "turn"),
        PathPattern(re.compile(_MODEL + _COUNT), "count", enclosure=_COUNTED),
        PathPattern(re.compile(_MODEL + _COUNT), "count"),
        PathPattern(re.compile(r"/(?:projects/[^/]+/locations|publishers)/[^/]+/"), "other", _VERTEX),
        PathPattern(re.compile(r"/v1(?:alpha|beta)/"), "other"),
    )
    messages_field = "contents"
    takes_text = False
    tools_fields = ("tools",)
    prompt_fields = (
        *("tools", "toolConfig", "tool_config", "systemInstruction", "system_instruction"),
        *("cachedContent", "cached_content"),
    )
    instructions_fields = ("systemInstruction", "system_instruction")
    answer_limit_fields = ()
    previous_answer_field = conversation_field = ""
    is_answer_in_items = True
    caches_at_breakpoints = False

    decode = staticmethod(own.decode)

    def read_call(self, call: object) -> ToolCall | None:
        """A part with a `functionCall`, or that itself."""
        found = next((field_of(call, key) for key in CALL if field_of(call, key) is not None), call)
        name, arguments = field_of(found, "name"), field_of(found, "args")
        if not isinstance(name, str) or (found is call and arguments is None):
            return None
        return ToolCall(name=name, arguments=arguments, call_id=field_of(found, "id"), dialect=self)

    def result_block(
        self, call_id: str | None, content: str, is_error: bool = False, media: MediaBytes | None = None, tool: str = ""
    ) -> Json:
        """A part with a `functionResponse`, which names the tool."""
        beside = [] if media is None else [own.media_part(media)]
        return own.result_part(tool, call_id, {own.ERROR if is_error else own.OUTPUT: content}, beside)

    def media_part(self, media: MediaBytes) -> Json:
        """`inlineData` with the bytes, or `fileData` with an address."""
        return own.media_part(media)

    def tool_definition(self, tool: ToolSpec) -> Json:
        """A function's declaration. Each parameter must have a type; what may be anything is given as a text."""
        properties = {key: value or {"type": "string"} for key, value in tool.parameters["properties"].items()}
        return {
            "name": tool.name,
            "description": tool.description,
            "parameters": {**tool.parameters, "properties": properties},
        }

    def is_own(self, message: Json, kinds: Collection[str]) -> bool:
        """A message with parts."""
        return isinstance(message.get("parts"), list | dict) and message.get("role", "user") in (
            "user",
            "model",
            "function",
        )

    def ties(self, message: Wire) -> Ties:
        """The calls and results among its parts."""
        fields = fields_of(message)
        decoded = own.decode(fields)
        results = (own.result_of(part) for part in own.parts_in(fields))
        answered = tuple(text_of(result.get("id")) for result in results if result is not None)
        return Ties("other") if decoded is None else ties_of(decoded)._replace(results=answered)

    def words(self, message: Wire) -> str:
        """The texts of its parts, without thoughts, which clients leave out."""
        texts = (text_of(part.get("text")) for part in own.parts_in(message) if not part.get("thought"))
        return "".join("".join(text.split()) for text in texts)

    def is_answer(self, message: Json) -> bool:
        """A message of the model."""
        return own.is_model(message)

    def arguments_path(self, message: Json, call_id: str) -> Path | None:
        """The `args` of a call; not of one with a signature."""
        for at, part in enumerate(own.parts_in(message)):
            called = inner(part, CALL)
            fields = fields_of(called[1]) if called is not None else {}
            if called is not None and fields.get("id") == call_id:
                return (
                    (*part_path(message, at), called[0], "args")
                    if len(part) == 1 and fields.keys() <= _OF_CALLS
                    else None
                )
        return None

    def is_signed(self, message: Json) -> bool:
        """A message with the signature of a thought."""
        return any(key in part for part in own.parts_in(message) for key in _SIGNATURES)

    def is_opaque(self, message: Json) -> bool:
        """False: there is no compaction."""
        return False

    def summary_message(self, text: str) -> Wire:
        """A user's message."""
        return {"role": "user", "parts": [{"text": text}]}

    def joined_around(self, messages: Sequence[Wire], places: Sequence[int | None], summary: Wire) -> list[Wire]:
        """A call must follow what a user or a function said."""
        return own.alternating(messages, places, summary)

    def with_call_ids(self, messages: Sequence[Any]) -> list[Any]:
        """Ids by the order and the names of calls inside a step."""
        return with_call_ids(messages)

    def without_made_ids(self, message: Any) -> Any:
        """The message without the ids that `with_call_ids` made."""
        return without_made_ids(message)

    def has_broken_pairs(self, messages: Sequence[Wire]) -> bool:
        """Results must come after their calls, before the model speaks again."""
        return own.has_broken_pairs(messages)

    def with_whole_pairs(self, messages: Sequence[Wire]) -> tuple[list[Wire], Repairs]:
        """Results open the user's message after the one that called."""
        return own.with_whole_pairs(messages)

    def with_lost_results(self, messages: Sequence[Wire], find: FindLost) -> Sequence[Wire]:
        """Each where its dialect wants it; those of one turn in the order of its calls."""
        return own.with_lost_results(messages, find)

    def start_of_turn(self, messages: Sequence[Any], length: int) -> int:
        """The first of the model's newest messages in a row, which are one answer."""
        start = newest_of_model(messages, length, "model")
        while start and own.is_model(fields_of(messages[start - 1])):
            start -= 1
        return start

    def with_results(self, messages: Sequence[Any], results: Sequence[Json]) -> list[Any]:
        """All results of a turn are in one message."""
        first = fields_of(messages[0])
        return [{**first, **own.user_message(results, listed_parts(first))}, *messages[1:]]

    def messages_of(self, request: "RequestBody") -> list[Any]:
        """The messages of a request."""
        return request.messages

    def tools_path(self, fields: Json) -> Path:
        """The first list of declarations: Vertex AI refuses several tools with functions."""
        is_one = isinstance(fields.get("tools"), dict)
        for at, tool in enumerate(_tools_in(fields)):
            found = inner(tool, _DECLARATIONS)
            if found is not None and parts_of(found[1]):
                return ("tools", found[0]) if is_one else ("tools", at, found[0])
        return ("tools",)

    def tool_names(self, fields: Json) -> list[str]:
        """The names of its functions; Google's own tools cannot be offered together with others by every model."""
        found = [inner(tool, _DECLARATIONS) for tool in _tools_in(fields)]
        declared = [fields_of(one) for each in found if each is not None for one in parts_of(each[1])]
        return [text_of(one.get("name")) for one in declared]

    def may_hide_rounds(self, fields: Json, is_recorded: bool) -> bool:
        """Only where one candidate is wanted, and the tools are not in `cachedContent`, beside which none may be."""
        wanted = _generation(fields)
        count = wanted.get("candidateCount", wanted.get("candidate_count"))
        return count in (None, 0, 1) and not (fields.get("cachedContent") or fields.get("cached_content"))

    def has_format(self, fields: Json) -> bool:
        """In `generationConfig`; plain text says nothing."""
        wanted = _generation(fields)
        kind = wanted.get("responseMimeType", wanted.get("response_mime_type"))
        return kind not in (None, "", "text/plain")

    def refusal(self, fields: Json) -> Json | None:
        """None: every request has the whole conversation."""
        return None

    def with_cache_marker(self, request: "RequestBody", index: int, most: int) -> bytes | None:
        """None: the provider caches by itself, or what a request names as `cachedContent`."""
        return None

    def answer_body(self, answer: object) -> Json:
        """The chunks of a streamed array as one response."""
        return joined_body(map(fields_of, parts_of(answer))) if isinstance(answer, list) else fields_of(answer)

    def read_reply(self, body: Json, names: Names) -> Reply:
        """The first candidate of a response."""
        reply = own.read_reply(first_candidate(body), names)
        return reply._replace(whole=reply.whole and len(parts_of(body.get("candidates"))) == 1)

    def joined_reply(self, body: Json, shown: Sequence[Json], names: Names) -> Json:
        """The first candidate has the parts of all rounds."""
        first = first_candidate(body)
        content = {"role": "model", **fields_of(first.get("content")), "parts": joined_parts(shown)}
        return {**body, "candidates": [{**first, "content": content}, *parts_of(body.get("candidates"))[1:]]}

    def shown_messages(self, shown: Sequence[Json]) -> list[Json]:
        """The parts as one message."""
        return [{"role": "model", "parts": list(shown)}] if shown else []

    def result_messages(self, results: Sequence[Json]) -> list[Json]:
        """The parts as one message of the user."""
        return [own.user_message(results)]

    def stream(self, names: Names) -> GeminiStream:
        """A new streamed answer."""
        return GeminiStream(names)

    def is_stream_whole(self, data: bytes) -> bool:
        """Its last chunk says why the model ended."""
        return _END.search(data[-_LAST:]) is not None if data[-1:] in b"\r\n" else _ended_array(data)

    def usage_in(self, body: Json) -> Usage | None:
        """Cached tokens are left out where there are none."""
        usage = fields_of(body.get("usageMetadata"))
        prompt = count_in(usage, "promptTokenCount")
        if prompt is None:
            return None
        cached = count_in(usage, "cachedContentTokenCount") or 0
        total = prompt + (count_in(usage, "toolUsePromptTokenCount") or 0)
        output = (count_in(usage, "candidatesTokenCount") or 0) + (count_in(usage, "thoughtsTokenCount") or 0)
        return Usage(total, min(cached, total), 0, output)

    def usage_in_stream(self, data: bytes) -> Usage | None:
        """The counts of the last chunk."""
        if data.lstrip()[:1] == b"[":
            return self.usage_in(self.answer_body(json.loads(data)))
        for event in reversed(Events().feed(data + b"\n\n")):
            if (usage := self.usage_in(event.data())) is not None:
                return usage
        return None

    def error_event(self, error: object) -> bytes:
        """An event without a name."""
        fields = fields_of(error)
        if "code" in fields:
            return written("", {"error": fields})
        return written("", self.error_body(text_of(fields.get("type")), text_of(fields.get("message"))))

    def error_body(self, kind: str, message: str) -> Json:
        """An object `error` with a code and a status."""
        code, status = _STATUSES.get(kind, _INTERNAL)
        return {"error": {"code": code, "message": message, "status": status}}

    def is_logged(self, request: Json, response: Json) -> bool:
        """Contents in, candidates out."""
        return isinstance(request.get("contents"), list)

    def logged_messages(self, request: Json) -> list[Any]:
        """The system prompt and the messages."""
        system = fields_of(request.get("systemInstruction") or request.get("system_instruction"))
        first = [{"role": "system", "content": self.words_of_system(system)}] if system else []
        return [*first, *with_call_ids(parts_of(request.get("contents")))]

    @staticmethod
    def words_of_system(system: Json) -> str:
        """The texts of a system prompt."""
        return "\n".join(text_of(part.get("text")) for part in own.parts_in(system))

    def logged_answer(self, response: Json) -> list[Any]:
        """The first candidate."""
        content = fields_of(first_candidate(response).get("content"))
        return [{"role": "model", **content}] if content else []


def _tools_in(fields: Json) -> list[Json]:
    """The tools of a request; an object in place of a list is the only one."""
    tools = fields.get("tools")
    return [fields_of(tools)] if isinstance(tools, dict) else list(map(fields_of, parts_of(tools)))


def _generation(fields: Json) -> Json:
    return fields_of(fields.get("generationConfig") or fields.get("generation_config"))


def _ended_array(data: bytes) -> bool:
    try:
        answer: object = json.loads(data)
    except (ValueError, RecursionError):
        return False
    return isinstance(answer, list) and any(has_ended(fields_of(one)) for one in cast("list[object]", answer))


GEMINI = GeminiDialect()
