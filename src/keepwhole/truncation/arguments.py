"""How the long arguments of an old call are shown: the beginning of each long value, and how many characters follow.

Owns: which values are long, the words in their place, and arguments as text with these values cut.
Must not know: which calls are old, where a request has its arguments, how they are read back (the result's notice).

Theory of operation. A model wrote the arguments of its calls itself, and it imitates what it finds among its own calls:
a mark such as `...[truncated]` in a file's content is written into the next file. So the mark here says something that
is true of an old call alone and that nobody would write into a new one: that the tool has received these characters.

    {"path": "a.py", "content": "import os\n…12,000 characters…"}
    {"path": "a.py", "content": "import os\n[…11,990 more characters: the tool received them, this view hides them]"}

Invariants: keys, numbers and short values are as they came, character by character; what was JSON is JSON; a value is
cut only if the mark is shorter than what it hides; the same arguments are always cut the same.
"""

import json
import re
from collections.abc import Sequence

from keepwhole.canonical.arguments import are_equal, string_values
from keepwhole.canonical.message import Path
from keepwhole.truncation.cut import ArgumentCut

LONG = 800
"""Characters from which on a value is cut."""
_SHOWN = 200
_LEAST_SHOWN = 100
_MARK = re.compile(r"\[…\d[\d,]{0,20} more characters: the tool received them, this view hides them\]")


def mark(chars: int) -> str:
    """The words after the beginning of a value.

    >>> mark(12_345)
    '[…12,345 more characters: the tool received them, this view hides them]'
    """
    return f"[…{chars:,} more characters: the tool received them, this view hides them]"


def has_mark(text: str) -> bool:
    """Whether a text has such words in it, also where it is JSON that escapes the sign."""
    return "this view hides them]" in text and _MARK.search(text.replace("\\u2026", "…")) is not None


def long_arguments(arguments: str) -> tuple[ArgumentCut, ...]:
    """The cuts of the long values of a call's arguments; those that are no JSON are one value."""
    if len(arguments) < LONG or has_mark(arguments):
        return ()
    cuts = [_cut_of(path, value) for path, value in string_values(arguments) if len(value) >= LONG]
    if any(cut.path == () for cut in cuts):
        return tuple(cuts) if cuts[0].chars == len(arguments) else ()
    return tuple(cut for _, _, (_, cut) in _places(arguments, cuts))


def _cut_of(path: Path, value: str) -> ArgumentCut:
    """The cut of a value to its beginning: whole lines, if there are some."""
    at = value.rfind("\n", _LEAST_SHOWN, _SHOWN)
    return ArgumentCut(path, at + 1 if at >= 0 else _SHOWN, len(value))


def cut_value(value: str, cut: ArgumentCut) -> str:
    """The view of a value; the value itself where it is not the one that was cut."""
    return value[: cut.shown] + mark(cut.chars - cut.shown) if len(value) == cut.chars else value


def cut_arguments(arguments: str, cuts: Sequence[ArgumentCut]) -> str:
    """The arguments as text with these values cut, and every other character as it was."""
    if cuts and cuts[0].path == ():
        return cut_value(arguments, cuts[0])
    pieces: list[str] = []
    at = 0
    for start, stop, (_, cut) in _places(arguments, cuts):
        shown = cut_value(json.loads(arguments[start:stop]), cut)
        pieces += (arguments[at:start], json.dumps(shown, ensure_ascii=arguments.isascii()))
        at = stop
    return "".join((*pieces, arguments[at:]))


def cut_values(arguments: str, cuts: Sequence[ArgumentCut]) -> list[tuple[Path, str]]:
    """The values that are cut, each with its path and its view."""
    by_path = {cut.path: cut for cut in cuts}
    return [(path, cut_value(value, by_path[path])) for path, value in string_values(arguments) if path in by_path]


def hidden_text(arguments: str, cuts: Sequence[ArgumentCut]) -> str:
    """What the cuts hide, one value after the other."""
    values = dict(string_values(arguments))
    return "\n".join(values[cut.path][cut.shown :] for cut in cuts if cut.path in values)


def is_cut_of(shown: str, arguments: str) -> bool:
    """Whether arguments as text are the view of others: the same but for values that are cut."""
    views, originals = dict(string_values(shown)), dict(string_values(arguments))
    if views.keys() != originals.keys():
        return False
    cuts = [_as_cut(path, views[path], value) for path, value in originals.items() if views[path] != value]
    return bool(cuts) and None not in cuts and are_equal(cut_arguments(arguments, [cut for cut in cuts if cut]), shown)


def _as_cut(path: Path, shown: str, value: str) -> ArgumentCut | None:
    """The cut that shows a value so; None where none does."""
    begins = _MARK.search(shown)
    if begins is None or begins.end() != len(shown) or not value.startswith(shown[: begins.start()]):
        return None
    return ArgumentCut(path, begins.start(), len(value))


def _places(arguments: str, cuts: Sequence[ArgumentCut]) -> list[tuple[int, int, tuple[Path, ArgumentCut]]]:
    """Where the values are in the text; one behind a key that is there twice is nowhere."""
    start = len(arguments) - len(arguments.lstrip(" \t\n\r"))
    from keepwhole.canonical.json_text import find_values  # arguments are rarely cut

    found = find_values(arguments, start, [(cut.path, cut) for cut in cuts])
    return [place for place in found if arguments[place[0]] == '"']
