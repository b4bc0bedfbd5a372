"""A dialect: everything that differs between providers, as one object.

Owns: the questions that the rest of the package may ask about a provider's spelling, and the behavior that is the same
for all of them. Must not know: any provider.

Theory of operation
-------------------

Every provider spells the same conversation in its own way. One call and its result:

    Anthropic         {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "ls", "input": {}}]}
                      {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "a.txt"}]}
    OpenAI Chat       {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "ls", ...}}]}
                      {"role": "tool", "tool_call_id": "c1", "content": "a.txt"}
    OpenAI Responses  {"type": "function_call", "call_id": "c1", "name": "ls", "arguments": "{}"}
                      {"type": "function_call_output", "call_id": "c1", "output": "a.txt"}
    Converse          {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c1", "name": "ls", "input": {}}}]}
                      {"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": [{"text": "a.txt"}]}}]}
    Gemini            {"role": "model", "parts": [{"functionCall": {"name": "ls", "args": {}}}]}
                      {"role": "user", "parts": [{"functionResponse": {"name": "ls", "response": {"output": "a.txt"}}}]}

A dialect is a folder `wire/<name>/` with three files: `messages.py` (what its messages mean), `stream.py` (its streamed
answers) and `dialect.py` (one class and one object of it). `wire/dialects.py` has one line per dialect; the names,
endpoints and fields of requests that are known anywhere follow from it. To add a provider, write its folder and add
its line; `tests/wire/test_fourth_dialect.py` does so with a made-up one, and `docs/howto/add-a-dialect.md` with Gemini.

The two classes are protocols that a dialect inherits from, because pyright then refuses to instantiate a class that
lacks a method or a fact: `"Dialect.usage_in" is not implemented`. So nothing here has a default that would let a
request pass unread; a method with a body is behavior that all dialects share.

- `ToolDialect` can define a tool, read a call and give back its result. MCP is one: it has no conversations, and
  asking it for one is a type error.
- `Dialect` has conversations: requests with messages, and answers that are streamed or come whole.

Three kinds of value go in and out:

- `Wire`, a message, item or block as it is sent; never changed in place. The methods that edit a conversation return
  the same objects for the messages that stay, so that `RequestBody.joined` keeps their bytes.
- `Message` (`canonical.message`), what a message means; the same for all dialects.
- `Reply`, an answer of the model with the calls of Keepwhole's recall tools told apart from what a client may see.

Invariants: a dialect has no state; `decode` and `is_own` never raise; the methods that build a message produce
the same bytes for the same input, since a provider's cache compares bytes.
"""

import json
import re
from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias

from keepwhole.canonical.media import MediaBytes
from keepwhole.canonical.message import Message, Path
from keepwhole.canonical.steps import Ties
from keepwhole.wire.content import Json, Wire, fields_of
from keepwhole.wire.enclosed_request import Enclosure
from keepwhole.wire.event_stream import FrameKind
from keepwhole.wire.pairs import FindLost, Repairs, as_dicts
from keepwhole.wire.sse import Event
from keepwhole.wire.tools import ToolCall, ToolSpec
from keepwhole.wire.usage import Usage

if TYPE_CHECKING:
    from keepwhole.wire.request_body import RequestBody  # which reads the names of fields from the dialects

Names: TypeAlias = Collection[str]
"""The names of Keepwhole's recall tools."""
PathKind: TypeAlias = Literal["turn", "count", "compaction", "other"]
"""Whether an endpoint answers a conversation, only counts its tokens, or returns a shorter one; any other is passed on
to the provider who alone has such paths."""


class Provider(NamedTuple):
    """A service that speaks a dialect besides its usual provider."""

    name: str
    """The name of the proxy's upstream."""
    address: str = ""
    """Its usual address; empty where every customer has another one, which only the settings can name."""


class PathPattern(NamedTuple):
    """Paths of one kind that have a model, a project or a deployment in them."""

    pattern: re.Pattern[str]
    """Matches the end of a path, from a `/` on; its group `model`, where it has one, is the model that is asked."""
    kind: PathKind
    provider: Provider | None = None
    """Who answers these paths; None for the dialect's usual provider."""
    frames: FrameKind | None = None
    """In which frames of Amazon's (`event_stream`) a streamed answer comes in place of server-sent events."""
    enclosure: Enclosure | None = None
    """Where a body has the request inside of it; None where the body is the request. Where several patterns fit a path,
    the first one holds whose request the body has."""
    parameter: str = ""
    """A parameter that the query of every such path has; empty where it may have none."""
    own_field: str = ""
    """The field by which a body is known to be of this dialect, where other vendors' bodies come on the same path;
    empty where none do."""


class Reply(NamedTuple):
    """One answer of a model."""

    said: list[Json]
    """As the model wrote it: messages or items that go back to it."""
    shown: list[Json]
    """Without the calls of recall tools: blocks, items, or the one message."""
    calls: list[Json]
    """The calls of recall tools."""
    waits: bool
    """Whether it calls tools of the client too."""
    whole: bool
    """Whether the model ended it by itself."""


class AnswerStream(Protocol):
    """All rounds of one streamed answer. The client sees one answer without calls of recall tools; its end is held
    back until it is known that no further round follows."""

    @abstractmethod
    def feed(self, event: Event) -> bytes:
        """Take an event of the provider and return what the client gets of it."""

    @abstractmethod
    def reply(self) -> Reply | None:
        """The answer of this round; None where the stream broke off."""

    @abstractmethod
    def end(self, waits: bool) -> bytes:
        """The events that end the answer; `waits` says that it calls tools of the client."""

    @abstractmethod
    def go_on(self) -> None:
        """Begin another round of the same answer."""

    @abstractmethod
    def ids(self) -> tuple[object, object]:
        """The ids by which a later request may continue the answer: the client's and the provider's; None for none."""


class ToolDialect(Protocol):
    """How tools are defined, called and answered."""

    name: str
    """The name on entries of the record and in metrics."""
    aliases: tuple[str, ...]
    """Other names that users may give."""
    needs_call_id: bool
    """Whether a result names the call that it answers."""
    shown_types: frozenset[str]
    """The media types that a result may show besides text; empty where it is text alone."""

    def __repr__(self) -> str:
        return f"<dialect {self.name}>"

    @abstractmethod
    def read_call(self, call: object) -> ToolCall | None:
        """The call, a dict or the SDK's object, if it is spelled in this dialect."""

    @abstractmethod
    def result_block(
        self, call_id: str | None, content: str, is_error: bool = False, media: MediaBytes | None = None, tool: str = ""
    ) -> Json:
        """The message, item or block that gives `content` back to the model, and an image or document behind it, where
        that is of a type in `shown_types`; `tool` is the name of the tool that was called."""

    @abstractmethod
    def media_part(self, media: MediaBytes) -> Json:
        """The part of a result that is an image or a document."""

    @abstractmethod
    def tool_definition(self, tool: ToolSpec) -> Json:
        """The definition of a tool; the same bytes every time, since tools come first in a prompt."""


class Dialect(ToolDialect, Protocol):
    """How a provider spells requests, conversations and answers."""

    provider: str
    """The provider whose usual endpoint speaks it: the name of the proxy's upstream."""
    upstream: str
    """The provider's address; empty where every customer has another one, which only the settings can name."""
    own_headers: tuple[str, ...]
    """Headers that only requests to this provider have."""
    paths: Mapping[str, PathKind]
    """The ends of the paths that it answers."""
    path_patterns: tuple[PathPattern, ...]
    """The same for paths that are not spelled alike each time; they are tried in order, before `paths`."""

    messages_field: str
    """The field of a request with the list of messages."""
    takes_text: bool
    """Whether that field may be one text instead, which the user says."""
    tools_fields: tuple[str, ...]
    """The fields with tools."""
    prompt_fields: tuple[str, ...]
    """The fields beside the messages that the model reads, in the order of the prompt."""
    instructions_fields: tuple[str, ...]
    """Those of them with instructions to the model."""
    answer_limit_fields: tuple[str, ...]
    """The fields with the most tokens that an answer may take."""
    previous_answer_field: str
    """The field that names an earlier answer which the request continues; empty where there is none."""
    conversation_field: str
    """The field that names a conversation which the provider stores; empty where there is none."""

    is_answer_in_items: bool
    """Whether one answer is a run of items rather than one message."""
    caches_at_breakpoints: bool
    """Whether the provider caches only where the client sets a marker."""

    decode: Callable[[Json], Message | None]
    """The meaning of a message; None for one that has not the shape of this dialect's calls and results. A function
    rather than a method, since it runs for every message."""

    # What messages mean

    @abstractmethod
    def is_own(self, message: Json, kinds: Collection[str]) -> bool:
        """Whether no other dialect has such a message; `kinds` are the types of its content's parts."""

    @abstractmethod
    def ties(self, message: Wire) -> Ties:
        """Who speaks, and the ids of all calls and results in a message, those that are no text too."""

    @abstractmethod
    def words(self, message: Wire) -> str:
        """The words by which a message is recognized when a client sends it again, without white space."""

    @abstractmethod
    def is_answer(self, message: Json) -> bool:
        """Whether the model wrote a message or item."""

    @abstractmethod
    def is_opaque(self, message: Json) -> bool:
        """Whether a message contains the provider's own compaction, whose contents nothing else has."""

    @abstractmethod
    def arguments_path(self, message: Json, call_id: str) -> Path | None:
        """Where a message has the arguments of a call, an object or a text; None where it has none, or where nothing of
        them may be changed: what is not understood, and calls that carry a signature of their own."""

    @abstractmethod
    def is_signed(self, message: Json) -> bool:
        """Whether reasoning in a message is signed or encrypted. Providers ask for it back unchanged in the turn that
        goes on, together with the calls that it led to."""

    # Conversations that are changed

    @abstractmethod
    def summary_message(self, text: str) -> Wire:
        """The user's message that carries a summary."""

    @abstractmethod
    def joined_around(self, messages: Sequence[Wire], places: Sequence[int | None], summary: Wire) -> list[Wire]:
        """The messages at these places, with the summary where a place is None, valid where they meet anew."""

    @abstractmethod
    def has_broken_pairs(self, messages: Sequence[Wire]) -> bool:
        """Whether a call has no result, a result no call, or a call two results. Runs for every request, so it may
        raise `AttributeError`, `KeyError` or `TypeError` for messages that it does not understand."""

    @abstractmethod
    def with_whole_pairs(self, messages: Sequence[Wire]) -> tuple[list[Wire], Repairs]:
        """The messages with every pair whole, and what was repaired; may raise like `has_broken_pairs`."""

    @abstractmethod
    def with_lost_results(self, messages: Sequence[Wire], find: FindLost) -> Sequence[Wire]:
        """The messages with the results that `find` gives, in the place of those that are empty or not there; the same
        object where it gives none. Runs for every request; may raise like `has_broken_pairs`."""

    @abstractmethod
    def with_results(self, messages: Sequence[Any], results: Sequence[Json]) -> list[Any]:
        """The messages that follow an answer, with the results of recall tools beside the client's own."""

    # Requests

    @abstractmethod
    def messages_of(self, request: "RequestBody") -> list[Any]:
        """The messages of a request; a text in their place is one message."""

    @abstractmethod
    def tool_names(self, fields: Json) -> list[str]:
        """One name for each tool that a request offers, empty for one without a name."""

    @abstractmethod
    def may_hide_rounds(self, fields: Json, is_recorded: bool) -> bool:
        """Whether an answer may take rounds that the client does not see. Not where it wants several answers, nor
        where it may continue an unrecorded one by its id, so that nobody could put the rounds back."""

    @abstractmethod
    def has_format(self, fields: Json) -> bool:
        """Whether a request says which form the answer must have, so that a client parses all of its text."""

    @abstractmethod
    def refusal(self, fields: Json) -> Json | None:
        """The body of the error (status 400) that makes a client send its whole conversation; None for a request that
        has all of it, or continues one in a way that can be followed."""

    @abstractmethod
    def with_cache_marker(self, request: "RequestBody", index: int, most: int) -> bytes | None:
        """The request with a cache marker at the end of a message; None where that cannot be, or `most` are there."""

    # Answers

    @abstractmethod
    def read_reply(self, body: Json, names: Names) -> Reply:
        """The reply in the body of a response."""

    @abstractmethod
    def joined_reply(self, body: Json, shown: Sequence[Json], names: Names) -> Json:
        """The last round's body with what all rounds have to show, and no calls of recall tools."""

    @abstractmethod
    def shown_messages(self, shown: Sequence[Json]) -> list[Json]:
        """The messages that a client adds to its conversation, given what it was shown of an answer."""

    @abstractmethod
    def result_messages(self, results: Sequence[Json]) -> list[Json]:
        """The messages or items that bring results to the model."""

    @abstractmethod
    def stream(self, names: Names) -> AnswerStream:
        """A new streamed answer."""

    @abstractmethod
    def is_stream_whole(self, data: bytes) -> bool:
        """Whether a stream has the provider's last words; a connection that was cut may end as quietly."""

    @abstractmethod
    def usage_in(self, body: Json) -> Usage | None:
        """The usage in the body of a response."""

    @abstractmethod
    def usage_in_stream(self, data: bytes) -> Usage | None:
        """The usage in a streamed response; may raise `ValueError`."""

    @abstractmethod
    def error_event(self, error: object) -> bytes:
        """The event of a stream that reports an error of the provider."""

    @abstractmethod
    def error_body(self, kind: str, message: str) -> Json:
        """The body of a response that reports an error of Keepwhole."""

    # Logs

    @abstractmethod
    def is_logged(self, request: Json, response: Json) -> bool:
        """Whether a logged request and its response can be of no other dialect."""

    @abstractmethod
    def logged_messages(self, request: Json) -> list[Any]:
        """The conversation in a logged request, the system prompt as its first message."""

    @abstractmethod
    def logged_answer(self, response: Json) -> list[Any]:
        """The messages or items in a logged response."""

    # What is the same for all, or for all but one

    def with_call_ids(self, messages: Sequence[Any]) -> Sequence[Any]:
        """The messages with an id for each call and result; the same where a dialect always has them."""
        return messages

    def without_made_ids(self, message: Any) -> Any:
        """A message as it is written, without ids that `with_call_ids` made."""
        return message

    def tools_path(self, fields: Json) -> Path:
        """The list in a request to which Keepwhole's tools are added."""
        return (self.tools_fields[0],)

    def answer_body(self, answer: object) -> Json:
        """The body of a response that came at once, given its JSON."""
        return fields_of(answer)

    def is_broken(self, messages: Sequence[Wire]) -> bool:
        """Whether `repair` would change something; False where the messages cannot be understood."""
        try:
            return self.has_broken_pairs(messages)
        except (AttributeError, KeyError, TypeError):
            pass  # perhaps objects of an SDK, which take longer to read
        try:
            return self.has_broken_pairs(as_dicts(messages))
        except (AttributeError, KeyError, TypeError):
            return False

    def start_of_turn(self, messages: Sequence[Any], length: int) -> int:
        """A message among the first `length` from which on lost results are found without those before it."""
        return 0

    def put_back(self, messages: Sequence[Wire], find: FindLost) -> Sequence[Wire]:
        """The messages with lost results put back; the same object where there are none, or they are not understood."""
        found = self.understand_and_put_back(messages, find)
        return messages if found is None else found

    def understand_and_put_back(self, messages: Sequence[Wire], find: FindLost) -> Sequence[Wire] | None:
        """The same; None for messages that are not understood."""
        try:
            return self.with_lost_results(messages, find)
        except (AttributeError, KeyError, TypeError):
            pass  # perhaps objects of an SDK, which take longer to read
        dicts = as_dicts(messages)
        own = {id(plain): message for plain, message in zip(dicts, messages, strict=True)}
        try:
            found = self.with_lost_results(dicts, find)
        except (AttributeError, KeyError, TypeError):
            return None
        return messages if found is dicts else [own.get(id(message), message) for message in found]

    def repair(self, messages: Sequence[Wire]) -> tuple[Sequence[Wire], Repairs]:
        """The messages with every pair whole, and what was repaired; the same object where nothing was."""
        if not self.is_broken(messages):
            return messages, Repairs()
        dicts = as_dicts(messages)
        own = {id(plain): message for plain, message in zip(dicts, messages, strict=True)}
        try:
            whole, repairs = self.with_whole_pairs(dicts)
        except (AttributeError, KeyError, TypeError):
            return messages, Repairs()
        return [own.get(id(message), message) for message in whole], repairs

    def is_whole(self, data: bytes, is_stream: bool) -> bool:
        """Whether a response that came to its end is all of it."""
        if is_stream:
            return self.is_stream_whole(data)
        try:
            json.loads(data)
            return True
        except (ValueError, RecursionError):
            return False

    def usage_of(self, data: bytes, streamed: bool) -> Usage | None:
        """The usage that a response reports; None where it reports none."""
        try:
            return self.usage_in_stream(data) if streamed else self.usage_in(fields_of(json.loads(data)))
        except (ValueError, RecursionError):
            return None


def end_reason(reason: str | None, calling: str, waits: bool, otherwise: str) -> str | None:
    """Why an answer ended, once it has no calls of recall tools: `otherwise` in place of `calling` if none is left."""
    return otherwise if reason == calling and not waits else reason
