"""What kind of text is this? Judged by its beginning and its end, never by the tool's name.

Owns: telling data (JSON, NDJSON, CSV, XML), diffs, logs, code, listings and searches from plain text.
Must not know: what is done with the answer. When in doubt the answer is `text`.

Data is what a parser would take as a whole; everything else is known by what most of its lines look like. What a
shell's wrapper prints before the output of a command is skipped; JSON after it is `wrapped`: the whole is not JSON.
JSON that was broken off is `broken`. A table stays one: the wrapper's lines belong to its header.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Literal, TypeAlias

from keepwhole.canonical.lazy_pattern import lazy_pattern
from keepwhole.truncation.cut import Source
from keepwhole.truncation.encoded import looks_encoded

Kind: TypeAlias = Literal[
    "json", "ndjson", "csv", "xml", "wrapped", "broken", "diff", "log", "code", "search", "listing", "text"
]
DATA: frozenset[str] = frozenset(("json", "wrapped", "broken", "xml", "ndjson", "csv"))
"""Kinds that are cut by their structure, whatever the tool's job is."""

_SAMPLE = 16_384
_NEAR = 4_096
"""How far the beginning is read where every character counts."""
_LINES = 32
_MIDDLE = 8
_STEP = 5
"""Every fifth line is asked first: the lines of most texts are alike."""
_TAIL = 256
_WIDTH = 160
"""A line is known by its beginning; patterns never see more, so no line can make them slow."""
_VALUE = lazy_pattern(
    r"\{\s*[\"}]|\[\s*(?:[\"{\[\]]|(?:-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|NaN|-?Infinity)\s*(?:,|\]\s*$))",
    re.M,
)
"""How a JSON object or array begins; `[test] ...` and `[12:00] ...` do not."""
_SPACE = "\ufeff \t\r\n"

_PREFACE = lazy_pattern(
    r"(?:Chunk ID: .{0,80}\n)?(?:Exit code:? -?\d+\n)?(?:Wall time: .{0,80}\n)?(?:Process .{0,80}\n)?"
    r"(?:Original token count: \d+\n)?(?:Command: .{0,400}\nDirectory: .{0,200}\n)?(?:Output:[ \n])?"
    r"(?:Total output lines: \d+\n+)?(?:Found \d+ \w+.{0,80}\n)?"
)
"""What the shells of Codex, Claude Code and Gemini print before the output itself."""
_DIFF = lazy_pattern(
    r"^(?:diff --(?:git|cc|combined) \S|Index: \S.*\n={20}|--- \S.*\n\+\+\+ \S|@@ -\d+(?:,\d+)? \+\d)", re.M
)
_DIFF_MARKS = ("@@ -", "diff --", "+++ ")
_CLOSES = {"{": "}", "[": "]"}
_SECOND_LINE = lazy_pattern(r"\n(?:[}\]]\s{1,9}[^\s,}\]]|[{\[](?:(?<=[}\]]\n.)|(?<=[}\]]\r\n.)))")
_SECOND_VALUE = lazy_pattern(r"\}\{\"\w")
"""What another value follows without a comma: neither can stand in one JSON value, not even inside a string."""


def _any(*patterns: str) -> re.Pattern[str]:
    return lazy_pattern("|".join(patterns), re.ASCII)


_CLOCK = lazy_pattern(
    r"[0-9][0-9]:[0-9][0-9](?:(?<=[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}[T ][0-9]{2}:[0-9]{2})"
    r"|(?<=[A-Z][a-z]{2} [ 0-9][0-9] [0-9]{2}:[0-9]{2})(?=:[0-9]{2})|(?<=[a-z]/[0-9]{4}:[0-9]{2}:[0-9]{2}))"
)
"""A time with its date, as ISO, Go, syslog and Apache write them."""
_UNQUOTED = lazy_pattern(r"[^\"'`,;={}<>]*")
_LOWER = r"trace|debug|info|notice|warn|warning|error|critical|fatal"
_LOG = _any(
    rf"[^\w\"'`]{{0,3}}(?:\d\d:\d\d:\d\d|(?:{_LOWER.upper()}|PANIC)\b[\]:|)\s])|\d\d-\d\d \d\d:\d\d:\d\d",
    rf"\[?(?:{_LOWER}|note|help)(?:\[[\w-]+\])?(?:: |\])|(?:[\w.]+=\S+ ){{0,3}}(?:level|lvl|severity)=\w",
    r"\[(?=[^\]]*[A-Za-z:/.]|\d{4})[^\]\s]{2,40}\] |\[ *\d+(?:%|/\d+)\] |[VDIWEF]/[\w.]|[IWEF]\d{4} ",
)
"""A level or a time first."""
_RUN = _any(
    r"=== (?:RUN|PAUSE|CONT|NAME)\b|--- (?:PASS|FAIL|SKIP)\b|(?:ok|FAIL|\?) +\t|(?:PASS|FAIL|FAILED|ok)\b|not ok \d",
    r"(?:Error Trace|Error|Test|Messages):(?:\s|$)|(?:={3,}+|_{3,}+) .*[=_]{3}$|E {2,}\S|(?:ERROR|SKIPPED) \S+::",
    r"collected \d+ items|test \S+ \.\.\. |running \d+ tests?$|test result: |Ran \d+ tests?|[\w/]++\.py [.FEsxX]+\s+\[",
    r"(?:Compiling|Checking|Downloaded|Fresh) \S+ v\d|Finished [`\[\w-]+ |Running (?:unittests|tests/|`)|--> \S+:\d",
    r"[✓✔✕✗×○❯●✖⎯]|\((?:pass|fail|skip|todo)\) |(?:Tests?|Test Suites|Test Files|Duration):? +\d",
    r"\d+ (?:pass|fail|tests?|skip|problems?|issues?|expect\(\))(?:ing|ed)?\b|go: (?:downloading|finding|extracting) ",
    r"make(?:\[\d+\])?: |(?:gcc|g\+\+|cc|clang|rustc|javac|ld|tsc|tsup|vite)[ :]|npm (?:ERR!|error|warn|WARN|notice)\b",
    r"> (?:\S+@\S+ \w|Task :)|\$ \S|# [\w.-]+/\S+(?: \[\S+\])?$|(?:CLI|ESM|CJS|DTS) ",
    r"(?:dist|build)/\S+ +[\d.]+ ?[kKM]?B\b|\^[~^]*$",
)
"""Lines of test runs, compilers and build tools."""
_RUN_MARKS = ("=== RUN", "=== CONT", "=== NAME", "--- PASS", "--- FAIL", "test result: ", "[test")
_RUN_AT = _any(
    r"@?[\w./-]+ (?:test|build|lint|typecheck|check|dev|start)(?::\w+)?: |[\w./-]+\.go:\d+:|at \S.{0,100}?:\d+:\d+\)?$",
    r"[^\s:(]+[:(]\d+(?:[:,]\d+)?\)?:? (?:- )?(?:fatal )?(?:error|warning|note|undefined)\b|[^\s:]+:\d+:\d+: \S",
    r"[^\s:]+::\S.{0,100}? (?:PASS|FAIL|ERROR|SKIP|XFAIL)",
)
"""The same with a place in them."""
_DIAGNOSTIC = lazy_pattern(r"[^\s:(]+(?::\d+:\d+: \S|[:(]\d+(?:[:,]\d+)?\)?: (?:fatal )?(?:error|warning|note)\b)")
_COMPOSE = lazy_pattern(r"([\w.-]{1,40}) +\| ")
_WORD = r"[^\s:|\"'`(),;=<>]"
_PATH = rf"(?:{_WORD}*/{_WORD}+|{_WORD}+\.[A-Za-z]\w{{0,9}}|[A-Z]\w*file)"
_SEARCH = _any(
    rf"(?=[^\s:]++:)(?!\d{{4}}-\d\d-\d\dT\d)(?:[\w./-]++:)??{_PATH}:\d+(?:[:\s-]|$)",
    rf"(?=[^\s:]++:)(?:[\w./-]++:)??{_WORD}*/{_WORD}*\.[A-Za-z]\w{{0,9}}:(?!//|:)",
    rf"(?=\S*-\d){_WORD}*\.[A-Za-z]\w{{0,9}}-\d+-",
    r"(?=[^:]{1,110}+:\d)[^:|\"'`(),;=<>]{1,100}\.[A-Za-z]\w{0,5}:\d+:",
)
"""A match with its file: its line, or only the file; a line near a match; a file with spaces in its name."""
_IN_FILE = lazy_pattern(r"(\d{1,7})([:-])(?!\d\d[:-]\d\d)")
_LISTING = _any(
    r"\s{0,4}(?:~?\.{0,2}/)?[\w@.+\[\]()%#-]++(?>(?:/[\w@.+\[\]()%#-]++)+)/?…?$|(?=\S++$)[\w@+.-]*\.\w{1,10}$",
    r"[bcdlps-][rwxsStT-]{9}[.+@]? |total \d+$|[│ \xa0]*[├└]──",
)
_NUMBER = lazy_pattern(r"\s*\d{1,7}(?:→|\t|[:|]|\. )")
_CODE_ENDS = (";", "{", "(", "=>", "),", "):")
_CODE = _any(
    r"#!/|#include\b|#(?:define|ifn?def|endif|pragma)\b|#\[\w|//|/\*|\*/|\*$|\"{3}|'{3}|<\?php",
    r"(?:async )?def \w|(?:\w++ ){0,3}?class \w|from [\w.]+ import |import [\w{*\"'(.]|package [\w.]+;?$",
    r"(?:pub(?:\(\w+\))? )?(?:unsafe |async |const )?(?:fn|impl|struct|enum|trait|mod|use)\b[ <]",
    r"func [\w(]|(?:export |default |async |declare )*(?:function|interface|namespace)\b|type \w+ [=\w]",
    r"(?:export )?(?:const|let|var) [\w{\[(]|export (?:default|class|\{|\*|async|abstract|type)\b",
    r"(?:public|private|protected|internal|static|final|readonly|override) [\w<]|using [\w.]+|template ?<",
    r"return\b|throw |raise \w|await |yield |defer |go func|assert\b|module \w+$|attr_\w+ :|require|typedef |extern ",
    r"(?:if|for|while|switch|catch) ?\(|(?:if|while) \[|(?:else|try|finally|default|do)\b ?:?$",
    r"(?:fi|done|esac|then|end)\b;?$|local \w|set -[a-z]|echo [\"'$-]|[A-Z_][A-Z0-9_]*+=|export \w+=|\$\w+ ?=",
    r"@\w++(?>(?:\.\w++)*)(?:\(.{0,100})?$|[})\]]++[;,)]*+$|(?:self|this)\.\w|\.\w+\(",
    r"(?:\w++ )?\"[\w./@-]+\"$|\w++ ++[\w.*\[\]]++ ++`\w+:",
    r"(?:SELECT|INSERT|CREATE|ALTER) ",
)
_CODE_BEFORE = {
    ":": lazy_pattern(r"(?:\} ?)?(?:else )?(?:if|for|while|switch|match|elif|with|except|catch|case|select)\b"),
    ")": lazy_pattern(r"[\w.:<>]++\("),
    ",": lazy_pattern(r"\w++\??: "),
    ">": lazy_pattern(r"</?\w[\w.]*+(?: [^>]*+)?/?>$"),
}
"""How a line of code begins that ends so."""
_PAIR_NAME = lazy_pattern(r"[^\W\d][\w %#-]{0,39}(?:\([^\s()]{1,12}\))?")
"""A column of a table that has two; more columns are told apart by their number."""
_DATUM = lazy_pattern(r"[{\[\s]*+\"[^\"]{0,80}\"\s*:|\"[^\"]{0,80}\",$")
_PROSE = lazy_pattern(r"(?:#{2,6} \S|```|\*\*\S|- (?:\*\*|`|[A-Z])|\d+\. \S|\|.*\|$|> \S|\[\[?[\w.:\" -]+\]\]?$)")


def sniff(source: Source) -> Kind:
    """The kind of text that `source` holds."""
    text = source.text(0, min(source.chars, _SAMPLE))
    start = text.lstrip(_SPACE)
    first = start[:1]
    if first in ("{", "["):
        kind = _json_kind(source, text, start)
        if kind is not None:
            return kind
    elif first == "<" and _is_xml(source, start):
        return "xml"
    begin = preface(text)
    if begin and _is_wrapped(source, text[begin:]):
        return "wrapped"
    if _is_broken(text[begin:]):
        return "broken"
    if _is_diff(text[begin : begin + _NEAR]):
        return "diff"
    lines = _first_lines(text[begin:], source.eol, len(text) == source.chars)
    if _is_csv(lines):
        return "csv"
    return _by_lines([*_heads(lines), *_middle_heads(source)])


def preface(text: str) -> int:
    """How many characters a shell's wrapper prints before the output itself.

    >>> preface('Exit code 1\\nOutput:\\n{"a": 1}')
    20
    """
    found = _PREFACE.match(text)
    return found.end() if found else 0


def _is_wrapped(source: Source, text: str) -> bool:
    """Whether one JSON value follows the preface."""
    start = text.lstrip(_SPACE)
    return start[:1] in ("{", "[") and _json_kind(source, text, start) == "json"


def _is_broken(text: str) -> bool:
    """Whether JSON begins here that somebody broke off."""
    start = text.lstrip(_SPACE)
    if start[:1] not in ("{", "[") or _VALUE.match(start) is None:
        return False
    from keepwhole.truncation.broken_json import begins_json  # most texts are plain

    return begins_json(start)


def _json_kind(source: Source, text: str, start: str) -> Kind | None:
    """One value, or one on each line."""
    stop = _end(source)[-1:]
    if stop not in ("}", "]") or _VALUE.match(start) is None:
        return None
    if source.lines > 1 and _is_one_each(source, start):
        return "ndjson"
    return "json" if stop == _CLOSES[start[0]] and not _is_followed(text) else None


def _is_followed(text: str) -> bool:
    """Whether another value, or anything else, follows the first."""
    return _SECOND_LINE.search(text) is not None or ('}{"' in text and _SECOND_VALUE.search(text) is not None)


def _end(source: Source) -> str:
    """The last characters, without the spaces after them, however many there are."""
    at, step = source.chars, _TAIL
    while at > 0:
        found = source.text(max(0, at - step), at).rstrip()
        if found:
            stop = max(0, at - step) + len(found)
            return found if len(found) >= _TAIL else source.text(max(0, stop - _TAIL), stop)
        at, step = at - step, 2 * step
    return ""


def _is_one_each(source: Source, start: str) -> bool:
    """Whether every line is a value; one longer than the sample is looked at where it ends."""
    lines = start.split(source.eol, _LINES)
    if len(lines) == 1:
        end = _first_end(source)
        return source.text(end - 2, end).rstrip()[-1:] in ("}", "]") and source.text(end + 1, end + 2) in ("{", "[")
    begun = [line for line in lines[:_LINES] if line.strip()]
    ended = [line.rstrip()[-1] for line in lines[:-1] if line.strip()]
    return len(begun) > 1 and set(ended) <= {"}", "]"} and all(_VALUE.match(line) for line in begun)


def _first_end(source: Source) -> int:
    """Where the first line ends, found without reading it."""
    return bisect_left(range(source.chars), 1, key=lambda at: source.ends_before(at + 1))


def _is_xml(source: Source, start: str) -> bool:
    """Whether the first element ends the text too and what is seen of it parses; a document type declares entities."""
    names: list[str] = []

    def note(name: str, _: object) -> None:
        names.append(name)
        parser.StartElementHandler = None

    def refuse(*_: object) -> None:
        raise ValueError("a document type")

    end = _end(source)
    if not end.endswith(">"):
        return False
    from xml.parsers import expat  # most texts are neither this nor CSV

    parser = expat.ParserCreate()
    parser.StartElementHandler = note
    parser.StartDoctypeDeclHandler = refuse
    whole = source.chars <= _NEAR
    try:
        parser.Parse(start.rstrip() if whole else start[:_NEAR], whole)
    except (expat.ExpatError, ValueError):
        return False
    return whole or end.endswith(f"</{names[0]}>" if names else "\0")


def _is_diff(text: str) -> bool:
    """Whether a header or a hunk of a diff begins a line; most texts have none of its marks."""
    if not text.startswith(_DIFF_MARKS) and not any([f"\n{mark}" in text for mark in _DIFF_MARKS]):
        return False
    return _DIFF.search(text) is not None


def _first_lines(text: str, eol: str, whole: bool) -> list[str]:
    """The first lines; the last one may be cut off."""
    lines = text.split(eol, _LINES)
    return lines[:_LINES] if len(lines) > _LINES else lines if whole or len(lines) == 1 else lines[:-1]


def _heads(lines: Iterable[str]) -> list[str]:
    """The beginnings of lines that say something; one that is cut off does not end as its line does."""
    cut = [line if len(line) <= _WIDTH else f"{line[:_WIDTH]}…" for line in lines]
    return [head for line in cut if (head := line.rstrip())]


def _middle_heads(source: Source) -> list[str]:
    """Some lines from the middle of a long text: its beginning may be a preface."""
    if source.chars < 2 * _SAMPLE:
        return []
    middle = source.chars // 2
    return _heads(source.text(middle, middle + _NEAR // 2).split(source.eol, _MIDDLE + 1)[1:-1])


def _is_csv(lines: Sequence[str]) -> bool:
    """Columns, as many in nearly every record, and a header of names, not a line of something else.

    Spreadsheets put a byte order mark first; what pandas and R write begins with an index that may have no name.
    """
    if len(lines) < 3:
        return False
    lines = [lines[0].removeprefix("\ufeff"), *lines[1:]]
    header = lines[0].rstrip("\r")
    separators = [separator for separator in ",\t;|" if header.count(separator) >= (1 if separator in ",\t" else 2)]
    if not separators or header.lstrip().startswith(("//", "#", "/*", "* ")):
        return False
    head = header[:_WIDTH]
    if _is_logged(head) or _IN_FILE.match(head) or _SEARCH.match(head):
        return False
    return any(_has_columns(lines, separator) for separator in separators)


def _has_columns(lines: Sequence[str], separator: str) -> bool:
    import csv

    try:
        names = next(csv.reader(lines[:1], delimiter=separator))
        is_indexed = not names[0] and separator != "|"
        if not all(map(_is_column_name, names[is_indexed:])):
            return False
        records = [record for record in csv.reader((line + "\n" for line in lines), delimiter=separator) if record]
    except csv.Error:
        return False
    if len(records) < 3 or records[0] == records[1]:
        return False
    if is_indexed and not all(record[0] for record in records[1:]):
        return False
    if len(records[0]) == 2 and not _is_pair_table(records):
        return False
    return sum(len(record) == len(records[0]) for record in records) >= 0.9 * len(records)


def _is_pair_table(records: Sequence[Sequence[str]]) -> bool:
    """Whether records of two fields are a table. One separator a line is in prose, paths and code too: so names of
    columns are plain words that no record repeats, every record has two fields, and no space follows a separator."""
    header, body = records[0], records[1:]
    if len(body) < 3 or not all(map(_PAIR_NAME.fullmatch, header if header[0] else header[1:])):
        return False
    if not all(len(record) == 2 and record[0] for record in body):
        return False
    if any(record[0] == header[0] or record[1] == header[1] for record in body):
        return False
    return not any(record[1][:1] == " " for record in body)


def _is_column_name(name: str) -> bool:
    return 0 < len(name.strip()) <= 40 and len(name.split()) <= 3


def _by_lines(heads: list[str]) -> Kind:
    """By what most lines look like."""
    if not heads:
        return "text"
    if _share(_SEARCH, heads) >= 0.6 and not _are_diagnostics(heads):
        return "search"
    stripped = [head.lstrip() for head in heads]
    if _is_log(stripped):
        return "log"
    if _is_search_in_file(heads):
        return "search"
    if _share_of(_is_path, heads) >= 0.8:
        return "listing"
    return "code" if _is_code(_unnumbered(stripped)) else "text"


def _is_path(head: str) -> bool:
    return _LISTING.match(head) is not None and not (len(head) >= _WIDTH and looks_encoded(head[:_WIDTH]))


def _share(pattern: re.Pattern[str], heads: Sequence[str]) -> float:
    """The share of lines that a pattern knows by their beginning."""
    return _share_of(lambda head: pattern.match(head) is not None, heads)


def _share_of(known: Callable[[str], bool], heads: Sequence[str]) -> float:
    """The share of lines that are known; where a sample of them all agree, the others are not asked."""
    few = heads[::_STEP]
    found = sum(map(known, few))
    if len(few) < 4 or 0 < found < len(few):
        return sum(map(known, heads)) / max(1, len(heads))
    return found / len(few)


def _is_logged(head: str) -> bool:
    """Whether a line is one of a log: a time or a level in it, or the words of a test run or a build."""
    if _LOG.match(head) is not None or _RUN.match(head) is not None:
        return True
    if ":" not in head:
        return False
    clock = _CLOCK.search(head, 0, 100)
    if clock is not None:
        before = _UNQUOTED.match(head)
        return before is not None and before.end() >= clock.start()
    return _RUN_AT.match(head) is not None


def _is_log(heads: Sequence[str]) -> bool:
    """Lines of a log; or those of a few services, each under its name."""
    logged = _share_of(_is_logged, heads)
    if logged >= 0.4 or (logged >= 0.2 and any([head.startswith(_RUN_MARKS) for head in heads])):
        return True
    if not any(map(_COMPOSE.match, heads[::_STEP])):
        return False
    named = [found[1] for found in map(_COMPOSE.match, heads) if found]
    return len(named) >= 0.8 * len(heads) and 3 * len(set(named)) <= len(named)


def _are_diagnostics(heads: Sequence[str]) -> bool:
    """Whether these are a compiler's words rather than matches: a column, and a space before them."""
    return _share(_DIAGNOSTIC, heads) >= 0.4


def _is_search_in_file(heads: Sequence[str]) -> bool:
    """Numbered lines that are no view of the file: some are only near a match, or numbers are left out."""
    if not any(map(_IN_FILE.match, heads[::_STEP])):
        return False
    found = [match for match in map(_IN_FILE.match, heads) if match]
    rest = len(heads) - len(found) - heads.count("--")
    if len(found) < 2 or rest > 0.4 * len(heads):
        return False
    numbers = [int(match[1]) for match in found]
    gaps = sum([after != before + 1 for before, after in pairwise(numbers)])
    return any([match[2] == "-" for match in found]) or gaps > 0.3 * len(found)


def _unnumbered(heads: Sequence[str]) -> Sequence[str]:
    """Lines without the numbers that a view of a file puts before them."""
    if _share(_NUMBER, heads) < 0.5:
        return heads
    return [rest for head in heads if (rest := _NUMBER.sub("", head, count=1).lstrip())]


def _is_code(heads: Sequence[str]) -> bool:
    """Mostly lines of a programming language, hardly any of data or of prose; stars are code within a comment."""
    if heads and heads[0].startswith("#!/"):
        return True
    coded = _share_of(_is_coded, heads)
    if 0 < coded < 0.4 and any([head.startswith("/*") or head.endswith("*/") for head in heads]):
        coded += sum([head.startswith("* ") for head in heads]) / len(heads)
    return coded >= 0.4 and _share(_DATUM, heads) < 0.3 and _share(_PROSE, heads) < 0.1


def _is_coded(head: str) -> bool:
    before = _CODE_BEFORE.get(head[-1])
    if head.endswith(_CODE_ENDS) or (before is not None and before.match(head) is not None):
        return True
    return " = " in head or " := " in head or _CODE.match(head) is not None
