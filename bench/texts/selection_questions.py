"""Made-up results and questions for `bench select`: words of very different frequency, and rare names."""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

_ONSETS = [
    "b",
    "c",
    "d",
    "f",
    "g",
    "h",
    "k",
    "l",
    "m",
    "n",
    "p",
    "r",
    "s",
    "t",
    "v",
    "w",
    "br",
    "cr",
    "dr",
    "fl",
    "gr",
    "pl",
    "st",
    "tr",
]
_ENDS = ["a", "e", "i", "o", "u", "al", "an", "ar", "el", "en", "er", "im", "in", "ol", "on", "or", "un", "us"]


@dataclass(frozen=True)
class Made:
    """One call and its result."""

    tool: str
    arguments: str
    text: str


class Maker:
    """Makes results; the same seed gives the same ones. Word `r` is used about `1 / r` as often as the first."""

    def __init__(self, seed: int = 7) -> None:
        self._chance = random.Random(seed)
        names = random.Random(1)
        found: dict[str, None] = {}
        while len(found) < 6_000:
            found["".join(names.choice(_ONSETS) + names.choice(_ENDS) for _ in range(names.randint(2, 3)))] = None
        self.words = list(found)
        self._weights = list(accumulate(1 / (rank + 3) for rank in range(len(self.words))))

    def sentence(self, count: int) -> str:
        return " ".join(self._chance.choices(self.words, cum_weights=self._weights, k=count))

    def result(self, number: int) -> Made:
        """A log, code, JSON or prose, of 1 to 12 KB."""
        make = (self._log, self._code, self._data, self._prose)[number % 4]
        return make(number, int(self._chance.paretovariate(1.2) * 12) + 8)

    def line(self, number: int) -> Made:
        """A call with a short result, for very large records."""
        path = f"src/{self.words[number % 900]}/part_{number:07d}.py"
        return Made("read_file", json.dumps({"path": path}), self.sentence(14))

    def _log(self, number: int, lines: int) -> Made:
        said = (
            f"2026-02-03 10:{at // 60 % 60:02d}:{at % 60:02d} INFO [{at % 9}] {self.sentence(9)}"
            for at in range(min(lines, 150))
        )
        return Made(
            "bash", json.dumps({"command": f"make job_{number:05d}"}), "\n".join(said) + f"\nINV-{number:06d}\n"
        )

    def _code(self, number: int, lines: int) -> Made:
        parts = [
            f"def {self._chance.choice(self.words)}_{at}(value):\n    # {self.sentence(8)}\n    return value\n"
            for at in range(min(lines, 90))
        ]
        parts.insert(len(parts) // 2, f"def settle_batch_{number:05d}(rows):\n    return {number * 7:,}\n")
        return Made("read_file", json.dumps({"path": f"src/part_{number:05d}/handler.py"}), "\n\n".join(parts))

    def _data(self, number: int, lines: int) -> Made:
        items = [{"id": f"{number}-{at}", "note": self.sentence(8)} for at in range(min(lines, 110))]
        return Made("list_orders", json.dumps({"page": number}), json.dumps(items))

    def _prose(self, number: int, lines: int) -> Made:
        paragraphs = (self.sentence(45) + "." for _ in range(min(lines, 30)))
        return Made("fetch", json.dumps({"url": f"https://docs.example/{number}"}), "\n\n".join(paragraphs))


def questions(maker: Maker, count: int) -> Iterator[tuple[str, str]]:
    """Thirty questions about a record of `count` results: by a name, by a name among words, by words alone."""
    word, chance = maker.words, random.Random(3)
    for _ in range(5):
        number = chance.randrange(count)
        number -= number % 4
        yield "rare", f"INV-{number:06d}"
        yield "rare", f"settle_batch_{number + 1:05d}"
        yield "mixed", f"which {word[3]} {word[11]} did settleBatch{number + 1:05d} see before {word[40]}?"
        yield "mixed", f"why was {word[1]} {word[900]} not {word[2500]} in job_{number:05d}"
        yield "common", f"{word[0]} {word[2]} {word[5]} {word[9]}"
        yield "common", f"how did the {word[chance.randrange(30)]} {word[chance.randrange(60)]} go?"


def pointer_questions(maker: Maker, count: int) -> Iterator[tuple[str, str]]:
    """The same about calls alone: paths and tools."""
    word, chance = maker.words, random.Random(3)
    for _ in range(5):
        number = chance.randrange(count)
        yield "rare", f"part_{number:07d}.py"
        yield "rare", f"what did src/{word[number % 900]}/part_{number:07d}.py hold?"
        yield "mixed", f"read_file path {word[number % 900]} part {number:07d}"
        yield "mixed", f"the file of {word[number % 900]} and {word[(number + 5) % 900]} that we read"
        yield "common", "which file path did we read in src?"
        yield "common", f"read file part {word[number % 900]}"
