"""The texts of one run, indexed by their words, and the calls that repeat an earlier one.

Owns: the results and the spoken texts of a run in order, the search for a string in them, and how many of them came
before each step.
Must not know: what counts as evidence; policies.

A string is searched only in the texts that contain its rarest word.
"""

import json
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from keepwhole.canonical.message import Call, Message
from keepwhole.logs.run import Run
from keepwhole.policies.atoms import argument_text, occurs, words

UNKNOWN = "?"
"""The tool of a result whose call is not in the run."""
_NO_CALL = Call("", UNKNOWN, "")
ChangedTexts: TypeAlias = Mapping[int, str]
"""The results that a request does not show as they arrived: by number the text that it shows instead."""


class RunTextIndex:
    """Texts in order, with an index of their words."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._by_word: dict[str, list[int]] = {}

    def __len__(self) -> int:
        return len(self._texts)

    def __getitem__(self, number: int) -> str:
        return self._texts[number]

    def add(self, text: str) -> None:
        """Append a text and index its words."""
        number = len(self._texts)
        self._texts.append(text)
        for word in words(text):
            self._by_word.setdefault(word, []).append(number)

    def with_word(self, word: str, stop: int) -> list[int]:
        """Return the numbers below `stop` of the texts that contain a word, in order."""
        postings = self._by_word.get(word, [])
        return postings[: bisect_left(postings, stop)]

    def texts_with(self, needle: str, stop: int) -> Iterator[int]:
        """Yield the numbers below `stop` of the texts in which `needle` occurs, in order."""
        for number in self.candidates_for(needle):
            if number >= stop:
                return
            if occurs(needle, self._texts[number]):
                yield number

    def candidates_for(self, needle: str) -> Sequence[int]:
        """Return the numbers of all texts in which `needle` may occur: those that contain its rarest word."""
        return min((self._by_word.get(word, ()) for word in words(needle)), key=len, default=())


class RunStep(NamedTuple):
    """An assistant message, and how many texts came before it."""

    message: Message
    at: int
    """The index of the message in the run."""
    arguments: str
    """The values in the arguments of its calls."""
    results: int
    """The number of results before it."""
    said: int
    """The number of spoken texts before it."""


class RunTexts:
    """The texts of one run: tool results, and what user, system and assistant said."""

    def __init__(self, run: Run) -> None:
        self.results, self.said = RunTextIndex(), RunTextIndex()
        self.result_at: list[int] = []
        """For each result the index of its message."""
        self.result_step: list[int] = []
        """For each result the number of steps before it."""
        self.result_of: list[tuple[int, Call]] = []
        """For each result the step and the call that it answers."""
        self.said_at: list[int] = []
        """For each spoken text the index of its message."""
        self.steps: list[RunStep] = []
        self._calls: dict[str, tuple[int, Call]] = {}
        for index, message in enumerate(run.messages):
            self._add(index, message)

    def _add(self, index: int, message: Message) -> None:
        arguments = "\n".join(argument_text(call.arguments) for call in message.calls)
        if message.role == "assistant":
            self.steps.append(RunStep(message, index, arguments, len(self.results), len(self.said)))
        self._calls.update((call.call_id, (len(self.steps) - 1, call)) for call in message.calls)
        for returned in message.returned:
            self.results.add(returned.text)
            self.result_at.append(index)
            self.result_step.append(len(self.steps))
            self.result_of.append(self._calls.get(returned.call_id, (len(self.steps) - 1, _NO_CALL)))
        if message.said or arguments:
            self.said.add(f"{message.said}\n{arguments}")
            self.said_at.append(index)


class RepeatedCalls(NamedTuple):
    """The calls of a run that repeat an earlier one, as an agent does when it no longer sees the result."""

    calls: int
    """The number of all calls of the run."""
    by_step: Mapping[int, list[tuple[int, ...]]]
    """By step, for each call that repeats an earlier one, the results of the last such call."""

    def count_hidden(self, step: int, changed: ChangedTexts) -> int:
        """Return how many calls of a step repeat one whose result the request does not show as it arrived."""
        return sum(any(number in changed for number in numbers) for numbers in self.by_step.get(step, ()))


def repeated_calls(texts: RunTexts) -> RepeatedCalls:
    """Return the calls of the same tool with the same arguments, in whatever order the arguments are."""
    results: dict[tuple[str, str], dict[int, list[int]]] = {}
    for number, (step, call) in enumerate(texts.result_of):
        results.setdefault(_identity(call), {}).setdefault(step, []).append(number)
    by_step: dict[int, list[tuple[int, ...]]] = {}
    for at, step in enumerate(texts.steps):
        for call in step.message.calls:
            earlier = [numbers for made, numbers in results.get(_identity(call), {}).items() if made < at]
            if earlier:
                by_step.setdefault(at, []).append(tuple(earlier[-1]))
    return RepeatedCalls(sum(len(step.message.calls) for step in texts.steps), by_step)


def _identity(call: Call) -> tuple[str, str]:
    """Return what two calls must share to be the same."""
    try:
        return call.tool, json.dumps(json.loads(call.arguments), sort_keys=True)
    except (ValueError, RecursionError):
        return call.tool, call.arguments
