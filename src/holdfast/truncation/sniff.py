"""What kind of text is this? Judged by its beginning and its end, never by the tool's name.

Owns: telling data (JSON, NDJSON, CSV, XML), diffs, logs, code, listings and searches from plain text.
Must not know: what is done with the answer. When in doubt the answer is `text`.
"""

import csv
import re
from collections.abc import Callable
from typing import Literal, TypeAlias

from holdfast.truncation.cut import Source

Kind: TypeAlias = Literal["json", "ndjson", "csv", "xml", "diff", "log", "code", "search", "listing", "text"]
DATA: frozenset[str] = frozenset(("json", "ndjson", "csv", "xml"))

_SAMPLE = 16_384
_TAIL = 256
_LINES = 30
_LOG_SHARE = 0.5
_WIDTH = 160
"""A line is known by its beginning; patterns never see more, so no line can make them slow."""
_DIFF = re.compile(r"^(?:diff --git |Index: |--- \S.*\n\+\+\+ \S|@@ -\d)", re.M)
_TIME = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\d\d:\d\d:\d\d|[A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d|\d{2,4}/\d\d/\d\d[ :]\d\d:\d\d"
_LOG = re.compile(
    rf"\W{{0,3}}(?:{_TIME})|\W{{0,2}}(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|CRITICAL|FATAL|E|W|I|D)\b[\]: ]"
    r"|\S+ \S+ \S+ \[[^\]]+:\d\d:\d\d"
    r"|=== (?:RUN|PAUSE|CONT|NAME)\b|\s*--- (?:PASS|FAIL|SKIP)\b|(?:ok|FAIL|\?) +\t|(?:PASS|FAIL)$|\s+\S+_test\.go:\d+:"
)
_SEARCH = re.compile(r"[^\s:|][^:\n|]*?[/.\\\w]+[:-]\d+[:-]|[\w./-]+\.\w{1,6}:\d+")
_LISTING = re.compile(r"(?:\.{0,2}/)?[\w@.+-]+(?:/[\w@.+-]+)+/?$|[d-][rwx-]{9}[.+@]? ")
_CODE = re.compile(
    r"\s*(?:\d+[→|:\t ]\s*)?(?:def |class |import |from \w+ import |func |function |fn |impl |struct |enum |interface "
    r"|const |let |var |package |#include|using |namespace |public |private |protected |export |return\b|if \(|if .*:$"
    r"|for \(|for .* in |while |try[:{ ]|\}|@\w+|///?|/\*|\*/|self\.\w+ = |elif |else:)|.*[;{]$",
)


def sniff(source: Source) -> Kind:
    """The kind of text that `source` holds."""
    text = source.text(0, min(source.chars, _SAMPLE))
    whole = len(text) == source.chars
    end = text[-_TAIL:] if whole else source.text(source.chars - _TAIL, source.chars)
    start, stop = text.lstrip("\ufeff \t\r\n"), end.rstrip()
    lines = _sample_lines(text, source.eol, whole)
    if start[:1] in ("{", "[") and stop[-1:] in ("}", "]"):
        kind = _json_kind(start, stop, lines)
        if kind is not None:
            return kind
    if start.startswith("<") and stop.endswith(">") and "</" in end + text and not _is_html(start):
        return "xml"
    if _DIFF.search(text[:4_096]) is not None:
        return "diff"
    if _share(_LOG, lines) < _LOG_SHARE and _is_csv(text, whole):
        return "csv"
    return _by_lines(lines + _middle_lines(source))


def _share(pattern: re.Pattern[str], lines: list[str]) -> float:
    """The share of lines that a pattern knows by their beginning."""
    return sum(pattern.match(line[:_WIDTH]) is not None for line in lines) / max(1, len(lines))


def _sample_lines(text: str, eol: str, whole: bool) -> list[str]:
    """The first lines that say something; the last one may be cut off."""
    lines = text.split(eol)[: _LINES + 1]
    lines = lines if whole or len(lines) <= 1 else lines[:-1]
    return [line for line in lines if line.strip()]


def _middle_lines(source: Source) -> list[str]:
    """Some lines from the middle of a long text: its beginning may be a preface."""
    if source.chars < 2 * _SAMPLE:
        return []
    middle = source.chars // 2
    return [line for line in source.text(middle, middle + _SAMPLE // 8).split(source.eol)[1:-1] if line.strip()]


def _is_html(start: str) -> bool:
    """HTML is seldom well-formed, and a document type may declare entities: neither is cut as XML."""
    return start[:15].lower().startswith(("<!doctype", "<html")) or "<!DOCTYPE" in start[:1_000]


def _json_kind(start: str, stop: str, lines: list[str]) -> Kind | None:
    """One value, or one on each line."""
    one_each = [line for line in lines if line[:1] in "{[" and line.rstrip()[-1:] in ("}", "]")]
    if len(lines) >= 2 and len(one_each) == len(lines) and not lines[0].rstrip().endswith(("{", "[", ",")):
        return "ndjson"
    after = start[1:].lstrip()[:1]
    if start[0] == "{":
        return "json" if after in ('"', "}") and stop[-1] == "}" else None
    looks = after in '"{[]-tfnNI' or after.isdigit()
    return "json" if looks and stop[-1] == "]" else None


def _is_csv(text: str, whole: bool) -> bool:
    """Three columns or more, as many in nearly every record, and a header without empty names."""
    header = text.lstrip("\ufeff").partition("\n")[0]
    if header.lstrip().startswith(("//", "#", "/*", "* ")):
        return False
    for separator in (",", "\t", ";", "|"):
        if header.count(separator) >= 2 and _has_columns(text, separator, whole):
            return True
    return False


def _has_columns(text: str, separator: str, whole: bool) -> bool:
    try:
        records = [record for record in csv.reader(text.splitlines(keepends=True), delimiter=separator) if record]
    except csv.Error:
        return False
    records = records if whole else records[:-1]
    if len(records) < 3 or records[0] == records[1] or not all(map(_is_column_name, records[0])):
        return False
    same = sum(len(record) == len(records[0]) for record in records)
    return same >= 0.9 * len(records)


def _is_column_name(name: str) -> bool:
    return 0 < len(name.strip()) <= 40 and len(name.split()) <= 3


def _by_lines(lines: list[str]) -> Kind:
    """By what most lines look like."""
    if not lines:
        return "text"
    tests: tuple[tuple[Kind, re.Pattern[str], float], ...] = (
        ("log", _LOG, _LOG_SHARE),
        ("search", _SEARCH, 0.7),
        ("listing", _LISTING, 0.8),
        ("code", _CODE, 0.2),
    )
    heads = [line[:_WIDTH].rstrip() for line in lines]
    for kind, pattern, share in tests:
        if sum(pattern.match(line) is not None for line in heads) >= share * len(lines):
            return kind
    return "text"


def group_of(text: str) -> Callable[[str], str]:
    """What lines of a listing or a search belong together by: the folder, or the file."""
    lines = [line[:_WIDTH] for line in text[:_SAMPLE].splitlines()[:_LINES] if line.strip()]
    if lines and sum(_SEARCH.match(line) is not None for line in lines) >= 0.5 * len(lines):
        return lambda line: line.partition(":")[0]
    if lines and sum("/" in line for line in lines) >= 0.5 * len(lines):
        return lambda line: line.strip().rstrip("/").rpartition("/")[0]
    return lambda line: ""
