"""Where the values of a JSON text lie in it, found without Keepwhole's own scanner, so that one can check the other."""

import re
from functools import cached_property
from json import JSONDecoder
from json.decoder import scanstring
from typing import TypeAlias

Key: TypeAlias = str | int
_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = JSONDecoder()


class Value:
    """One value: the document, and where in it the value begins and ends. What is in it is looked at when asked for."""

    def __init__(self, text: str, start: int, end: int) -> None:
        self.text, self.start, self.end = text, start, end

    @property
    def raw(self) -> str:
        """As it is written."""
        return self.text[self.start : self.end]

    @property
    def string(self) -> str | None:
        """What a string says; None where it is none."""
        return scanstring(self.text, self.start + 1)[0] if self.text[self.start] == '"' else None

    @cached_property
    def items(self) -> "dict[Key, Value]":
        """The values of an object by their names, those of a list by their numbers."""
        found: dict[Key, Value] = {}
        if self.text[self.start] not in "{[":
            return found
        at = _skip(self.text, self.start + 1)
        while self.text[at] not in "}]":
            key: Key = len(found)
            if self.text[self.start] == "{":
                key, at = scanstring(self.text, at + 1)
                at = _skip(self.text, _skip(self.text, at) + 1)
            found[key] = _value(self.text, at)
            at = _skip(self.text, found[key].end)
            at = _skip(self.text, at + 1) if self.text[at] == "," else at
        return found

    def get(self, *path: Key) -> "Value | None":
        """The value at a path; None where there is none."""
        found: Value | None = self
        for key in path:
            found = found.items.get(key) if found is not None else None
        return found

    def said(self, *path: Key) -> str | None:
        """The string at a path; None where there is none."""
        found = self.get(*path)
        return None if found is None else found.string

    def all(self, *path: Key) -> "list[Value]":
        """The values of the list at a path, in order."""
        found = self.get(*path)
        return [] if found is None or found.text[found.start] != "[" else list(found.items.values())

    def replaced(self, pieces: "list[tuple[int, int, str]]") -> str:
        """As it is written, with other text in some places."""
        made, at = "", self.start
        for start, end, instead in sorted(pieces):
            made += self.text[at:start] + instead
            at = end
        return made + self.text[at : self.end]


def parse(text: str) -> Value:
    """A document, with the places of its values."""
    return _value(text, _skip(text, 0))


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return at if found is None else found.end()


def _value(text: str, at: int) -> Value:
    return Value(text, at, _DECODER.raw_decode(text, at)[1])
