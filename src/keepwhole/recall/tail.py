"""Recall at the tail: the unit to put back when the newest message names something that only a hidden result has.

Owns: which unit, and where it would go. Pure.
Must not know: whether it is put back. For now it is only counted, in the account of a projection.

The unit would be appended inside the newest tool result, never as the user's words: text of a tool must not gain
authority. At a user's turn there is no such result, so one line that refers to it would be added.
"""

from collections.abc import Iterable
from typing import NamedTuple

from keepwhole.policies.policy import Choices, shown_text
from keepwhole.policies.transcript import Item, Transcript
from keepwhole.recall.scorer import Term, best_units, terms
from keepwhole.truncation.cut import TextSource
from keepwhole.truncation.notice import quoted, reference
from keepwhole.truncation.present import summarize
from keepwhole.truncation.question import fold
from keepwhole.truncation.sniff import sniff

BUDGET = 400
"""Tokens that one unit may take."""
_NAMES = 3.0
"""What a term counts that names something: an identifier, a path, a long number."""
_NEWEST = 4_000
_SHORTEST = 4


class RecalledUnit(NamedTuple):
    """A unit that would be put back."""

    source: int
    """The hidden result, by its number."""
    into: int | None
    """The newest result, inside which it would be appended; None at a user's turn, where a pointer would stand."""
    named: str
    """What the newest words name."""
    text: str


def recall_at_tail(
    transcript: Transcript, decided: Choices, budget: int = BUDGET, beside: Iterable[str] = ()
) -> RecalledUnit | None:
    """The unit that the newest words ask for; None where they name nothing that is hidden.

    `beside` are the other texts that are sent: units that were put back before.
    """
    newest, into = _newest(transcript)
    named = {word: term for word, term in terms(newest).items() if term.weight >= _NAMES and len(word) >= _SHORTEST}
    hidden = [item for item in reversed(transcript.items) if _is_hidden(item, decided)] if named else []
    if not hidden:
        return None
    folded = [(item, fold(item.text)) for item in hidden]
    sent = [fold(text) for text in (*_visible_texts(transcript, decided), *beside)]
    for word, term in named.items():
        item = next((item for item, text in folded if _has_term(text, term)), None)
        if item is not None and not any(_has_term(text, term) for text in sent):
            found = _recall_unit(item, word, term, into, budget)
            if found is not None:
                return found
    return None


def _newest(transcript: Transcript) -> tuple[str, int | None]:
    """The newest text of the user or the model, and the tool result that ends the conversation."""
    if not transcript.messages:
        return "", None
    last = transcript.messages[-1]
    if last.role == "user" and last.said and not last.returned:
        return last.said[-_NEWEST:], None
    if not transcript.items or transcript.items[-1].index != len(transcript.messages) - 1:
        return "", None
    step = transcript.items[-1].step
    asked = [item.call.arguments for item in transcript.items if item.step == step and item.call is not None]
    said = next((message.said for message in reversed(transcript.messages) if message.role == "assistant"), "")
    return "\n".join([said, *asked])[-_NEWEST:], transcript.items[-1].number


def _is_hidden(item: Item, decided: Choices) -> bool:
    """Whether a part of a recorded text is not sent."""
    return item.name is not None and item.media is None and (item.gone or item.number in decided)


def _has_term(folded: str, term: Term) -> bool:
    return any(spelling in folded for spelling in term.spellings)


def _visible_texts(transcript: Transcript, decided: Choices) -> Iterable[str]:
    """The results as they are sent."""
    for item in transcript.items:
        if not item.gone:
            yield shown_text(item, decided.get(item.number))


def _recall_unit(item: Item, word: str, term: Term, into: int | None, budget: int) -> RecalledUnit | None:
    assert item.name is not None
    units = best_units(item.text, {word: term}, budget, kind=sniff(TextSource(item.text)))
    if not units:
        return None
    tool, arguments = (item.call.tool, item.call.arguments) if item.call else ("result", None)
    about = reference(item.name.artifact_id, summarize(tool, arguments), item.size)
    if into is None:
        return RecalledUnit(item.number, None, word, f"{about}, {item.name.way.whole()} reads it back")
    unit = units[0]
    return RecalledUnit(item.number, into, word, f"\n{about}, from it:\n{quoted(item.text[unit.start : unit.stop])}")
