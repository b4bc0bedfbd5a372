"""What it saves and what it costs to leave results out: one pass over those that may age, the newest first.

Owns: which results may age, the tokens that leaving one out frees, and those that are sent anew for it.
Must not know: which of them are taken (`payback.py`, `auto.py`), or what is shown instead.

Theory of operation
-------------------
Every request asks this of every result that is still shown, thousands in a long session, and from one request to the
next almost nothing changes but the number of turns. So what is known of a result is kept in columns (`_Columns`), and
only the rows are worked out anew that a message or a choice has changed:

    number          0       1       2       3          turn 40, the user wrote before 2
    told            .9      .2      .9      1.4        need but for time: .13 · (1 + unsaid)^.51, called again, written
    referred        3       12      38      39
    frees           900     4,000   60      700        tokens
    → need          .9 · 38^-.48 · 2^-.91   …          by a table of powers, column by column
    → saves         900 - worth · need      …          what is above 0 is not worth carrying

A result that takes too little to be left out needs no more than `frees`, so how results are used is counted from the
first one on that could be left out (`uses.py`).

With arguments that are cut too, `frees` depends on more than its row, and results are visited one by one.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter, mul, sub
from typing import TypeVar

from keepwhole.models.ledger import last_end
from keepwhole.policies.arguments import NOTE, OldArguments
from keepwhole.policies.images import is_superseded
from keepwhole.policies.need import NeedTable
from keepwhole.policies.payback import Numbers
from keepwhole.policies.policy import Choice, Choices, TrackedChoices, open_numbers
from keepwhole.policies.repeats import REPEATS
from keepwhole.policies.settings import AutoSettings
from keepwhole.policies.transcript import Item, Transcript
from keepwhole.policies.uses import ResultUse, ResultUses

_T = TypeVar("_T")
_POINTER = 30
"""Tokens of the reference that is shown in place of a result, about."""


class CarriedResults:
    """The results of one request that may be left out."""

    def __init__(
        self,
        transcript: Transcript,
        decided: Choices,
        settings: AutoSettings,
        table: NeedTable,
        arguments: OldArguments | None,
    ) -> None:
        self._transcript, self._decided, self._settings = transcript, decided, settings
        self._table, self._arguments = table, arguments

    def may_age(self, hard: bool = False) -> list[tuple[Item, int, float]]:
        """Return the results that may age, oldest first, each with the tokens that leaving it out frees and its need.

        They are large, or of large calls, named, sent before, not pinned, not among the newest; with `hard` only the
        newest step is spared.
        """
        items = [item for number in self._old_enough(hard) if self._may_age(item := self._transcript.items[number])]
        needs = self._needs([item.number for item in items])
        return [(item, self._frees(item), need) for item, need in zip(items, needs, strict=True)]

    def not_worth(self, worth: float) -> list[Numbers]:
        """Return the results that cost more to carry than they are worth, newest first.

        `worth` is what a needed string is worth for one turn, in tokens.
        """
        numbers, items = self._old_enough(), self._transcript.items
        if self._arguments is None:
            frees = _values(self._columns().frees, numbers)
        else:
            frees = [self._frees(items[number]) if self._may_age(items[number]) else 0 for number in numbers]
        first = next((place for place, each in enumerate(frees) if each > 0), len(numbers))
        numbers, frees = numbers[first:], frees[first:]
        saves = map(sub, frees, self._needs(numbers, worth))
        found = [row for row in zip(numbers, frees, saves, strict=True) if row[2] > 0]
        unfit = {row[0] for row in found if items[row[0]].pinned or items[row[0]].name is None}
        return [row for row in reversed(found) if row[0] not in unfit] if unfit else found[::-1]

    def behind(self, ends: Sequence[int] | None) -> Callable[[int], int]:
        """Return the tokens that are sent anew if a result is left out, by its number; to be asked from the newest to
        the oldest.

        They are those from the end of the last cached prefix before it on, or where `ends` are not known, from its
        message on. A call whose arguments are cut with its result is a part of the same request, or of an earlier one.
        """
        transcript, saved = self._transcript, _SavedBehind(self._transcript, self._columns().saved)

        def behind_of(number: int) -> int:
            index = self._first_changed(transcript.items[number])
            first = index if ends is None else last_end(ends, index)
            return transcript.tokens_from(first) - saved.since(first)

        return behind_of

    def _needs(self, numbers: Sequence[int], worth: float = 1.0) -> Iterable[float]:
        """Return what it is worth to show each of these results, where a needed string is worth so much."""
        if not numbers:
            return ()
        columns = self._columns()
        columns.update_uses(self._transcript, numbers[0])
        by_turn = self._table.by_turn(self._transcript.turns)
        faded = _values(by_turn, _values(columns.referred, numbers))
        needs = map(mul, _values(columns.told, numbers), faded)
        return map(mul, needs, self._by_user(numbers, worth))

    def _by_user(self, numbers: Sequence[int], worth: float) -> list[float]:
        """Return the factor by the messages of the user since, for each of these results."""
        found: list[float] = []
        before = self._transcript.results_before_user()
        for since, count in zip(range(len(before), 0, -1), before, strict=True):
            found += [worth * self._table.by_user(since)] * (bisect_left(numbers, count) - len(found))
        return found + [worth] * (len(numbers) - len(found))

    def _old_enough(self, hard: bool = False) -> list[int]:
        """Return the numbers of the open results that are not among the newest, in order."""
        transcript, found = self._transcript, open_numbers(self._transcript, self._decided)
        if not hard:
            young = (transcript.newest_open(kind, many, found) for kind, many in self._settings.keep.items())
            kept = {number for numbers in young for number in numbers}
            found = [number for number in found if number not in kept]
        newest = transcript.steps - (1 if hard else self._settings.keep_steps)
        while found and transcript.items[found[-1]].step > newest:
            found.pop()
        return found

    def _may_age(self, item: Item) -> bool:
        if item.pinned or item.name is None:
            return False
        is_large = not is_small(item, self._decided.get(item.number), self._settings.min_tokens)
        return is_large or (self._arguments is not None and bool(self._arguments.of(item).cuts))

    def _frees(self, item: Item) -> int:
        """Return the tokens that leaving a result out frees, with the arguments of its call where these are cut."""
        shown = shown_tokens(item, self._decided.get(item.number))
        more = self._arguments.of(item).freed if self._arguments is not None else 0
        if self._arguments is None or not more:
            return max(0, shown - _POINTER)
        return (0 if shown < self._arguments.least else max(0, shown - _POINTER)) + more - NOTE

    def _first_changed(self, item: Item) -> int:
        """Return the index of the first message that changes where a result is left out."""
        cuts_call = self._arguments is not None and self._arguments.of(item).freed
        return self._transcript.index_of_call(item) if cuts_call else item.index

    def _columns(self) -> "_Columns":
        columns = self._transcript.kept
        if not isinstance(columns, _Columns) or columns.settings != self._settings:
            columns = self._transcript.kept = _Columns(self._settings, self._table)
        columns.update(self._transcript, self._decided)
        return columns


class _Columns:
    """What is known of every result, by its number, kept from one request to the next."""

    def __init__(self, settings: AutoSettings, table: NeedTable) -> None:
        self.settings, self._table = settings, table
        self.told: list[float] = []
        """Need, but for the turns since the result was referred to and the messages of the user since."""
        self.referred: list[int] = []
        self.frees: list[int] = []
        """Tokens that leaving it out frees; 0 for a result that is too small to be left out."""
        self.saved: list[int] = []
        """Tokens that the choice about it saves."""
        self._choices: list[Choice | None] = []
        self._decided: Choices = {}
        """What the choices were read from."""
        self._touched = 0
        """How many of its changes are known."""
        self._uses: ResultUses | None = None
        """What `told` and `referred` were read from."""
        self._stale: set[int] = set()
        """Rows whose `told` and `referred` are out of date."""
        self._images: set[int] = set()
        """Results that a later one may make obsolete."""

    def update(self, transcript: Transcript, decided: Choices) -> None:
        """Work out anew what is said by the choices, in the rows that have changed since the last time."""
        known, many = transcript.take_unchanged(), len(transcript.items)
        if known > len(self._choices):
            known = 0  # another policy has asked for it
        for column in (self.told, self.referred, self.frees, self.saved, self._choices):
            del column[known:]
        changed = self._changed_choices(decided)
        for column in (self.told, self.referred, self.frees, self.saved):
            column.extend([0] * (many - known))
        changed.update(range(known, many))
        self._choices += map(decided.get, range(known, many))
        self._images = {number for number in self._images if number < known}
        for number in changed:
            item, choice = transcript.items[number], self._choices[number]
            shown = shown_tokens(item, choice)
            self.frees[number] = 0 if is_small(item, choice, self.settings.min_tokens) else max(0, shown - _POINTER)
            self.saved[number] = item.tokens - shown
            if item.target is not None:
                self._images.add(number)
        self._stale = {number for number in self._stale if number < known} | changed

    def _changed_choices(self, decided: Choices) -> set[int]:
        """Take over the choices about the results that are known, and return which of them have changed."""
        known, before = len(self._choices), self._choices
        if decided is self._decided and isinstance(decided, TrackedChoices):
            touched = {number for number in decided.touched[self._touched :] if number < known}
            self._touched = len(decided.touched)
            for number in touched:
                before[number] = decided.get(number)
            return touched
        self._decided, self._touched = decided, len(decided.touched) if isinstance(decided, TrackedChoices) else 0
        self._choices = [*map(decided.get, range(known))]
        return {number for number in range(known) if self._choices[number] is not before[number]}

    def update_uses(self, transcript: Transcript, first: int) -> None:
        """Work out anew what is said by the use of the results from a number on, in the rows that have changed since
        the last time."""
        uses = transcript.uses_from(first)
        changed = uses.take_changed()
        if uses is not self._uses:
            self._uses, changed = uses, set(range(len(self.told)))
        for number in changed | self._stale | self._images:
            if number >= uses.start:
                self._update_row(transcript, transcript.items[number], uses.of[number])
        self._stale = set()

    def _update_row(self, transcript: Transcript, item: Item, use: ResultUse) -> None:
        choice = self._choices[item.number]
        told = self._table.told(use, shown=1.0 if choice is None else choice.tokens / max(1, item.tokens))
        if use.again or is_superseded(transcript, item):
            told *= self._table.again
        self.told[item.number] = told * self._table.written if use.written else told
        self.referred[item.number] = use.referred


class _SavedBehind:
    """The tokens that choices save in the messages from some message on; asked for from the end to the beginning."""

    def __init__(self, transcript: Transcript, saved: Sequence[int]) -> None:
        self._transcript, self._column = transcript, saved
        self._first, self._saved = len(saved), 0

    def since(self, index: int) -> int:
        """Return what is saved from message `index` on."""
        first = self._transcript.results_before(index)
        if first < self._first:
            self._saved += sum(self._column[first : self._first])
            self._first = first
        return self._saved


def _values(column: Sequence[_T], places: Sequence[int]) -> Sequence[_T]:
    """Return what a column has at these places; `itemgetter` is several times as fast as a loop."""
    return itemgetter(*places)(column) if len(places) > 1 else [column[place] for place in places]


def is_small(item: Item, choice: Choice | None, least: int) -> bool:
    """Return whether so little is shown of a result that it stays as it is."""
    return shown_tokens(item, choice) < least and not is_repeat(choice)


def is_repeat(choice: Choice | None) -> bool:
    """Return whether a choice points to another result."""
    return choice is not None and choice.rule in REPEATS


def shown_tokens(item: Item, choice: Choice | None) -> int:
    """Return the tokens that a result takes as it is shown."""
    return item.tokens if choice is None else choice.tokens
