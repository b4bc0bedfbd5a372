"""Every compiled regular expression of the package, timed on text that is built to make it slow.

The patterns are found by importing all modules and looking through their globals, so that one of tomorrow is timed as
well. For each, texts are built from its own parts: what leads to a repeat, the repeat's body many times, and an end
that does not match; and every beginning of the pattern many times, for a search that begins anew at each of them.
"""

import importlib
import pkgutil
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import pytest

import keepwhole
from keepwhole.canonical.lazy_pattern import LazyPattern

_SIZES, _LIMITS = (1_000, 20_000), (0.02, 0.05)
"""Characters of a text, and CPU seconds for it; a search that is linear takes a hundredth of that."""
_RUNS = 5
_CERTAIN = 4
"""What takes so many times its limit is not timed again: a busy machine does not add that much CPU time."""
_MOST_TEXTS = 60
_MOST_REPEATS = 4_096
"""A repeat with a smaller bound is no repeat here."""
_T = "keepwhole.truncation"
MATCHED = frozenset(
    (
        *(f"keepwhole.canonical.json_text.{name}" for name in ("_next_member", "_next_element", "_closing")),
        *(f"{_T}.diff._FIRST", f"{_T}.xml_element._TAG", "keepwhole.apps.mcp.line_reader._VALUE"),
        *("keepwhole.canonical.json_steps._key", "keepwhole.policies.kinds._SHOWS", "keepwhole.policies.kinds._SIFTS"),
        *("keepwhole.standalone.contexts.context.OURS", "keepwhole.policies.failures._BEGINS"),
        *("keepwhole.apps.proxy.credentials._SECRET_SEGMENT", "keepwhole.apps.proxy.credentials._JWT"),
        *("keepwhole.recall.enclosing_element._YAML", "keepwhole.recall.enclosing_element._CLOSES"),
        *("keepwhole.wire.gemini.call_ids._MADE", "keepwhole.canonical.base64_text._URL_HEAD"),
        *(f"{_T}.broken_json.{name}" for name in ("_INSIDE", "_BEHIND")),
    )
)
"""Patterns that are only ever matched at one place of a text."""
_OF_LINES = ("_LOG", "_RUN", "_RUN_AT", "_DIAGNOSTIC", "_SEARCH", "_LISTING", "_NUMBER", "_CODE", "_CODE_BEFORE")
SHORT: Mapping[str, int] = {
    **{f"{_T}.sniff.{name}": 161 for name in (*_OF_LINES, "_DATUM", "_PROSE")},
    **{f"{_T}.element._MATCH": 160, f"{_T}.log._FAILED_EXIT": 240, f"{_T}.log._NONE_AFTER": 241},
    **{"keepwhole.policies.failures._BEGINS": 240, "keepwhole.policies.failures._TALLY": 240},
    **{"keepwhole.policies.kinds._BETWEEN": 400, "keepwhole.policies.references._VALUE": 19},
    **{"keepwhole.recall.json_path._STEP": 300, "keepwhole.canonical.base64_text._URL_HEAD": 2_000},
}
"""Patterns that are given short text only, mostly the beginning of a line: no more than so many characters."""


def patterns() -> dict[str, re.Pattern[Any]]:
    """All patterns in the globals of all modules, by the name of the first module and variable that has each."""
    found: dict[re.Pattern[Any], str] = {}
    for info in sorted(pkgutil.walk_packages(keepwhole.__path__, "keepwhole."), key=lambda info: info.name):
        try:
            module = importlib.import_module(info.name)
        except ImportError:  # it needs a package that is not installed
            continue
        for name, value in vars(module).items():
            for pattern in _patterns_in(value):
                found.setdefault(pattern, f"{info.name}.{name}")
    return {f"{name}, {number}": pattern for number, (pattern, name) in enumerate(found.items())}


def _patterns_in(value: object) -> Iterator[re.Pattern[Any]]:
    value = getattr(value, "__self__", value)  # a method of a pattern, such as `match`
    if isinstance(value, dict):
        value = [*value.values()]
    for each in value if isinstance(value, list | tuple) else [value]:
        pattern = each.compiled if isinstance(each, LazyPattern) else each
        if isinstance(pattern, re.Pattern):
            yield pattern


def hostile_texts(pattern: re.Pattern[Any], size: int) -> list[Any]:
    """Texts for one pattern, of the type that it takes."""
    source = pattern.pattern
    made = dict.fromkeys(islice(_made(parser.parse(source, pattern.flags), size), _MOST_TEXTS))
    return [text.encode("utf-8", "replace") for text in made] if isinstance(source, bytes) else list(made)


def _made(parsed: Iterable[Any], size: int) -> Iterator[str]:
    for before, body in _repeats(list(parsed), ""):
        for end in ("", "\x00", "!", "\n"):
            yield before + _many(body, size) + end
    for beginning in _beginnings(list(parsed)):
        yield _many(beginning, size)
        yield _many(beginning + " ", size)


def _many(body: str, size: int) -> str:
    return body * (size // max(1, len(body)))


def _beginnings(items: list[Any]) -> Iterator[str]:
    """What the first parts of a pattern match, one part more each time."""
    text = ""
    for item in items:
        text += _sample([item])
        if text:
            yield text


def _repeats(items: list[Any], before: str) -> Iterator[tuple[str, str]]:
    """What leads to each repeat without a small bound, and what one turn of it matches."""
    for op, argument in items:
        if op in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            _, most, body = argument
            if most >= _MOST_REPEATS and (sample := _sample(list(body), least=1)):
                yield before, sample
            yield from _repeats(list(body), before)
        for inner in _inner(op, argument):
            yield from _repeats(inner, before)
        before += _sample([(op, argument)])


def _inner(op: Any, argument: Any) -> list[list[Any]]:
    if op is sre.SUBPATTERN:
        return [list(argument[-1])]
    if op is sre.BRANCH:
        return [list(branch) for branch in argument[1]]
    return [list(argument)] if op is sre.ATOMIC_GROUP else []


def _sample(items: list[Any], least: int = 0) -> str:
    """A short text that these parts match, or nearly."""
    found = ""
    for op, argument in items:
        if op is sre.LITERAL:
            found += chr(argument)
        elif op is sre.ANY or op is sre.NOT_LITERAL:
            found += "a"
        elif op is sre.IN:
            found += _member(argument)
        elif op in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            found += _sample(list(argument[2]), least) * max(least, min(argument[0], 64))
        else:
            found += next((_sample(inner, least) for inner in _inner(op, argument)), "")
    return found


def _member(members: list[Any]) -> str:
    """A character of a set."""
    negated = any(op is sre.NEGATE for op, _ in members)
    allowed = re.compile("[" + ("^" if negated else "") + "".join(map(_spelled, members)) + "]")
    return next((char for char in "a0 ()[]{}<>\"'\\:,;./-_*=@#|~+%&!?\n\t\x1bA" if allowed.match(char)), "a")


def _spelled(member: Any) -> str:
    op, argument = member
    if op is sre.LITERAL:
        return re.escape(chr(argument))
    if op is sre.RANGE:
        return f"{re.escape(chr(argument[0]))}-{re.escape(chr(argument[1]))}"
    return _CATEGORIES.get(argument, "") if op is sre.CATEGORY else ""


_CATEGORIES = {
    sre.CATEGORY_DIGIT: r"\d",
    sre.CATEGORY_NOT_DIGIT: r"\D",
    sre.CATEGORY_SPACE: r"\s",
    sre.CATEGORY_NOT_SPACE: r"\S",
    sre.CATEGORY_WORD: r"\w",
    sre.CATEGORY_NOT_WORD: r"\W",
}


def slow_text(pattern: re.Pattern[Any], variable: str = "") -> Any:
    """A text over which a pattern is slow, its beginning; None where there is none."""
    for size, limit in zip(_SIZES, _LIMITS, strict=True):
        for text in hostile_texts(pattern, size):
            if _is_slow(pattern, variable, text, limit):
                return text[:80]
    return None


def _is_slow(pattern: re.Pattern[Any], variable: str, text: Any, limit: float) -> bool:
    """Whether no run keeps the limit."""
    for _ in range(_RUNS):
        spent = _seconds(pattern, variable, text)
        if not limit < spent < _CERTAIN * limit:
            return spent > limit
    return True


def _seconds(pattern: re.Pattern[Any], variable: str, text: Any) -> float:
    text = text[: SHORT.get(variable)]
    began = time.thread_time()
    if variable in MATCHED:
        pattern.match(text)
    else:
        sum(1 for _ in pattern.finditer(text))
    return time.thread_time() - began


PATTERNS = patterns()


@pytest.mark.parametrize("name", PATTERNS)
def test_no_pattern_is_slow_on_text_made_for_it(name: str) -> None:
    variable = name.partition(",")[0]
    assert slow_text(PATTERNS[name], variable) is None


@pytest.mark.parametrize("pattern", [r"\([^;]*\{", r"\d+x", r"\s*;", r"<!--.*?-->"])
def test_what_is_slow_is_found(pattern: str) -> None:
    assert slow_text(re.compile(pattern, re.S)) is not None


def test_patterns_are_found_wherever_a_module_has_them() -> None:
    assert len(PATTERNS) > 60
    assert any(name.startswith("keepwhole.truncation.sniff._CODE_BEFORE") for name in PATTERNS)
