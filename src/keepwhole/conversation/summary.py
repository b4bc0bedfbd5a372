"""The summary that stands for the oldest messages of one branch, where there is one.

Owns: finding it on record, recording one when the window is nearly full, and what it saves.
Must not know: how a summary is written (`compacting`), how messages are sent.
"""

from keepwhole.conversation.reaching import are_reachable
from keepwhole.conversation.summary_entries import TOOL, Prefixes, Standing, standing_of, summarised
from keepwhole.errors import NotFound, Overtaken, StoreError
from keepwhole.models.thresholds import Thresholds
from keepwhole.models.tokens import estimate
from keepwhole.policies.policy import Situation, TrackedChoices, sent_tokens
from keepwhole.policies.transcript import Transcript
from keepwhole.record.recording import Desk, drawn, record

_THRESHOLDS = Thresholds()


class Summing:
    """The summaries of one branch."""

    def __init__(self, desk: Desk, transcript: Transcript, decided: TrackedChoices) -> None:
        self._desk, self._transcript, self._decided = desk, transcript, decided
        self._prefixes = Prefixes()
        self._marked = 0
        """Messages up to here were given way to a summary."""
        self.standing: Standing | None = None
        """The one that holds now."""

    @property
    def messages(self) -> int:
        """How many messages it stands for."""
        return 0 if self.standing is None else self.standing.upto - len(self.standing.kept)

    def stand(self) -> None:
        """Find the summary on record that stands for most of these messages."""
        self.standing = None
        for known in self._desk.ledger.of_tool(TOOL):
            standing = standing_of(known)
            if standing is None or standing.upto > len(self._transcript.messages):
                continue
            if standing.prefix == self._prefixes.of(self._transcript, standing.upto):
                self.standing = standing
                break
        self._mark(self.standing.upto if self.standing is not None else 0)

    def situation(self, situation: Situation) -> Situation:
        """The situation with what a summary saves."""
        if self.standing is None:
            return situation
        upto, kept = self.standing.upto, self.standing.kept
        away = self._transcript.tokens - self._transcript.tokens_from(upto)
        away -= sum(map(self._transcript.tokens_of, kept))
        for number, choice in self._decided.items():
            item = self._transcript.items[number]
            away -= item.tokens - choice.tokens if item.index < upto and item.index not in kept else 0
        return situation._replace(overhead=situation.overhead - away + estimate(self.standing.text))

    def compact(self, situation: Situation) -> int:
        """Record a summary of the oldest steps when the window is nearly full; gives how many were recorded."""
        situation = self.situation(situation)
        sent = sent_tokens(self._transcript, self._decided) + situation.overhead
        if sent < _THRESHOLDS.compact * situation.window:
            return 0
        keeping = self._desk.keeping
        try:
            drafts = summarised(
                keeping,
                self._transcript,
                self._decided,
                situation.window,
                lambda length: self._prefixes.of(self._transcript, length),
                drawn(keeping),
                self._desk.room(),
                self.standing.upto if self.standing is not None else 0,
                self._desk.summariser,
            )
            if not are_reachable(keeping, drafts, self._transcript.items):
                return 0
            record(self._desk, drafts, after=self._desk.ledger.seq)
        except Overtaken:
            return self._overtaken()
        except (StoreError, NotFound):
            return 0
        self.stand()
        return len(drafts) // 2

    def _overtaken(self) -> int:
        """Let the summary stand that somebody else recorded meanwhile; where there is none, the next request tries."""
        before = self.standing
        try:
            self._desk.ledger.catch_up()
        except StoreError:
            return 0
        self.stand()
        return int(self.standing != before)

    def cut_back(self, length: int) -> None:
        """Forget what is no longer said."""
        self._prefixes.cut_back(length)

    def _mark(self, upto: int) -> None:
        """Mark the results of which nothing is sent, so that they neither age nor are pointed to."""
        for item in self._transcript.items:
            if item.index >= max(upto, self._marked):
                break
            item.gone = item.index < upto
            item.pinned = item.gone or self._transcript.messages[item.index].pinned
        self._marked = upto
