"""Evidence: the strings that an agent used and that only a tool result could have told it.

Owns: the extraction, once per run, and which results were used. Definitions: `docs/concepts/replay.md`.
Must not know: policies.

Theory of operation
-------------------
No model runs in a replay, so whether a policy did harm cannot be asked. It is estimated: if a step of the recorded run
wrote a rare string that only an earlier tool result contained, the agent must have read it there, and a policy that no
longer shows it at that step would have taken something that was needed.

    user        "Fix the failing test."
    step 0      calls run_tests()
    result 0    "FAILED tests/test_berth.py::test_slot_is_free - at berth.py:212"
    step 1      calls read_file(path="src/berth.py", line=212)
    result 1    "def slot_is_free(self): …"
    step 2      calls edit(path="src/berth.py", old="slot_is_free(self)", …)

Step 1 gives the candidates `src/berth.py` and (if long enough) the line number: atoms, strings of a rare shape. No
result contains `src/berth.py`, so its parts are tried, of which `berth.py` occurs in result 0: evidence of kind `args`,
source 0, age 1. In step 2 `berth.py` is no evidence any more: a string counts at its first use only, and after that the
agent's own messages contain it. `slot_is_free` is evidence with source 1.

Steps, per candidate of an assistant message, in order:
1. candidates: atoms and whole lines of the arguments of its calls; atoms of the text if it makes no call (an answer);
2. the results before the step that contain it are its sources; without any, the parts of the atom are candidates too;
3. it is dropped if user, system or assistant said it before, or if it is common in other tasks of the source.

Invariants:
- A string is evidence at most once per run, at its first use.
- `sources` is never empty, ascending, and contains only results before the step.
- Evidence depends on the run alone, never on a policy: all policies are measured against the same pieces.
- It is a lower bound: reading without quoting leaves no trace. So a result of which nothing is evidence is called
  *never used*, and figures compare policies rather than predict success.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

from keepwhole.canonical.message import Message
from keepwhole.logs.run import Run
from keepwhole.policies.atoms import atom_parts, atoms, long_lines, occurs
from keepwhole.replay.frequency import Frequency
from keepwhole.replay.run_texts import ChangedTexts, RunStep, RunTexts

Kind: TypeAlias = Literal["args", "line", "answer"]
RECENT = 5
"""Evidence of more steps than this counts as old."""
LATE = 15
"""From this step on a run has much that is old."""
_MASKED_SHARE, _MASKED_LEAST = 0.95, 50
_ARGUMENT_CHARS = 80
"""Characters of a call's arguments that are shown to people."""


class Evidence(NamedTuple):
    """One string at its first use."""

    step: int
    """The number of the assistant message that used it, from 0."""
    text: str
    kind: Kind
    sources: tuple[int, ...]
    """The numbers of the results that contain it, oldest first."""
    age: int
    """Steps since a result last showed it; 1 is the step right after."""


def evidence(run: Run, frequency: Frequency | None = None, texts: RunTexts | None = None) -> list[Evidence]:
    """Return all evidence of a run, in order of use."""
    return _Extraction(texts or RunTexts(run), run.task, frequency or Frequency()).extract()


class _Extraction:
    def __init__(self, texts: RunTexts, task: str, frequency: Frequency) -> None:
        self._texts, self._task, self._frequency = texts, task, frequency
        self._seen: set[str] = set()

    def extract(self) -> list[Evidence]:
        return [one for number, step in enumerate(self._texts.steps) for one in self._strings_used_by(number, step)]

    def _strings_used_by(self, number: int, step: RunStep) -> Iterator[Evidence]:
        texts = self._texts
        queue = candidates(step.message, step.arguments)
        for text, kind in queue:
            if text in self._seen:
                continue
            sources = tuple(texts.results.texts_with(text, step.results))
            if not sources:
                queue += part_candidates(text, kind)
                continue
            self._seen.add(text)
            said = next(texts.said.texts_with(text, step.said), None)
            if said is None and not self._frequency.is_common(text, self._task):
                yield Evidence(number, text, kind, sources, number - texts.result_step[sources[-1]] + 1)


def candidates(message: Message, arguments: str) -> list[tuple[str, Kind]]:
    """Return the strings of an assistant message that may come from results."""
    if not message.calls:
        return _of_kind("answer", atoms(message.said))
    return _of_kind("args", atoms(arguments)) + _of_kind("line", long_lines(arguments))


def part_candidates(text: str, kind: Kind) -> list[tuple[str, Kind]]:
    """Return the parts from which an agent may have built a string that no result contains."""
    return _of_kind(kind, atom_parts(text) if kind != "line" else ())


def _of_kind(kind: Kind, texts: Iterable[str]) -> list[tuple[str, Kind]]:
    return [(text, kind) for text in texts]


def is_visible(one: Evidence, changed: ChangedTexts) -> bool:
    """Return whether a request shows a string anywhere in its sources, in context or not."""
    return any(source not in changed or occurs(one.text, changed[source]) for source in reversed(one.sources))


def is_recorded_under_masking(recent: int, total: int) -> bool:
    """Return whether nearly all evidence of late steps is recent: the agent could not see older results.

    On such runs masking looks free; nothing must be tuned on them.

    >>> is_recorded_under_masking(recent=98, total=100), is_recorded_under_masking(recent=67, total=100)
    (True, False)
    """
    return total >= _MASKED_LEAST and recent >= _MASKED_SHARE * total


class ResultUse(NamedTuple):
    """One result: its size, and how much of it was used."""

    tool: str
    arguments: str
    """The arguments of its call, shortened to one line."""
    step: int
    """The step that made the call."""
    tokens: int
    used: int
    """The number of pieces of evidence that it contains; 0 is *never used*."""


def result_uses(texts: RunTexts, tokens: Sequence[int], found: Iterable[Evidence]) -> tuple[ResultUse, ...]:
    """Return the results of a run with their use, in order."""
    used = Counter(source for one in found for source in one.sources)
    return tuple(
        ResultUse(call.tool, _short(call.arguments), step, tokens[number], used[number])
        for number, (step, call) in enumerate(texts.result_of)
    )


def _short(arguments: str) -> str:
    line = " ".join(arguments.split())
    return line if len(line) <= _ARGUMENT_CHARS else f"{line[: _ARGUMENT_CHARS - 1]}…"
