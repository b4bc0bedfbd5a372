"""Whether cutting a tool's results has cost more than it saved, because they were read back.

Owns: the account of one tool, of its results that were cut on arrival. Must not know: recall tools by name; a call that
gives the id of a result reads it back.

Theory of operation. Where everything that a tool returns is needed, a cut saves nothing: what it hid is sent a little
later, and the round in which it is asked for sends all before it once more. So a tool whose results were read back is
accounted for, in tokens at the input price:

    saved   what was cut of each result, written to the cache once and read from it with every turn since
    paid    what reading it back returned, at the same prices, and the conversation before it, read once more

Example. A result of `fetch_report` of 6,000 tokens was cut to 2,500, and read back whole after 8,000 tokens. That
saved 3,500 · 1.25 and cost 3,500 · 1.25 + 8,000 · .1, so from then on its results are shown whole. Had two others been
cut before that nobody read back, 10,500 · 1.25 would be saved, and the next one would be cut too.

A search that brings a few lines pays for its round only, so a tool that is read back so goes on to be cut. Everything
is in the conversation, hidden rounds too, so every process comes to the same answer, also after a restart. Once no
result of a tool is cut any more, the account of those that were stays about as it is, and so does the answer.
"""

import re
from collections.abc import Iterable, Iterator

from keepwhole.models.profiles import Profile
from keepwhole.policies.policy import Choices
from keepwhole.policies.transcript import Item, Transcript

_IDS = re.compile(r"\b(?:art|trace)_\w+")


def is_cut_in_vain(
    transcript: Transcript, tool: str, decided: Choices, profile: Profile, rules: frozenset[str]
) -> bool:
    """Return whether cutting results of a tool by these rules has cost more than it saved."""
    cut = {
        number: transcript.items[number].tokens - choice.tokens
        for number, choice in decided.items()
        if choice.rule in rules and (call := transcript.items[number].call) is not None and call.tool == tool
    }
    if not cut:
        return False
    saved = sum(tokens * _carried(transcript, transcript.items[number], profile) for number, tokens in cut.items())
    return sum(_paid(transcript, answer, profile) for answer in _answers(transcript, cut)) > saved


def _answers(transcript: Transcript, numbers: Iterable[int]) -> Iterator[Item]:
    """Yield what was returned to every call that gives the id of one of these results."""
    names = (transcript.items[number].name for number in numbers)
    ids = {one for name in names if name is not None for one in (name.artifact_id, name.trace_id)}
    for answer in transcript.items:
        found = _IDS.search(answer.call.arguments) if answer.call is not None else None
        if found is not None and found[0] in ids:
            yield answer


def _paid(transcript: Transcript, answer: Item, profile: Profile) -> float:
    before = transcript.tokens_before[answer.index] * profile.read
    return before + answer.tokens * _carried(transcript, answer, profile)


def _carried(transcript: Transcript, item: Item, profile: Profile) -> float:
    """Return what a token of a result has cost so far: written once, and read with every turn since."""
    return profile.write + profile.read * (transcript.turns - item.turn)
