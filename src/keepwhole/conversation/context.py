"""What a branch needs of its session, the files that notices name, and how one view is made (`ViewMode`).

Owns: that no notice names a file that is not there.
Must not know: messages, what is chosen.
"""

import os
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import NamedTuple

from keepwhole.canonical.entry import Result
from keepwhole.canonical.utf8 import as_bytes
from keepwhole.collector import without_collection
from keepwhole.errors import StoreError
from keepwhole.logs.client_originals import FindOriginal as FindOriginal
from keepwhole.models.thresholds import Thresholds
from keepwhole.policies.policy import Choice, Summarizer, shown_text
from keepwhole.policies.settings import CAREFUL
from keepwhole.policies.transcript import Item
from keepwhole.record.arrival import flags_of
from keepwhole.record.journal import Journal
from keepwhole.record.known_result import KnownResult
from keepwhole.record.writer import SessionWriter, decision_draft
from keepwhole.store.protocol import Draft
from keepwhole.store.stored_text import StoredText
from keepwhole.truncation.cut import Cut


class BranchContext(NamedTuple):
    """One session as its branches see it."""

    writer: SessionWriter
    journal: Journal
    summarizer: Summarizer | None = None
    """Writes summaries; without one they are written from the record alone."""
    thresholds: Thresholds = Thresholds()
    max_loss: float = CAREFUL.max_loss
    """Share by which a conversation may at most cost more than with `mode: off`."""
    max_edge: int = 0
    """Most pixels of the longer edge of an image in a new result; 0 for any."""

    def append_decisions(self, drafts: Sequence[Draft], after: int | None = None) -> None:
        """Append entries and learn them; raise `Overtaken` where an entry was added `after` the ones they rest on."""
        if drafts:
            entries, existed = self.writer.append(drafts, after=after)
            self.writer.count(entries)
            if existed:
                self.journal.foresee(entries, drafts)
        self.journal.catch_up(own=True)

    def result_of(self, item: Item, at: int) -> Result:
        """The entry that records a result; those that are recorded together have the same time."""
        assert item.name is not None, "a result is named before it is recorded"
        media = item.media
        came = item.returned.around(item.text) if item.original is None and media is None else ""
        return Result(
            at=at,
            trace_id=item.name.trace_id,
            artifact_id=item.name.artifact_id,
            tool=item.call.tool if item.call else "tool",
            arguments=item.call.arguments if item.call else None,
            call_id=item.returned.call_id,
            is_error=item.is_error,
            exit_code=item.returned.exit_code,
            turn=item.turn,
            flags=flags_of(came, item.call.arguments if item.call else None),
            frame=(item.returned.before, item.returned.behind) if item.returned.is_framed else None,
            **({} if media is None else media.header_fields),
        )

    def decision_of(self, item: Item, choice: Choice, at: int) -> Draft:
        """The entry that records a choice about a result."""
        assert item.name is not None, "a result is named before anything is decided about it"
        text = shown_text(item, choice)
        return decision_draft(item.name.trace_id, at, choice.rule, choice.strategy, choice.cut, text, choice.reason)

    def lay_out(self, item: Item, is_recorded: bool) -> bool:
        """Write the file that a notice about a result names; return whether the notice may name it."""
        if item.name is None or item.name.reachable is None:
            return True
        links = self.writer.links
        try:
            if is_recorded:
                links.lay_out_kept(self.writer.store, item.name.trace_id)
            else:
                links.lay_out(item.name.trace_id, lambda: _bytes_of(item), item.media_type)
        except StoreError:
            return False
        return True

    def lay_out_arguments(self, item: Item, known: KnownResult | None) -> bool:
        """The same for the file of what a result's own call was given."""
        given = known.result.arguments if known is not None else item.call.arguments if item.call is not None else None
        if item.name is None or given is None:
            return False
        try:
            self.writer.links.lay_out_arguments(item.name.trace_id, given)
        except StoreError:
            return False
        return True

    def lay_out_summary(self, drafts: Sequence[Draft], items: Iterable[Item]) -> bool:
        """The same for a summary that is about to be recorded, and for every result that it may stand for."""
        for draft in drafts[:1]:
            with self.writer.store.open(draft.body) as reader:
                self.writer.links.lay_out(draft.header.trace_id, reader.stream)
        return not drafts or all(self.lay_out(item, is_recorded=True) for item in items)

    def lay_out_again(self, known: KnownResult, cut: Cut) -> None:
        """Write the files that a notice names here too, where another machine has written them, or where they were
        those of a session that this one was forked from, which may have been purged."""
        links, trace_id = self.writer.links, known.result.trace_id
        files = links.files
        if files is None:
            return
        fork, words = self.journal.fork, cut.above + cut.below
        for session in (links.session, *(fork.origins if fork is not None else ())):
            path = files.path_of(session, trace_id, known.result.media_type)
            if path in words and not os.path.exists(path):
                with suppress(StoreError):
                    links.lay_out_kept(self.writer.store, trace_id, session)
            path = files.arguments_path_of(session, trace_id)
            if path in words and not os.path.exists(path):
                with suppress(StoreError):
                    links.lay_out_arguments(trace_id, known.result.arguments or "", session)


def _bytes_of(item: Item) -> Iterable[bytes]:
    """The whole of a result."""
    return item.original.stream() if isinstance(item.original, StoredText) else (as_bytes(item.returned.output),)


class ViewMode(NamedTuple):
    """What a view may write, and what it is for."""

    records: bool = True
    """Whether new results and decisions are recorded; not where a client only counts what would be sent."""
    restores: bool = False
    """Whether results are shown in full once, the newest first, as far as the window and the budget allow, and nothing
    ages: for a client that is about to summarize the conversation by itself."""
    is_whole: bool = False
    """Whether results are shown in full as far as the window allows, whatever that costs, and nothing ages: for a model
    that has no tool to read them back."""
    may_settle: bool = False
    """Whether results that are sent in full may be recorded later, by `settle`, once the request is on its way."""
    client: str = ""
    """The name of the client that sends the request, whose frames are taken off results; empty where it is unknown."""
    branch: str = "main"
    """Which of the conversations that a session holds side by side this is."""
    client_compacts: bool = False
    """Whether the client compacts by itself: then a summary of ours comes only where its own has not come in time."""
    is_between_rounds: bool = False
    """Whether the request is another hidden round of one answer. Nothing ages there but what the window forces:
    another process that sends the same request must not depend on how many rounds this one has made."""
    tools: int = 0
    """Tokens of the recall tools that are put in front of the request."""
    tools_wait: bool = False
    """Whether they are put there only once something is left out: that changes the prompt from its beginning on."""
    is_record_read: bool | None = None
    """Whether the record could be read just now; None where it is still to be read."""
    find_original: FindOriginal | None = None
    """Opens what the client saved of a result that it cut; None where the client's files are not to be read."""

    @property
    def shows_whole(self) -> bool:
        """Whether results are shown in full once, and nothing ages."""
        return self.restores or self.is_whole


TURN = ViewMode()
COUNT = ViewMode(records=False)


def while_reading(is_much: bool) -> AbstractContextManager[None]:
    """Return the context in which a view is made; one that reads much leaves much that stays."""
    return without_collection(counts_as_old=True) if is_much else nullcontext()
