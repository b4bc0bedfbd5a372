"""What a run's results and speakers told, found by words.

Owns: the texts of one run in order, by which words they are found, and how many there were before each step.
Must not know: what counts as evidence; policies.

A string is looked for only in texts that have its rarest word.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from keepwhole.canonical.message import Call, Message
from keepwhole.logs.run import Run
from keepwhole.replay.atoms import argument_text, occurs, words

UNKNOWN = "?"
"""The tool of a result whose call is not in the run."""
_NO_CALL = Call("", UNKNOWN, "")


class Texts:
    """Texts in order, found by their words."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._by_word: dict[str, list[int]] = {}

    def __len__(self) -> int:
        return len(self._texts)

    def __getitem__(self, number: int) -> str:
        return self._texts[number]

    def add(self, text: str) -> None:
        """One more text."""
        number = len(self._texts)
        self._texts.append(text)
        for word in words(text):
            self._by_word.setdefault(word, []).append(number)

    def with_word(self, word: str, stop: int) -> list[int]:
        """The numbers below `stop` of the texts that have a word, in order."""
        postings = self._by_word.get(word, [])
        return postings[: bisect_left(postings, stop)]

    def having(self, needle: str, stop: int) -> Iterator[int]:
        """The numbers below `stop` of the texts in which `needle` occurs, in order."""
        for number in self.maybe(needle):
            if number >= stop:
                return
            if occurs(needle, self._texts[number]):
                yield number

    def maybe(self, needle: str) -> Sequence[int]:
        """The numbers of all texts in which `needle` may occur, in order: those that have its rarest word."""
        return min((self._by_word.get(word, ()) for word in words(needle)), key=len, default=())


class Step(NamedTuple):
    """An assistant message, and how much was told before it."""

    message: Message
    at: int
    """The number of the message in the run."""
    arguments: str
    """The values in its calls."""
    results: int
    """Results before it."""
    said: int
    """Texts of speakers before it."""


class Told:
    """The texts of one run by who told them."""

    def __init__(self, run: Run) -> None:
        self.results, self.said = Texts(), Texts()
        self.result_at: list[int] = []
        """The message in which each result lies."""
        self.result_step: list[int] = []
        """How many steps there were before each result."""
        self.result_of: list[tuple[int, Call]] = []
        """The step and the call that each result answers."""
        self.said_at: list[int] = []
        """The message in which each text of a speaker lies."""
        self.steps: list[Step] = []
        self._calls: dict[str, tuple[int, Call]] = {}
        for index, message in enumerate(run.messages):
            self._take(index, message)

    def _take(self, index: int, message: Message) -> None:
        arguments = "\n".join(argument_text(call.arguments) for call in message.calls)
        if message.role == "assistant":
            self.steps.append(Step(message, index, arguments, len(self.results), len(self.said)))
        self._calls.update((call.call_id, (len(self.steps) - 1, call)) for call in message.calls)
        for returned in message.returned:
            self.results.add(returned.text)
            self.result_at.append(index)
            self.result_step.append(len(self.steps))
            self.result_of.append(self._calls.get(returned.call_id, (len(self.steps) - 1, _NO_CALL)))
        if message.said or arguments:
            self.said.add(f"{message.said}\n{arguments}")
            self.said_at.append(index)
