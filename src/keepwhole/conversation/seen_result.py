"""`SeenResult`: one result in the messages of a branch, where it is in its life (`State`), and what is sent for it.

The states and their transitions are drawn in `branch`.
"""

from collections.abc import Sequence
from enum import Enum
from typing import Any, NamedTuple

from keepwhole.canonical.entry import Decision, Result
from keepwhole.canonical.media import media_of
from keepwhole.canonical.message import Call, Path, ResultText
from keepwhole.conversation.cut_arguments import CallEdits, edits_of_call, when_changed
from keepwhole.conversation.originals import ClientOriginal, find_recorded, take_original
from keepwhole.logs.client_originals import FindOriginal
from keepwhole.models.tokens import estimate
from keepwhole.policies.arguments import may_change
from keepwhole.policies.policy import Choice, TrackedChoices, shown_text
from keepwhole.policies.transcript import Item, Transcript
from keepwhole.record.arrival import CLIENT_CUT, NewResult
from keepwhole.record.journal import Journal, ResultMatch, digest_of_text
from keepwhole.record.known_result import KnownResult
from keepwhole.record.writer import SessionWriter
from keepwhole.store.protocol import Draft, Store
from keepwhole.store.stored_text import StoredText
from keepwhole.wire.call_arguments import Edit


class State(Enum):
    """Where a result is in its life; see the table in `branch`."""

    NEW = "new"
    KEPT = "kept"
    DECIDED = "decided"
    GONE = "gone"


class Identified(NamedTuple):
    """What a text in a message is."""

    returned: ResultText
    """The result with its original text, or with what the client itself cut from it."""
    came: str
    known: KnownResult | None = None
    """The result on record."""
    is_client_cut: bool = False
    """Whether the client itself cut the text from that result."""
    original: ClientOriginal | None = None
    """What the client cut it from, where no decision on record says so yet."""


def identify(
    journal: Journal, returned: ResultText, match: ResultMatch | None, call: Call | None = None
) -> Identified | None:
    """What a text in a message is, by the result on record that it stands for; raises `StoreError`.

    None for a text that the client cleared, or cut nobody knows how from a result on record: that is the client's
    decision, not a result. The same for one of our views whose original is damaged. Some servers number the calls of
    each answer anew: so what looks cleared or cut is a result all the same where it is of another `call` than those on
    record with its id.
    """
    if match is None and returned.is_framed:  # a record from before frames were known has the result in its frame
        whole = returned._replace(text=returned.around(returned.text), before="", behind="")
        match = journal.match(whole.call_id, whole.text)
        returned = returned if match is None else whole
    text = returned.text
    if match is None and (returned.media is not None or not journal.is_foreign_cut(returned.call_id, text)):
        return Identified(returned, text)
    if match is None:  # a hook may have recorded whole what the client cut
        found = find_recorded(journal, returned.call_id, text)
        if found is not None:
            return Identified(returned, text, found[0], True, found[1])
        is_another = call is not None and not any(one.is_of(call) for one in journal.results_of_call(call.call_id))
        return Identified(returned, text) if is_another else None
    if match.is_whole or match.is_client_cut:
        return Identified(returned, text, match.known, match.is_client_cut)
    if match.known.media is not None:
        return Identified(returned.as_view_of(match.known.media), text, match.known)
    original = journal.original_text(match.known)
    return None if original is None else Identified(returned._replace(text=original), text, match.known)


class Changes(NamedTuple):
    """What one view changed."""

    recorded: int = 0
    """New results that were recorded."""
    summaries: int = 0
    unstored: int = 0
    """Results that could not be recorded and are sent in full."""


class SeenResult:
    """One result in the messages of a branch."""

    __slots__ = ("arguments", "came", "client_original", "image", "is_looked_up", "item", "known", "text")

    def __init__(self, item: Item, came: str) -> None:
        self.item = item
        """The result as policies see it: the whole original, or what the client itself cut from it."""
        self.came = came
        """The text that the client sent, without its frame: the original, one of our views of it, or what the client
        cut from it; of an image its description."""
        self.known: KnownResult | None = None
        """The result on record."""
        self.text: str | None = None
        """What is sent in its place, where that is not what came."""
        self.image: bytes | None = None
        """The smaller image that is sent in its place."""
        self.client_original: ClientOriginal | None = None
        """What the client cut it from, until that is on record as such."""
        self.is_looked_up = False
        """Whether the client's files were searched for what it cut."""
        self.arguments: CallEdits | None = None
        """What is cut of the arguments of its call, in a request that goes to a provider."""

    def look_at_arguments(self, known: KnownResult | None, transcript: Transcript, messages: Sequence[Any]) -> None:
        """Find out when the arguments of its call may be cut; `known` is the result on record, if it is."""
        self.item.changes_arguments = when_changed(self.item, known, transcript, messages)

    def leave_arguments(self, choice: Choice) -> Choice:
        """Send the arguments of its call whole, since they cannot be edited; return the choice that is in force."""
        self.arguments = None
        return choice._replace(tokens=estimate(shown_text(self.item, choice)))

    def argument_edits(self, transcript: Transcript) -> list[Edit]:
        """The edits that cut the arguments of its call; none while the client has taken back the message after which
        that was allowed."""
        return [] if self.arguments is None or not may_change(transcript, self.item) else self.arguments.edits

    def state(self, decisions: TrackedChoices) -> State:
        """Where it is in its life."""
        if self.known is None:
            return State.NEW
        if self.item.gone:
            return State.GONE
        return State.DECIDED if self.item.number in decisions else State.KEPT

    def show(self, choice: Choice, transcript: Transcript, messages: Sequence[Any]) -> Choice:
        """Show it as a choice says, and the arguments of its call; return the choice with the tokens that this takes.
        An image that is shown in full is sent as it came."""
        image = choice.cut.image
        self.image = None if image is None else image.data
        if image is not None:
            self.text = self.arguments = None
            return choice._replace(tokens=transcript.tokens_of_media(self.item, media_of(image.data, image.media_type)))
        text = shown_text(self.item, choice)
        is_whole_image = self.item.media is not None and text == self.item.text
        self.text = None if is_whole_image or text == self.came else text
        self.arguments = edits_of_call(self.item, choice.cut, transcript, messages)
        freed = 0 if self.arguments is None else self.arguments.freed
        return choice._replace(tokens=(self.item.tokens if is_whole_image else self.item.tokens_of_words(text)) - freed)

    def edit(self, is_restored: bool = False) -> tuple[Path, Any] | None:
        """What is put in its place, and where; None where it is sent as it came. Restored, it is shown in full."""
        if self.image is not None and not is_restored:
            return self.item.returned.with_image(self.image)
        text = self.text
        if is_restored:
            text = None if self.item.media is not None or self.item.text == self.came else self.item.text
        returned = self.item.returned
        return None if text is None else (returned.path, returned.replacement(text))

    def came_as(self, decision: Decision) -> bool:
        """Whether the client sent exactly what a decision shows."""
        return digest_of_text(self.came).hex() == decision.shown_digest

    @property
    def is_known_cut(self) -> bool:
        """Whether it is on record only as the client had cut it."""
        return self.known is not None and CLIENT_CUT in self.known.result.flags

    def look_up(self, writer: SessionWriter, find: FindOriginal) -> None:
        """Store what the client cut the result from, where it saved that; the client's files are searched once."""
        if self.is_looked_up or self.item.media is not None:
            return
        self.is_looked_up = True
        self.client_original = take_original(writer, self.item.returned.call_id, self.came, find)
        if self.client_original is not None:
            self.item.original = self.client_original.text

    def recognize(self, store: Store, known: KnownResult, original: StoredText | None) -> None:
        """Note that the result is on record, and its `original` where the client cut the text from it."""
        self.drop_original(store, known)
        self.known, self.item.original = known, original

    def drop_original(self, store: Store, known: KnownResult | None = None) -> None:
        """Give back a body that was stored for the result, unless it is the one on record now."""
        taken = None if self.client_original is None else self.client_original.body
        if taken is not None:
            if known is None or known.body.blob != taken.blob:
                store.discard(taken)
            self.client_original = None

    def as_new(self, result: Result, decision: Draft | None) -> NewResult:
        """The entries of a new result: its text, or what the client cut it from, with the client's decision."""
        original = self.client_original
        if original is None:
            return NewResult(result, self.item.returned.output, decision)
        by_client = original.decision(result.trace_id, result.at, self.item.text)
        return NewResult(result, self.item.text, decision, original.body, by_client)

    def client_decision(self, at: int) -> Draft | None:
        """The entry for a result that was recorded whole before the client's cut of it came; None for any other."""
        if self.client_original is None or self.known is None or self.known.decision is not None:
            return None
        return self.client_original.decision(self.known.result.trace_id, at, self.came)


class MadeEdits:
    """The edits that a branch makes in its messages, kept from one request to the next.

    A client sends everything again with every request, and of a long conversation most messages are edited as they were
    before. So the edits of a message are made once, when a decision about one of its results comes into force, and are
    the same objects in every request from then on: whoever writes them sees at a glance that they are.
    """

    def __init__(self) -> None:
        self._of: dict[int, Sequence[Edit]] = {}
        self.calls: set[int] = set()
        """Numbers of the results of whose calls the arguments may be cut."""

    def hold(self, index: int, edits: Sequence[Edit]) -> None:
        """Make these edits in message `index`, in place of those that were made there."""
        self._of[index] = edits

    def drop(self, index: int) -> None:
        """Make none in message `index`."""
        self._of.pop(index, None)

    def cut_back(self, length: int, results: int) -> None:
        """Forget the messages from `length` on, of which the first ones have so many results."""
        self._of = {index: edits for index, edits in self._of.items() if index < length}
        self.calls = {number for number in self.calls if number < results}

    def by_message(self) -> dict[int, Sequence[Edit]]:
        """Return the edits by message."""
        return self._of.copy()
