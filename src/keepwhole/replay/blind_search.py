"""A search for what a step misses by an agent that does not know what it is: the realistic case beside the oracle.

Owns: which words an agent had at that step, and what the first page for them brings back.
Must not know: how results are ranked (`search`).

The words are those of the step itself and of the agent's message before it, without the missing strings and without all
words of a rare shape that only hidden results contain. Plain words stay: an agent could think of them. An agent knows
what it was about to write around the missing string, so the words of that line weigh most, then those of lines nearby.
"""

from collections.abc import Sequence

from keepwhole.policies.atoms import is_rare, occurs, words
from keepwhole.replay.cost import BlindSearch
from keepwhole.replay.evidence import Evidence, is_visible
from keepwhole.replay.run_facts import RunFacts
from keepwhole.replay.run_texts import ChangedTexts, RunStep

_GAP = "\0"
"""Takes the place of a missing string; no word contains it."""
_BESIDE, _NEAR, _ELSEWHERE = 16.0, 8.0, 1.0
"""The weight of a word on a line with a gap, up to two lines from one, and elsewhere."""
_NEAR_LINES = 2


def search_blind(facts: RunFacts, missing: Sequence[Evidence], changed: ChangedTexts) -> BlindSearch:
    """Search with the words of a step; return how much of the missing evidence the first page shows."""
    number = missing[0].step
    page = facts.search.first_page(known_words(facts, number, missing, changed), changed)
    not_found = [one for one in missing if not _is_on_page(facts, one, page.text)]
    rerun = dict.fromkeys(one.sources[-1] for one in not_found)
    tokens = tuple(facts.result_tokens[source] for source in rerun)
    return BlindSearch(number, page.tokens, len(missing), len(missing) - len(not_found), tokens)


def known_words(facts: RunFacts, number: int, missing: Sequence[Evidence], changed: ChangedTexts) -> dict[str, float]:
    """Return the words with which an agent could search at a step, and their weights."""
    step = facts.texts.steps[number]
    before = facts.texts.steps[number - 1].message.said if number else ""
    found = dict.fromkeys(words(before), _ELSEWHERE)
    lines = _with_gaps(step, missing, changed).split("\n")
    gaps = [at for at, line in enumerate(lines) if _GAP in line]
    known: dict[str, bool] = {}
    for at, line in enumerate(lines):
        weight = _weight(min((abs(at - gap) for gap in gaps), default=len(lines)))
        for word in words(line):
            if word not in known:
                known[word] = _is_known(facts, step, word, changed)
            if known[word]:
                found[word] = max(weight, found.get(word, 0.0))
    return found


def _with_gaps(step: RunStep, missing: Sequence[Evidence], changed: ChangedTexts) -> str:
    """Return the text of a step with a gap for each missing string; a string that is visible stays beside its gap."""
    own = "\n".join((*(call.tool for call in step.message.calls), step.message.said, step.arguments))
    for one in sorted(missing, key=lambda one: -len(one.text)):
        own = own.replace(one.text, f" {one.text if is_visible(one, changed) else ''} {_GAP} ")
    return own


def _weight(lines: int) -> float:
    return _ELSEWHERE if lines > _NEAR_LINES else _NEAR if lines else _BESIDE


def _is_known(facts: RunFacts, step: RunStep, word: str, changed: ChangedTexts) -> bool:
    """Return whether an agent can know a word from anything but hidden results."""
    texts = facts.texts
    if not is_rare(word) or texts.said.with_word(word, step.said):
        return True
    sources = texts.results.with_word(word, step.results)
    return not sources or any(source not in changed or occurs(word, changed[source]) for source in reversed(sources))


def _is_on_page(facts: RunFacts, one: Evidence, page: str) -> bool:
    return any(facts.shows(one.text, source, {source: page}) for source in one.sources)
