"""The table of dialects, and the look-ups that follow from it.

Owns: which dialects there are, and finding one by name, by the path of a request, or by the shape of a message, since a
history may be mixed or say nothing of its dialect.
Must not know: how any of them spells anything.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

from keepwhole.canonical.message import Message
from keepwhole.errors import UsageError
from keepwhole.wire.anthropic.dialect import ANTHROPIC
from keepwhole.wire.content import Json, decode_plain, fields_of, kind_of_part, parts_of
from keepwhole.wire.converse.dialect import CONVERSE
from keepwhole.wire.dialect import Dialect, PathKind, PathPattern, ToolDialect
from keepwhole.wire.enclosed_request import EnclosedRequest, Enclosure, take_out
from keepwhole.wire.event_stream import FramedStream, FrameKind
from keepwhole.wire.gemini.dialect import GEMINI
from keepwhole.wire.mcp import MCP
from keepwhole.wire.openai_chat.dialect import OPENAI_CHAT
from keepwhole.wire.openai_responses.dialect import OPENAI_RESPONSES
from keepwhole.wire.tools import ToolCall

if TYPE_CHECKING:
    from keepwhole.wire.request_body import RequestBody  # which reads the names of fields from the table

DIALECTS: tuple[Dialect, ...] = (
    CONVERSE,
    ANTHROPIC,
    OPENAI_CHAT,
    OPENAI_RESPONSES,
    GEMINI,
)
"""The dialects of conversations. Where two could read a message, the first one does."""
TOOL_DIALECTS: tuple[ToolDialect, ...] = (MCP,)
"""Those without conversations."""
DEFAULT: Dialect = OPENAI_CHAT
"""The dialect of messages that any of them could have."""


class Endpoint(NamedTuple):
    """What a path is for."""

    dialect: Dialect
    counts: bool = False
    """Whether it only counts tokens."""
    compacts: bool = False
    """Whether it gives back a shorter conversation."""
    model: str | None = None
    """The model that the path names; None where the body does."""
    provider: str = ""
    """The upstream that answers it."""
    frames: FrameKind | None = None
    """In which frames of Amazon's a streamed answer comes."""
    enclosure: Enclosure | None = None
    """Where a body has the request inside of it."""
    own_field: str = ""
    """The field without which a body is another vendor's; empty where none comes on this path."""

    def new_frames(self) -> FramedStream | None:
        """What reads and writes the frames of one streamed answer; None where there are none."""
        return None if self.frames is None else FramedStream(self.frames)

    def model_of(self, request: "RequestBody") -> str:
        """The model that is asked, as the client calls it; empty where it does not say."""
        return self.model or request.model or ""


class Table:
    """The dialects with what is asked of all of them, collected once."""

    def __init__(self, dialects: tuple[Dialect, ...], tool_dialects: tuple[ToolDialect, ...] = TOOL_DIALECTS) -> None:
        self.dialects = dialects
        self.all: tuple[ToolDialect, ...] = (*dialects, *tool_dialects)
        self.names = {name: dialect for dialect in self.all for name in (dialect.name, *dialect.aliases)}
        self.endpoints = {
            path: _endpoint(dialect, kind, dialect.provider)
            for dialect in dialects
            for path, kind in dialect.paths.items()
        }
        patterns = [(one, _pattern_endpoint(dialect, one)) for dialect in dialects for one in dialect.path_patterns]
        self.patterns = [(one.pattern, endpoint) for one, endpoint in patterns if one.kind != "other"]
        """Paths that are recognized by a regular expression, in the order in which they are tried."""
        self.own_paths = [
            (one.pattern, one.parameter, endpoint.provider)
            for one, endpoint in sorted(patterns, key=lambda found: found[0].kind == "other")
        ]
        """All paths that one provider alone has, and the parameter of their query."""
        others = (one.provider for dialect in dialects for one in dialect.path_patterns if one.provider is not None)
        addresses = {name: address for name, address in others if address}
        usual = {dialect.provider: dialect.upstream for dialect in dialects if dialect.upstream}
        self.upstreams = {**addresses, **usual}
        """The usual address of each provider that has one."""
        self.decoders = tuple(dialect.decode for dialect in dialects)
        self.messages_fields = {dialect.messages_field: dialect.takes_text for dialect in dialects}
        """The names that a list of messages has in requests, and whether it may be one text."""
        self.makes_ids = {dialect.messages_field: dialect for dialect in dialects if not dialect.needs_call_id}
        """The dialects whose calls and results may have no ids, by the name of their list of messages."""
        tools = _union(dialect.tools_fields for dialect in dialects)
        self.prompt_fields = _union((tools, *(dialect.prompt_fields for dialect in dialects)))
        """The fields beside the messages that a model reads; tools come first in every prompt."""
        self.instructions_fields = _union(dialect.instructions_fields for dialect in dialects)
        self.answer_limit_fields = _union(dialect.answer_limit_fields for dialect in dialects)
        continued = _union((dialect.previous_answer_field, dialect.conversation_field) for dialect in dialects)
        self.continuation_fields = tuple(name for name in continued if name)
        """The fields by which a request continues a conversation that the provider has."""


def _endpoint(dialect: Dialect, kind: PathKind, provider: str) -> Endpoint:
    return Endpoint(dialect, counts=kind == "count", compacts=kind == "compaction", provider=provider)


def _pattern_endpoint(dialect: Dialect, one: PathPattern) -> Endpoint:
    provider = dialect.provider if one.provider is None else one.provider.name
    return _endpoint(dialect, one.kind, provider)._replace(
        frames=one.frames, enclosure=one.enclosure, own_field=one.own_field
    )


def _union(names: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """All names, each once, in order."""
    return tuple(dict.fromkeys(name for each in names for name in each))


TABLE = Table(DIALECTS)


def dialect_named(name: str) -> ToolDialect:
    """The dialect that `name` means.

    >>> dialect_named("openai")
    <dialect openai_chat>
    """
    try:
        return TABLE.names[name.replace("-", "_").lower()]
    except KeyError:
        known = ", ".join(f"`{known}`" for known in sorted(dialect.name for dialect in TABLE.all))
        raise UsageError(f"There is no dialect `{name}`. Use one of {known}.") from None


def conversation_dialect(name: str) -> Dialect:
    """The dialect of conversations that `name` means; `UsageError` for one that has none."""
    found = dialect_named(name)
    for dialect in TABLE.dialects:
        if dialect is found:
            return dialect
    known = ", ".join(f"`{dialect.name}`" for dialect in TABLE.dialects)
    raise UsageError(f"`{found.name}` has no conversations. Use one of {known}.")


def endpoint_of(path: str) -> Endpoint | None:
    """What a path is for; None for one that Keepwhole passes on. Anything may come before it: `/v1`, a token.

    >>> endpoint_of("/v1/messages").dialect
    <dialect anthropic>
    """
    return next(_endpoints_of(path), None)


def enclosed_in(path: str, body: bytes) -> tuple[Endpoint, EnclosedRequest] | None:
    """What a path is for whose bodies may have a request inside of them, and the request; None for a body that has
    none which is known, and can only be passed on.

    >>> endpoint, request = enclosed_in("/model/m/count-tokens", b'{"input": {"converse": {"messages": []}}}')
    >>> endpoint.dialect, request.data
    (<dialect converse>, b'{"messages": []}')
    """
    for endpoint in _endpoints_of(path):
        if endpoint.enclosure is None:
            return endpoint, EnclosedRequest(body, bytes)
        if (found := take_out(body, endpoint.enclosure)) is not None:
            return endpoint, found
    return None


def provider_of(target: str) -> str | None:
    """The provider that answers a path with its query, whether it is read or passed on; None where many have such a
    path.

    >>> provider_of("/v1/messages"), provider_of("/openai/files?api-version=2024-10-21"), provider_of("/v1/files")
    ('anthropic', 'azure', None)
    """
    path, _, query = target.partition("?")
    parameters = {one.partition("=")[0] for one in query.split("&")}
    for pattern, parameter, provider in TABLE.own_paths:
        if (not parameter or parameter in parameters) and pattern.search(path):
            return provider
    endpoint = endpoint_of(path)
    return None if endpoint is None else endpoint.provider


def _endpoints_of(path: str) -> Iterator[Endpoint]:
    """What a path may be for, which several endpoints share whose bodies differ."""
    path = path.rstrip("/")
    for pattern, endpoint in TABLE.patterns:
        if found := pattern.search(path):
            model = found.groupdict().get("model")
            yield endpoint if model is None else endpoint._replace(model=unquote(model))
    yield from (endpoint for end, endpoint in TABLE.endpoints.items() if path.endswith(end))


def dialect_of_headers(headers: Mapping[str, str]) -> Dialect:
    """The dialect of the provider to which headers belong; the default where they could be anybody's."""
    return next((one for one in TABLE.dialects if any(name in headers for name in one.own_headers)), DEFAULT)


def dialect_of(messages: Iterable[object]) -> Dialect | None:
    """The dialect of the first message that only one of them has; None if all would do."""
    for message in messages:
        fields = fields_of(message)
        content = fields.get("content") if "role" in fields else None
        kinds = {kind_of_part(fields_of(part)) for part in parts_of(content)}
        for dialect in TABLE.dialects:
            if dialect.is_own(fields, kinds):
                return dialect
    return None


def dialect_of_log(request: Json, response: Json) -> Dialect | None:
    """The dialect of a logged request and its response; None where they are nothing of the kind."""
    for dialect in TABLE.dialects:
        if dialect.is_logged(request, response):
            return dialect
    messages = request.get(DEFAULT.messages_field)
    return dialect_of(parts_of(messages)) or DEFAULT if isinstance(messages, list) else None


def decode_message(message: object, pinned: bool = False) -> Message:
    """The meaning of a message in any dialect; never raises.

    >>> decode_message({"role": "tool", "tool_call_id": "c", "content": "a.txt"}).returned[0].path
    ('content',)
    """
    fields: Any = message
    if message.__class__ is not dict:
        fields = fields_of(message)
    for decode in TABLE.decoders:
        decoded = decode(fields)
        if decoded is not None:
            break
    else:
        decoded = decode_plain(fields)
    return decoded._replace(pinned=True) if pinned else decoded


def parse_call(call: object) -> ToolCall:
    """A tool call in any dialect, as a dict or as the SDK's object."""
    found = (dialect.read_call(call) for dialect in TABLE.all)
    known = next((one for one in found if one is not None), None)
    if known is None:
        raise UsageError(
            "This is not a tool call in a known spelling. Give the provider's call object, or use "
            "`keep(tool, arguments, output)`."
        )
    return known
