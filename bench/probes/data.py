"""Facts written as JSON and CSV."""

import csv
import io
import json
import random
from typing import Any

from bench.probes.language import Language
from bench.probes.recipe import Fact

_TIGHT = (",", ":")


def _items(facts: list[Fact], chance: random.Random) -> list[dict[str, Any]]:
    return [
        {"id": 1_000 + at, "state": chance.choice(("open", "done")), "note": fact.words, "votes": chance.randint(0, 99)}
        for at, fact in enumerate(facts)
    ]


def pretty(facts: list[Fact], chance: random.Random, language: Language) -> str:
    """One array, indented."""
    return json.dumps(_items(facts, chance), indent=2, ensure_ascii=False)


def minified(facts: list[Fact], chance: random.Random, language: Language) -> str:
    """One array on one line."""
    return json.dumps(_items(facts, chance), separators=_TIGHT, ensure_ascii=False)


def escaped(facts: list[Fact], chance: random.Random, language: Language) -> str:
    """One array, with escapes for everything but ASCII."""
    return json.dumps(_items(facts, chance))


def _groups(facts: list[Fact], chance: random.Random, each: int) -> list[dict[str, Any]]:
    return [{"group": at, "items": _items(facts[at : at + each], chance)} for at in range(0, len(facts), each)]


def wrapped(facts: list[Fact], chance: random.Random, language: Language) -> str:
    """Arrays in the objects of an array."""
    groups = _groups(facts, chance, 25)
    return json.dumps({"status": "ok", "data": {"groups": groups}, "total": len(facts)}, separators=_TIGHT)


def keyed(facts: list[Fact], chance: random.Random, language: Language) -> str:
    """Arrays under the keys of an object, indented."""
    groups = {f"host-{group['group']}": group["items"] for group in _groups(facts, chance, 40)}
    return json.dumps({"hosts": groups}, indent=1, ensure_ascii=False)


def deep(facts: list[Fact], chance: random.Random, language: Language) -> str:
    """Three levels of arrays of objects, with escapes for everything but ASCII."""
    groups = _groups(facts, chance, 12)
    pages = [{"page": at, "groups": groups[at : at + 6]} for at in range(0, len(groups), 6)]
    return json.dumps({"pages": pages})


def ndjson(facts: list[Fact], chance: random.Random, language: Language) -> str:
    """One object per line."""
    return "".join(json.dumps(item, ensure_ascii=False) + "\n" for item in _items(facts, chance))


def escaped_ndjson(facts: list[Fact], chance: random.Random, language: Language) -> str:
    """One object per line, with escapes for everything but ASCII."""
    return "".join(json.dumps(item) + "\n" for item in _items(facts, chance))


def table(facts: list[Fact], chance: random.Random, language: Language, separator: str = ",") -> str:
    """CSV with a header."""
    file = io.StringIO()
    writer = csv.writer(file, delimiter=separator, lineterminator="\n")
    writer.writerow(["id", "day", "note", "amount"])
    for at, fact in enumerate(facts):
        writer.writerow([at, f"2026-03-{at % 28 + 1:02d}", fact.words, chance.randint(1, 9_999)])
    return file.getvalue()


def semicolons(facts: list[Fact], chance: random.Random, language: Language) -> str:
    """CSV with semicolons, as in countries with decimal commas."""
    return table(facts, chance, language, ";")


def quoted_lines(facts: list[Fact], chance: random.Random, language: Language) -> str:
    """CSV with line ends inside its fields."""
    with_ends = [Fact(fact.words.replace(" ", "\n", 1), fact.topic, fact.secret) for fact in facts]
    return table(with_ends, chance, language)
