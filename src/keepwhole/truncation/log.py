"""Keep what a log is read for: errors with their neighbors, what the question names, the beginning and the end.

Theory of operation. A unit is an event: a line with the indented lines that follow it (a stack trace).

1. Find. `error_lines` looks for words such as "error" in the whole text and drops lines that deny one ("0 errors",
   "exit code 0"). Equal lines but for their numbers are one group. Groups with rare words come first, mixed with the
   most frequent ones: two rare, one frequent. Places that share words with the question are found as well.
2. Bound. Only both ends of the text and the neighborhoods of those places are split into lines. What is between is
   one large unit that is never chosen, so the cost depends on the budget and not on the size of the log.
3. Choose, each step up to a share of the budget: the last lines; errors alone; errors with two lines before and after
   and their indented lines; what is asked for; then both ends.
4. Fold. In what was chosen, runs of lines that differ only in digits become the first of them and a count:

       12:00:01 retry 1 of host-17                 12:00:01 retry 1 of host-17
       12:00:02 retry 2 of host-17        →        ... [3 similar lines] ...
       12:00:03 retry 3 of host-17                 12:00:05 ERROR gave up on host-17
       12:00:04 retry 4 of host-17
       12:00:05 ERROR gave up on host-17

   Folding makes room. Where the view is then less than `_FULL` full, steps 2 to 4 run again with a larger allowance.

Invariants: every line that is shown is whole and verbatim, unless it alone is longer than a quarter of the budget;
the view never has more than `budget` characters; finding is done once, whatever the number of passes.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from keepwhole.canonical.utf8 import words_in
from keepwhole.truncation.cut import Cut, Inserted, Piece, Segment, Source, length, whole
from keepwhole.truncation.error_words import ELSEWHERE, ERRORS
from keepwhole.truncation.lines import after_ends
from keepwhole.truncation.notice import similar_lines
from keepwhole.truncation.question import fold, hits_of, scores, terms
from keepwhole.truncation.strategy import StrategyOptions
from keepwhole.truncation.units import ChosenUnits, cut_of, split_long, unit_at, widest_mark

_SAMPLE = 32_768
_EXIT, _KILLED = "exit", "killed"
_FAILED_EXIT = re.compile(r"exit[a-z]*(?:[ _]?(?:with|code|status|value))*[\s:=(\"']*-?[1-9]")
_KILLED_LINE = re.compile(r"(?:^|[\])]|:\d\d\S*)\s*killed(?::? \d+)?\s*$|:\s+(?:\d+ )?killed\b(?!\s+\d)")
"""What a shell, a build tool or the kernel says of a process; mutants and jobs are killed in other words."""
_NONE_BEFORE = tuple(f"{edge}{word} " for edge in " ,;(=[\t" for word in ("0", "no", "without"))
_NONE_AFTER = re.compile(r"\w*[=:] ?0\b")
_COUNTED = frozenset(("error", "fail"))
"""Words that also occur where nothing failed, as in "0 errors"."""
_DIGITS = b"0123456789"
_WIDTH = 240
"""Characters of a line by which it is judged."""
_MOST_ASKED = 40
_MOST_FIRST, _MOST_LAST = 3_000, 1_000
"""Where more lines have a word, only the first and the last ones are looked at."""
_MOST_ERRORS = 120
_BEFORE, _AFTER, _MOST_INDENTED = 2, 2, 20
_LAST_LINES = 4
_FOLD_AT = 3
_PASSES = 2
_FULL = 0.6


def log(source: Source, budget: int, options: StrategyOptions) -> Cut:
    """The last lines, errors with their neighbors, what is asked for, then both ends as far as they fit."""
    if source.chars <= budget:
        return whole(source.chars)
    found = _Findings(source.text(0, source.chars), source.eol, options.question)
    best = found.cut(source, budget, budget, options.head_ratio)
    allowance = budget
    for _ in range(_PASSES):
        shown = length(best.pieces)
        if shown > _FULL * budget:
            break
        allowance = int(allowance * min(4.0, 0.95 * budget / max(shown, 1)))
        fuller = found.cut(source, allowance, budget, options.head_ratio)
        if not shown < length(fuller.pieces) <= budget:
            break
        best = fuller
    return best


class _Findings:
    """The places of one log that are worth keeping: found once, then cut to any budget."""

    def __init__(self, text: str, eol: str, question: str) -> None:
        self._text, self._eol = text, eol
        self._lowered = fold(text)
        self._wanted = terms(question)
        self._errors = error_lines(self._lowered, eol)
        asked = (at for term in self._wanted for at in hits_of(self._lowered, term, _MOST_ASKED))
        starts = (*self._errors, *(text.rfind(eol, 0, at) + 1 for at in asked))
        self._events = {start: _find_event(text, start, eol) for start in starts}

    def cut(self, source: Source, allowance: int, budget: int, head_ratio: float) -> Cut:
        """The cut of at most `allowance` characters before repeats are folded, which leaves room for more."""
        text, eol = self._text, self._eol
        bounds = split_long(text, _bounds(text, eol, self._events.values(), 2 * allowance), max(budget // 4, 64))
        chosen = ChosenUnits(bounds, allowance, widest_mark(source))
        share = budget / max(allowance, 1)
        last = len(bounds) - 2
        chosen.add_all(range(last, last - _LAST_LINES, -1), 0.1 * share)
        found = scores(self._lowered, bounds, self._wanted)
        alone, with_others = (0.3, 0.45) if found else (0.4, 0.6)
        for at in self._errors:
            if chosen.has_used(alone * share):
                break
            chosen.add_all(_units(bounds, at, self._events[at].stop), alone * share)
        for at in self._errors:
            if chosen.has_used(with_others * share):
                break
            near = self._events[at].near
            chosen.add_all(_units(bounds, near[0], near[-1]), with_others * share)
        chosen.add_all(sorted(found, key=lambda unit: (-found[unit], unit)), 0.8 * share)
        chosen.fill(head_ratio / 2)
        return folded(cut_of(source, bounds, chosen.units), text, eol)


def _units(bounds: Sequence[int], start: int, stop: int) -> range:
    """The units from `start` up to `stop`."""
    return range(unit_at(bounds, start), unit_at(bounds, max(start, stop - 1)) + 1)


def error_lines(lowered: str, eol: str) -> list[int]:
    """Where lines with an error begin, those that are most unlike the others first."""
    words = (*ERRORS, _EXIT, _KILLED, *_words_elsewhere(lowered))
    lines = {start: line for word in words_in(lowered, words) for start, line in _lines_with(lowered, word, eol)}
    starts = sorted(lines)
    alike: dict[bytes, list[int]] = {}
    for start in starts:
        alike.setdefault(_shape(lines[start]), []).append(start)
    ranked = _by_rarity([(lines[group[0]], group) for group in alike.values()])
    ends = [at for group in _rare_and_common(ranked) for at in (group[0], group[-1])]
    return list(dict.fromkeys([*ends, *starts]))[:_MOST_ERRORS]


def _words_elsewhere(lowered: str) -> Iterator[str]:
    """The words for errors in the scripts found at the beginning, in the middle or at the end; none for ASCII."""
    if lowered.isascii():
        return
    middle = len(lowered) // 2
    seen = {*lowered[:_SAMPLE], *lowered[middle : middle + _SAMPLE], *lowered[-_SAMPLE:]}
    scripts = {unicodedata.name(char, "").split(" ")[0] for char in seen if not char.isascii()}
    for script in ELSEWHERE.keys() & scripts:
        yield from ELSEWHERE[script]


def _lines_with(lowered: str, word: str, eol: str) -> Iterator[tuple[int, str]]:
    """The lines in which `word` means an error, and where they begin; of very many the first and the last."""
    at, seen, stop = lowered.find(word), 0, 0
    while at >= 0 and seen < _MOST_FIRST:
        start, stop, seen = lowered.rfind(eol, 0, at) + 1, lowered.find(eol, at), seen + 1
        line = lowered[start : min(stop, start + _WIDTH) if stop >= 0 else start + _WIDTH]
        if _is_error(line, word):
            yield start, line
        at = lowered.find(word, stop) if stop >= 0 else -1
    at, seen = lowered.rfind(word, stop) if at >= 0 else -1, 0
    while at >= 0 and seen < _MOST_LAST:
        start, seen = lowered.rfind(eol, 0, at) + 1, seen + 1
        line = _line(lowered, start, eol)
        if _is_error(line, word):
            yield start, line
        at = lowered.rfind(word, stop, max(stop, start))


def _line(text: str, start: int, eol: str) -> str:
    stop = text.find(eol, start, start + _WIDTH)
    return text[start : stop if stop >= 0 else start + _WIDTH]


def _is_error(line: str, word: str) -> bool:
    """Whether a line with `word` reports an error: not "no errors", nor an exit code of 0."""
    if word in (_EXIT, _KILLED):
        return (_FAILED_EXIT if word == _EXIT else _KILLED_LINE).search(line) is not None
    if word not in _COUNTED:
        return True
    line = " " + line
    at = line.find(word)
    while at >= 0:
        if not line.endswith(_NONE_BEFORE, 0, at) and _NONE_AFTER.match(line, at + len(word)) is None:
            return True
        at = line.find(word, at + 1)
    return False


def _by_rarity(groups: Sequence[tuple[str, list[int]]]) -> list[list[int]]:
    """Groups of similar lines, first those whose words few other errors use: what repeats says less."""
    words = [set(line.encode("utf-8", "replace").translate(None, _DIGITS).split()) for line, _ in groups]
    uses = Counter(chain.from_iterable(words))
    for own, (_, group) in zip(words, groups, strict=True):
        for word in own if len(group) > 1 else ():
            uses[word] += len(group) - 1
    weight = {word: 1 / count for word, count in uses.items()}
    rarity = [math.fsum(map(weight.__getitem__, own)) for own in words]  # exact, so their order does not matter
    return [groups[at][1] for at in sorted(range(len(groups)), key=lambda at: -rarity[at])]


def _rare_and_common(ranked: Sequence[list[int]]) -> Iterator[list[int]]:
    """Two of the rarest groups, then one of the most common, which is what fails most."""
    front, back = 0, len(ranked) - 1
    for turn in range(len(ranked)):
        if turn % 3 == 2:
            yield ranked[back]
            back -= 1
        else:
            yield ranked[front]
            front += 1


class _Event(NamedTuple):
    """A line and the indented ones that follow it."""

    stop: int
    near: list[int]
    """Where lines begin, from the lines before the event up to behind those after it."""


def _find_event(text: str, start: int, eol: str) -> _Event:
    """The event whose line begins at `start`."""
    near = [start]
    for _ in range(_BEFORE):
        near.insert(0, text.rfind(eol, 0, max(0, near[0] - 1)) + 1)
    at = stop = _next_line(text, start, eol)
    near.append(at)
    after, is_event = 0, True
    while True:
        is_event = is_event and after < _MOST_INDENTED and text[at : at + 1] in (" ", "\t")
        if not is_event and after >= _AFTER:
            return _Event(stop, near)
        at = _next_line(text, at, eol)
        near.append(at)
        after += 1
        stop = at if is_event else stop


def _next_line(text: str, at: int, eol: str) -> int:
    stop = text.find(eol, at)
    return len(text) if stop < 0 else stop + 1


def _bounds(text: str, eol: str, events: Iterable[_Event], reach: int) -> list[int]:
    """Where lines begin near both ends and near events; the rest is never split."""
    starts = {0, len(text)}
    _add_starts(starts, text, 0, min(reach, len(text)), eol)
    _add_starts(starts, text, max(0, len(text) - reach), len(text), eol)
    for event in events:
        if event.near[-1] - event.near[0] < reach:
            starts.update(event.near)
    return sorted(starts)


def _add_starts(starts: set[int], text: str, first: int, stop: int, eol: str) -> None:
    starts.update(after_ends(text[first:stop], eol, first))


def folded(cut: Cut, text: str, eol: str) -> Cut:
    """The cut with runs of lines that differ only in numbers shown once, and counted."""
    pieces: list[Piece] = []
    for piece in cut.pieces:
        if isinstance(piece, Segment) and piece.part == "kept":
            pieces += _folded_lines(text, piece.start, piece.stop, eol)
        else:
            pieces.append(piece)
    return cut.replace(pieces=tuple(pieces))


def _shape(line: str) -> bytes:
    """A line without its digits. In UTF-8 their bytes occur in no other character."""
    return line.encode("utf-8", "surrogatepass").translate(None, b"0123456789abcdefABCDEF")


def _folded_lines(text: str, start: int, stop: int, eol: str) -> list[Piece]:
    pieces: list[Piece] = []
    kept_from = at = start
    while at < stop:
        after = min(stop, _next_line(text, at, eol))
        shape = _shape(text[at:after])
        end, count = after, 0
        while end < stop:
            further = min(stop, _next_line(text, end, eol))
            if _shape(text[end:further]) != shape:
                break
            end, count = further, count + 1
        if count >= _FOLD_AT and end - after > len(similar_lines(count)):
            pieces += [Segment("kept", kept_from, after), Inserted(similar_lines(count)), Segment("gap", after, end)]
            kept_from = end
        at = end
    if kept_from < stop:
        pieces.append(Segment("kept", kept_from, stop))
    return pieces
