"""Entries: what happened in a session, one after the other, chained by hash.

Owns: the fields of an entry, their canonical bytes, the chain.
Must not know: how an entry is stored, what a cut or a manifest means (an entry carries it as an opaque body).

The header bytes are what the chain covers. They are ASCII JSON in a fixed order, so that the same entry has
the same bytes on any machine; lone surrogates survive as escapes.
"""

import hashlib
import json
from typing import Any, TypeAlias, cast

from keepwhole.canonical.body import BodyFacts
from keepwhole.canonical.round_times import RoundTimes
from keepwhole.canonical.value import Value
from keepwhole.errors import Damaged

GENESIS = b"\x00" * 32
"""What the first entry of a session is chained to."""


OWN_TOOLS = "keepwhole_"
"""How the names of the tools begin under which Keepwhole records its own notes."""

_encode = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode
_decode = json.JSONDecoder().decode


class Result(Value):
    """A tool returned something; the body is what it returned."""

    at: int
    """When it was kept, in unix milliseconds. Order comes from `seq`, never from this."""
    trace_id: str
    artifact_id: str
    """The id it goes by once it is shown cut or replaced; drawn at ingest, so it never changes."""
    tool: str
    arguments: str | None = None
    """The call's arguments as JSON text, as the provider spelled them where it gave text."""
    call_id: str | None = None
    is_error: bool = False
    exit_code: int | None = None
    turn: int | None = None
    task_id: str | None = None
    query_id: str | None = None
    question: str | None = None
    media_type: str = "text/plain"
    flags: tuple[str, ...] = ()
    """`truncation_marker`: it arrived looking cut. `imitated_arguments`: its call has the words in it that stand for
    arguments which are cut, so a model has written them itself."""
    width: int | None = None
    height: int | None = None
    """Pixels of an image; None where they are not known."""
    pages: int | None = None
    """Pages of a document, about; None for anything else."""
    frame: tuple[str, str] | None = None
    """What the client put before and behind the body when it first sent it; None where it put nothing there."""


class Decision(Value):
    """How a result is shown from now on; the body is the cut itself, not the recipe."""

    at: int
    trace_id: str
    rule: str
    strategy: str
    version: str
    """The Keepwhole that decided; what it decided holds under any other."""
    shown_digest: str
    """Digest of the view as shown, by which it is known when it comes back."""
    shown_chars: int
    width: int | None = None
    height: int | None = None
    """Pixels of the image that is sent in place of an image; None where that is a text."""
    reason: str | None = None
    """Why this result, in words for people, where the rule alone does not say it."""


HIDDEN_ROUND = "round"
"""The purpose of a request that was made only to recall something."""


class Request(Value):
    """Something was sent to a provider; the body is its manifest, from which its bytes are put together again."""

    at: int
    trace_id: str
    size: int
    """Bytes that were sent."""
    digest: str
    """SHA-256 of the bytes that were sent, by which they are known to be put together right."""
    base: int | None = None
    """The number of the earlier request that the manifest is written against."""
    same: int = 0
    """Bytes at its beginning that are those of its base."""
    dialect: str = ""
    model: str = ""
    branch: str = "main"
    """Which of the conversations that a session holds side by side: an agent's, or one of its helpers'."""
    purpose: str = "turn"
    """`turn`, `compaction` and the like; `round` for one of ours between two of the client's, to recall something."""
    policy: str = ""
    mode: str = ""
    tokens_whole: int = 0
    """Tokens of what the client meant to send, about."""
    tokens_sent: int = 0
    predicted: int | None = None
    """Tokens that the provider should find in its cache."""
    edited: int = 0
    """Results in it that are shown otherwise than they came."""
    decisions: int = 0
    """How many decisions were made for it."""
    recall: str = ""
    """`tools` where ours were offered."""
    scale: float = 0.0
    """Tokens billed for an estimated one, as was thought when it was sent; 0 where its bill teaches nothing of that."""
    would_send: int | None = None
    """In `mode: shadow` the tokens that it would have had with `mode: on`, about; else None."""
    would_edit: int | None = None
    """In `mode: shadow` how many results it would have shown otherwise with `mode: on`; else None."""
    by_plan: bool | None = None
    """True where the client was signed in with a plan, so that nobody is billed by the token; else None."""


class Response(Value):
    """A provider answered; the body is what came, as it came, packed where that makes it shorter."""

    at: int
    trace_id: str
    """That of the request it answers."""
    status: int
    """As HTTP has it; 0 where there was no answer at all."""
    outcome: str
    """`complete`, `incomplete` or `refused`."""
    response_id: str | None = None
    """What the provider calls it."""
    input: int | None = None
    """Tokens of the request as billed, those from the cache and those written to it too."""
    cached: int | None = None
    written: int | None = None
    output: int | None = None
    first_ms: int | None = None
    """Milliseconds from sending the request to the first byte."""
    total_ms: int | None = None
    """Milliseconds from the request's arrival to the last byte; without `own_ms`, from sending it."""
    packing: str = ""
    """`zlib`, or empty: streams of events say the same again and again."""
    queue_ms: int | None = None
    """Milliseconds until the request was read; None in entries of earlier releases."""
    own_ms: int | None = None
    """Milliseconds of Keepwhole's own work until it was sent; None in entries of earlier releases."""
    limits: str | None = None
    """The provider's rate limits as JSON, as the headers of its answer told them."""
    answered_by: str | None = None
    """The model that the provider says it used, where the request names another, such as a deployment."""
    written_hour: int | None = None
    """Of `written`, the tokens that live in the cache for an hour; None where the provider tells of none."""

    @property
    def times(self) -> RoundTimes | None:
        """How long it took, phase by phase; None where that was not measured with one clock."""
        known = (self.queue_ms, self.own_ms, self.first_ms, self.total_ms)
        if None in known:
            return None
        queue, own, first, total = (value or 0 for value in known)
        return RoundTimes(queue, own, first, max(0, total - queue - own - first))


Header: TypeAlias = Result | Decision | Request | Response
KINDS: dict[str, type[Header]] = {"result": Result, "decision": Decision, "request": Request, "response": Response}
KIND_OF: dict[type[Any], str] = {kind: name for name, kind in KINDS.items()}


_LATER = (
    "would_send",
    "would_edit",
    "width",
    "height",
    "pages",
    "frame",
    "reason",
    "queue_ms",
    "own_ms",
    "limits",
    "by_plan",
    "answered_by",
    "written_hour",
)
"""Fields that earlier releases do not know: left out where they say nothing, so that these can read the entry."""


class Entry(Value):
    """One happening of a session, numbered by `seq`."""

    session: str
    seq: int
    header: Header
    facts: BodyFacts
    chain: bytes

    @property
    def kind(self) -> str:
        """`result`, `decision`, `request` or `response`."""
        return KIND_OF[type(self.header)]


def header_bytes(header: Header, facts: BodyFacts) -> bytes:
    """The canonical bytes of an entry's header, the body's facts included."""
    fields = {"v": 1, "kind": KIND_OF[type(header)], **header.as_dict()}
    for name in _LATER:
        if fields.get(name) is None:
            fields.pop(name, None)
    index = hashlib.sha256(facts.blocks).hexdigest() if facts.blocks else ""
    fields["body"] = [facts.size, facts.chars, facts.lines, facts.eol, facts.encoding, index]
    return _encode(fields).encode("ascii")


def parse_header(raw: bytes, digest: bytes, blocks: bytes) -> tuple[Header, BodyFacts]:
    """The header and facts that `header_bytes` wrote.

    Raises `Damaged` for anything else: header bytes come from disk.
    """
    try:
        fields = cast("dict[str, Any]", _decode(raw.decode("ascii")))
        kind = KINDS[fields.pop("kind")]
        size, chars, lines, eol, encoding, index = fields.pop("body")
        fields.pop("v")
        if "flags" in fields:
            fields["flags"] = tuple(fields["flags"])
        if "frame" in fields:
            before, behind = fields["frame"]
            fields["frame"] = before, behind
        if blocks and hashlib.sha256(blocks).hexdigest() != index:
            raise ValueError("the block index was changed")
        return kind(**fields), BodyFacts(size, chars, lines, eol, encoding, digest, blocks)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Damaged(f"An entry's header cannot be read ({error}). Run `keepwhole sessions verify`.") from error


def next_chain(previous: bytes, header: bytes, digest: bytes) -> bytes:
    """The chain hash of an entry that follows one with the hash `previous`."""
    return chain_without_header(previous, hashlib.sha256(header).digest(), digest)


def chain_without_header(previous: bytes, header_hash: bytes, digest: bytes) -> bytes:
    """The same for an entry that was forgotten: of its header only the hash is left."""
    return hashlib.sha256(b"hf1" + previous + header_hash + digest).digest()


def arguments_text(arguments: object) -> str | None:
    """Arguments as JSON text; text is kept as the provider spelled it.

    >>> arguments_text({"path": "a.txt"})
    '{"path": "a.txt"}'
    """
    if arguments is None or isinstance(arguments, str):
        return arguments
    return json.dumps(arguments, ensure_ascii=False, default=str)
