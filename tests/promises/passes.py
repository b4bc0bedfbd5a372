"""Every pass over the text of a tool result, as a function of that text alone."""

from collections.abc import Callable, Mapping
from fnmatch import fnmatch
from typing import Any, NamedTuple, TypeAlias

from keepwhole.canonical.guard import truncation_mark
from keepwhole.canonical.json_members import NotJson, members, root_span
from keepwhole.canonical.json_text import find_strings, find_values
from keepwhole.canonical.utf8 import encode, showable
from keepwhole.policies.call_outcomes import one_line
from keepwhole.policies.failures import error_line
from keepwhole.recall.patterns import finder
from keepwhole.truncation.configuration import ToolOverride, TruncationConfiguration
from keepwhole.truncation.cut import TextSource, whole
from keepwhole.truncation.log import error_lines
from keepwhole.truncation.noise import tidied
from keepwhole.truncation.notice import imitates, neutralized, quoted
from keepwhole.truncation.present import Artifact, present
from keepwhole.truncation.question import fold, terms
from keepwhole.truncation.sniff import sniff
from keepwhole.truncation.strategy import STRATEGIES, StrategyOptions
from keepwhole.truncation.unit_bounds import unit_bounds
from keepwhole.truncation.words import spelled, words

Pass: TypeAlias = Callable[[str], object]

QUESTION = "why did parse_config fail with exit code 3 in worker 17, and what does İstanbul say of 漢字?"
_LONG_QUESTION = " ".join(f"word{number} Name_{number}" for number in range(5_000))
_ARTIFACT = Artifact(artifact_id="art_1_x", summary="bash", size=1)
_KINDS = ("json", "xml", "csv", "ndjson", "log", "code", "diff", "search", "text")


class Slower(NamedTuple):
    """A row that cannot keep to 50 ms for a megabyte: which pass, over which shape, and its own limit."""

    passes: str
    """As `fnmatch` reads it."""
    shapes: tuple[str, ...]
    seconds: float
    """CPU seconds for a megabyte."""
    steepest: float = 1.15
    """The power of the size with which time may grow."""


_LINE_ENDS = ("empty lines", "carriage returns", "CRLF", "spaces and lines")
_ELEMENTS = ("*array*", "*keys*", "large members, then small ones", "* levels of *")
SLOWER = (
    # Made for passages of a text, or for what is shown of it; never given all of a long one.
    Slower("noise", ("*",), 1.2),
    Slower("words", ("*",), 1.0),
    *(Slower(name, ("*",), 0.5) for name in ("quoting", "imitates")),
    # A million marks or colors are millions of objects, and the collector looks at all of them again and again.
    Slower("marking", ("*",), 0.8, steepest=1.3),
    Slower("noise", ("* of colored",), 1.2, steepest=1.3),
    # Hardly anything but line ends: every line is a unit, and Python needs a number for each.
    Slower("*", _LINE_ENDS, 0.5),
    # A number or a position for every element, key, quote or tag.
    Slower("units of json", _ELEMENTS, 1.0),
    Slower("values", _ELEMENTS, 0.6),
    Slower("strings", ("*quote*",), 0.2),
    Slower("units of xml", ("*tags", "XML of empty items"), 0.15),
    # Lines of four characters: a number for each.
    Slower("units of log", ("a record that does not end",), 0.1),
    # Every key of the object could be one that a notice needs.
    *(Slower(name, ("keys that are our own",), 0.3) for name in ("*element*", "*rows*")),
    # Nothing but words that lead to a mark: all forms of marks are looked for everywhere.
    Slower("guard", ("omitted", "truncated"), 0.25),
    # Each of 48 words is looked for in the whole text.
    Slower("*, with a very long question", ("*",), 0.25),
    # Its lower case is longer, so characters are folded one by one.
    Slower("*", ("long lower case",), 0.15),
    # Every second line may begin a function by its first characters, and is looked at by itself.
    Slower("* code*", ("*typed code",), 0.08),
    # Half of it is noise: the strategy is asked for more text again and again, at most 64 times its budget.
    Slower("view by log", ("* of colored",), 0.4),
)
"""The rows of `docs/decisions/0026-linear-time.md` that have limits of their own, and why."""


def limits_of(name: str, shape: str) -> tuple[float, float]:
    """CPU seconds that a pass may take for a megabyte of a shape, and the power with which time may grow."""
    own = [row for row in SLOWER if fnmatch(name, row.passes) and any(fnmatch(shape, one) for one in row.shapes)]
    return max((row.seconds for row in own), default=0.05), max((row.steepest for row in own), default=1.15)


def passes() -> dict[str, Pass]:
    """All passes, by name."""
    found: dict[str, Pass] = dict(_PASSES)
    for name in STRATEGIES:
        found[f"strategy {name}"] = _strategy(name, "")
        found[f"strategy {name}, with a question"] = _strategy(name, QUESTION)
        found[f"view by {name}"] = _view(name)
    found["strategy log, with a very long question"] = _strategy("log", _LONG_QUESTION)
    found["strategy element, with a very long question"] = _strategy("element", _LONG_QUESTION)
    for kind in _KINDS:
        found[f"units of {kind}"] = lambda text, kind=kind: unit_bounds(text, kind)
    return found


def _strategy(name: str, question: str) -> Pass:
    options = StrategyOptions(question=question)
    return lambda text: STRATEGIES[name](TextSource(text), 8_000, options)


def _view(name: str) -> Pass:
    """The view with noise left out and notices marked, of whatever length the text is."""
    settings = TruncationConfiguration(
        inline_limit=8_000, artifact_threshold=10**12, overrides={"bash": ToolOverride(strategy=name)}
    )
    limits = settings.for_tool("bash")
    return lambda text: present(TextSource(text), _ARTIFACT, limits, STRATEGIES)


def _members(text: str) -> Any:
    try:
        return members(text, *root_span(text))[-1:]
    except NotJson:
        return None


def _values(text: str) -> Any:
    """Two values of a text that is known to be JSON."""
    return find_values(text, 0, [(("in", "k1"), 1), (("k2",), 2), ((1,), 3)]) if _members(text) else None


def _matches(pattern: str, regex: bool) -> Pass:
    """All matches of a model's pattern, in windows as a search has them."""

    def run(text: str) -> int:
        data = bytearray(encode(text)[0])
        find = finder(pattern, regex)
        return sum(find.count(bytearray(data[at : at + 262_144]), 0, 262_144)[0] for at in range(0, len(data), 262_144))

    return run


def _unseen_words(text: str) -> object:
    """The words of a text, none of which was met before: of those that were, some thousands are remembered."""
    spelled.cache_clear()
    return words(text)


_PASSES: Mapping[str, Pass] = {
    "sniff": lambda text: sniff(TextSource(text)),
    "noise": lambda text: tidied(whole(len(text)), TextSource(text), 2_000),
    "marking": lambda text: neutralized(whole(len(text)), TextSource(text)),
    "quoting": quoted,
    "imitates": imitates,
    "failure": error_line,
    "line": lambda text: one_line(text, 200),
    "guard": lambda text: truncation_mark(encode(text)[0], b""),
    "error lines": lambda text: error_lines(fold(text), "\n"),
    "members": _members,
    "values": _values,
    "strings": lambda text: sum(1 for _ in find_strings(text)),
    "words": _unseen_words,
    "question": terms,
    "showable": showable,
    "literal": _matches("needle", False),
}
