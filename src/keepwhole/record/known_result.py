"""`KnownResult`: a result on record with the decision that holds for it, and `Origin`: which entries make a text."""

import json
from typing import NamedTuple, cast

from keepwhole.canonical.body import digest_of_bytes
from keepwhole.canonical.entry import Decision, Entry, Result
from keepwhole.canonical.guard import is_cleared, truncation_mark
from keepwhole.canonical.media import Media
from keepwhole.canonical.message import Call
from keepwhole.canonical.utf8 import encode
from keepwhole.errors import Damaged
from keepwhole.models.media_tokens import media_tokens
from keepwhole.store.protocol import Body, Row, Store, entry_of
from keepwhole.truncation import client_cut
from keepwhole.truncation.cut import Cut, decode_cut
from keepwhole.wire.text_card import card

_SCREEN = "computer"
"""The tool whose results may be images alone: the words in their place are drawn (`wire/text_card.py`)."""


class KnownResult:
    """One result on record, with the decision that holds for it."""

    __slots__ = ("_words", "body", "client_views", "decided", "decision", "digest", "named", "result", "seq", "views")

    def __init__(self, result: Result, body: Body, seq: int = 0) -> None:
        self.result = result
        self.seq = seq
        self.body = body
        self.digest = body.facts.digest
        self.decision: tuple[Decision, Cut] | None = None
        self.decided = 0
        """The number of the entry of that decision."""
        self.views: set[str] = set()
        """Digests of all views that were shown of it."""
        self._words: list[str] = []
        """Those of them that may have been drawn, and are not among the digests."""
        self.client_views: set[str] = set()
        """Those of them that the client cut itself."""
        self.named: dict[str, int] = {}
        """Of the views with a notice that names it, each with the number of its newest decision."""

    @property
    def media(self) -> Media | None:
        """The facts of an image, a document or audio; None for text, and for bytes that are read as text with marks for
        what is none."""
        result, facts = self.result, self.body.facts
        pixels = result.width or 0, result.height or 0
        media = Media(result.media_type, facts.size, facts.digest, *pixels, result.pages or 0)
        return None if media.kind == "file" else media

    @property
    def media_tokens(self) -> int:
        """Tokens of an image or a document, about; 0 for text."""
        return 0 if self.media is None else media_tokens(self.media)

    def has_drawn(self, digest: bytes) -> bool:
        """Whether an image is the words of a view; words are drawn only to find that out, which takes milliseconds."""
        if self.media is not None:
            self.views.update(digest_of_bytes(card(words)).hex() for words in self._words)
            self._words.clear()
        return digest.hex() in self.views

    def is_of(self, call: Call) -> bool:
        """Whether it is a result of this call: of the same tool with the same arguments, or with what a client has left
        of them, as far as they are known."""
        arguments = _parsed(self.result.arguments)
        return self.result.tool == call.tool and (not arguments or _is_left_of(arguments, _parsed(call.arguments)))

    def decide(self, seq: int, decision: Decision, cut: Cut) -> None:
        """Take over a decision; decisions come in the order of their numbers."""
        self.decision, self.decided = (decision, cut), seq
        self.views.add(decision.shown_digest)
        if self.result.tool == _SCREEN and cut.image is None:
            self._words.append(cut.above + cut.below)
        if decision.rule == client_cut.RULE:
            self.client_views.add(decision.shown_digest)
        notices = cut.above + cut.below
        if self.result.artifact_id in notices or self.result.trace_id in notices:
            self.named[decision.shown_digest] = seq


class Origin(NamedTuple):
    """Which entries produce a text or bytes again: a result, whole or as a decision shows it."""

    trace_id: str
    decision: int = 0
    """The number of the decision; 0 for the whole result."""
    is_text: bool = True
    """Whether it produces a text; else only bytes, which no text is read from again."""


def origin_of_entry(entry: Entry) -> tuple[str, Origin] | None:
    """The digest of the text or the bytes that an entry produces, in hex, and the entry as their origin."""
    header = entry.header
    if isinstance(header, Result):
        return entry.facts.digest.hex(), Origin(header.trace_id, is_text=entry.facts.encoding != "bytes")
    if isinstance(header, Decision):
        return header.shown_digest, Origin(header.trace_id, entry.seq, is_text=header.width is None)
    return None


def read_result(row: Row) -> KnownResult | None:
    """The result that a row records; None for another kind of entry. Raises `Damaged`."""
    entry = entry_of(row)
    if not isinstance(entry.header, Result):
        return None
    return KnownResult(entry.header, Body(entry.facts, row.inline, row.blob), entry.seq)


def _parsed(arguments: str | None) -> object:
    try:
        return json.loads(arguments or "null")
    except (ValueError, RecursionError):
        return arguments


def _is_left_of(before: object, now: object) -> bool:
    """Whether a value is the same as before, or is what is left of it where a client cleared or cut it."""
    if now == before or not now:
        return True
    if isinstance(now, dict) and isinstance(before, dict):
        fields, earlier = cast("dict[str, object]", now), cast("dict[str, object]", before)
        return all(key in earlier and _is_left_of(earlier[key], value) for key, value in fields.items())
    return isinstance(now, str) and (is_cleared(now) or truncation_mark(encode(now)[0]) is not None)


def read_decision(store: Store, row: Row) -> tuple[Decision, Cut]:
    """The decision that a row records, and its cut. Raises `Damaged`."""
    entry = entry_of(row)
    if not isinstance(entry.header, Decision):
        raise Damaged(f"Entry {row.seq} of session `{row.session}` is not a decision. Run `keepwhole sessions verify`.")
    return entry.header, read_cut(store, Body(entry.facts, row.inline, row.blob))


def read_cut(store: Store, body: Body) -> Cut:
    """The cut in the body of a decision. Raises `Damaged`."""
    with store.open(body) as reader:
        return decode_cut(reader.read())
