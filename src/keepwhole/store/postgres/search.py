"""Finding results by their words: full-text search over the first 256 KB of each text, never on the write path.

The words are told apart here, not by the server, whose parser takes a path or an address for one word. What lies
beyond the first 256 KB is scanned.
"""

import re
from typing import TYPE_CHECKING

from keepwhole.canonical.entry import Result
from keepwhole.store.excerpt import match_of, scan
from keepwhole.store.postgres.catch_up import Index, Words, catch_up, quoted, session_mark
from keepwhole.store.protocol import Match

if TYPE_CHECKING:
    from keepwhole.store.postgres.store import PostgresStore

_WORD = re.compile(r"\w+")
_LEXEME = re.compile(r"[^\W_]+")
_LONGEST = 400
"""Characters of a word that are indexed; a word of the server has at most 2,046 bytes."""
_PLACES, _LAST_PLACE = 8, 16_383
_INSERT = "INSERT INTO words (session, seq, words) VALUES (%s, %s, %s::text::tsvector) ON CONFLICT DO NOTHING"
_RANKED = """
SELECT e.trace_id FROM words w JOIN entries e ON e.session = w.session AND e.seq = w.seq, CAST(%s AS text) asked
WHERE w.words @@ asked::tsquery AND w.session = %s
ORDER BY ts_rank(w.words, asked::tsquery, 1) DESC, w.seq DESC LIMIT %s
"""


def search(store: "PostgresStore", session: str, words: str, limit: int, until: float | None = None) -> list[Match]:
    """Results of `session` that hold all the words, best first; those found before `until`."""
    wanted = _WORD.findall(words.lower())
    number = store.number_of(session)
    if not wanted or number is None:
        return []
    is_all = catch_up(store, _INDEX, number, until)
    lexemes = dict.fromkeys(word[:_LONGEST] for word in _LEXEME.findall(words.lower()))
    asked = " & ".join([quoted(session_mark(number)), *(quoted(word) + ":*" for word in lexemes)])
    ranked = store.select(_RANKED, (asked, number, limit)) if lexemes else []
    found = [match for (trace_id,) in ranked if (match := match_of(store, session, trace_id, wanted, until))]
    if len(found) < limit:
        seen = {match.trace_id for match in found}
        found += scan(store, session, wanted, seen, limit - len(found), until, large_only=is_all and bool(lexemes))
    return found


def _written(seq: int, result: Result, text: str) -> Words:
    """The words of a text and the first places of each, by which the server ranks."""
    places: dict[str, list[str]] = {}
    for place, found in enumerate(_LEXEME.finditer(text.lower()), 1):
        own = places.setdefault(found.group()[:_LONGEST], [])
        if len(own) < _PLACES:
            own.append(str(min(place, _LAST_PLACE)))
    yield seq, " ".join(f"{quoted(word)}:{','.join(own)}" for word, own in places.items())


_INDEX = Index("words", _INSERT, _written)
