"""One bounded page of a stored text, and the exact call for the next.

Owns: fitting any range into a limit, by whole lines where there are any.
Must not know: stores or sessions; it is given an open source.
"""

from holdfast.canonical.utf8 import showable
from holdfast.recall.ranges import Chars, Lines
from holdfast.store.reader import BodyReader

_ROOM = 300
"""Characters kept free for the line that says what is shown and how to go on."""


def page(reader: BodyReader, name: str, asked: Lines | Chars | None, limit: int) -> str:
    """What `asked` means of the text, at most `limit` characters, notice included."""
    if asked is None:
        if reader.chars <= limit:
            return showable(reader.text())
        asked = Lines(1, None)
    if isinstance(asked, Lines):
        return _lines_page(reader, name, asked, limit)
    return _chars_page(reader, name, asked, limit)


def _lines_page(reader: BodyReader, name: str, asked: Lines, limit: int) -> str:
    if asked.first > reader.lines:
        return f'[There is no line {asked.first:,}: the text has {reader.lines:,}. Try get_artifact(id="{name}")]'
    wanted = reader.lines if asked.last is None else min(asked.last, reader.lines)
    start, stop = reader.line_span(asked.first, wanted)
    room = limit - _ROOM
    if stop - start > room:
        text = reader.text(start, start + room)
        end = text.rfind(reader.eol) + 1
        if not end:
            return _chars_page(reader, name, Chars(start, stop - start), limit)
        text = text[:end]
        wanted = asked.first + text.count(reader.eol) - 1
    else:
        text = reader.text(start, stop)
    return showable(text) + _after(text, reader.eol, _lines_note(reader, name, asked.first, wanted))


def _lines_note(reader: BodyReader, name: str, first: int, last: int) -> str:
    note = f"lines {first:,}-{last:,} of {reader.lines:,}"
    if last >= reader.lines:
        return f"[{note}, the end]"
    further = min(reader.lines, last + (last - first + 1))
    return f'[{note}; next: get_artifact(id="{name}", lines="{last + 1}-{further}")]'


def _chars_page(reader: BodyReader, name: str, asked: Chars, limit: int) -> str:
    if asked.start >= reader.chars and asked.start:
        return f'[There is no character {asked.start:,}: the text has {reader.chars:,}. Try get_artifact(id="{name}")]'
    room = limit - _ROOM
    wanted = reader.chars - asked.start if asked.length is None else asked.length
    stop = min(reader.chars, asked.start + min(wanted, room))
    text = reader.text(asked.start, stop)
    note = f"characters {asked.start:,}-{stop:,} of {reader.chars:,}"
    if stop >= reader.chars:
        note += ", the end"
    else:
        left = asked.start + wanted - stop
        length = min(room, left) if left > 0 else min(room, reader.chars - stop)
        note += f'; next: get_artifact(id="{name}", start_char={stop}, length={length})'
    return showable(text) + _after(text, reader.eol, f"[{note}]")


def _after(text: str, eol: str, note: str) -> str:
    return note if not text or text.endswith(eol) else f"\n{note}"
