"""A result of nothing but very long lines still shows text, by whichever way it comes in."""

import json

import pytest

from keepwhole.standalone.processor import TruncationProcessor
from keepwhole.truncation.result import TruncationResult
from keepwhole.truncation.strategy import STRATEGIES
from tests.apps.cli.cli import Cli
from tests.apps.cli.conftest import cli  # noqa: F401 - a fixture
from tests.build import in_memory
from tests.promises.views import ALL_STRATEGIES, check_view, view_of
from tests.standalone.test_processor import Shelf

MINIFIED = "dist/app.min.js:1:" + "var a=function(b){return b.needle};" * 1_000
ROWS = "".join(json.dumps({"id": number, "text": "some words " * 820}) + "\n" for number in range(5))
PAGE = "<!DOCTYPE html><html><body>" + "<div class=a><p>some words<br></div>" * 1_000 + "</body></html>"
CUT_OFF = json.dumps([{"id": number, "text": "some words"} for number in range(1_000)])[:30_000]
NEARLY_JSON = '{"a": [' + '{"id": 1, "text": "some words"}, ' * 1_000 + "]}"
LISTING = "\n".join(f"folder {number}/" + "name" * 2_250 for number in range(5))
TABLE = "id,name,text\n" + "".join(f"{number},n,{'some words ' * 820}\n" for number in range(5))
NOTE = "<note><to>all</to><text>" + "some words &amp; more " * 1_500 + "</text></note>"
TEXTS = {
    "search": MINIFIED,
    "rows": ROWS,
    "page": PAGE,
    "json cut off": CUT_OFF,
    "nearly json": NEARLY_JSON,
    "listing": LISTING,
    "table": TABLE,
    "xml": NOTE,
}
TOOLS = ("Grep", "Bash", "Glob", "WebFetch", "read_file", "anything")
LEAST = 1_700
"""Characters of text that every one of these views has: less is shown only of previews."""


def shows_text(view: TruncationResult) -> bool:
    return view.metadata.strategy_used != "reference" and len(view.body) >= LEAST


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("name", TEXTS)
def test_keep_and_the_processor_show_text_up_to_the_limit(name: str, tool: str) -> None:
    kept = in_memory().keep(tool, {"pattern": "needle"}, TEXTS[name])
    processed = TruncationProcessor(STRATEGIES, Shelf()).process(TEXTS[name], tool)
    assert shows_text(kept), kept.content
    assert shows_text(processed), processed.content


@pytest.mark.parametrize("policy", ["auto", "rolling", "truncation"])
@pytest.mark.parametrize("tool", ["Grep", "Bash"])
@pytest.mark.parametrize("name", TEXTS)
def test_views_of_a_conversation_show_text(name: str, tool: str, policy: str) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": tool, "arguments": '{"pattern": "needle"}'}}
    messages = [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": TEXTS[name]},
    ]
    shown = in_memory().view(messages, policy=policy)[-1]["content"]
    assert len(shown) >= LEAST
    assert not shown.startswith("[Artifact: ") or len(shown) > LEAST


@pytest.mark.parametrize("strategy", [None, *ALL_STRATEGIES])
@pytest.mark.parametrize("name", TEXTS)
def test_every_strategy_shows_soundly_what_has_long_lines(name: str, strategy: str | None) -> None:
    for limit in (256, 700, 2_000, 8_000):
        for question in ("", "where is the needle?"):
            view = view_of(TEXTS[name], strategy, limit, question)
            check_view(view, TEXTS[name], limit)
            if limit >= 2_000 and strategy != "lines":  # which never splits a line
                assert len(view.body) >= limit / 3, view.content


def test_the_command_line_shows_text(cli: Cli) -> None:  # noqa: F811 - the fixture
    shown = cli("keep", "--tool", "grep", input=MINIFIED.encode())
    assert shown.stdout.startswith(b"dist/app.min.js:1:var a=function")
    assert len(shown.stdout) > LEAST


def test_rows_that_are_cut_inside_still_parse() -> None:
    view = TruncationProcessor(STRATEGIES, Shelf()).process(ROWS, "anything")
    shown = [json.loads(line) for line in view.body.splitlines()]
    assert view.metadata.strategy_used == "rows"
    assert [row["id"] for row in shown if isinstance(row, dict)] == [0, 1, 2, 3, 4]


MATCHES = "".join(f"src/file_{number}.py:{number}: value = needle({number})\n" for number in range(150))
LONG_MATCH = "dist/lib.min.js:1:" + "var a=1;" * 2_000 + "call(the_needle,7);" + "var b=2;" * 2_000 + "\n"


@pytest.mark.parametrize("arguments", [{"pattern": r"\bthe_needle\b"}, {"query": "the_needle"}])
def test_a_long_line_beside_other_matches_keeps_its_file_and_the_place_of_the_match(arguments: dict[str, str]) -> None:
    shown = in_memory().keep("Grep", arguments, MATCHES + LONG_MATCH + MATCHES)
    assert "dist/lib.min.js:1:var a=1;" in shown.body
    assert "call(the_needle,7);" in shown.body
    assert "src/file_0.py:0: value" in shown.body
    assert "src/file_149.py:149: value" in shown.body


def test_without_a_pattern_a_long_line_beside_other_matches_keeps_its_file() -> None:
    shown = in_memory().keep("Grep", {}, MATCHES + LONG_MATCH + MATCHES)
    assert "dist/lib.min.js:1:var a=1;" in shown.body
    assert "src/file_0.py:0: value" in shown.body


@pytest.mark.parametrize("pattern", ["(a+)+$" * 50, "[", "", "\\", "x" * 100_000, "|" * 1_000, "((((" * 500])
def test_any_pattern_is_only_words_to_look_for(pattern: str) -> None:
    text = MATCHES + LONG_MATCH
    shown = in_memory().keep("Grep", {"pattern": pattern}, text)
    check_view(shown, text, 24_000)


def test_a_view_of_valid_json_is_never_a_fragment_of_it() -> None:
    text = json.dumps({"a" * 300: "b" * 300, "c" * 300: "d" * 300})
    view = view_of(text, None, 300)
    assert view.body == "" or json.loads(view.body)


@pytest.mark.parametrize("limit", [600, 900, 2_000, 5_000])
@pytest.mark.parametrize("rows", [2, 3, 50])
def test_rows_that_are_left_out_between_cut_ones_are_counted(rows: int, limit: int) -> None:
    text = "".join(json.dumps({"id": number, "text": "some words " * 820}) + "\n" for number in range(rows))
    view = view_of(text, "rows", limit)
    check_view(view, text, limit)
    shown = [json.loads(line) for line in view.body.splitlines()]
    counted = sum(int(mark.split()[1]) for mark in shown if isinstance(mark, str))
    assert view.metadata.strategy_used == "rows"
    assert sum(isinstance(row, dict) for row in shown) + counted == rows
    assert shown[0]["id"] == 0
