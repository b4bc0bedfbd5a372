"""Results for the page: lists, one result and the view of it, any lines, places that contain a text.

Owns: how much of a body one answer contains. No body is ever loaded whole.
Must not know: sockets.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from keepwhole.apps.inspector import shapes
from keepwhole.apps.inspector.record import Record
from keepwhole.apps.inspector.timeline import TimelineResult
from keepwhole.canonical.media import media_of
from keepwhole.canonical.utf8 import showable
from keepwhole.errors import UsageError
from keepwhole.recall.answer import RecallCall
from keepwhole.recall.patterns import finder
from keepwhole.recall.scan import Scan
from keepwhole.record.known_result import read_cut
from keepwhole.store.protocol import body_of, decision_of
from keepwhole.store.reader import BodyReader
from keepwhole.truncation.arguments import cut_arguments
from keepwhole.truncation.cut import Cut, Inserted, Segment

_CANONICAL, _SHOWN = 16_384, 65_536
_SEGMENTS = 500
_ORIGINAL, _GAP = 65_536, 6_000
"""Characters of an original beside the view of it, and of each part of it that the model did not see."""
_LINES, _LONG_LINE, _BYTES = 1_000, 4_000, 262_144
_FOUND_LINE = 400
_SECONDS = 0.25


def list_results(record: Record, name: str, query: Mapping[str, str]) -> dict[str, Any]:
    """The results of a session that a search asks for, a page at a time."""
    words, only = query.get("query", "").lower().split(), query.get("only", "")
    start, count = shapes.number(query, "from", 0, 0, 1 << 40), shapes.number(query, "count", 100, 1, 200)
    timeline = record.timeline(name)
    with timeline.lock:
        found = [kept for kept in timeline.results.values() if _is_wanted(kept, words, only)]
        return {"total": len(found), "from": start, "results": [shapes.result(k) for k in found[start : start + count]]}


def describe_result(record: Record, name: str, any_id: str, query: Mapping[str, str]) -> dict[str, Any]:
    """One result: its facts, its beginning, and the view of it, now or as of an entry of the record."""
    upto = shapes.number(query, "upto", 1 << 40, 0, 1 << 40)
    with record.open_result(name, any_id) as (kept, reader):
        is_text = kept.result.media_type == "text/plain"
        text = showable(reader.text(0, _CANONICAL)) if is_text else ""
        holding = [number for number, seq in enumerate(kept.decided) if seq < upto][-1:]
        cut = _cut(record, name, kept, holding)
        segments = None if cut is None else list(_limit_segments(_segments(cut, reader) if is_text else _words(cut)))
        return {
            "result": shapes.whole_result(kept),
            "decisions": shapes.decisions(kept),
            "calls": _calls(name, kept),
            "arguments": _arguments(kept, cut),
            "canonical": {
                "text": text,
                "from_line": 1,
                "lines": reader.lines,
                "more": is_text and reader.chars > _CANONICAL,
                "segments": list(_original_segments(cut, reader)) if is_text and cut is not None else None,
            },
            "shown": None
            if segments is None
            else {"segments": segments, **shapes.view_fields(kept.decisions[holding[0]])},
        }


def read_lines(record: Record, name: str, any_id: str, query: Mapping[str, str]) -> dict[str, Any]:
    """A page of a result's lines; fewer than asked for where they are long."""
    with record.open_result(name, any_id) as (kept, reader):
        return _page(kept, reader, query)


def read_lines_if_ready(record: Record, name: str, any_id: str, query: Mapping[str, str]) -> dict[str, Any] | None:
    """The same on the server's own thread, for scrolling; None where it might take longer.

    Reading a page of a body that is open takes less time than handing the work to another thread.
    """
    with record.open_result_if_ready(name, any_id) as found:
        return None if found is None else _page(*found, query)


def _page(kept: TimelineResult, reader: BodyReader, query: Mapping[str, str]) -> dict[str, Any]:
    first, count = shapes.number(query, "from", 1, 1, 1 << 40), shapes.number(query, "count", 200, 1, _LINES)
    found = _lines(reader, first, count)
    long: list[int] = []
    if found and max(map(len, found)) > _LONG_LINE:
        long = [number for number, text in enumerate(found) if len(text) > _LONG_LINE]
        found = [text[:_LONG_LINE] for text in found]
    return {
        "from": first,
        "count": len(found),
        "lines": found,
        "cut": long,
        "total": reader.lines,
        "call": RecallCall(kept.result.artifact_id).text(lines=f"{first}-{first + max(0, len(found) - 1)}"),
    }


def _lines(reader: BodyReader, first: int, count: int) -> list[str]:
    """Read up to `count` lines that fit on a page, from about as many bytes as lines of this text take on average."""
    if first > reader.lines:
        return []
    size = reader.facts.size
    start = reader.line_bytes(first, reader.lines)[0]
    wanted = min(_BYTES, (count + 4) * size * 17 // (reader.lines * 16))
    found = _split(reader, start, start + wanted, count)
    if len(found) <= count and start + wanted < size and wanted < _BYTES:
        wanted = _BYTES
        found = _split(reader, start, start + wanted, count)
    if len(found) > count or not found[-1] or (start + wanted < size and len(found) > 1):
        found.pop()  # the text after the page, an empty end, or a line that the page cuts
    return found


def _split(reader: BodyReader, start: int, stop: int, count: int) -> list[str]:
    return reader.read(start, stop).decode("utf-8", "replace").split(reader.eol, count)


def find_text(record: Record, name: str, any_id: str, query: Mapping[str, str]) -> dict[str, Any]:
    """The lines of a result that contain a text, as far as the time allows, and where to continue."""
    text = query.get("text", "")
    if not text:
        raise UsageError("Give the text to look for.")
    first, most = shapes.number(query, "from", 1, 1, 1 << 40), shapes.number(query, "most", 50, 1, 200)
    found: list[dict[str, Any]] = []
    with record.open_result(name, any_id) as (_, reader):
        at, size = reader.line_bytes(first, first)[0], reader.facts.size
        if first > reader.lines:
            return {"found": [], "next": None, "searched_to": reader.lines}
        scan = Scan(reader, finder(text, False), size, seconds=_SECONDS)
        while len(found) < most and (match := scan.find(at)) is not None:
            line, shown, at = _line_round(reader, match)
            found.append({"line": line, "text": shown})
        reached = at if len(found) == most else scan.reached
        goes_on = reached < size
        to = reader.line_at(min(reached, size - 1)) if goes_on else reader.lines
    return {"found": found, "next": to if goes_on else None, "searched_to": to}


def _line_round(reader: BodyReader, match: tuple[int, int]) -> tuple[int, str, int]:
    """The line of a match, an excerpt of it, and the byte where the next line begins."""
    line, eol = reader.line_at(match[0]), reader.eol.encode()
    start, stop = reader.line_bytes(line, line)
    low = max(start, match[0] - _FOUND_LINE // 4)
    data = reader.read(low, min(stop, low + _FOUND_LINE))
    shown = data.rstrip(eol).decode("utf-8", "replace")
    return line, ("…" if low > start else "") + shown + ("…" if low + _FOUND_LINE < stop else ""), max(stop, match[1])


def _cut(record: Record, name: str, kept: TimelineResult, holding: list[int]) -> Cut | None:
    """The cut of the decision in force; None where a result is shown unchanged."""
    row = record.store.entry(name, kept.decided[holding[0]]) if holding else None
    if row is None or decision_of(row).trace_id != kept.result.trace_id:
        return None
    return read_cut(record.store, body_of(row))


def _segments(cut: Cut, reader: BodyReader) -> Iterator[dict[str, Any]]:
    """The shown and the hidden parts, in order."""
    yield from _notice(cut.above)
    for piece in cut.pieces:
        if isinstance(piece, Inserted):
            yield from _notice(piece.text)
            continue
        text = reader.text(piece.start, min(piece.stop, piece.start + _SHOWN)) if piece.part == "kept" else None
        yield {
            "part": piece.part,
            "text": None if text is None else showable(text),
            **_place(reader, piece),
        }
    yield from _notice(cut.below)


def _original_segments(cut: Cut, reader: BodyReader) -> Iterator[dict[str, Any]]:
    """The original in order, each part with whether the model saw it; long parts by their beginnings."""
    room = _ORIGINAL
    for piece in cut.pieces[:_SEGMENTS]:
        if isinstance(piece, Inserted) or piece.start == piece.stop:
            continue
        size = min(piece.stop - piece.start, _GAP if piece.part == "gap" else _CANONICAL, room)
        yield {
            "part": piece.part,
            "text": showable(reader.text(piece.start, piece.start + size)),
            "more": piece.stop - piece.start > size,
            **_place(reader, piece),
        }
        room -= size
        if room <= 0:
            return


def _place(reader: BodyReader, piece: Segment) -> dict[str, int]:
    """How large a part is and where it begins; a last line counts without a line end too."""
    before = reader.ends_before(piece.start)
    upto = reader.lines if piece.stop >= reader.chars else reader.ends_before(piece.stop)
    return {"lines": max(upto - before, 1), "chars": piece.stop - piece.start, "from_line": before + 1}


def _words(cut: Cut) -> Iterator[dict[str, Any]]:
    """The line that is shown in place of an image or other bytes, or what the smaller image is; nothing where these are
    shown."""
    smaller = "" if cut.image is None else f"[sent smaller: {media_of(cut.image.data).looks}]"
    yield from _notice(cut.above + cut.below + smaller)


def _arguments(kept: TimelineResult, cut: Cut | None) -> dict[str, Any]:
    """The arguments of the call as the model wrote them, and as they are sent where that is otherwise."""
    whole = kept.result.arguments or ""
    shown = cut_arguments(whole, cut.arguments) if cut is not None and cut.arguments else None
    return {
        "whole": showable(whole[:_SHOWN]),
        "chars": len(whole),
        "more": len(whole) > _SHOWN,
        "shown": None if shown is None else showable(shown[:_SHOWN]),
    }


def _notice(text: str) -> Iterator[dict[str, Any]]:
    if text:
        yield {"part": "notice", "text": text, "lines": text.count("\n") + 1, "chars": len(text), "from_line": None}


def _limit_segments(segments: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The segments as far as they fit; a segment that is too long is cut and marked."""
    room = _SHOWN
    for number, segment in enumerate(segments):
        if number == _SEGMENTS or room <= 0:
            yield {"part": "notice", "text": "… (the page shows no more of it)", "lines": 1, "chars": 0}
            return
        text = segment["text"]
        if text is not None and len(text) > room:
            segment = {**segment, "text": text[:room], "more": True}
        room -= len(text or "")
        yield segment


def _calls(name: str, kept: TimelineResult) -> dict[str, str]:
    """The calls that fetch a result: a model's, a program's, the command line's."""
    own = kept.result.artifact_id
    return {
        "whole": RecallCall(own).text(),
        "python": f"keepwhole.session({name!r}).recall({own!r})",
        "cli": f"keepwhole show {own}",
    }


def _is_wanted(kept: TimelineResult, words: list[str], only: str) -> bool:
    if only == "cut" and not kept.is_cut:
        return False
    if only == "error" and not kept.result.is_error:
        return False
    own = kept.result
    searched = f"{own.tool} {own.arguments or ''} {own.artifact_id} {own.trace_id}".lower() if words else ""
    return all(word in searched for word in words)
