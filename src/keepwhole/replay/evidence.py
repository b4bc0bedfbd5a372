"""What an agent used that only a tool result could have told it.

Owns: the extraction, once a run. Definitions: `docs/concepts/replay.md`.
Must not know: policies.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple, TypeAlias

from keepwhole.canonical.message import Message
from keepwhole.logs.run import Run
from keepwhole.replay.atoms import atoms, lines, occurs, parts
from keepwhole.replay.frequency import Frequency
from keepwhole.replay.word_sources import Step, Told

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


def evidence(run: Run, frequency: Frequency | None = None, told: Told | None = None) -> list[Evidence]:
    """All evidence of a run, in order of use."""
    return _Extraction(told or Told(run), run.task, frequency or Frequency()).found()


class _Extraction:
    def __init__(self, told: Told, task: str, frequency: Frequency) -> None:
        self._told, self._task, self._frequency = told, task, frequency
        self._seen: set[str] = set()

    def found(self) -> list[Evidence]:
        return [one for number, step in enumerate(self._told.steps) for one in self._used(number, step)]

    def _used(self, number: int, step: Step) -> Iterator[Evidence]:
        told = self._told
        queue = candidates(step.message, step.arguments)
        for text, kind in queue:
            if text in self._seen:
                continue
            sources = tuple(told.results.having(text, step.results))
            if not sources:
                queue += joined(text, kind)
                continue
            self._seen.add(text)
            said = next(told.said.having(text, step.said), None)
            if said is None and not self._frequency.is_common(text, self._task):
                yield Evidence(number, text, kind, sources, number - told.result_step[sources[-1]] + 1)


def candidates(message: Message, arguments: str) -> list[tuple[str, Kind]]:
    """What an assistant message may have taken from results: atoms and lines of its calls, or atoms of its answer."""
    if not message.calls:
        return _of_kind("answer", atoms(message.said))
    return _of_kind("args", atoms(arguments)) + _of_kind("line", lines(arguments))


def joined(text: str, kind: Kind) -> list[tuple[str, Kind]]:
    """What an agent may have joined to make a string that no result has."""
    return _of_kind(kind, parts(text) if kind != "line" else ())


def _of_kind(kind: Kind, texts: Iterable[str]) -> list[tuple[str, Kind]]:
    return [(text, kind) for text in texts]


def is_visible(one: Evidence, texts: Mapping[int, str]) -> bool:
    """Whether a result shows a string, in context or not; `texts` are those that are not shown as they came."""
    return any(source not in texts or occurs(one.text, texts[source]) for source in reversed(one.sources))


def recorded_under_masking(recent: int, total: int) -> bool:
    """Whether nearly all evidence of late steps is recent, as where the agent itself could not see older results.

    Such runs make masking look free; nothing must be tuned on them.

    >>> recorded_under_masking(recent=98, total=100), recorded_under_masking(recent=67, total=100)
    (True, False)
    """
    return total >= _MASKED_LEAST and recent >= _MASKED_SHARE * total
