"""Which strings are common in the tasks of a source: what every run there shows is no evidence.

Owns: the number of other tasks in whose results a string occurs.
"""

from collections.abc import Iterable

from keepwhole.logs.run import Run
from keepwhole.policies.atoms import occurs, words

SHARE = 0.2
"""A string that occurs in more than this share of the other tasks is common."""
LEAST = 3
"""A string may occur in this number of other tasks in any case."""


class Frequency:
    """The results of one source by task, with an index of their words."""

    def __init__(self, runs: Iterable[Run] = ()) -> None:
        self._tasks: dict[str, int] = {}
        self._texts: list[str] = []
        self._task_of: list[int] = []
        self._by_word: dict[str, list[int]] = {}
        self._known: dict[str, set[int]] = {}
        for run in runs:
            self.add(run)

    def add(self, run: Run) -> None:
        """Add the results of one run."""
        self.add_results(run.task, (returned.text for message in run.messages for returned in message.returned))

    def add_results(self, task: str, results: Iterable[str]) -> None:
        """Add results of a task to the index."""
        own = self._tasks.setdefault(task, len(self._tasks))
        for text in results:
            number = len(self._texts)
            self._texts.append(text)
            self._task_of.append(own)
            for word in words(text):
                self._by_word.setdefault(word, []).append(number)
        self._known.clear()

    def is_common(self, text: str, task: str) -> bool:
        """Return whether `text` occurs in results of more than a fifth of the other tasks, and of more than three."""
        most = max(LEAST, int(SHARE * (len(self._tasks) - (task in self._tasks))))
        postings = sorted((self._by_word.get(word, []) for word in words(text)), key=len)
        if not postings or len(postings[0]) <= most:
            return False
        if text not in self._known:
            self._known[text] = self._tasks_with(text, postings, most + 1)
        found = self._known[text]
        return len(found) - (self._tasks.get(task) in found) > most

    def _tasks_with(self, text: str, postings: list[list[int]], enough: int) -> set[int]:
        """Return tasks in which `text` occurs; stop when there are more than `enough`, or cannot be that many."""
        numbers: dict[int, list[int]] = {}
        for number in set(postings[0]).intersection(*postings[1:4]):
            numbers.setdefault(self._task_of[number], []).append(number)
        found: set[int] = set()
        left = len(numbers)
        for task, those in numbers.items():
            if len(found) > enough or len(found) + left < enough:
                break
            left -= 1
            if any(occurs(text, self._texts[number]) for number in those):
                found.add(task)
        return found
