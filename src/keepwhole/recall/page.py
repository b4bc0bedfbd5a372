"""One bounded page of a stored text, and the exact call for the next.

Owns: fitting any range into a limit, by whole lines where there are any. What a tool printed is still its text when it
is read back, so imitated notices in it are marked as in a view; the marks count.
Must not know: stores or sessions; it is given an open source.
"""

from keepwhole.canonical.utf8 import showable
from keepwhole.recall.answer import RecallCall
from keepwhole.recall.ranges import CharRange, LineRange, Range, TailRange
from keepwhole.store.reader import BodyReader
from keepwhole.truncation.notice import quoted

_FEWEST = 8
"""Characters that imitate nothing, so that every page shows something."""


def page(reader: BodyReader, call: RecallCall, asked: Range | None, limit: int) -> str:
    """The part of the text that `asked` names, at most `limit` characters, notice included."""
    if asked is None:
        if reader.chars <= limit and len(whole := _shown(reader.text())) <= limit:
            return whole
        asked = LineRange(1, None)
    if isinstance(asked, TailRange):
        return _tail_page(reader, call, asked, limit)
    if isinstance(asked, LineRange):
        return _lines_page(reader, call, asked, limit)
    return _chars_page(reader, call, asked, limit)


def _lines_page(reader: BodyReader, call: RecallCall, asked: LineRange, limit: int) -> str:
    if asked.first > reader.lines:
        return f"[There is no line {asked.first:,}: the text has {reader.lines:,}]"
    wanted = reader.lines if asked.last is None else min(asked.last, reader.lines)
    start, stop = reader.line_span(asked.first, wanted)
    room = call.room(limit)
    text = _beginning_within(reader.text(start, min(stop, start + room)), room)
    if start + len(text) < stop:
        end = text.rfind(reader.eol) + 1
        if not end:
            return _chars_page(reader, call, CharRange(start, stop - start), limit)
        text = text[:end]
        wanted = asked.first + text.count(reader.eol) - 1
    return _shown(text) + _after(text, reader.eol, _lines_note(reader, call, asked, wanted))


def _lines_note(reader: BodyReader, call: RecallCall, asked: LineRange, last: int) -> str:
    """What is shown, and the call that goes on where less is shown than was asked for: a model makes every call that
    is printed, needed or not."""
    first = asked.first
    note = f"lines {first:,}-{last:,} of {reader.lines:,}"
    if last >= reader.lines:
        return f"[{note}, the end]"
    if last == asked.last:
        return f"[{note}, all that was asked for]"
    upto = "" if asked.last is None else asked.last
    return f"[{note}; next: {call.text(lines=f'{last + 1}-{upto}')}]"


def _tail_page(reader: BodyReader, call: RecallCall, asked: TailRange, limit: int) -> str:
    """The last lines, as many as fit; the call it prints goes back to the first that was asked for."""
    wanted, room = max(1, reader.lines - asked.lines + 1), call.room(limit)
    first, start = wanted, reader.line_span(wanted, wanted)[0]
    text = _end_within(reader.text(max(start, reader.chars - room)), room)
    if reader.chars - len(text) > start:
        begin = text.find(reader.eol, 0, len(text) - 1) + 1
        if not begin:
            return _chars_page(reader, call, CharRange(reader.chars - len(text)), limit)
        text = text[begin:]
        first = reader.lines - text.count(reader.eol, 0, len(text) - 1)
    note = f"lines {first:,}-{reader.lines:,} of {reader.lines:,}, the end"
    if first > wanted:
        back = max(wanted, first - (reader.lines - first + 1))
        note += f"; before: {call.text(lines=f'{back}-{first - 1}')}"
    return _shown(text) + _after(text, reader.eol, f"[{note}]")


def _chars_page(reader: BodyReader, call: RecallCall, asked: CharRange, limit: int) -> str:
    if asked.start >= reader.chars and asked.start:
        return f"[There is no character {asked.start:,}: the text has {reader.chars:,}]"
    room = call.room(limit)
    wanted = reader.chars - asked.start if asked.length is None else asked.length
    text = _beginning_within(reader.text(asked.start, min(reader.chars, asked.start + min(wanted, room))), room)
    stop = asked.start + len(text)
    note = f"characters {asked.start:,}-{stop:,} of {reader.chars:,}"
    if stop >= reader.chars:
        note += ", the end"
    elif stop == asked.start + wanted:
        note += ", all that was asked for"
    else:
        length = {} if asked.length is None else {"length": asked.length - len(text)}
        note += f"; next: {call.text(start_char=stop, **length)}"
    return _shown(text) + _after(text, reader.eol, f"[{note}]")


def _shown(text: str) -> str:
    return quoted(showable(text))


def _beginning_within(text: str, room: int) -> str:
    """The beginning of a text that fits with its marks."""
    while (size := len(_shown(text))) > room and len(text) > _FEWEST:
        text = text[: max(_FEWEST, len(text) * room // size)]
    return text


def _end_within(text: str, room: int) -> str:
    """The end of a text that fits with its marks."""
    while (size := len(_shown(text))) > room and len(text) > _FEWEST:
        text = text[-max(_FEWEST, len(text) * room // size) :]
    return text


def _after(text: str, eol: str, note: str) -> str:
    return note if not text or text.endswith(eol) else f"\n{note}"
