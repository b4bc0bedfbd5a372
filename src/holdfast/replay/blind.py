"""Fetching back what a step misses by somebody who does not know what it is: the honest beside the oracle.

Owns: which words an agent had in that step, and what the first page for them brings back.
Must not know: how results are ranked (`search`).

The words are those of the step itself and of the agent's last message, without every missing string, and without all
words of a rare shape that only hidden results have. Plain words stay: anybody might think of them.
"""

from collections.abc import Mapping, Sequence

from holdfast.replay.atoms import is_rare, occurs, words
from holdfast.replay.cost import Asked
from holdfast.replay.evidence import Evidence, is_visible
from holdfast.replay.measured import Measured
from holdfast.replay.told import Step


def ask(measured: Measured, missing: Sequence[Evidence], texts: Mapping[int, str]) -> Asked:
    """What a search by the words of a step brings back of what it misses in context."""
    number = missing[0].step
    page = measured.search.page(known_words(measured, number, missing, texts), texts)
    lacking = [one for one in missing if not _is_in(measured, one, page.text)]
    again = dict.fromkeys(one.sources[-1] for one in lacking)
    tokens = tuple(measured.result_tokens[source] for source in again)
    return Asked(number, page.tokens, len(missing), len(missing) - len(lacking), tokens)


def known_words(measured: Measured, number: int, missing: Sequence[Evidence], texts: Mapping[int, str]) -> set[str]:
    """The words that an agent could ask with in a step."""
    step = measured.told.steps[number]
    own = "\n".join((*(call.tool for call in step.message.calls), step.message.said, step.arguments))
    for one in sorted(missing, key=lambda one: -len(one.text)):
        if not is_visible(one, texts):
            own = own.replace(one.text, " ")
    before = measured.told.steps[number - 1].message.said if number else ""
    return {word for word in words(own) if _is_known(measured, step, word, texts)} | words(before)


def _is_known(measured: Measured, step: Step, word: str, texts: Mapping[int, str]) -> bool:
    """Whether an agent has a word from anywhere but hidden results."""
    told = measured.told
    if not is_rare(word) or told.said.with_word(word, step.said):
        return True
    sources = told.results.with_word(word, step.results)
    return not sources or any(source not in texts or occurs(word, texts[source]) for source in reversed(sources))


def _is_in(measured: Measured, one: Evidence, page: str) -> bool:
    return any(measured.shows(one.text, source, {source: page}) for source in one.sources)
