"""How text becomes words that an index can hold: the same for what is stored and for what is asked.

Owns: spelling. `parseConfig`, `parse_config` and `parse-config` are one word with two parts, `1,234` is `1234`,
`retries` is `retry`. Must not know: what a word is worth, indexes, units.

Words hold letters, digits and dots only, so none of them can be taken for a mark of an index's own (`_…`). An index
is told to forget a text by the words it was given, so another spelling here needs a migration that empties it.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain, pairwise

from keepwhole.truncation.question import COMMON, UNSPACED, fold

_RUN = re.compile(r"\d{1,3}+(?>(?:,\d{3})+)(?![.,-]*+\d)|\d{1,3}+,(?>(?:\d{3},)*)|\w++(?>(?:[.-]\w++)*)")
"""A figure with its thousands apart; figures in a list, which ends in a comma; any other word."""
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")
"""A character as JSON may write it."""
_JOINTS = re.compile(r"[._-]+")
_HUMPS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^A-Za-z\d]+")
_ENDINGS = ("ations", "ation", "ingly", "ments", "ment", "ings", "ing", "ions", "ion", "ied", "ies", "ed", "er", "es")
_VERSION = re.compile(r"^[vV](?=\d)")
_LONGEST = 64
"""A longer word is encoded data, or nobody asks for it as a whole."""
_PREFIX = 6
"""Of a word in a script that is not ours its beginning is what other forms share."""


def words(text: str) -> set[str]:
    """Every word of a text as an index holds it.

    >>> sorted(words("why did parseConfig fail 1,234 times?"))
    ['1234', 'config', 'fail', 'pars', 'parseconfig', 'tim']
    """
    if "\\u" in text:
        text = _ESCAPE.sub(lambda escape: chr(int(escape[1], 16)), text)
    found = set(_RUN.findall(text))
    lists = {run for run in found if run[-1] == ","}
    found.difference_update(lists)
    found.update(*(run[:-1].split(",") for run in lists))
    return set(chain.from_iterable(map(spelled, found)))


def runs(text: str) -> Iterator[str]:
    """The stretches of a text that are words or several words in one."""
    for run in _RUN.findall(text):
        if run[-1] == ",":
            yield from run[:-1].split(",")
        else:
            yield run


@lru_cache(maxsize=65_536)
def spelled(run: str) -> tuple[str, ...]:
    """The words of one run; where it is several in one, all of it comes first."""
    if "," in run:
        return (run.replace(",", "")[:_LONGEST],)
    pieces = [piece for part in _JOINTS.split(run) for piece in _pieces(part)]
    found = dict.fromkeys(word for piece in pieces for word in _plain(piece))
    if len(pieces) < 2 or len(run) > _LONGEST:
        return tuple(found)
    return tuple(dict.fromkeys((joined(pieces, run), *found)))


def joined(pieces: list[str], run: str) -> str:
    """Several words in one as one word: dots stay between figures and before the end of a file's name."""
    if "." in run:
        return fold(_VERSION.sub("", run.replace("_", "").replace("-", "")))
    return fold("".join(pieces))


def _pieces(part: str) -> list[str]:
    """The words inside a name with humps; letters and figures that stand together are parted too."""
    if not part or part.isdigit() or (part.isalpha() and (part.islower() or part.istitle() or part.isupper())):
        return [part] if part else []
    return _HUMPS.findall(part) if part.isascii() else [part]


def _plain(piece: str) -> Iterator[str]:
    """The word of one piece; a script without spaces gives pairs of characters."""
    folded = fold(piece)
    if folded.isascii():
        if len(folded) > 1 and folded not in COMMON and len(folded) <= _LONGEST:
            yield stem(folded)
    elif UNSPACED.search(folded):
        yield from map("".join, pairwise(folded))
    else:
        yield folded[:_PREFIX]


def stem(word: str) -> str:
    """What the forms of a word share, roughly: one ending off, one of two equal letters, no last `e` or `y`.

    >>> stem("queries"), stem("query"), stem("skipped"), stem("skip"), stem("ledgers"), stem("ledger")
    ('quer', 'quer', 'skip', 'skip', 'ledg', 'ledg')
    """
    if len(word) < 4 or not word.isalpha():
        return word
    if word.endswith("s") and not word.endswith(("ss", "us", "is", "ies", "es")):
        word = word[:-1]
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
        return word[:-1]
    return word[:-1] if len(word) > 3 and word[-1] in "ey" else word
