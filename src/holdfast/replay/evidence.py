"""What an agent used that only a tool result could have told it.

Owns: the extraction, once a run. Definitions: `docs/concepts/replay.md`.
Must not know: policies.

Texts are found by their words: a string is looked for only in results that have its rarest word.
"""

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple, TypeAlias

from holdfast.projection.transcript import Message
from holdfast.replay.atoms import argument_text, atoms, lines, occurs, parts, words
from holdfast.replay.frequency import Frequency
from holdfast.replay.run import Run

Kind: TypeAlias = Literal["args", "line", "answer"]
RECENT = 5
"""Steps after which evidence counts as old."""
LATE = 15
"""Steps of a run after which there is much that is old."""
_MASKED_SHARE, _MASKED_LEAST = 0.95, 50


class Evidence(NamedTuple):
    """One string at its first use."""

    step: int
    """The assistant message that used it, from 0."""
    text: str
    kind: Kind
    sources: tuple[int, ...]
    """The results that had shown it, by their numbers in the run, oldest first."""
    age: int
    """Steps since a result last showed it; 1 is the step right after."""


class _Texts:
    """Texts in order, found by their words."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._by_word: dict[str, list[int]] = {}

    def add(self, text: str) -> None:
        number = len(self._texts)
        self._texts.append(text)
        for word in words(text):
            self._by_word.setdefault(word, []).append(number)

    def having(self, needle: str) -> Iterator[int]:
        """The numbers of the texts in which `needle` occurs, in order."""
        postings = [self._by_word.get(word, ()) for word in words(needle)]
        for number in min(postings, key=len, default=()):
            if occurs(needle, self._texts[number]):
                yield number


def evidence(run: Run, frequency: Frequency | None = None) -> list[Evidence]:
    """All evidence of a run, in order of use."""
    return _Extraction(run.task, frequency or Frequency()).of(run.messages)


class _Extraction:
    def __init__(self, task: str, frequency: Frequency) -> None:
        self._task, self._frequency = task, frequency
        self._said, self._results = _Texts(), _Texts()
        self._seen: set[str] = set()
        self._steps_of: list[int] = []
        self._step = 0

    def of(self, messages: Iterable[Message]) -> list[Evidence]:
        found: list[Evidence] = []
        for message in messages:
            arguments = "\n".join(argument_text(call.arguments) for call in message.calls)
            if message.role == "assistant":
                found += self._used(candidates(message, arguments))
                self._step += 1
            for returned in message.returned:
                self._results.add(returned.text)
                self._steps_of.append(self._step)
            if message.said or arguments:
                self._said.add(f"{message.said}\n{arguments}")
        return found

    def _used(self, queue: list[tuple[str, Kind]]) -> Iterator[Evidence]:
        for text, kind in queue:
            if text in self._seen:
                continue
            sources = tuple(self._results.having(text))
            if not sources:
                queue += _of_kind(kind, parts(text) if kind != "line" else ())
                continue
            self._seen.add(text)
            if next(self._said.having(text), None) is None and not self._frequency.is_common(text, self._task):
                yield Evidence(self._step, text, kind, sources, self._step - self._steps_of[sources[-1]] + 1)


def candidates(message: Message, arguments: str) -> list[tuple[str, Kind]]:
    """What an assistant message may have taken from results: atoms and lines of its calls, or atoms of its answer."""
    if not message.calls:
        return _of_kind("answer", atoms(message.said))
    return _of_kind("args", atoms(arguments)) + _of_kind("line", lines(arguments))


def _of_kind(kind: Kind, texts: Iterable[str]) -> list[tuple[str, Kind]]:
    return [(text, kind) for text in texts]


def recorded_under_masking(recent: int, total: int) -> bool:
    """Whether nearly all evidence of late steps is recent, as where the agent itself could not see older results.

    Such runs make masking look free; nothing must be tuned on them.

    >>> recorded_under_masking(recent=98, total=100), recorded_under_masking(recent=67, total=100)
    (True, False)
    """
    return total >= _MASKED_LEAST and recent >= _MASKED_SHARE * total
