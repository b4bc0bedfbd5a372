"""One bounded page of a stored text, and the exact call for the next.

Owns: fitting any range into a limit, by whole lines where there are any.
Must not know: stores or sessions; it is given an open source.
"""

from keepwhole.canonical.utf8 import showable
from keepwhole.recall.answer import RecallCall
from keepwhole.recall.ranges import CharRange, LineRange, Range, TailRange
from keepwhole.store.reader import BodyReader


def page(reader: BodyReader, call: RecallCall, asked: Range | None, limit: int) -> str:
    """The part of the text that `asked` names, at most `limit` characters, notice included."""
    if asked is None:
        if reader.chars <= limit:
            return showable(reader.text())
        asked = LineRange(1, None)
    if isinstance(asked, TailRange):
        return _tail_page(reader, call, asked, limit)
    if isinstance(asked, LineRange):
        return _lines_page(reader, call, asked, limit)
    return _chars_page(reader, call, asked, limit)


def _lines_page(reader: BodyReader, call: RecallCall, asked: LineRange, limit: int) -> str:
    if asked.first > reader.lines:
        return f"[There is no line {asked.first:,}: the text has {reader.lines:,}. Try {call.text()}]"
    wanted = reader.lines if asked.last is None else min(asked.last, reader.lines)
    start, stop = reader.line_span(asked.first, wanted)
    room = call.room(limit)
    if stop - start > room:
        text = reader.text(start, start + room)
        end = text.rfind(reader.eol) + 1
        if not end:
            return _chars_page(reader, call, CharRange(start, stop - start), limit)
        text = text[:end]
        wanted = asked.first + text.count(reader.eol) - 1
    else:
        text = reader.text(start, stop)
    return showable(text) + _after(text, reader.eol, _lines_note(reader, call, asked.first, wanted))


def _lines_note(reader: BodyReader, call: RecallCall, first: int, last: int) -> str:
    note = f"lines {first:,}-{last:,} of {reader.lines:,}"
    if last >= reader.lines:
        return f"[{note}, the end]"
    further = min(reader.lines, last + (last - first + 1))
    return f"[{note}; next: {call.text(lines=f'{last + 1}-{further}')}]"


def _tail_page(reader: BodyReader, call: RecallCall, asked: TailRange, limit: int) -> str:
    """The last lines, as many as fit; the call it prints goes further back."""
    first, room = max(1, reader.lines - asked.lines + 1), call.room(limit)
    start = reader.line_span(first, first)[0]
    if reader.chars - start > room:
        text = reader.text(reader.chars - room, reader.chars)
        begin = text.find(reader.eol, 0, len(text) - 1) + 1
        if not begin:
            return _chars_page(reader, call, CharRange(reader.chars - room), limit)
        text = text[begin:]
        first = reader.lines - text.count(reader.eol, 0, len(text) - 1)
    else:
        text = reader.text(start)
    note = f"lines {first:,}-{reader.lines:,} of {reader.lines:,}, the end"
    if first > 1:
        back = max(1, first - (reader.lines - first + 1))
        note += f"; before: {call.text(lines=f'{back}-{first - 1}')}"
    return showable(text) + _after(text, reader.eol, f"[{note}]")


def _chars_page(reader: BodyReader, call: RecallCall, asked: CharRange, limit: int) -> str:
    if asked.start >= reader.chars and asked.start:
        return f"[There is no character {asked.start:,}: the text has {reader.chars:,}. Try {call.text()}]"
    room = call.room(limit)
    wanted = reader.chars - asked.start if asked.length is None else asked.length
    stop = min(reader.chars, asked.start + min(wanted, room))
    text = reader.text(asked.start, stop)
    note = f"characters {asked.start:,}-{stop:,} of {reader.chars:,}"
    if stop >= reader.chars:
        note += ", the end"
    else:
        left = asked.start + wanted - stop
        length = min(room, left) if left > 0 else min(room, reader.chars - stop)
        note += f"; next: {call.text(start_char=stop, length=length)}"
    return showable(text) + _after(text, reader.eol, f"[{note}]")


def _after(text: str, eol: str, note: str) -> str:
    return note if not text or text.endswith(eol) else f"\n{note}"
