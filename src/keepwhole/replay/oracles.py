"""Policies that know the future: a bound for what real policies can reach."""

from collections.abc import Callable, Iterable, Sequence

from keepwhole.models.profiles import Profile
from keepwhole.policies.atoms import positions
from keepwhole.policies.policy import UNKNOWN_MODEL, Choice, Choices, Policy, Situation, replacement_cut
from keepwhole.policies.transcript import Item, Transcript
from keepwhole.replay.evidence import Evidence
from keepwhole.truncation.cut import Cut, Piece, Segment

CLEARED = "[cleared]"


class Oracle:
    """Shows of each result what later steps use of it; of several results with a string the latest counts as used."""

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
        """Whether a result is cut to the lines that are used; otherwise it is shown in full or not at all."""
        self._on_arrival = on_arrival
        """Whether a result is cut before the agent has read it once."""
        self._until_last_use = until_last_use
        """Whether a result is cleared after its last use."""
        self._steps = steps
        """Requests of the whole run if results are cleared only in batches that pay; 0 if they are cleared at once."""
        self._uses: dict[int, list[Evidence]] = {}
        for one in evidence:
            self._uses.setdefault(one.sources[-1], []).append(one)

    def arrive(
        self, transcript: Transcript, new: Sequence[Item], decided: Choices, situation: Situation = UNKNOWN_MODEL
    ) -> list[Choice]:
        """Return cuts of new results to what will be used, if results are cut on arrival."""
        return self._choices(new, transcript.turns) if self._on_arrival else []

    def age(self, transcript: Transcript, decided: Choices, situation: Situation) -> list[Choice]:
        """Return cuts of results that were read once and are not used any more."""
        if self._on_arrival:
            return []
        step = transcript.turns
        read = [item for item in transcript.items if item.turn < step and item.number not in decided]
        choices = self._choices(read, step)
        return self._choices_that_pay(transcript, decided, choices, situation.profile) if self._steps else choices

    def _choices_that_pay(
        self, transcript: Transcript, decided: Choices, choices: list[Choice], profile: Profile
    ) -> list[Choice]:
        """Return the newest choices, as far back as it pays most to rewrite, given the number of requests left."""
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
        if not later and len(item.text) > len(CLEARED):
            kept_for_good = not self._until_last_use and not self._by_lines and item.number in self._uses
            return None if kept_for_good else replacement_cut(item, CLEARED)
        return cut_to_lines(item.text, later) if self._by_lines and later else None


def _last_turn(transcript: Transcript) -> int:
    """Return the index of the newest assistant message: everything from there on is sent for the first time."""
    messages = transcript.messages
    return next((at for at in range(len(messages) - 1, -1, -1) if messages[at].role == "assistant"), 0)


def cut_to_lines(text: str, needed: Iterable[Evidence]) -> Cut | None:
    """Return the cut that keeps the lines with the first occurrence of needed strings; None if all lines are kept."""
    spans = sorted({_line(text, at, one.text) for one in needed if (at := next(positions(one.text, text), -1)) >= 0})
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


_ORACLES: dict[str, Callable[[str, Sequence[Evidence], int], Policy]] = {
    "oracle_lines_on_arrival": lambda name, found, _: Oracle(name, found, by_lines=True, on_arrival=True),
    "oracle_results_on_arrival": lambda name, found, _: Oracle(name, found, on_arrival=True),
    "oracle_lines_after_reading": lambda name, found, _: Oracle(name, found, by_lines=True),
    "oracle_lines_when_it_pays": lambda name, found, steps: Oracle(name, found, by_lines=True, steps=steps),
    "oracle_until_last_use": lambda name, found, _: Oracle(name, found, until_last_use=True),
    "oracle_until_it_pays": lambda name, found, steps: Oracle(name, found, until_last_use=True, steps=steps),
}
ORACLES = tuple(_ORACLES)
"""The names of all oracles."""


def oracle_named(name: str, found: Sequence[Evidence], steps: int) -> Policy:
    """Return the oracle of one run, given its evidence and its number of requests."""
    return _ORACLES[name](name, found, steps)
