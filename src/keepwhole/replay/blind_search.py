"""Fetching back what a step misses by somebody who does not know what it is: the honest beside the oracle.

Owns: which words an agent had in that step, and what the first page for them brings back.
Must not know: how results are ranked (`search`).

The words are those of the step itself and of the agent's last message, without every missing string, and without all
words of a rare shape that only hidden results have. Plain words stay: anybody might think of them. Whoever misses
something knows what it was about to write round it, so the words of that line weigh most, then those of lines nearby.
"""

from collections.abc import Mapping, Sequence

from keepwhole.replay.atoms import is_rare, occurs, words
from keepwhole.replay.cost import Asked
from keepwhole.replay.evidence import Evidence, is_visible
from keepwhole.replay.run_facts import Measured
from keepwhole.replay.word_sources import Step

_GAP = "\0"
"""Stands for what is missing; no word has it."""
_BESIDE, _NEAR, _ELSEWHERE = 16.0, 8.0, 1.0
"""What a word counts on a line with a gap, up to two lines from one, and elsewhere."""
_LINES = 2


def ask(measured: Measured, missing: Sequence[Evidence], texts: Mapping[int, str]) -> Asked:
    """What a search by the words of a step brings back of what it misses in context."""
    number = missing[0].step
    page = measured.search.page(known_words(measured, number, missing, texts), texts)
    lacking = [one for one in missing if not _is_in(measured, one, page.text)]
    again = dict.fromkeys(one.sources[-1] for one in lacking)
    tokens = tuple(measured.result_tokens[source] for source in again)
    return Asked(number, page.tokens, len(missing), len(missing) - len(lacking), tokens)


def known_words(
    measured: Measured, number: int, missing: Sequence[Evidence], texts: Mapping[int, str]
) -> dict[str, float]:
    """The words that an agent could ask with in a step, and how much each counts."""
    step = measured.told.steps[number]
    before = measured.told.steps[number - 1].message.said if number else ""
    found = dict.fromkeys(words(before), _ELSEWHERE)
    lines = _with_gaps(step, missing, texts).split("\n")
    gaps = [at for at, line in enumerate(lines) if _GAP in line]
    known: dict[str, bool] = {}
    for at, line in enumerate(lines):
        weight = _weight(min((abs(at - gap) for gap in gaps), default=len(lines)))
        for word in words(line):
            if word not in known:
                known[word] = _is_known(measured, step, word, texts)
            if known[word]:
                found[word] = max(weight, found.get(word, 0.0))
    return found


def _with_gaps(step: Step, missing: Sequence[Evidence], texts: Mapping[int, str]) -> str:
    """What a step says and calls, with a gap for each missing string; one that a digest still lists stands beside."""
    own = "\n".join((*(call.tool for call in step.message.calls), step.message.said, step.arguments))
    for one in sorted(missing, key=lambda one: -len(one.text)):
        own = own.replace(one.text, f" {one.text if is_visible(one, texts) else ''} {_GAP} ")
    return own


def _weight(lines: int) -> float:
    return _ELSEWHERE if lines > _LINES else _NEAR if lines else _BESIDE


def _is_known(measured: Measured, step: Step, word: str, texts: Mapping[int, str]) -> bool:
    """Whether an agent has a word from anywhere but hidden results."""
    told = measured.told
    if not is_rare(word) or told.said.with_word(word, step.said):
        return True
    sources = told.results.with_word(word, step.results)
    return not sources or any(source not in texts or occurs(word, texts[source]) for source in reversed(sources))


def _is_in(measured: Measured, one: Evidence, page: str) -> bool:
    return any(measured.shows(one.text, source, {source: page}) for source in one.sources)
