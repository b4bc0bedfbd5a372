"""How a text is made: facts in order, a few of them needles, written down in some kind of text."""

import random
from collections.abc import Callable
from dataclasses import dataclass

from bench.probes.language import Language, Topic

_LEAST, _MOST = 40_000, 100_000
_NEAR, _CLOSE = 12, 36
"""How often each distractor occurs in a text."""
MIDDLE = (0.5,)
THREE = (0.12, 0.5, 0.88)
BORDERS = (0.0, 1.0)


@dataclass(frozen=True)
class Probe:
    """One text, the needles that a view of it should contain, and the question."""

    text: str
    needles: tuple[str, ...]
    question: str


@dataclass(frozen=True)
class Fact:
    """What one unit of a text says; a needle has a secret, all others have none."""

    words: str
    topic: Topic | None = None
    secret: str = ""


Writer = Callable[[list[Fact], random.Random, Language], str]


@dataclass(frozen=True)
class Recipe:
    """How the texts of one variant are made."""

    kind: str
    variant: str
    write: Writer
    chars: int
    """The approximate size of a unit, to get texts of the wanted sizes."""
    language: Language
    places: tuple[float, ...] = MIDDLE
    is_close: bool = False
    """Whether distractors share most words of the fact, not only some."""

    def probe(self, seed: int) -> Probe:
        """The probe of one seed."""
        chance = random.Random(f"{self.kind} {self.variant} {seed}")
        facts, needles = _facts(self, chance)
        text = self.write(facts, chance, self.language)
        question = " ".join(needle.topic.question for needle in needles if needle.topic)
        return Probe(text, tuple(needle.secret for needle in needles), question)


def _facts(recipe: Recipe, chance: random.Random) -> tuple[list[Fact], list[Fact]]:
    """All units in order, and those of them that are needles."""
    units = chance.randint(_LEAST + 10_000, _MOST - 20_000) // recipe.chars
    facts = [Fact(recipe.language.sentence(chance)) for _ in range(units)]
    topics = chance.sample(recipe.language.topics, len(recipe.places))
    for topic in topics:
        for words in (topic.close,) * _CLOSE if recipe.is_close else topic.near * _NEAR:
            facts[chance.randrange(units)] = Fact(words, topic)
    needles: list[Fact] = []
    for topic, place in zip(topics, recipe.places, strict=True):
        secret = f"{chance.choice('KQXZ')}{chance.choice('JVW')}{chance.randint(10_000, 99_999)}"
        needles.append(Fact(topic.fact.format(secret), topic, secret))
        jitter = chance.uniform(-0.05, 0.05) if 0 < place < 1 else 0
        facts[round((place + jitter) * (units - 1))] = needles[-1]
    return facts, needles
