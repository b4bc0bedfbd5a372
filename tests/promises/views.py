"""Views of any text by any strategy, and the checks that every view must pass."""

import csv
import io
import json
import re
from xml.parsers import expat

from keepwhole.canonical.utf8 import showable
from keepwhole.truncation.configuration import TruncationConfiguration
from keepwhole.truncation.cut import TextSource, render
from keepwhole.truncation.present import Artifact, present
from keepwhole.truncation.result import TruncationResult
from keepwhole.truncation.sniff import sniff
from keepwhole.truncation.strategy import STRATEGIES

ALL_STRATEGIES = sorted(STRATEGIES)
_ARTIFACT_ID = "art_1700000000_" + "x" * 22
_NOTICES = re.compile(
    r"(?:\n|\\n)?\.\.\. \[[^\]\n]*(?:omitted|similar lines)[^\]\n]*\] \.\.\.(?:\n|\\n)?"
    r"|\"?\.\.\. [\d,]+ (?:items|rows) omitted \.\.\.\"?|<!-- \.\.\. [\d,]+ (?:elements|chars) omitted \.\.\. -->"
    r"|\"\.{3,}\": \"[\d,]+ keys omitted\"|\[quoted\] "
)


def view_of(text: str, strategy: str | None, limit: int, question: str = "", tool: str = "t") -> TruncationResult:
    """The view of `text` by one strategy; where none is named, by the one that the tool and the text ask for."""
    limits = TruncationConfiguration(inline_limit=limit).for_tool(tool)
    if strategy is not None:
        limits = limits.replace(strategy=strategy, chosen_by_user=True)
    limits = limits.replace(inline_limit=limit, options=limits.options.replace(question=question))
    artifact = Artifact(artifact_id=_ARTIFACT_ID, summary="s" * 100, size=len(text))
    return present(TextSource(text), artifact, limits, STRATEGIES)


def check_view(view: TruncationResult, text: str, limit: int) -> None:
    """Check everything that holds for any view of any text by a strategy of Keepwhole's own."""
    assert not view.strategy_failure, view.strategy_failure
    check_budget(view, limit)
    check_cover(view, text)
    check_lines(view, text)
    check_data(view, text)
    view.content.encode()


def check_budget(view: TruncationResult, limit: int) -> None:
    """A view is no longer than its limit, notices included, and its metadata has its length."""
    assert len(view.content) <= limit, (len(view.content), limit, view.metadata.strategy_used)
    assert view.metadata.truncated_size == len(view.content)


def check_cover(view: TruncationResult, text: str) -> None:
    """The segments of the cut are the original, once and in order; rendering the cut gives the view."""
    assert view.cut is not None
    assert view.cut.covers(len(text))
    assert "".join(text[part.start : part.stop] for part in view.cut.segments) == text
    assert render(view.cut, TextSource(text)) == view.content == view.cut.above + view.body + view.cut.below
    assert view.metadata.was_truncated == bool(view.cut.left_out)


def check_lines(view: TruncationResult, text: str) -> None:
    """Every shown line that is not a notice is in the source, noise aside."""
    assert view.cut is not None
    quiet = showable("".join(text[part.start : part.stop] for part in view.cut.segments if part.part != "elided"))
    for stretch in re.split(r"[\r\n]", _NOTICES.sub("\n", view.body)):
        assert stretch in quiet or _without_quotes(stretch) in quiet, stretch


def _without_quotes(stretch: str) -> str:
    return stretch.replace("[quoted] ", "")


def check_data(view: TruncationResult, text: str) -> None:
    """Data that was cut by its structure still parses."""
    if not view.body or not view.metadata.was_truncated:
        return
    used, kind = view.metadata.strategy_used, sniff(TextSource(text))
    if used == "element" and is_json(text):
        json.loads(view.body)
    elif used == "element" and kind == "xml" and is_xml(text):
        assert is_xml(view.body), view.body
    elif used == "rows" and is_ndjson(text):
        assert lines_parse(view.body), view.body
    elif used == "rows" and kind == "csv" and is_regular(text):
        rows, shown = records(text), records(view.body)
        assert shown[0] == rows[0]
        assert all(_unquoted(row) in rows for row in shown)


def _unquoted(row: list[str]) -> list[str]:
    return [_without_quotes(field) for field in row]


def is_regular(text: str) -> bool:
    """Whether every row of a table has the same number of columns, and quotes are only around whole fields."""
    stray = text.count('"') % 2 or re.search(r'[^,\r\n"]"[^,\r\n"]', text)
    return not stray and len({len(row) for row in records(text)}) == 1


def records(text: str) -> list[list[str]]:
    """The records of a table."""
    return list(csv.reader(io.StringIO(showable(text), newline="")))


def is_json(text: str) -> bool:
    """Whether a text is one JSON array or object."""
    try:
        return isinstance(json.loads(text), dict | list)
    except (ValueError, RecursionError):
        return False


def is_ndjson(text: str) -> bool:
    """Whether every line of a text is JSON."""
    return text.lstrip()[:1] in ("{", "[") and text.strip().count("\n") > 0 and lines_parse(text)


def lines_parse(text: str) -> bool:
    """Whether every line that is not empty is JSON."""
    try:
        return all([json.loads(line) is not text for line in text.split("\n") if line.strip()])
    except (ValueError, RecursionError):
        return False


def is_xml(text: str) -> bool:
    """Whether a text is well-formed XML."""
    try:
        expat.ParserCreate("utf-8").Parse(text.encode(), True)
    except (expat.ExpatError, UnicodeEncodeError):
        return False
    return True
