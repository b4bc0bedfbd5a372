"""Everything that is printed goes through here. Tool output is hostile to a terminal.

Owns: escaping, tables, progress, color, JSON.
Must not know: what is printed.
"""

import json
import os
import sys
import time
import unicodedata
from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any, TextIO

from keepwhole.truncation.notice import size_text

_BAR = 24
_USUAL_COLUMNS = 80
_VISIBLE = frozenset("\n\t")
_HIDDEN = frozenset(("Cc", "Cf", "Cs", "Co", "Zl", "Zp"))


def safe(text: str) -> str:
    r"""`text` with every control, format and private character made visible, except newline and tab.

    >>> safe("\x1b[2Jboo")
    '\\x1b[2Jboo'
    """
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "".join(char if char in _VISIBLE or _shows(char) else _escape(char) for char in text)


def _shows(char: str) -> bool:
    return unicodedata.category(char) not in _HIDDEN


def _escape(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65_536 else f"\\U{code:08x}"


def line(text: str, width: int = 200) -> str:
    """`text` as one safe line of at most `width` characters."""
    flat = safe(text.replace("\n", " ").replace("\t", " "))
    return flat if len(flat) <= width else flat[: width - 1] + "…"


def say(text: str = "") -> None:
    """Print a message."""
    print(text)


def warn(text: str) -> None:
    """Print a message to the error stream."""
    print(safe(text), file=sys.stderr)


def show(text: str) -> None:
    """Print text of a tool: exactly, or made safe where a terminal would act on it."""
    stream = sys.stdout
    data = (safe(text) if stream.isatty() else text).encode("utf-8", "replace")
    stream.flush()
    stream.buffer.write(data if not data or data.endswith(b"\n") else data + b"\n")
    stream.buffer.flush()


def pass_on(chunks: Iterable[bytes]) -> None:
    """Print bytes unchanged, unless a terminal would act on them."""
    stream = sys.stdout
    stream.flush()
    for chunk in chunks:
        if stream.isatty():
            chunk = safe(chunk.decode("utf-8", "replace")).encode("utf-8", "replace")
        stream.buffer.write(chunk)
    stream.buffer.flush()


def print_json(value: Any) -> None:
    """Print a value for programs: one line, ASCII only."""
    print(json.dumps(value, ensure_ascii=True))


def color(text: str, code: str, stream: TextIO | None = None) -> str:
    """`text` in a color, if the output is a terminal and the user has not forbidden colors."""
    if not (stream or sys.stdout).isatty() or os.environ.get("NO_COLOR"):
        return text
    return f"\x1b[{code}m{text}\x1b[0m"


def bold(text: str) -> str:
    """`text` in bold."""
    return color(text, "1")


def dim(text: str) -> str:
    """`text` in gray."""
    return color(text, "2")


def print_table(headers: Sequence[str], rows: Sequence[Sequence[object]], right: Iterable[int] = ()) -> None:
    """Print rows in columns; cells are made safe, columns in `right` are aligned to the right."""
    cells = [[line(str(cell), 100) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(headers, *cells, strict=True)]
    flush_right = set(right)
    print(bold(_lay_out(headers, widths, flush_right)))
    print(dim("─" * (sum(widths) + 2 * (len(widths) - 1))))
    for row in cells:
        print(_lay_out(row, widths, flush_right))


class GrowingTable:
    """A table whose rows are printed one by one; its columns are as wide as its first row needs, or a later one."""

    def __init__(self, headers: Sequence[str], right: Iterable[int] = ()) -> None:
        self._headers, self._right = headers, set(right)
        self._widths, self._is_empty = [*map(len, headers)], True

    def add(self, row: Sequence[object]) -> None:
        """Print a row, under the headings if it is the first."""
        cells = [line(str(cell), 100) for cell in row]
        self._widths = [max(width, len(cell)) for width, cell in zip(self._widths, cells, strict=True)]
        if self._is_empty:
            self._is_empty = False
            print(bold(_lay_out(self._headers, self._widths, self._right)))
        print(_lay_out(cells, self._widths, self._right), flush=True)


def _lay_out(row: Sequence[str], widths: Sequence[int], right: Container[int]) -> str:
    padded = [
        text.rjust(width) if at in right else text.ljust(width)
        for at, (text, width) in enumerate(zip(row, widths, strict=True))
    ]
    return "  ".join(padded).rstrip()


def percent(share: float, decimals: int = 0) -> str:
    """A share for people.

    >>> percent(0.4402), percent(0.017, 1), percent(0.0001, 1)
    ('44 %', '1.7 %', '< 0.1 %')
    """
    if decimals and 0 < share < 0.5 / 10 ** (decimals + 2):
        return f"< {10**-decimals:.{decimals}f} %"
    return f"{share:.{decimals}%}".replace("%", " %")


def plural(number: int, one: str, several: str = "") -> str:
    """A count with its noun.

    >>> plural(1, "entry", "entries"), plural(2_000, "session")
    ('1 entry', '2,000 sessions')
    """
    return f"{number:,} {one if number == 1 else several or one + 's'}"


def format_time(milliseconds: int) -> str:
    """A time for people, in their zone."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(milliseconds / 1000))


class Progress:
    """A progress bar on the error stream; silent without a terminal."""

    def __init__(self, what: str, total: int, *, in_bytes: bool = False) -> None:
        self._what, self._total, self._done = what, total, 0
        self._written: Callable[[int], str] = size_text if in_bytes else "{:,}".format
        self._began, self._shown = time.monotonic(), 0.0
        self._on = sys.stderr.isatty()

    def __enter__(self) -> "Progress":
        """The progress itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Clear the line."""
        self.clear()

    def clear(self) -> None:
        """Remove the bar until the next step."""
        if self._on and self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def step(self, count: int = 1) -> None:
        """Add `count` to what is done."""
        self.set_done(self._done + count)

    def set_done(self, done: int, total: int | None = None) -> None:
        """Set how much is done, and of how much where that has changed; draw the bar."""
        self._done = done
        self._total = self._total if total is None else total
        if self._on and time.monotonic() - self._shown > 0.1:
            self._shown = time.monotonic()
            print(f"\r\x1b[K{self._line(_columns())}", end="", file=sys.stderr, flush=True)

    def _line(self, columns: int) -> str:
        """What is drawn; it fits in a line of the terminal, since a second one would stay when the next is drawn."""
        if not self._total:
            return f"{self._what}: {self._written(self._done)}"[: columns - 1]
        words = f"{self._written(min(self._done, self._total))} of {self._written(self._total)}"
        words += time_left(time.monotonic() - self._began, self._done, self._total)
        width = max(0, min(_BAR, columns - len(f"{self._what}:  {words} ")))
        filled = min(width, width * self._done // self._total)
        bar = f"{'█' * filled}{'·' * (width - filled)} " if width else ""
        return f"{self._what}: {bar}{words}"[: columns - 1]


def _columns() -> int:
    """The columns of the terminal that the error stream is."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or _USUAL_COLUMNS
    except OSError:
        return _USUAL_COLUMNS


def time_left(passed: float, done: int, total: int) -> str:
    """How long the rest will take at the speed so far; nothing in the first second, when that is a guess.

    >>> time_left(10.0, 100, 1_000), time_left(60.0, 1, 61), time_left(0.5, 100, 1_000)
    (', about 1:30 left', ', about 1:00:00 left', '')
    """
    if passed < 1 or not 0 < done < total:
        return ""
    minutes, seconds = divmod(round(passed * (total - done) / done), 60)
    hours, minutes = divmod(minutes, 60)
    return f", about {hours}:{minutes:02}:{seconds:02} left" if hours else f", about {minutes}:{seconds:02} left"


def confirm(question: str, yes: bool) -> bool:
    """Ask before something that cannot be undone; without a terminal only `--yes` confirms."""
    if yes:
        return True
    if not sys.stdin.isatty():
        warn(f"{question} Say yes with `--yes`.")
        return False
    print(f"{question} [y/N] ", end="", flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


_ASKED = "Run `keepwhole sessions verify` for the full list; other results are not affected."
_GIVEN = "Other results are not affected. Run the tool again, or restore a backup: `keepwhole store restore`."


def in_full_list(finding: str) -> str:
    """A finding in a list of all damage, which need not advise to ask for that list.

    >>> in_full_list("Run `keepwhole sessions verify` for the full list; other results are not affected.")
    'Other results are not affected. Run the tool again, or restore a backup: `keepwhole store restore`.'
    >>> in_full_list("Its header cannot be read. Run `keepwhole sessions verify`.")
    'Its header cannot be read.'
    """
    return finding.replace(_ASKED, _GIVEN).replace(" Run `keepwhole sessions verify`.", "")
