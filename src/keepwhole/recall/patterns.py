"""Patterns that a model may search for: a literal, or a regular expression of RE2, which takes linear time.

Owns: finding one pattern in a window of bytes.
Must not know: where the bytes come from. Python's own `re` is never given a model's pattern: it has no bound in time.
"""

import re
from typing import Any, Protocol

from keepwhole.canonical.utf8 import stringzilla
from keepwhole.errors import UsageError
from keepwhole.install import install_hint

_LONGEST = 500
_MEMORY = 1 << 20
"""Bytes that RE2 may use for one pattern: a larger program is refused, since a hostile one is slow."""


class Finder(Protocol):
    """A pattern that can be searched for."""

    by_lines: bool
    """Whether windows must hold whole lines."""
    overlap: int
    """Bytes of a window that may begin a match which ends after it."""

    def find(self, data: bytearray, start: int, stop: int) -> tuple[int, int] | None:
        """The span of the first match between `start` and `stop`."""
        ...

    def count(self, data: bytearray, start: int, stop: int) -> tuple[int, int]:
        """How many matches there are between `start` and `stop`, and where the search goes on after the last one."""
        ...


class LiteralFinder:
    """Finds exactly these bytes."""

    by_lines = False

    def __init__(self, needle: bytes) -> None:
        self._needle = needle
        self.overlap = len(needle) - 1
        self._zilla: Any = stringzilla()

    def find(self, data: bytearray, start: int, stop: int) -> tuple[int, int] | None:
        """The span of the first match between `start` and `stop`."""
        zilla = self._zilla
        at: int = data.find(self._needle, start, stop) if zilla is None else zilla.find(data, self._needle, start, stop)
        return None if at < 0 else (at, at + len(self._needle))

    def count(self, data: bytearray, start: int, stop: int) -> tuple[int, int]:
        """How many matches there are between `start` and `stop`; none of them fits into the overlap."""
        return data.count(self._needle, start, stop), start


class AnyCaseFinder:
    """Finds these bytes in capitals or small letters, as far as these are ASCII. What `re` is given is literal."""

    by_lines = False

    def __init__(self, needle: bytes) -> None:
        self._search = re.compile(re.escape(needle), re.I).search
        self.overlap = len(needle) - 1

    def find(self, data: bytearray, start: int, stop: int) -> tuple[int, int] | None:
        """The span of the first match between `start` and `stop`."""
        found = self._search(data, start, stop)
        return None if found is None else found.span()

    def count(self, data: bytearray, start: int, stop: int) -> tuple[int, int]:
        """How many matches there are between `start` and `stop`; none of them fits into the overlap."""
        total, at = 0, start
        while (found := self._search(data, at, stop)) is not None:
            total, at = total + 1, found.end()
        return total, start


class ExpressionFinder:
    """Finds a regular expression within lines."""

    by_lines = True
    overlap = 4_096
    """In a line longer than a window, a match longer than this may be missed."""

    def __init__(self, pattern: str) -> None:
        re2 = _re2()
        options = re2.Options()
        options.max_mem, options.log_errors, options.never_capture = _MEMORY, False, True
        try:
            re2.compile(pattern, options)
            self._search: Any = re2.compile(f"(?m:{pattern})", options).search
        except (re2.error, UnicodeError) as error:
            message = f"This is not a regular expression of RE2 ({_error_text(error)}). Fix it, or leave regex out."
            raise UsageError(message, message) from None
        if self._search(b"") is not None:
            message = (
                "This regular expression matches an empty text, so it is everywhere. Give one that needs a letter."
            )
            raise UsageError(message, message)

    def find(self, data: bytearray, start: int, stop: int) -> tuple[int, int] | None:
        """The span of the first match between `start` and `stop`, at whole characters."""
        found = self._search(bytes(memoryview(data)[:stop]), start)
        if found is None:
            return None
        begin, end = found.span()
        while begin > start and data[begin] & 0xC0 == 0x80:
            begin -= 1
        while end < stop and data[end] & 0xC0 == 0x80:
            end += 1
        return begin, max(end, begin + 1)

    def count(self, data: bytearray, start: int, stop: int) -> tuple[int, int]:
        """How many matches there are between `start` and `stop`, and where the search goes on after the last one."""
        window, total = bytes(memoryview(data)[:stop]), 0
        while start < stop and (found := self._search(window, start)) is not None:
            total, start = total + 1, max(found.end(), found.start() + 1)
        return total, start


def finder(pattern: str, regex: bool, any_case: bool = False) -> Finder:
    """The finder of `pattern`; `UsageError` where it cannot be searched for."""
    if len(pattern) > _LONGEST:
        message = f"The pattern has {len(pattern):,} characters. Look for at most {_LONGEST} of them."
        raise UsageError(message, message)
    if regex:
        return ExpressionFinder(pattern)
    needle = pattern.encode("utf-8", "surrogatepass")
    return AnyCaseFinder(needle) if any_case else LiteralFinder(needle)


def _re2() -> Any:
    try:
        import re2  # type: ignore[import-not-found]
    except ImportError:
        raise UsageError(
            f"Regular expressions from a model need RE2: {install_hint('search')}.",
            "Regular expressions are not installed here (extra `search`). Leave regex out: then it is literal.",
        ) from None
    return re2


def _error_text(error: Exception) -> str:
    reason = error.args[0] if error.args else ""
    return str(reason.decode("utf-8", "replace") if isinstance(reason, bytes) else reason)[:120]
