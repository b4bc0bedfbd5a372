"""A selection: units of stored results, each with its origin and the call that reads around it."""

from collections.abc import Iterable

from keepwhole.canonical.value import Value
from keepwhole.truncation.notice import quoted, size_text
from keepwhole.truncation.recall_link import RecallLink

_AROUND_CHARS = 1_000
"""Characters that the printed call reads on either side."""


class SelectedUnit(Value):
    """A unit of a stored result."""

    trace_id: str
    artifact_id: str
    tool: str
    summary: str
    """The call in a few words."""
    start: int
    stop: int
    """Its span in the result, in characters."""
    first_line: int
    last_line: int
    text: str
    score: float
    size: int
    """Bytes of the whole result."""
    in_long_line: bool = False
    """Whether its lines are so long that its position is given in characters."""
    near: tuple[int, int] = (0, 0)
    """The lines of the unit and some on either side, together no longer than a printed range may be."""
    reachable: RecallLink | None = None
    """How it is read back; by `get_artifact` if not given."""

    @property
    def place(self) -> str:
        """The place of the unit in its result, in words."""
        if self.in_long_line:
            return f"characters {self.start:,}-{self.stop:,}"
        if self.first_line == self.last_line:
            return f"line {self.first_line:,}"
        return f"lines {self.first_line:,}-{self.last_line:,}"

    @property
    def lines_around(self) -> str:
        """The lines of the unit and some on either side, for the argument `lines`."""
        first, last = self.near if self.near[0] else (self.first_line, self.last_line)
        return f"{first}-{last}"

    @property
    def chars_around(self) -> str:
        """The characters of the unit and some on either side, as `first-last`."""
        return f"{max(0, self.start - _AROUND_CHARS)}-{self.stop + _AROUND_CHARS}"

    @property
    def call(self) -> str:
        """The call that reads it with the text around it."""
        if self.reachable is not None:
            first, _, last = self.lines_around.partition("-")
            return self.reachable.whole() if self.in_long_line else self.reachable.lines(int(first), int(last))
        if not self.in_long_line:
            return f'get_artifact(id="{self.artifact_id}", lines="{self.lines_around}")'
        start, _, stop = self.chars_around.partition("-")
        return f'get_artifact(id="{self.artifact_id}", start_char={start}, length={int(stop) - int(start)})'

    @property
    def heading(self) -> str:
        """The line above the unit: where it is from and how to read more."""
        return f"[{self.summary}; {self.place} of {size_text(self.size)}; more: {self.call}]"


class Selection(Value):
    """The units that were selected, best first."""

    query: str
    units: tuple[SelectedUnit, ...] = ()
    tokens: int = 0
    """The most tokens that `text` can take."""
    is_all: bool = True
    """Whether the whole record was searched. If time ran out, the next question continues from there."""

    @property
    def text(self) -> str:
        """The units with a line above each; text that imitates a notice is marked as quoted."""
        return units_text(self.units)


def units_text(units: Iterable[SelectedUnit]) -> str:
    """Units one below the other."""
    return "\n".join(map(unit_text, units))


def unit_text(unit: SelectedUnit) -> str:
    """A unit as it is shown: its heading, then its text."""
    return f"{unit.heading}\n{quoted(unit.text.rstrip())}\n"
