r"""Text that looks like a notice: how every version of the notices is spelled, and where a text has such words.

Owns: the grammar of notices, one entry a version. Must not know: cuts; what is done where something is found.

A notice that was printed once may come back in any later text, so no version is ever taken out of `GRAMMARS`: a new
wording of `notice.py` is a new entry here. The forms are written for skeletons (`skeleton.py`), so one form knows all
spellings of it: capitals, full width, look-alikes, invisible characters and colors between the letters.

Theory of operation. Forms that begin with a bracket are looked for in all of a text: that costs no more than looking
for brackets. Every other form has an anchor in it, a word that few texts have, and most have a rare sign as well. A
text without these is done; otherwise the forms are looked for near the anchors, each place once. All repeats in the
forms are bounded, so no text takes more time than its length.

An id of a result is what recall answers to, so a text that names one is marked whatever else it says. One mark before
it on its line is enough.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from keepwhole.canonical.anchors import matches_within, stretches_around
from keepwhole.canonical.utf8 import words_in
from keepwhole.truncation.skeleton import Skeleton

_BEFORE, _AFTER = 200, 200
_LONGEST = 600
"""No form has as many characters."""
_COUNT = r"(?<![\d,])\d[\d,]{0,20}"
_SPAN = rf"(?:lines|characters)\s{{1,9}}{_COUNT}\s{{0,9}}-\s{{0,9}}{_COUNT}\s{{1,9}}of\s{{1,9}}{_COUNT}"


class Grammar(NamedTuple):
    """How notices of one version are spelled in a skeleton."""

    version: int
    bracketed: tuple[str, ...]
    """What follows a bracket that begins a notice."""
    others: tuple[str, ...]
    anchors: Mapping[str, str]
    """Words of which every one of the other forms has one, each with a sign that is in the same form."""
    ids: Mapping[str, str] = MappingProxyType({})
    """The forms of ids, by the word that each begins with."""


GRAMMARS = (
    Grammar(
        version=1,
        bracketed=(
            r"artifact\s{0,9}:",
            r"truncated\s{0,9}-",
            r"content\s{1,9}truncated\s{0,9}-",
            r"binary\s{0,9}:[^\]\n]{0,120}?\bdigest\b",
            rf"{_COUNT}\s{{1,9}}similar\s{{1,9}}lines",
            rf"{_SPAN}(?=,\s{{1,9}}the\s{{1,9}}end|;\s{{1,9}}(?:next|before)\s{{0,9}}:|\s{{0,9}}\])",
            rf"there\s{{1,9}}is\s{{1,9}}no\s{{1,9}}(?:line|character)\s{{1,9}}{_COUNT}\s{{0,9}}:",
            r"no\s{1,9}result\s{1,9}on\s{1,9}record\s{1,9}for\s{1,9}this\s{1,9}call",
            r"the\s{1,9}result\s{1,9}of\s{1,9}the\s{1,9}call\s{1,9}[^\]\n]{0,100}?\bcame\s{1,9}twice",
        ),
        others=(
            r"(?:get_artifact|get_task_trace|search_artifacts)\s{0,9}\(",
            r"use\s{1,9}the\s{1,9}get_artifact\s{1,9}tool",
            r"keepwhole\s{1,9}artifacts\s{1,9}show\b",
            r"\bread(?:_file)?\s{0,9}\([^()\n]{0,120}?/results/",
            r"\.\.\.\s{0,9}\[[^\]\n]{0,60}?omitted",
            rf"\.\.\.\s{{0,9}}{_COUNT}\s{{1,9}}(?:items|rows|elements|chars)\s{{1,9}}omitted",
            rf"{_COUNT}\s{{1,9}}keys\s{{1,9}}omitted",
            rf"{_SPAN}\s{{1,9}}are\s{{1,9}}left\s{{1,9}}out",
            r"retrieve\s{1,9}specific\s{1,9}portions\s{0,9}:",
            r"the\s{1,9}file\s{1,9}is\s{1,9}unchanged\s{0,9},\s{1,9}but\s{1,9}the\s{1,9}earlier\s{1,9}result",
            r"tool\s{1,9}results\s{1,9}from\s{1,9}before\s{1,9}are\s{1,9}on\s{1,9}record",
        ),
        anchors={
            **{"artifact": "a", "task_trace": "(", "/results/": "(", "omitted": "d", "left": "-"},
            **{"portions": ":", "unchanged": ",", "record": "`"},
        },
        ids={
            "art_": r"art_\d{1,12}_[0-9a-z]{22}(?![0-9a-z])",
            "trace_": r"trace_[0-9a-z]{22}(?![0-9a-z])",
        },
    ),
    Grammar(
        version=2,
        bracketed=(rf"{_SPAN}(?=,\s{{1,9}}all\s{{1,9}}that\s{{1,9}}was\s{{1,9}}asked)",),
        others=(
            r"they\s{1,9}hold\s{1,9}\\{0,3}\"{1,2}[^\"\n]{1,80}\"{1,2}\s{0,9}:",
            r"(?<!\d)\d[\d,.]{0,20}\s{0,9}(?:bytes?|[kmgt]b)\s{1,9}left\s{1,9}out\s{0,9}\]",
        ),
        anchors={"hold": ":", "left": "]"},
    ),
)
"""Every version that was ever printed, the newest last."""
VERSION = GRAMMARS[-1].version
"""The version that `notice.py` prints."""


def imitations(text: str, grammars: tuple[Grammar, ...] = GRAMMARS) -> list[int]:
    """Where something begins that looks like a notice of any version, in order."""
    skeleton = Skeleton(text)
    seen = skeleton.text
    likely = [word for grammar in grammars for word, sign in grammar.anchors.items() if sign in seen]
    anchors = words_in(seen, likely)
    found = _starts(_bracketed(grammars), seen, 0, len(seen)) if "[" in seen else []
    if anchors:
        near = _others(grammars)
        for window in stretches_around(seen, anchors, _BEFORE, _AFTER):
            found += _starts(near, seen, *window)
    found = _with_ids(grammars, seen, sorted(found))
    return list(dict.fromkeys(skeleton.places(found))) if found else []


def _with_ids(grammars: tuple[Grammar, ...], seen: str, found: list[int]) -> list[int]:
    """The places in order, with those where an id begins that has none of them before it on its line."""
    forms = [(word, form) for grammar in grammars for word, form in grammar.ids.items()]
    there = words_in(seen, [word for word, _ in forms])
    ids = [at for word, form in forms if word in there for at in _starts(re.compile(form), seen, 0, len(seen))]
    if not ids:
        return found
    places: list[int] = []
    named = frozenset(ids)
    for at in sorted([*found, *ids]):
        is_marked = places and at - places[-1] <= _BEFORE and "\n" not in seen[places[-1] : at]
        if at not in named or not is_marked:
            places.append(at)
    return places


def _starts(pattern: re.Pattern[str], text: str, start: int, stop: int) -> list[int]:
    return [match.start() for match in matches_within(pattern, text, start, stop, _LONGEST)]


def _bracketed(grammars: tuple[Grammar, ...]) -> re.Pattern[str]:
    """The forms in brackets; `re` remembers what it compiled."""
    forms = "|".join([form for grammar in grammars for form in grammar.bracketed])
    return re.compile(rf"\[\s{{0,9}}(?:{forms})")


def _others(grammars: tuple[Grammar, ...]) -> re.Pattern[str]:
    return re.compile("|".join([form for grammar in grammars for form in grammar.others]))
