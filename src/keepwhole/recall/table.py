"""Rows and columns of a CSV text, without what a shell's wrapper prints before it. Rows are shown as they are written,
a single column as its fields."""

import csv
import io
from collections.abc import Sequence

from keepwhole.canonical.utf8 import showable
from keepwhole.errors import UsageError
from keepwhole.recall.json_path import IndexStep, KeyStep, NoSuchValue, PathStep
from keepwhole.truncation.rows import record_bounds
from keepwhole.truncation.sniff import preface

_LISTED = 30


class Table:
    """A CSV text whose first record is its header."""

    def __init__(self, text: str, eol: str) -> None:
        self._text = text
        self._bounds = record_bounds(text, eol, quoted=True)
        self.rows = max(0, len(self._bounds) - 2)
        first = text[: self._bounds[1]] if len(self._bounds) > 1 else text
        self._first = first[preface(first) :].rstrip("\r\n")
        self._mark = max(",\t;|", key=self._first.count)
        self._names = self._fields(self._first.lstrip("\ufeff"))

    def column(self, steps: Sequence[PathStep]) -> int | None:
        """The column that the rest of an address names; None for all of them."""
        if not steps:
            return None
        step = steps[0]
        if len(steps) == 1 and isinstance(step, KeyStep) and step.name in self._names:
            return self._names.index(step.name)
        if len(steps) == 1 and isinstance(step, IndexStep) and -len(self._names) <= step.number < len(self._names):
            return step.number % len(self._names)
        names = ", ".join(f'"{name[:60]}"' for name in self._names[:_LISTED])
        message = f"There is no such column. Columns: {showable(names)}. Address rows as $[40:60].column."
        raise NoSuchValue(message, message)

    def header(self, column: int | None) -> str:
        """The line of names."""
        return showable(self._first if column is None else self._names[column]) + "\n"

    def row(self, number: int, column: int | None) -> str:
        """One row, counted from 0 after the header."""
        if not -self.rows <= number < self.rows:
            message = f"There is no row {number}: there are {self.rows:,}, counted from 0."
            raise NoSuchValue(message, message)
        place = number % self.rows + 1
        record = self._text[self._bounds[place] : self._bounds[place + 1]].rstrip("\r\n")
        if column is None:
            return showable(record)
        fields = self._fields(record)
        return showable(_csv_field(fields[column])) if column < len(fields) else ""

    def _fields(self, record: str) -> list[str]:
        try:
            records = csv.reader(io.StringIO(record), delimiter=self._mark)
            return next(records, list[str]())
        except csv.Error as error:
            message = f"This row cannot be split into columns ({error}). Address it without one."
            raise UsageError(message, message) from None


def _csv_field(field: str) -> str:
    """A field as CSV spells it."""
    quoted = any(mark in field for mark in ',"\r\n')
    return '"' + field.replace('"', '""') + '"' if quoted else field
