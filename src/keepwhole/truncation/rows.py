"""Keep rows: the header of a table, its first and last rows, and those that the question names. Never half a line.

CSV stays CSV: nothing of ours stands inside it, the count follows after the body. NDJSON stays NDJSON: a line that is
a JSON string counts the rows left out in its place, and where not one row fits whole, rows are cut by their structure.
"""

import json
import re
from array import array
from collections.abc import Sequence
from functools import cache

from keepwhole.canonical.json_members import NotJson
from keepwhole.truncation.cut import Cut, Inserted, Piece, Segment, Source, nothing, whole
from keepwhole.truncation.json_element import JsonCut
from keepwhole.truncation.lines import line_bounds
from keepwhole.truncation.notice import rows_omitted
from keepwhole.truncation.question import fold, scores, terms
from keepwhole.truncation.sniff import preface, sniff
from keepwhole.truncation.strategy import StrategyOptions
from keepwhole.truncation.tree import merged
from keepwhole.truncation.units import ChosenUnits

_HEADER = 4_096
_LEAST_ROW = 1_000
"""Characters of a row that is cut, unless there is room for one row only."""
_LONGEST = 262_144
"""Characters of a record; where one is longer, its quotes hardly add up."""


def rows(source: Source, budget: int, options: StrategyOptions) -> Cut:
    """Whole rows within the budget."""
    if source.chars <= budget:
        return whole(source.chars)
    text = source.text(0, source.chars)
    is_json = text.lstrip()[:1] in ("{", "[") and sniff(source) != "csv"
    bounds = record_bounds(text, source.eol, quoted=not is_json)
    mark = len(_marker(len(bounds), source.eol)) if is_json else 0
    after = 0 if is_json else len(rows_omitted(len(bounds), source.chars)) + 1
    chosen = ChosenUnits(bounds, budget - after, mark)
    if not chosen.add(0) and not is_json:
        return nothing(source.chars)
    if options.question:
        found = scores(fold(text), bounds, terms(options.question))
        chosen.add_all(sorted(found, key=lambda unit: (-found[unit], unit)), 0.6)
    chosen.fill(options.head_ratio)
    if not chosen.units:
        return _cut_rows(source, text, bounds, budget, options)
    if not is_json and len(chosen.units) == 1:
        return nothing(source.chars)  # a header says little without a row
    return _cut(source, bounds, sorted(chosen.units), is_json)


def _cut_rows(source: Source, text: str, bounds: Sequence[int], budget: int, options: StrategyOptions) -> Cut:
    """Rows of NDJSON that are all too long, some from both ends, each cut by its structure to an equal share."""
    cutter = JsonCut(text, terms(options.question), options.max_depth, frozenset(options.keep_keys))
    rows = len(bounds) - 1
    count = max(1, min(rows, budget // _LEAST_ROW))
    front = -(-count // 2)
    mark = len(_marker(rows, source.eol)) if rows > count else 0
    back = rows - (count - front)
    pieces: list[Piece] = []
    for row in (*range(front), *range(back, rows)):
        start, stop = bounds[row], bounds[row + 1]
        if row == back > front:
            pieces += [Inserted(_marker(back - front, source.eol)), Segment("gap", bounds[front], start)]
        line = text[start:stop]
        begin, end = start + len(line) - len(line.lstrip()), start + len(line.rstrip())
        try:
            shown = cutter.fit(begin, end, (budget - mark) // count - (stop - start) + (end - begin), 0)
        except NotJson:
            shown = None
        if shown is None:
            return nothing(source.chars)
        pieces += [Segment("kept", start, begin), *shown, Segment("kept", end, stop)]
    if back == rows > front:
        pieces += [Inserted(_marker(back - front, source.eol)), Segment("gap", bounds[front], source.chars)]
    return Cut(tuple(merged(pieces)))


def record_bounds(text: str, eol: str, quoted: bool) -> Sequence[int]:
    """Where records begin, as `csv.reader` splits them; where quotes do not add up, a line is a record.

    What a shell's wrapper prints before a table belongs to its header.
    """
    begin = preface(text) if quoted else 0
    if not (quoted and '"' in text):
        return _lines_from(text, eol, begin)
    bounds, match = array("q", (begin,)), _record(_delimiter(text[begin : begin + _HEADER]), eol).match
    while bounds[-1] < len(text):
        record = match(text, bounds[-1], bounds[-1] + _LONGEST)
        if record is None or record.end() == bounds[-1] + _LONGEST < len(text):
            return _lines_from(text, eol, begin)
        bounds.append(record.end())
    bounds[0] = 0
    return bounds


def _lines_from(text: str, eol: str, begin: int) -> Sequence[int]:
    """Where lines begin; what is before the place `begin` belongs to the line there."""
    bounds = line_bounds(text, eol)
    return bounds if not begin else array("q", (0, *(at for at in bounds if at > begin)))


def _delimiter(text: str) -> str:
    """What parts the columns: the mark that the first line has most of."""
    return max(",\t;|", key=text.partition("\n")[0].count)


@cache
def _record(delimiter: str, eol: str) -> re.Pattern[str]:
    """One record: a quote counts where a field begins with it, up to the one that closes it; nowhere else."""
    mark = re.escape(delimiter)
    field = rf"(?<![^{mark}\r\n])\"(?>(?:[^\"]++|\"\")*)\"[^{mark}\r\n]*+"
    stray = rf"(?<=[^{mark}\r\n])\""
    end = r"\r?\n" if eol == "\n" else r"\r"
    return re.compile(rf"(?>(?:[^\"\r\n]++|{field}|{stray})*)(?:{end}|\r?\Z)")


def _cut(source: Source, bounds: Sequence[int], units: list[int], is_json: bool) -> Cut:
    pieces: list[Piece] = []
    at = left_out = 0
    for before, unit in zip([-1, *units], [*units, len(bounds) - 1], strict=True):
        missing = unit - before - 1
        start = bounds[unit] if unit < len(bounds) - 1 else source.chars
        if missing:
            left_out += missing
            if is_json:
                pieces.append(Inserted(_marker(missing, source.eol)))
            pieces.append(Segment("gap", at, start))
            at = start
        if unit < len(bounds) - 1:
            last = pieces[-1] if pieces else None
            if not missing and isinstance(last, Segment) and last.part == "kept":
                pieces[-1] = Segment("kept", last.start, bounds[unit + 1])
            else:
                pieces.append(Segment("kept", at, bounds[unit + 1]))
            at = bounds[unit + 1]
    gaps = sum(piece.stop - piece.start for piece in pieces if isinstance(piece, Segment) and piece.part == "gap")
    return Cut(tuple(pieces), below="" if is_json else rows_omitted(left_out, gaps))


def _marker(count: int, eol: str) -> str:
    return json.dumps(f"... {count:,} rows omitted ...") + eol
