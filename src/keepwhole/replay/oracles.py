"""Policies that know the future: the limit that real ones can be held against."""

from collections.abc import Callable, Iterable, Sequence

from keepwhole.models.profiles import Profile
from keepwhole.policies.policy import UNKNOWN_MODEL, Choice, Choices, Policy, Situation, replaced
from keepwhole.policies.transcript import Item, Transcript
from keepwhole.replay.atoms import places
from keepwhole.replay.evidence import Evidence
from keepwhole.truncation.cut import Cut, Piece, Segment

WORDS = "[cleared]"


class Oracle:
    """Shows of each result what later steps use of it: the result that showed a string last is the one that is used."""

    def __init__(
        self,
        name: str,
        evidence: Iterable[Evidence],
        *,
        by_lines: bool = False,
        on_arrival: bool = False,
        until_last_use: bool = False,
        steps: int = 0,
    ) -> None:
        self.name = name
        self._by_lines = by_lines
        """Whether a result is cut to the lines that are used, or is whole or gone."""
        self._on_arrival = on_arrival
        """Whether it is cut before it was ever read."""
        self._until_last_use = until_last_use
        """Whether it goes for good after its last use."""
        self._steps = steps
        """Requests of the whole run, where results go only in batches that pay; 0 where they go at once."""
        self._uses: dict[int, list[Evidence]] = {}
        for one in evidence:
            self._uses.setdefault(one.sources[-1], []).append(one)

    def arrive(
        self, transcript: Transcript, new: Sequence[Item], decided: Choices, situation: Situation = UNKNOWN_MODEL
    ) -> list[Choice]:
        """What will never be used goes, where results are cut on arrival."""
        return self._choices(new, transcript.turns) if self._on_arrival else []

    def age(self, transcript: Transcript, decided: Choices, situation: Situation) -> list[Choice]:
        """What has been read once and is not used any more goes."""
        if self._on_arrival:
            return []
        step = transcript.turns
        read = [item for item in transcript.items if item.turn < step and item.number not in decided]
        choices = self._choices(read, step)
        return self._paying(transcript, decided, choices, situation.profile) if self._steps else choices

    def _paying(
        self, transcript: Transcript, decided: Choices, choices: list[Choice], profile: Profile
    ) -> list[Choice]:
        """The newest choices as far back as it pays best to rewrite, knowing how many requests are left."""
        left = self._steps - transcript.turns
        fresh = transcript.tokens_from(_last_turn(transcript))
        going = {choice.number: choice for choice in choices}
        saved = freed = best = 0.0
        oldest = len(transcript.items)
        for item in reversed(transcript.items):
            if item.number in decided:
                saved += item.tokens - decided[item.number].tokens
            elif item.number in going:
                freed += item.tokens
                after = transcript.tokens_from(item.index) - saved - freed - fresh
                gain = profile.read * freed * left - (profile.write - profile.read) * after
                if gain > best:
                    best, oldest = gain, item.number
        return [choice for choice in choices if choice.number >= oldest]

    def _choices(self, items: Iterable[Item], step: int) -> list[Choice]:
        found = ((item, self._cut(item, step)) for item in items)
        return [Choice(item.number, "oracle", cut, 0) for item, cut in found if cut is not None]

    def _cut(self, item: Item, step: int) -> Cut | None:
        later = [one for one in self._uses.get(item.number, ()) if one.step >= step]
        if not later and len(item.text) > len(WORDS):
            kept_for_good = not self._until_last_use and not self._by_lines and item.number in self._uses
            return None if kept_for_good else replaced(item, WORDS)
        return lines_of(item.text, later) if self._by_lines and later else None


def _last_turn(transcript: Transcript) -> int:
    """The newest assistant message: all from it on is sent for the first time."""
    messages = transcript.messages
    return next((at for at in range(len(messages) - 1, -1, -1) if messages[at].role == "assistant"), 0)


def lines_of(text: str, needed: Iterable[Evidence]) -> Cut | None:
    """The cut that keeps the lines in which needed strings first stand; None where that leaves nothing out."""
    spans = sorted({_line(text, at, one.text) for one in needed if (at := next(places(one.text, text), -1)) >= 0})
    pieces: list[Piece] = []
    reached = 0
    for start, stop in spans:
        if start > reached:
            pieces.append(Segment("gap", reached, start))
        if stop > reached:
            pieces.append(Segment("kept", max(start, reached), stop))
            reached = stop
    if reached < len(text):
        pieces.append(Segment("gap", reached, len(text)))
    return Cut(tuple(pieces)) if any(piece.part == "gap" for piece in pieces if isinstance(piece, Segment)) else None


def _line(text: str, at: int, needle: str) -> tuple[int, int]:
    end = text.find("\n", at + len(needle))
    return text.rfind("\n", 0, at) + 1, len(text) if end < 0 else end + 1


_MADE: dict[str, Callable[[str, Sequence[Evidence], int], Policy]] = {
    "oracle_lines_on_arrival": lambda name, found, _: Oracle(name, found, by_lines=True, on_arrival=True),
    "oracle_results_on_arrival": lambda name, found, _: Oracle(name, found, on_arrival=True),
    "oracle_lines_after_reading": lambda name, found, _: Oracle(name, found, by_lines=True),
    "oracle_lines_when_it_pays": lambda name, found, steps: Oracle(name, found, by_lines=True, steps=steps),
    "oracle_until_last_use": lambda name, found, _: Oracle(name, found, until_last_use=True),
    "oracle_until_it_pays": lambda name, found, steps: Oracle(name, found, until_last_use=True, steps=steps),
}
ORACLES = tuple(_MADE)
"""Their names."""


def oracle_named(name: str, found: Sequence[Evidence], steps: int) -> Policy:
    """The oracle of one run, given its evidence and its number of requests."""
    return _MADE[name](name, found, steps)
