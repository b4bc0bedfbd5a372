"""Facts, questions about them, and ordinary words, in several languages."""

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class Topic:
    """One fact; `{}` is replaced by a secret that only the needle contains, so a view with it has kept the needle."""

    name: str
    fact: str
    question: str
    near: tuple[str, ...]
    close: str = ""
    """Most of the words of the fact, about something else."""


@dataclass(frozen=True)
class Language:
    """Topics and ordinary words of one language."""

    error: str
    topics: tuple[Topic, ...]
    words: tuple[str, ...]
    joint: str = " "
    stop: str = "."

    def sentence(self, chance: random.Random, least: int = 5, most: int = 12) -> str:
        """Ordinary words in random order."""
        return self.joint.join(chance.choices(self.words, k=chance.randint(least, most)))


def words(text: str) -> tuple[str, ...]:
    """The words of a language, written one after the other."""
    return tuple(text.split())
