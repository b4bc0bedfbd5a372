"""`python -m bench.token_estimate [FOLDER]`: estimated tokens against exact ones, on transcripts and on made-up texts.

The texts are private: only counts are printed. `--fit` finds the coefficients of `models/tokens.py`.
"""

import argparse
import gzip
import json
import os
import random
import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from bench.sniff_accuracy import FOLDER, render
from bench.texts.tool_outputs import SPELLED
from keepwhole.models import tokens

_LONGER_THAN = 500
_OF_EACH = {"result": 1_500, "arguments": 500, "assistant": 400, "user": 400}
_MADE_UP = 24
_SIZES = (600, 1_500, 4_000, 12_000, 40_000)
_ROUNDS, _SWEEPS = 10, 300
_TOO_LOW, _WEIGHT_OF_LOW = -0.2, 8.0
"""An estimate that is too low is dangerous: below this error it counts this many times."""


class Text(NamedTuple):
    kind: str
    text: str
    tokens: int


def real(folder: str) -> Iterator[tuple[str, str]]:
    """Every text of the transcripts under `folder`, with its role and source."""
    for name in sorted(os.listdir(folder)):
        if name.endswith(".jsonl.gz"):
            source = name.partition("__")[2].partition(".")[0]
            with gzip.open(os.path.join(folder, name), "rt", encoding="utf-8") as file:
                for line in file:
                    for role, text in _texts_of(json.loads(line)["messages"]):
                        yield f"{role} of {source}", text


def _texts_of(messages: Sequence[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    for message in messages:
        role = "result" if message["role"] == "tool" else message["role"]
        if isinstance(message.get("content"), str) and role in _OF_EACH:
            yield role, message["content"]
        for call in message.get("tool_calls") or ():
            yield "arguments", call["function"]["arguments"]


def texts(folder: str, count: tokens.Counter) -> list[Text]:
    """Some real texts and the made-up ones with their tokens; the same every time."""
    by_kind: defaultdict[str, list[str]] = defaultdict(list)
    if os.path.isdir(folder):
        for kind, text in real(folder):
            if len(text) > _LONGER_THAN:
                by_kind[kind].append(text)
    chance = random.Random(1)
    chosen = [
        (kind, text)
        for kind, found in by_kind.items()
        for text in chance.sample(found, min(len(found), _OF_EACH[kind.partition(" ")[0]]))
    ]
    for kind, write in SPELLED.items():
        chance = random.Random(kind)
        sizes = [120_000, *chance.choices(_SIZES, k=_MADE_UP - 1)]
        chosen += [(f"= {kind}", write(chance, size)) for size in sizes]
    return [Text(kind, text, count(text)) for kind, text in chosen]


def table(found: Sequence[Text]) -> list[list[str]]:
    """A row of errors for every kind, and for all."""
    by_kind: defaultdict[str, list[Text]] = defaultdict(list)
    for one in found:
        by_kind[one.kind].append(one)
    rows = [["kind", "texts", "chars/token", "median error", "95 %", "bias", "lowest", "chars/4", "over at_most"]]
    rows += [_row(kind, of) for kind, of in sorted(by_kind.items())]
    rows.append(_row("all real", [one for one in found if not one.kind.startswith("=")] or found))
    rows.append(_row("all", found))
    return rows


def _row(kind: str, of: Sequence[Text]) -> list[str]:
    ratios = sorted(tokens.estimate(one.text) / one.tokens for one in of)
    errors = sorted(abs(ratio - 1) for ratio in ratios)
    naive = statistics.median(len(one.text) / 4 / one.tokens for one in of)
    over = sum(one.tokens > tokens.upper_bound(one.text) for one in of)
    return [
        kind,
        str(len(of)),
        f"{statistics.median(len(one.text) / one.tokens for one in of):.2f}",
        f"{statistics.median(errors):.1%}",
        f"{errors[int(0.95 * (len(errors) - 1))]:.1%}",
        f"{statistics.median(ratios) - 1:+.1%}",
        f"{ratios[0]:.2f}",
        f"{naive - 1:+.0%}",
        str(over),
    ]


_NAMES = ("_SPACE", "_LETTER", "_DIGIT", "_SLASH", "_SIGN", "_ODD_UPPER", "_ODD_DIGIT", "_SPACE_DIGIT", "_DIGIT_SLASH")


def features(text: str) -> list[float]:
    """The values of a text that are multiplied by the coefficients."""
    sample, marks = tokens.classify(text)
    odd, upper, digit, space, slash, sign = (marks.count(code) for code in b"qA0 /!")
    seen = len(sample)
    products = (odd * upper, odd * digit, space * digit, digit * slash, upper * upper)
    plain = [space, seen - len(marks), digit, slash, sign, *(product / seen for product in products)]
    return [len(text) / seen * value for value in (*plain, *(marks.count(code) for code in tokens.FOREIGN))]


def fit(found: Sequence[Text]) -> list[float]:
    """Non-negative coefficients with the least relative error; a kind is weighted by the root of its texts' number."""
    sizes = Counter(one.kind for one in found)
    rows = [[value / one.tokens for value in features(one.text)] for one in found]
    even = [1 / sizes[one.kind] ** 0.5 for one in found]
    weights, coefficients = even, [0.1] * len(rows[0])
    for _ in range(_ROUNDS):
        _solve(rows, weights, coefficients)
        errors = [sum(map(float.__mul__, row, coefficients)) - 1 for row in rows]
        weights = [
            weight * (_WEIGHT_OF_LOW if error < _TOO_LOW else 1) / max(abs(error), 0.03) ** 0.5
            for weight, error in zip(even, errors, strict=True)
        ]
    return coefficients


def _solve(rows: Sequence[list[float]], weights: Sequence[float], coefficients: list[float]) -> None:
    """Weighted non-negative least squares with target 1, one coefficient after the other."""
    count = len(coefficients)
    squares = [weight * weight for weight in weights]
    columns = list(zip(*rows, strict=True))
    weighted = [list(map(float.__mul__, column, squares)) for column in columns]
    gram = [[sum(map(float.__mul__, one, other)) for other in columns] for one in weighted]
    aim = [sum(one) for one in weighted]
    for _ in range(_SWEEPS):
        for at in range(count):
            slope = aim[at] - sum(map(float.__mul__, gram[at], coefficients))
            coefficients[at] = max(0.0, coefficients[at] + slope / (gram[at][at] + 1e-12))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.token_estimate", description=__doc__)
    parser.add_argument("folder", nargs="?", default=FOLDER, help="where transcripts are (default: ../shared/corpus)")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    parser.add_argument("--fit", action="store_true", help="print new coefficients instead")
    args = parser.parse_args()
    count = tokens.exact_counter()
    if count is None:
        print("Skipped: there is no exact counter to compare with. `pip install splintr-rs` brings one.")
        sys.exit(0)
    found = texts(args.folder, count)
    if not args.fit:
        print(render(table(found), args.markdown))
        return
    coefficients = fit(found)
    names = (*_NAMES, "_UPPER_UPPER", *(f"foreign {chr(code)}" for code in tokens.FOREIGN))
    for name, value in zip(names, coefficients, strict=True):
        print(f"{name} {value:.3f}")


if __name__ == "__main__":
    main()
