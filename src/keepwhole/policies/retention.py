"""The policy `retention`: a result is whole in its own turn and the next, then its first three lines and a notice.

Owns: the window of two turns and the form of the cut. `standalone.retention` applies the same rule without a session.
Must not know: where the whole result is stored; the notice names the call that fetches it.
"""

from collections.abc import Sequence

from keepwhole.canonical.value import Value
from keepwhole.models.tokens import estimate
from keepwhole.policies.arrival import SHOWS_WHOLE, Arriving, choices_to_mark
from keepwhole.policies.images import media_choice
from keepwhole.policies.policy import UNKNOWN_MODEL, Choice, Choices, Situation
from keepwhole.policies.settings import RetentionSettings
from keepwhole.policies.transcript import Item, Transcript
from keepwhole.truncation.cut import Cut, Segment, TextSource
from keepwhole.truncation.edges import head_edge
from keepwhole.truncation.notice import size_text
from keepwhole.truncation.result import TruncationResult

FULL_TURNS = 2
"""Turns in which a result is whole: the one that made it, and the next."""
KEPT_LINES = 3


def notice(trace_id: str, call: str = "") -> str:
    """Return the line after the shown part of a result; `call` reads it back where recall tools are not offered.

    >>> notice("abc-123")
    '\\n[TRUNCATED — full output in get_task_trace(traceId="abc-123")]'
    """
    given = call or f'get_task_trace(traceId="{trace_id}")'
    return f"\n[TRUNCATED — full output in {given}]"


class Retention(Value):
    """The policy `retention`: the three lines are bounded, and a cut is made only where it makes a result shorter."""

    settings: RetentionSettings = RetentionSettings()

    name = "retention"

    def arrive(
        self, transcript: Transcript, new: Sequence[Item], decided: Choices, situation: Situation = UNKNOWN_MODEL
    ) -> list[Choice]:
        """Return choices for new results, shown in full: only text that imitates a notice is marked as quoted."""
        return choices_to_mark(new)

    def show(self, arriving: Arriving) -> TruncationResult:
        """Show a new result whole."""
        return SHOWS_WHOLE.show(arriving)

    def age(self, transcript: Transcript, decided: Choices, situation: Situation) -> list[Choice]:
        """Return a choice for each result that has just become too old to be whole."""
        last = transcript.turns - FULL_TURNS
        found = (self._choice(item, decided.get(item.number)) for item in transcript.items if item.turn <= last)
        return [choice for choice in found if choice is not None]

    def _choice(self, item: Item, holds: Choice | None) -> Choice | None:
        """Return the choice about an old result; None where it stays as it is, or has no id to read it back by."""
        if item.pinned or item.name is None or (holds is not None and holds.rule == self.name):
            return None
        words = notice(item.name.trace_id, item.name.reachable.whole() if item.name.reachable else "")
        shorter_than = item.tokens if holds is None else holds.tokens
        if shorter_than <= estimate(words):
            return None
        if item.media is not None:
            return media_choice(item, self.name, f"{item.media.looks}, {size_text(item.media.size)}{words}")
        end = self._end(self._opening(item))
        tokens = -(-(end + len(words)) // 4)
        if end + len(words) >= len(item.text) or tokens > shorter_than:
            return None
        segments = (Segment("kept", 0, end), Segment("gap", end, item.chars))
        return Choice(item.number, self.name, Cut(segments, below=words), tokens, self.name)

    def _opening(self, item: Item) -> str:
        """Return the text with the first lines: of what a client cut, the beginning of the original."""
        if item.original is None:
            return item.text
        with item.opened() as source:
            return source.text(0, 2 * self.settings.line_chars)

    def _end(self, text: str) -> int:
        """Return where the first three lines end, or where they reach their limit of characters."""
        end = end_of_lines(text)
        if end <= self.settings.line_chars:
            return end
        near = TextSource(text[: end + 1])
        return _without_line_end(text, head_edge(near, self.settings.line_chars))


def end_of_lines(text: str) -> int:
    """Return the end of the first three lines, without the last line end."""
    eol = "\n" if "\n" in text or "\r" not in text else "\r"
    at = -1
    for _ in range(KEPT_LINES):
        at = text.find(eol, at + 1)
        if at < 0:
            return len(text)
    return _without_line_end(text, at + 1)


def _without_line_end(text: str, at: int) -> int:
    """Return the position without a line end right before it."""
    if text[max(0, at - 2) : at] == "\r\n":
        return at - 2
    return at - 1 if at > 0 and text[at - 1] in "\r\n" else at
