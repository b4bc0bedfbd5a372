"""Text of any size for results: logs, tables, source, prose; the same for the same seed, with lines planted in it."""

import random
from collections.abc import Iterator, Sequence

from bench.live.task import CHARS_PER_TOKEN, LENGTHS

WORDS = (
    *("request", "cache", "worker", "shard", "flush", "commit", "upstream", "index", "queue", "replica", "lease"),
    *("socket", "buffer", "cursor", "budget", "ledger", "branch", "header", "stream", "marker", "session", "frame"),
)
NAMES = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron", "islet", "junco", "knoll", "larch")
_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"


def chars_of(length: str) -> int:
    """Return the characters that the results of a task of this length have together."""
    return int(LENGTHS[length] * CHARS_PER_TOKEN)


def shares(total: int, weights: Sequence[float]) -> list[int]:
    """Return how a total is divided by weights.

    >>> shares(100, [1, 1, 2])
    [25, 25, 50]
    """
    return [int(total * weight / sum(weights)) for weight in weights]


def code(chance: random.Random, prefix: str, size: int = 6) -> str:
    """Return a code that nobody can guess."""
    return prefix + "".join(chance.choices(_LETTERS, k=size))


def log(chance: random.Random, size: int, *planted: str) -> str:
    """Return log lines, with the planted ones spread over the middle."""

    def lines() -> Iterator[str]:
        second = chance.randrange(80_000)
        while True:
            second += chance.randrange(3)
            time = f"2026-03-04T{second // 3600 % 24:02}:{second // 60 % 60:02}:{second % 60:02}Z"
            words = " ".join(chance.choices(WORDS, k=4))
            yield f"{time} INFO {chance.choice(NAMES)}: {words} id={chance.randrange(10**8)}"

    return plant(chance, _until(lines(), size), planted)


def source(chance: random.Random, size: int, *planted: str) -> str:
    """Return lines of Python, with the planted ones spread over the middle."""

    def lines() -> Iterator[str]:
        while True:
            first, second, third = chance.choices(WORDS, k=3)
            yield f"def {first}_{second}_{chance.randrange(10**4)}({third}):"
            for _ in range(chance.randrange(3, 8)):
                yield f"    {third} = {chance.choice(WORDS)}({third}, {chance.randrange(10**4)})  # {first}"

    return plant(chance, _until(lines(), size), planted)


def prose(chance: random.Random, size: int, *planted: str) -> str:
    """Return numbered sentences, with the planted ones spread over the middle."""

    def lines() -> Iterator[str]:
        number = 0
        while True:
            number += 1
            words = " ".join(chance.choices(WORDS + NAMES, k=chance.randrange(8, 16)))
            yield f"{number}. The {words} of section {chance.randrange(900)}."

    return plant(chance, _until(lines(), size), planted)


def plant(chance: random.Random, lines: list[str], planted: Sequence[str]) -> str:
    """Return the lines with others between them, in order, in the middle half."""
    middle = sorted(chance.sample(range(len(lines) // 3, max(2 * len(lines) // 3, len(planted) + 2)), len(planted)))
    for at, line in reversed(list(zip(middle, planted, strict=True))):
        lines.insert(at, line)
    return "\n".join(lines) + "\n"


def _until(lines: Iterator[str], size: int) -> list[str]:
    taken: list[str] = []
    room = size
    while room > 0 or len(taken) < 6:
        taken.append(next(lines))
        room -= len(taken[-1]) + 1
    return taken
