"""Facts written as prose."""

import random
import textwrap

from bench.probes.language import Language
from bench.probes.recipe import Fact


def _paragraph(fact: Fact, chance: random.Random, language: Language) -> str:
    around = [language.sentence(chance).capitalize() for _ in range(4)]
    return (language.stop + language.joint).join([*around[:2], fact.words, *around[2:]]) + language.stop


def paragraphs(facts: list[Fact], chance: random.Random, language: Language, end: str = "\n\n") -> str:
    """A paragraph for each fact, an empty line after it."""
    return "".join(_paragraph(fact, chance, language) + end for fact in facts)


def lines(facts: list[Fact], chance: random.Random, language: Language) -> str:
    """No empty lines, each paragraph on a line of its own."""
    return paragraphs(facts, chance, language, "\n")


def one_line(facts: list[Fact], chance: random.Random, language: Language) -> str:
    """All on one line."""
    return paragraphs(facts, chance, language, " ")


def filled(facts: list[Fact], chance: random.Random, language: Language) -> str:
    """Filled to 72 columns without empty lines, as mail and manuals are."""
    return "".join(textwrap.fill(_paragraph(fact, chance, language), 72) + "\n" for fact in facts)


def indented(facts: list[Fact], chance: random.Random, language: Language) -> str:
    """Filled to 100 columns, indented, with the line ends of Windows and a heading now and then."""
    parts: list[str] = []
    for at, fact in enumerate(facts):
        if at % 20 == 0:
            parts.append(f"\r\n{language.sentence(chance, 2, 4).upper()}\r\n\r\n")
        text = textwrap.fill(_paragraph(fact, chance, language), 100, initial_indent="  ", subsequent_indent="  ")
        parts.append(text.replace("\n", "\r\n") + "\r\n")
    return "".join(parts)
