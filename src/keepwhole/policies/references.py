"""Whether a later call or a later message of the user refers to a result, by something that both contain.

Owns: finding a shared stretch of at least twenty characters, or a shared value that is no common word.
Must not know: transcripts, ages, what follows from a reference.

Theory of operation
-------------------
The texts that may refer to results (arguments of recent calls, messages of the user) are few and short, the results
are many and long. So the former are indexed once (`ReferenceIndex`), and each result is compared with the index:

    1. Values. Ids, versions, paths and names such as `INV-20431` or `parseHeader` are taken out of the indexed texts.
       One that a result contains as a word of its own, a few times at most, is a reference. A plain word never is.
    2. Stretches. The index has every block of nine bytes of its texts. Of a result only the blocks at every twelfth
       byte are looked up; where one is found, it is extended to both sides as long as both texts agree.

           indexed   why does assert total == 41 in test_sums fail?
           result    …\nE   assert total == 41 in test_sums\n…
                            |---------|                 a block of nine bytes at a multiple of twelve: found
                     assert total == 41 in test_sums    extended: 31 characters, so a reference

       Twenty bytes contain a whole block at a multiple of twelve wherever they begin (12 + 9 - 1 = 20), so no shared
       stretch of `STRETCH` bytes is missed, and a result costs a twelfth of its bytes in look-ups.

Invariants: text that was `known` before the result came (the task, the call's own arguments) is no reference; rulers
and indents (`------`) are none either; work per result is bounded by `_FOLLOWED` blocks at `_PLACES` places each.
"""

import json
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from struct import Struct
from typing import cast

from keepwhole.canonical.lazy_pattern import lazy_pattern

STRETCH = 20
"""Characters that must be the same for one text to have come from another."""
_BLOCK, _STRIDE = 9, 12
_AT_ONCE = 128
_BLOCKS = Struct(f"{_BLOCK}s{_STRIDE - _BLOCK}x" * _AT_ONCE)
_PLACES, _FOLLOWED = 8, 256
"""Most places of the indexed texts at which one block is compared, and most shared blocks of a text."""
_MOST_VALUES = 48
_MOST_TIMES = 5
"""A value that a text repeats more often than this says little."""
_REACH = 120
_WORD = lazy_pattern(r"[^\W_](?:[\w./:@#+-]*\w)?")
_VALUE = lazy_pattern(
    r"""(?=.{6,}) (?=.*[0-9]) (?=.*[^\W\d]) .+      # letters and digits: an id, a version, a commit
      | [0-9]{5,}                                   # a number that is not a year
      | (?=.{7,}) .*\w[_./:@#-]\w.*                 # several words in one: a path, a name with underscores
      | (?=.{7,}) .*[a-z][A-Z].*                    # a name with humps
    """,
    re.VERBOSE | re.DOTALL,
)


class ReferenceIndex:
    """An index of texts that may refer to results."""

    def __init__(self, parts: Iterable[str]) -> None:
        self.starts: list[int] = []
        """The byte at which each part begins: what `since` of the methods below takes."""
        raw = bytearray()
        for part in parts:
            self.starts.append(len(raw))
            raw += part.encode("utf-8", "surrogatepass") + b"\n"
        self._raw = bytes(raw)
        self._places = _places(self._raw)
        self._values = _values(self._raw.decode("utf-8", "surrogatepass"))

    def shared_with(self, text: str, known: str = "", since: int = 0) -> str | None:
        """Return what a text shares with the index from byte `since` on and was not `known`; None for nothing."""
        return self._shared_value(text, known, since) or self._shared_stretch(text, known, since)

    def _shared_value(self, text: str, known: str, since: int) -> str | None:
        for value, last in self._values.items():
            if last >= since and value in text and value not in known and _is_rare_in(text, value):
                return value
        return None

    def _shared_stretch(self, text: str, known: str, since: int) -> str | None:
        raw = text.encode("utf-8", "surrogatepass")
        blocks = _blocks(raw)
        hits = self._places.keys() & blocks
        for here, there in self._pairs(blocks, hits, since) if hits else ():
            stretch = _common(raw, here, self._raw, there)
            if _says_something(stretch) and stretch not in known:
                return stretch
        return None

    def _pairs(self, blocks: list[bytes], hits: set[bytes], since: int) -> Iterator[tuple[int, int]]:
        """Yield the places of equal blocks in the text and in the indexed texts, in the order of the text."""
        numbers = (number for number, block in enumerate(blocks) if block in hits)
        for number in islice(numbers, _FOLLOWED):
            yield from ((number * _STRIDE, there) for there in self._places[blocks[number]] if there >= since)


def feeds(text: str, arguments: str | ReferenceIndex, known: str = "") -> bool:
    """Return whether the arguments of a later call contain something of a result that was not `known` before it.

    >>> feeds("invoice INV-20431 is open", '{"id": "INV-20431"}')
    True
    """
    said = arguments if isinstance(arguments, ReferenceIndex) else ReferenceIndex(argument_texts(arguments))
    return said.shared_with(text, known) is not None


def is_quoted(text: str, said: str | ReferenceIndex, known: str = "") -> bool:
    """Return whether a user's message contains something of a result.

    >>> is_quoted("12 passed\\nAssertionError: 41 is not 42 in test_sums", "why is 41 is not 42 in test_sums?")
    True
    """
    return (said if isinstance(said, ReferenceIndex) else ReferenceIndex([said])).shared_with(text, known) is not None


def argument_texts(arguments: str) -> list[str]:
    """Return the texts and numbers in a call's arguments, unescaped; arguments that are no JSON are one text."""
    try:
        given = json.loads(arguments)
    except (ValueError, RecursionError):
        return [arguments]
    found: list[str] = []
    left: list[object] = [given]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            left += cast("dict[str, object]", value).values()
        elif isinstance(value, list):
            left += cast("list[object]", value)
        elif value is not None and not isinstance(value, bool):
            found.append(str(value))
    return found[::-1]


def _places(raw: bytes) -> dict[bytes, list[int]]:
    """Return the last few places of each block that is more than a ruler or an indent."""
    found: dict[bytes, list[int]] = {}
    for at in range(len(raw) - _BLOCK, -1, -1):
        block = raw[at : at + _BLOCK]
        places = found.get(block)
        if places is None:
            if len(set(block)) > 3:
                found[block] = [at]
        elif len(places) < _PLACES:
            places.append(at)
    return found


def _blocks(raw: bytes) -> list[bytes]:
    """Return the blocks of nine bytes at every twelfth byte of a text."""
    raw = raw.ljust(-(-len(raw) // _BLOCKS.size) * _BLOCKS.size, b"\0")
    found: list[bytes] = []
    for at in range(0, len(raw), _BLOCKS.size):
        found += _BLOCKS.unpack_from(raw, at)
    return found


def _values(said: str) -> dict[str, int]:
    """Values in what was said that are too short to be a stretch, the latest first, with their last place in bytes."""
    found: dict[str, int] = {}
    for match in reversed(list(_WORD.finditer(said))):
        word = match.group()
        if len(word) < STRETCH and word not in found and _VALUE.fullmatch(word):
            found[word] = len(said[: match.start()].encode("utf-8", "surrogatepass"))
            if len(found) == _MOST_VALUES:
                break
    return found


def _is_rare_in(text: str, value: str) -> bool:
    """Return whether a text contains a value as a word of its own, and not too often."""
    times, at = 0, text.find(value)
    alone = False
    while at >= 0 and times <= _MOST_TIMES:
        times += 1
        around = text[max(0, at - 1) : at] + text[at + len(value) : at + len(value) + 1]
        alone = alone or not any(char.isalnum() for char in around)
        at = text.find(value, at + len(value))
    return alone and times <= _MOST_TIMES


def _common(one: bytes, here: int, other: bytes, there: int) -> str:
    """Return the stretch round two places that both texts share."""
    before = 0
    while before < _REACH and min(here, there) > before and one[here - before - 1] == other[there - before - 1]:
        before += 1
    after = _BLOCK
    last = min(len(one) - here, len(other) - there, _REACH)
    while after < last and one[here + after] == other[there + after]:
        after += 1
    return one[here - before : here + after].decode("utf-8", "ignore").strip()


def _says_something(stretch: str) -> bool:
    """Return whether a shared stretch is long enough, and more than a ruler or an indent."""
    return len(stretch) >= STRETCH and len(set(stretch)) >= 8
