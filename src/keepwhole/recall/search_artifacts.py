"""`search_artifacts`: the results of a session that have some words, each with a line and a call that reads on.

Owns: which words are searched for where no result has all of them, and the words of the answer.
Must not know: indexes; the store searches.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from keepwhole.canonical.entry import Result
from keepwhole.canonical.utf8 import showable
from keepwhole.errors import UsageError
from keepwhole.recall.answer import ROOM, RecallAnswer, RecallCall
from keepwhole.recall.names import is_recall
from keepwhole.recall.scorer import terms
from keepwhole.store.protocol import Match, Row, body_of, result_of
from keepwhole.truncation.notice import quoted, reference
from keepwhole.truncation.present import summarize

MOST = 10
_TERMS = 6
_LINE = 200
_LONGEST = 400
_LONG_LINE = 500
"""Most characters of a line that a match gives."""

_GIVEN_AS = ("query", "q", "words", "text", "pattern", "id")
"""What models call the words that they look for."""
WHOLE_WORD = 1.0
"""What a word weighs that is no mere part of a name."""

Search = Callable[[str, int], Sequence[Match]]
"""Searches for results that have all of some words, best first: `(words, most)`."""
Around = Callable[[Row, int], tuple[int, int]]
"""Gives the first and the last line to read around a line of a result."""


class SearchHit(NamedTuple):
    """A result that matches, with its row."""

    match: Match
    row: Row
    result: Result


def query_of(arguments: Mapping[str, Any]) -> str:
    """The words that a call searches for; `UsageError` where it gives none."""
    asked = next((arguments[key] for key in _GIVEN_AS if arguments.get(key)), None)
    query = " ".join(str(asked or "").split())[:_LONGEST]
    if not any(char.isalnum() for char in query):
        message = "Give words to look for, as `query`: names and numbers find most."
        raise UsageError(message, message)
    return query


def find_matches(query: str, search: Search, least: float = 0.0) -> list[Match]:
    """Search for results with all of the words; where there are none, for those with the most significant words that
    weigh at least so much."""
    whole = list(search(query, MOST * 2))
    if whole:
        return whole
    weighed = [pair for pair in terms(query).items() if pair[1].weight >= least]
    wanted = sorted(weighed, key=lambda pair: -pair[1].weight)[:_TERMS]
    scores: dict[str, float] = {}
    first: dict[str, Match] = {}
    for word, term in wanted:
        for match in search(word, MOST * 2):
            scores[match.trace_id] = scores.get(match.trace_id, 0.0) + term.weight
            first.setdefault(match.trace_id, match)
    return sorted(first.values(), key=lambda match: -scores[match.trace_id])


def answer_search(
    query: str,
    matches: Sequence[Match],
    find: Callable[[str], Row | None],
    around: Around,
    limit: int,
    is_all: bool,
) -> RecallAnswer:
    """The matches as text, each with the call that reads around it."""
    hits: list[SearchHit] = []
    for match in matches:
        row = find(match.trace_id)
        if row is not None and not is_recall((result := result_of(row)).tool):
            hits.append(SearchHit(match, row, result))
    early = "" if is_all else " (not everything was looked at: ask again, or for fewer words)"
    if not hits and not is_all:
        return RecallAnswer(
            "[Nothing found so far, but not every result could be looked at in time. Ask again, or for fewer words.]"
        )
    if not hits:
        return RecallAnswer("[No result of this session holds these words. Look for fewer or other ones.]")
    shown = ""
    calls: list[str] = []
    for hit in hits[:MOST]:
        calls.append(_call(hit, query, around))
        block = f"{_reference_line(hit)}\n{_where(hit)}: {_text(hit)}\n{calls[-1]}\n"
        if len(shown) + len(block) > limit - ROOM - len(calls[0]) and shown:
            calls.pop()
            break
        shown += block
    count = f"{len(calls)} of {len(hits)}" if len(calls) < len(hits) else f"{len(hits)}"
    return RecallAnswer(f"{shown}[{count} found, best first{early}; next: {calls[0]}]")


def _reference_line(hit: SearchHit) -> str:
    about = summarize(hit.result.tool, hit.result.arguments)
    return showable(reference(hit.result.artifact_id, about, body_of(hit.row).facts.size))


def _where(hit: SearchHit) -> str:
    return f"line {hit.match.line}" if hit.match.part == "result" else f"{hit.match.part} of the call"


def _text(hit: SearchHit) -> str:
    line = "".join(char if char.isprintable() else " " for char in hit.match.text.strip())
    return quoted(line if len(line) <= _LINE else line[:_LINE] + "…")


def _call(hit: SearchHit, query: str, around: Around) -> str:
    """The call that reads around a match: by lines, or by a pattern where the line is long."""
    if hit.match.part != "result":
        word = _longest_word(query, hit.match.text)
        return RecallCall(hit.result.artifact_id).text(part=hit.match.part, pattern=word)
    if len(hit.match.text) < _LONG_LINE:
        first, last = around(hit.row, hit.match.line)
        return RecallCall(hit.result.artifact_id).text(lines=f"{first}-{last}")
    return RecallCall(hit.result.artifact_id).text(pattern=_longest_word(query, hit.match.text))


def _longest_word(query: str, text: str) -> str:
    """The longest word of a query, as the text spells it where the text has it."""
    folded = text.lower()
    best = max(query.split(), key=lambda word: (word.lower() in folded, len(word)))[:_LINE]
    at = folded.find(best.lower())
    return best if at < 0 or len(folded) != len(text) else text[at : at + len(best)]
