"""Made-up tool results of any size, different for every seed, each with one planted fact and a question about it."""

import json
import random
from collections.abc import Callable
from dataclasses import dataclass

_WORDS = ("request", "cache", "worker", "shard", "flush", "commit", "upstream", "index", "queue", "replica", "lease")
_NAMES = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron", "islet", "junco", "knoll", "larch")
_STATES = ("open", "paid", "sent", "void")


@dataclass(frozen=True)
class Sample:
    """A text, a string that occurs in it once, and a question that names its subject."""

    text: str
    fact: str
    question: str


def prose(size: int, seed: int = 1) -> Sample:
    fact = f"the harbour master signed berth {seed % 9000 + 1000} over to the Halcyon"

    def paragraph(chance: random.Random, number: int) -> str:
        lines = (" ".join(chance.choices(_WORDS + _NAMES, k=12)) for _ in range(4))
        return f"{number}. " + ".\n".join(lines) + ".\n\n"

    return plant(size, seed, paragraph, fact + ".\n\n", fact, "Which berth was signed over to the Halcyon?")


def log(size: int, seed: int = 1, errors: int = 1) -> Sample:
    """Log lines, some repeated with other numbers; `errors` of them are errors, the planted one in the middle."""
    fact = f"ERROR payments: settlement batch 7741-{seed} rejected, ledger checksum mismatch"
    step = max(1, size // 90 // errors)

    def line(chance: random.Random, number: int) -> str:
        time = f"2026-03-04T{number // 3600 % 24:02d}:{number // 60 % 60:02d}:{number % 60:02d}Z"
        if number % step == step // 2 and errors > 1:
            return f"{time} ERROR {chance.choice(_NAMES)}: {chance.choice(_WORDS)} {chance.random()} lost\n"
        if number % 40 < 12:
            return f"{time} DEBUG heartbeat of node {chance.randint(1, 64)} took {chance.randint(1, 999)} ms\n"
        words = " ".join(chance.choices(_WORDS, k=5))
        return f"{time} INFO {chance.choice(_NAMES)}: {words} id={chance.randint(0, 10**9)}\n"

    return plant(size, seed, line, f"2026-03-04T12:00:00Z {fact}\n", fact, "Why was the settlement batch rejected?")


def json_array(size: int, seed: int = 1) -> Sample:
    fact = f"quokka-{seed}@example.org"

    def element(chance: random.Random, number: int, mail: str = "") -> str:
        name = chance.choice(_NAMES)
        found = {
            "id": number,
            "name": f"{name} {chance.choice(_WORDS)}",
            "email": mail or f"{name}{chance.randint(0, 10**6)}@example.com",
            "score": round(chance.random(), 4),
            "tags": chance.sample(_NAMES, 3),
            "address": {"street": f"{chance.randint(1, 400)} {name} road", "zip": str(chance.randint(10000, 99999))},
        }
        return json.dumps(found) + ",\n"

    planted = element(random.Random(seed), 0, fact)
    sample = plant(size, seed, element, planted, fact, "What is the score of the user with the quokka address?")
    return Sample(f"[{sample.text[:-2]}]", fact, sample.question)


def csv(size: int, seed: int = 1) -> Sample:
    fact = f"Wolverhampton,{seed % 90000 + 10000}.25"

    def row(chance: random.Random, number: int) -> str:
        city, when = chance.choice(_NAMES).title(), f"2026-0{chance.randint(1, 9)}-{chance.randint(10, 28)}"
        return f"{number},{when},{chance.choice(_STATES)},{city},{chance.randint(1, 10**6)}.{chance.randint(10, 99)}\n"

    question = "What was the amount of the order from Wolverhampton?"
    sample = plant(size, seed, row, f"0,2026-05-05,paid,{fact}\n", fact, question)
    return Sample("id,date,state,city,amount\n" + sample.text, fact, question)


def ndjson(size: int, seed: int = 1) -> Sample:
    found = json_array(size, seed)
    return Sample(found.text[1:-1].replace(",\n", "\n") + "\n", found.fact, found.question)


def source_code(size: int, seed: int = 1) -> Sample:
    fact = f"return principal * {seed % 900 + 100} // 36_525"

    def function(chance: random.Random, number: int) -> str:
        name, other = chance.choice(_NAMES), chance.choice(_WORDS)
        return (
            f"def {name}_{other}_{number}(first: int, second: list[str]) -> int:\n"
            f'    """The {other} of a {name}."""\n'
            f"    total = {chance.randint(1, 10**6)}\n"
            f"    for item in second:\n"
            f"        total += len(item) * first - {chance.randint(1, 99)}\n"
            f"    return total\n\n\n"
        )

    planted = f'def accrued_interest(principal: int) -> int:\n    """Interest of a day."""\n    {fact}\n\n\n'
    sample = plant(size, seed, function, planted, fact, "What does accrued_interest return?")
    return Sample("import os\nimport sys\n\n\n" + sample.text, fact, sample.question)


def diff(size: int, seed: int = 1) -> Sample:
    fact = f"+    timeout = {seed % 900 + 100}  # lowered for the aardvark gateway"

    def hunk(chance: random.Random, number: int) -> str:
        name = f"src/{chance.choice(_NAMES)}/{chance.choice(_WORDS)}_{number}.py"
        old = "\n".join(f" {' '.join(chance.choices(_WORDS, k=6))}" for _ in range(4))
        return (
            f"diff --git a/{name} b/{name}\n--- a/{name}\n+++ b/{name}\n@@ -1,5 +1,5 @@\n{old}\n-old {number}\n+new\n"
        )

    planted = f"diff --git a/gate.py b/gate.py\n--- a/gate.py\n+++ b/gate.py\n@@ -7,1 +7,2 @@\n limit = 3\n{fact}\n"
    return plant(size, seed, hunk, planted, fact, "What is the timeout for the aardvark gateway now?")


def html(size: int, seed: int = 1) -> Sample:
    fact = f"<td>Ptarmigan Ridge</td><td>{seed % 9000 + 1000} m</td>"

    def row(chance: random.Random, number: int) -> str:
        name, other = chance.choice(_NAMES).title(), chance.choice(_WORDS).title()
        return f'<tr class="peak" id="p{number}"><td>{name} {other}</td><td>{chance.randint(300, 4000)} m</td></tr>\n'

    planted = f'<tr class="peak">{fact}</tr>\n'
    sample = plant(size, seed, row, planted, fact, "How high is Ptarmigan Ridge?")
    head = "<!DOCTYPE html>\n<html><head><title>Peaks</title></head><body>\n<table>\n"
    return Sample(f"{head}{sample.text}</table>\n</body></html>\n", fact, sample.question)


def xml(size: int, seed: int = 1) -> Sample:
    page = html(size, seed)
    body = page.text[page.text.index("<table>") : page.text.index("</body>")]
    return Sample(f'<?xml version="1.0"?>\n{body}', page.fact, page.question)


def plant(
    size: int,
    seed: int,
    unit: Callable[[random.Random, int], str],
    planted: str,
    fact: str,
    question: str,
) -> Sample:
    """Units up to `size` characters, the planted one a bit after the middle."""
    chance = random.Random(seed)
    units: list[str] = []
    total = 0
    while total < size:
        units.append(unit(chance, len(units) + 1))
        total += len(units[-1])
    units.insert(int(len(units) * 0.55), planted)
    return Sample("".join(units), fact, question)
