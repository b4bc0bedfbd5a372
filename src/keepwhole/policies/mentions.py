"""What a step is about: the paths and the identifiers in its arguments and results.

Owns: what counts as one, and which are worth naming first.
Must not know: summaries, budgets.
"""

import re
from collections.abc import Iterator, Sequence

from keepwhole.policies.transcript import Item

_PATH = re.compile(
    r"(?<![\w/.:@+-])(?:~|\.{1,2})?(?:/?[\w.@+-]+)?(?:/[\w.@+-]+)+"
    r"|(?<![\w-])[\w-]{1,80}\.(?:py|pyi|js|jsx|ts|tsx|go|rs|c|h|cc|cpp|java|kt|rb|php|sh|sql|md|txt|rst|json|yaml|yml|toml|ini|cfg|"
    r"csv|xml|html|css|lock|log|ipynb|proto)\b"
)
_IDENTIFIER = re.compile(
    r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"
    r"|\b[A-Z]{2,10}-\d{1,8}\b"
    r"|\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}\b"
    r"|\b[A-Za-z]{2,12}_(?=[A-Za-z]*\d)[A-Za-z0-9]{6,40}\b"
)
_HEAD, _TAIL = 3_000, 1_000
"""Of each result; what it is about stands at its ends."""
_LONGEST = 120
_ASKED = 4
"""A name in the arguments counts as much as in so many results: the model chose it."""


def mentions(items: Sequence[Item], ours: frozenset[str]) -> tuple[list[str], list[str]]:
    """Paths and identifiers that the results touch, those that matter most first; `ours` are left out.

    An identifier counts only where more than one text names it: one that comes up again is worth keeping.
    """
    paths: dict[str, tuple[int, int]] = {}
    names: dict[str, tuple[int, int]] = {}
    for item in items:
        for text, weight in _texts(item):
            _count(paths, set(_PATH.findall(text)), weight, item.number)
            _count(names, set(_IDENTIFIER.findall(text)) - ours, weight, item.number)
    again = {name: found for name, found in names.items() if found[0] > 1}
    return _best(paths), _best(again)


def _texts(item: Item) -> Iterator[tuple[str, int]]:
    if item.call is not None:
        yield item.call.arguments[: _HEAD + _TAIL].replace("\\n", "\n"), _ASKED
    text = item.text
    yield text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]}\n{text[-_TAIL:]}", 1


def _count(counts: dict[str, tuple[int, int]], found: set[str], weight: int, number: int) -> None:
    for name in found:
        if 2 < len(name) <= _LONGEST and any(map(str.isalpha, name)):
            counts[name] = (counts.get(name, (0, 0))[0] + weight, number)


def _best(counts: dict[str, tuple[int, int]]) -> list[str]:
    """By how often, then how lately, then by name."""
    return sorted(counts, key=lambda name: (-counts[name][0], -counts[name][1], name))
