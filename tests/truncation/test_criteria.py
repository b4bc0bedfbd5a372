"""The criteria of the truncation document for the processor, limits, strategies and markers, by their numbers."""

import inspect
import json
import logging
import re
import time
import tracemalloc
from pathlib import Path

import pytest

import keepwhole
from keepwhole.errors import ConfigError, TooLargeToRecall
from keepwhole.standalone import processor
from keepwhole.standalone.processor import TruncationProcessor
from keepwhole.truncation import configuration, notice, present, result, strategy
from keepwhole.truncation.configuration import ToolOverride, TruncationConfiguration
from keepwhole.truncation.cut import Cut, Segment, Source
from keepwhole.truncation.present import Artifact
from keepwhole.truncation.result import TruncationResult
from keepwhole.truncation.strategy import STRATEGIES, StrategyOptions
from tests.build import TRUNCATION, in_memory, numbered_lines
from tests.promises.recorded_outputs import NAMES, read_output
from tests.promises.views import ALL_STRATEGIES, check_view, view_of
from tests.standalone.test_processor import Shelf

TEXT = numbered_lines(1_000)
LARGE = numbered_lines(5_000)
ITEMS = [{"id": number, "name": f"item {number}"} for number in range(1_000)]
ROOT = Path(__file__).parents[2]


def made(**settings: object) -> TruncationProcessor:
    return TruncationProcessor(STRATEGIES, Shelf(), TruncationConfiguration(**settings))  # type: ignore[arg-type]


def processed(text: str = TEXT, tool: str = "t", **settings: object) -> TruncationResult:
    return made(**settings).process(text, tool)


def by(name: str, text: str = TEXT, limit: int = 2_000, **options: object) -> TruncationResult:
    own = ToolOverride(strategy=name, **options)  # type: ignore[arg-type]
    return processed(text, inline_limit=limit, overrides={"t": own})


# Processor


def test_ac_001_there_is_a_truncation_processor() -> None:
    assert callable(TruncationProcessor.process)


def test_ac_002_the_processor_takes_a_result_and_limits() -> None:
    strict = TruncationConfiguration(inline_limit=300)
    assert len(made().process(TEXT, "t", strict).content) <= 300


def test_ac_003_the_processor_returns_the_truncated_result() -> None:
    shown = processed()
    assert isinstance(shown, TruncationResult)
    assert len(shown.content) <= 8_000 < len(TEXT)


def test_ac_004_the_processor_creates_an_artifact_if_needed() -> None:
    shelf = Shelf()
    machine = TruncationProcessor(STRATEGIES, shelf)
    assert machine.process("short", "t").artifact_id is None
    shown = machine.process(TEXT, "t")
    assert shelf.contents == {shown.artifact_id: TEXT}


def test_ac_004_nothing_is_hidden_without_an_artifact_even_where_quoting_makes_it_too_long() -> None:
    text = "[Artifact: x] is quoted\n" * 330
    shelf = Shelf()
    shown = TruncationProcessor(STRATEGIES, shelf).process(text, "t")
    assert not shown.metadata.was_truncated or shelf.contents == {shown.artifact_id: text}


def test_ac_005_the_processor_adds_metadata() -> None:
    about = processed().metadata
    assert (about.original_size, about.strategy_used, about.was_truncated) == (len(TEXT), "head_tail", True)


def test_ac_006_strategies_storage_and_configuration_are_injected() -> None:
    names = list(inspect.signature(TruncationProcessor.__init__).parameters)
    assert names == ["self", "strategies", "storage", "configuration"]


# Limits


def test_ac_007_the_inline_limit_is_8000_by_default() -> None:
    assert TruncationConfiguration().inline_limit == 8_000


def test_ac_008_the_artifact_threshold_is_50000_by_default() -> None:
    assert TruncationConfiguration().artifact_threshold == 50_000


def test_ac_009_the_largest_artifact_that_is_returned_whole_has_10_mb() -> None:
    opened, largest = in_memory(), "x" * 10 * 1024 * 1024
    assert opened.recall(str(opened.keep("t", None, largest).artifact_id)) == largest
    larger = str(opened.keep("t", None, largest + "y").artifact_id)
    with pytest.raises(TooLargeToRecall, match="max_artifact_size"):
        opened.recall(larger)
    assert opened.recall(larger, chars=(len(largest), len(largest) + 1)) == "y"


def test_ac_010_limits_can_be_set_for_one_tool() -> None:
    own = {"mine": ToolOverride(inline_limit=300, artifact_threshold=400, preview_limit=100, max_artifact_size=500)}
    limits = TruncationConfiguration(overrides=own).for_tool("mine")
    assert (limits.inline_limit, limits.artifact_threshold, limits.preview_limit) == (300, 400, 100)
    assert limits.max_artifact_size == 500
    assert TruncationConfiguration(overrides=own).for_tool("other").inline_limit == 8_000


def test_ac_011_limits_can_be_set_for_all_tools() -> None:
    policy = TruncationConfiguration(inline_limit=900)
    assert {policy.for_tool(tool).inline_limit for tool in ("t", "read_file", "execute_command")} == {900}


@pytest.mark.parametrize("key", ["inline_limit", "artifact_threshold", "max_artifact_size", "preview_limit"])
@pytest.mark.parametrize("value", [0, -1, 1.5, "8000", True, None])
def test_ac_012_limits_are_positive_whole_numbers(key: str, value: object) -> None:
    with pytest.raises(ConfigError, match=key):
        TruncationConfiguration(**{key: value})  # type: ignore[arg-type]


# Detection


def test_ac_013_what_exceeds_the_inline_limit_is_detected() -> None:
    assert not processed("x" * 8_000).metadata.was_truncated
    assert processed("x" * 8_001).metadata.was_truncated


def test_ac_014_what_exceeds_the_artifact_threshold_is_detected() -> None:
    assert not processed("x" * 50_000).content.startswith("[Artifact: ")
    assert processed("x" * 50_001).content.startswith("[Artifact: ")


def test_ac_015_what_exceeds_the_largest_size_is_stored_whole_and_returned_in_parts() -> None:
    text = numbered_lines(440_000)
    assert len(text) > TruncationConfiguration().max_artifact_size
    opened = in_memory()
    shown = opened.keep("t", None, text)
    assert len(opened.call_tool("get_artifact", {"id": shown.artifact_id}).content) < 50_000
    assert b"".join(opened.stream(str(shown.artifact_id))) == text.encode()


def test_ac_016_size_is_measured_in_characters() -> None:
    assert not processed("é" * 8_000).metadata.was_truncated
    assert processed("é" * 8_001).metadata.original_size == 8_001


def test_ac_017_tokens_are_estimated_as_a_quarter_of_the_characters() -> None:
    about = processed("x" * 10_001).metadata
    assert about.original_tokens == 2_501
    assert about.truncated_tokens == -(-about.truncated_size // 4)


# Strategies


def test_ac_018_head_keeps_the_beginning_only() -> None:
    body = by("head").body
    assert body.startswith("line 000001")
    assert re.search(r"\n\.\.\. \[Remainder omitted: [\d,]+ lines / [\d,]+ chars\] \.\.\.$", body)
    assert "line 001000" not in body


def test_ac_019_tail_keeps_the_end_only() -> None:
    body = by("tail").body
    assert re.match(r"\.\.\. \[Beginning omitted: [\d,]+ lines / [\d,]+ chars\] \.\.\.\n", body)
    assert body.endswith("line 001000 of the text\n")
    assert "line 000001" not in body


def test_ac_020_head_tail_keeps_both_ends() -> None:
    body = by("head_tail").body
    assert body.startswith("line 000001")
    assert body.endswith("line 001000 of the text\n")


def test_ac_021_lines_keeps_lines() -> None:
    shown = by("lines")
    assert shown.metadata.strategy_used == "lines"
    assert shown.body.startswith("line 000001 of the text\nline 000002 of the text\n")


def test_ac_022_element_keeps_elements_of_json_and_of_xml() -> None:
    assert json.loads(by("element", json.dumps(ITEMS)).body)[0] == ITEMS[0]
    tree = "<all>" + "".join(f"<item>{number}</item>" for number in range(1_000)) + "</all>"
    body = by("element", tree).body
    assert body.startswith("<all><item>0</item>")
    assert body.endswith("<item>999</item></all>")
    assert re.search(r"<!-- \.\.\. \d+ elements omitted \.\.\. -->", body)


def test_ac_023_text_is_cut_by_head_tail_by_default() -> None:
    assert TruncationConfiguration().default_strategy == "head_tail"
    assert processed().metadata.strategy_used == "head_tail"


@pytest.mark.parametrize("name", ["head", "tail", "head_tail", "lines", "element"])
def test_ac_024_the_strategy_can_be_set_for_one_tool(name: str) -> None:
    own = {"mine": ToolOverride(strategy=name)}
    assert processed(TEXT, "mine", overrides=own).metadata.strategy_used == name
    assert processed(TEXT, "other", overrides=own).metadata.strategy_used == "head_tail"


# Head and tail


def ends(shown: TruncationResult) -> tuple[int, int]:
    """How many characters are kept of the beginning and of the end."""
    assert shown.cut is not None
    (gap,) = shown.cut.gaps
    return gap.start, shown.metadata.original_size - gap.stop


def test_ac_025_the_first_characters_are_kept() -> None:
    shown = by("head_tail")
    first, _ = ends(shown)
    assert first > 900
    assert shown.body[:first] == TEXT[:first]


def test_ac_026_the_last_characters_are_kept() -> None:
    shown = by("head_tail")
    _, last = ends(shown)
    assert last > 500
    assert shown.body[-last:] == TEXT[-last:]


def test_ac_027_a_marker_stands_between_the_ends() -> None:
    shown = by("head_tail")
    first, last = ends(shown)
    assert re.fullmatch(r"\n\.\.\. \[[^\]]+ omitted\] \.\.\.\n", shown.body[first:-last])


def test_ac_028_the_ends_share_the_room_60_to_40_by_default() -> None:
    first, last = ends(processed("x" * 40_000))
    assert first / (first + last) == pytest.approx(0.6, abs=0.01)


def test_ac_029_the_marker_shows_the_lines_omitted() -> None:
    shown = by("head_tail")
    first, last = ends(shown)
    missing = TEXT.count("\n") - TEXT[:first].count("\n") - TEXT[-last:].count("\n")
    assert f"[{missing:,} lines / " in shown.body


def test_ac_030_the_marker_shows_the_characters_omitted() -> None:
    shown = by("head_tail")
    first, last = ends(shown)
    assert f" / {len(TEXT) - first - last:,} chars omitted]" in shown.body


# Lines


@pytest.mark.parametrize("side", ["head", "tail", "both"])
def test_ac_031_lines_are_kept_complete(side: str) -> None:
    shown = by("lines", side=side)
    whole = set(TEXT.splitlines(keepends=True))
    assert shown.cut is not None
    for part in shown.cut.kept:
        assert set(TEXT[part.start : part.stop].splitlines(keepends=True)) <= whole


def test_ac_032_no_line_is_split_however_long_it_is() -> None:
    text = ("short\n" + "long " * 700 + "\n") * 5
    shown = by("lines", text, line_cap=10_000)
    assert shown.metadata.strategy_used == "lines"
    assert shown.cut is not None
    for part in shown.cut.kept:
        assert part.start == 0 or text[part.start - 1] == "\n"
        assert text[part.stop - 1] == "\n"


@pytest.mark.parametrize(("side", "first", "last"), [("head", 1, 7), ("tail", 994, 1_000)])
def test_ac_033_the_first_or_the_last_lines_are_kept(side: str, first: int, last: int) -> None:
    shown = by("lines", side=side, max_lines=7)
    numbers = [int(number) for number in re.findall(r"line (\d+)", shown.body)]
    assert numbers == list(range(first, last + 1))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_ac_034_any_line_ending_ends_a_line(end: str) -> None:
    text = TEXT.replace("\n", end)
    shown = by("lines", text, side="both")
    assert shown.metadata.original_lines == 1_000
    assert shown.cut is not None
    for part in shown.cut.kept:
        assert text[part.start : part.stop].endswith(end)
        assert text[part.start : part.start + 5] == "line "


# Elements


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("limit", [400, 2_000, 8_000])
def test_ac_035_cut_json_parses(indent: int | None, limit: int) -> None:
    shown = by("element", json.dumps({"items": ITEMS, "total": 1_000}, indent=indent), limit)
    assert set(json.loads(shown.body)) == {"items", "total"}


def test_ac_036_the_first_and_last_elements_of_an_array_are_kept() -> None:
    shown = json.loads(by("element", json.dumps(ITEMS)).body)
    assert shown[:2] == ITEMS[:2]
    assert shown[-2:] == ITEMS[-2:]


def test_ac_037_some_keys_of_an_object_are_kept() -> None:
    value = {f"key {number}": number for number in range(1_000)}
    shown = json.loads(by("element", json.dumps(value), keep_keys=("key 777",)).body)
    own = {key: number for key, number in shown.items() if not key.startswith("...")}
    assert 5 < len(own) < 1_000
    assert own.items() <= value.items()
    assert own["key 777"] == 777


def test_ac_038_the_omitted_elements_and_keys_are_counted() -> None:
    array = json.loads(by("element", json.dumps(ITEMS)).body)
    (mark,) = (item for item in array if isinstance(item, str))
    assert mark == f"... {1_000 - len(array) + 1:,} items omitted ..."
    keys = json.loads(by("element", json.dumps({f"key {number}": number for number in range(1_000)})).body)
    assert keys["..."] == f"{1_000 - len(keys) + 1:,} keys omitted"


def test_ac_039_nothing_is_looked_into_below_the_depth_limit() -> None:
    value = {"a": {"b": {"c": list(range(3_000))}}}
    deep = json.loads(by("element", json.dumps(value)).body)
    shallow = json.loads(by("element", json.dumps(value), max_depth=2).body)
    assert len(deep["a"]["b"]["c"]) > 10
    assert "c" not in shallow["a"].get("b", {})


# Markers


@pytest.mark.parametrize("name", ALL_STRATEGIES)
def test_ac_040_every_cut_says_that_it_is_one(name: str) -> None:
    assert "omitted" in by(name, LARGE[:40_000]).content


@pytest.mark.parametrize("name", ALL_STRATEGIES)
def test_ac_041_every_cut_names_the_size_of_the_original(name: str) -> None:
    text = LARGE[:40_000]
    content = by(name, text).content
    assert f"({len(text) / 1024:.1f} KB)" in content
    assert re.search(r" of (1,667|40,000) are left out", content)


def test_ac_042_the_markers_add_up_to_what_is_missing() -> None:
    shown = by("head_tail")
    assert shown.cut is not None
    counted = sum(int(count.replace(",", "")) for count in re.findall(r"/ ([\d,]+) chars omitted", shown.body))
    assert counted == sum(gap.stop - gap.start for gap in shown.cut.gaps)


def test_ac_043_the_marker_has_the_form_of_the_document() -> None:
    assert notice.omitted(150, 12_340) == "\n... [150 lines / 12,340 chars omitted] ...\n"
    assert re.search(r"\n\.\.\. \[[\d,]+ lines / [\d,]+ chars omitted\] \.\.\.\n", by("head_tail").content)


def test_ac_044_a_marker_stands_on_a_line_of_its_own_and_a_likeness_of_one_is_marked_as_quoted() -> None:
    lines = by("head_tail", "x" * 9_000).body.split("\n")
    assert sum(line.startswith("... [") and line.endswith("] ...") for line in lines) == 1
    fake = "... [3 lines / 9 chars omitted] ...\n"
    assert "[quoted] " + fake in processed(fake + "text\n").content


# Tools


@pytest.mark.parametrize(
    ("tool", "name"),
    [
        pytest.param("read_file", "head_tail", id="fr_071"),
        pytest.param("execute_command", "tail", id="fr_072"),
        pytest.param("list_directory", "element", id="fr_073"),
        pytest.param("search_files", "element", id="fr_074"),
        pytest.param("git_diff", "head_tail", id="fr_075"),
    ],
)
def test_fr_071_fr_072_fr_073_fr_074_fr_075_every_tool_of_the_document_has_its_strategy(tool: str, name: str) -> None:
    assert processed("words of no kind at all\n" * 600, tool).metadata.strategy_used == name


LISTING = "".join(f"-rw-r--r-- 1 root root {n:5} Jan 01 12:00 module_{n}.py\n" for n in range(600))
FOUND = "".join(f"src/package_{n % 30}/module_{n}.py\n" for n in range(900))
MATCHES = "".join(f"src/module_{n % 9}.py:{n}:    value = call(argument, {n})\n" for n in range(600))
DIFF = "diff --git a/x.py b/x.py\nindex 1..2 100644\n--- a/x.py\n+++ b/x.py\n" + "".join(
    f"@@ -{n},3 +{n},3 @@ def f():\n same = {n}\n-old = {n}\n+new = {n}\n" for n in range(1, 4_000, 9)
)
CODE = "".join(f'def f_{n}(a: int) -> int:\n    """Return it."""\n    return a + {n}\n\n\n' for n in range(400))


@pytest.mark.parametrize(
    ("tool", "text", "name"),
    [
        pytest.param("read_file", CODE, "head_tail", id="fr_071"),
        pytest.param("read_file", LISTING, "head_tail", id="fr_071 a file of lines"),
        pytest.param("list_directory", LISTING, "element", id="fr_073 with details"),
        pytest.param("list_directory", FOUND, "element", id="fr_073 paths"),
        pytest.param("search_files", MATCHES, "element", id="fr_074"),
        pytest.param("search_files", FOUND, "element", id="fr_074 files with matches"),
        pytest.param("git_diff", DIFF, "head_tail", id="fr_075"),
    ],
)
def test_fr_071_fr_073_fr_074_fr_075_what_such_a_tool_returns_is_cut_by_its_strategy(
    tool: str, text: str, name: str
) -> None:
    shown = processed(text, tool)
    assert shown.metadata.strategy_used == name
    assert in_memory(settings=TRUNCATION).keep(tool, None, text).metadata.strategy_used == name
    first, *_, last = text.rstrip().splitlines()
    assert first in shown.body
    assert last in shown.body or name == "element"


# Not functional

KINDS = {
    "text": "some words of a long text that goes on and on, from one line to the next one\n",
    "log": "2026-01-01 12:00:00 INFO worker 7: a step of the work is done, the next one begins\n",
    "json": '{"id": 1, "name": "one", "text": "some words about the first of many things", "size": 12},\n',
    "csv": "1,one,first,some words about the first of many rows,12,yes,2026-01-01\n",
    "code": "def function(argument):\n    value = call(argument, 1, 2)\n    return value * argument\n\n\n",
    "diff": "@@ -1,2 +1,2 @@\n the same line\n-an old line of the file\n+a new line of the file\n the same\n",
}


NUMBERED = {
    "search": "src/module.py:{0}:    value = call(argument)\n",
    "alternating search": "src/m{1}.py:{0}: x = {0}\n",
    "listing": "src/p{1}/f{0}.py\n",
    "short code": "def f{0}():\n    pass\n",
    "two columns": "{0},n{0}\n",
}
"""Kinds of text whose lines are short and belong together by turns."""


def of_kind(kind: str, size: int) -> str:
    if kind in NUMBERED:
        lines = (NUMBERED[kind].format(number, number % 50) for number in range(size // 20))
        return {"two columns": "id,name\n"}.get(kind, "") + "".join(lines)[:size]
    text = KINDS[kind] * (size // len(KINDS[kind]))
    if kind == "json":
        return "[" + text.rstrip(",\n") + "]"
    return {"csv": "id,name,rank,text,size,done,day\n", "diff": "diff --git a/x b/x\n"}.get(kind, "") + text


@pytest.mark.parametrize("kind", KINDS)
def test_nfr_001_a_hundred_kilobytes_are_cut_in_under_ten_milliseconds(kind: str) -> None:
    text = of_kind(kind, 100_000)
    times: list[float] = []
    for _ in range(7):
        began = time.thread_time()
        view_of(text, None, 8_000)
        times.append(time.thread_time() - began)
    assert min(times) < 0.010


@pytest.mark.parametrize("kind", [*KINDS, "search", "alternating search", "listing", "short code", "two columns"])
def test_nfr_002_cutting_takes_no_more_memory_than_twice_the_input(kind: str) -> None:
    text = of_kind(kind, 2_000_000)
    view_of(of_kind(kind, 100_000), None, 8_000)
    tracemalloc.start()
    view_of(text, None, 8_000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak <= 2 * len(text), peak / len(text)


@pytest.mark.parametrize("lines", [10_000, 20_000, 60_000, 200_000])
def test_nfr_002_a_log_of_very_short_lines_takes_five_megabytes_beside_its_text_at_most(lines: int) -> None:
    text = "".join(f"12:00:{number % 60:02d} I {number}\n" for number in range(lines))
    view_of(text, None, 8_000)
    tracemalloc.start()
    view_of(text, None, 8_000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak - len(text) <= 5_000_000, peak - len(text)


class Endless:
    """A text of a terabyte that is made where it is read, and that notices who reads too much of it."""

    eol = "\n"

    def __init__(self, line: str) -> None:
        self._line = line
        self.lines = 10**12 // len(line)
        self.chars = self.lines * len(line)

    def text(self, start: int, stop: int) -> str:
        if stop - start > 100_000_000:
            raise MemoryError(f"{stop - start:,} characters at once")
        first = start // len(self._line)
        made = self._line * (stop // len(self._line) - first + 1)
        return made[start - first * len(self._line) :][: stop - start]

    def ends_before(self, offset: int) -> int:
        return offset // len(self._line)


@pytest.mark.parametrize("kind", ["text", "log", "code"])
def test_nfr_003_a_text_larger_than_memory_is_cut(kind: str) -> None:
    source = Endless(KINDS[kind])
    artifact = Artifact(artifact_id="art_1", summary="t", size=source.chars)
    shown = present.present(source, artifact, TruncationConfiguration().for_tool("t"), STRATEGIES)
    assert 1_000 < len(shown.content) <= 8_000


MALFORMED = ("[", '{"a": ', "<a>", '"', "\ud800", "\x00", "\x1b[", "\r", "@@ ", "\\", "[]", 'a,b,c\n"', "{}\n")


@pytest.mark.parametrize("name", ALL_STRATEGIES)
@pytest.mark.parametrize("text", MALFORMED, ids=ascii)
def test_nfr_005_nothing_crashes_on_malformed_input(name: str, text: str) -> None:
    for around in ("{}", "[{}]", '{{"a": "{}"}}', "<a>{}</a>", "a,b,c\n{}"):
        whole = around.format(text * 3_000)
        check_view(view_of(whole, name, 2_000), whole, 2_000)


@pytest.mark.parametrize("name", NAMES)
def test_nfr_006_no_output_is_invalid(name: str) -> None:
    text = read_output(name).decode("utf-8", "surrogateescape")
    check_view(view_of(text, None, 1_500), text, 1_500)


def test_nfr_008_what_is_kept_is_the_same_unicode() -> None:
    text = "".join(chr(0x4E00 + number % 20_000) + ("\n" if number % 40 == 39 else "") for number in range(20_000))
    shown = by("head_tail", text)
    first, last = ends(shown)
    assert shown.body.startswith(text[:first])
    assert shown.body.endswith(text[-last:])


def test_nfr_013_nfr_014_the_processor_logs_what_it_stores_and_cuts(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    processed("short")
    assert caplog.messages == []
    shown = processed(TEXT, "read\nfile")
    assert caplog.messages == [
        f"kept artifact={shown.artifact_id} tool='read\\nfile' bytes={len(TEXT)}",
        f"cut artifact={shown.artifact_id} strategy=head_tail chars_shown={len(shown.content)}",
    ]


def test_nfr_017_a_strategy_of_ones_own_is_one_entry() -> None:
    def first_100(source: Source, budget: int, options: StrategyOptions) -> Cut:
        return Cut((Segment("kept", 0, 100), Segment("gap", 100, source.chars)))

    own = TruncationConfiguration(default_strategy="first_100")
    shown = TruncationProcessor({**STRATEGIES, "first_100": first_100}, Shelf(), own).process(TEXT, "t")
    assert shown.metadata.strategy_used == "first_100"
    assert shown.body == TEXT[:100]


def test_nfr_018_every_setting_is_documented() -> None:
    page = (ROOT / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")
    for name in (*TruncationConfiguration.fields, *ToolOverride.fields):
        assert name == "overrides" or f"{name}`" in page, name


def test_nfr_019_every_public_name_has_a_docstring() -> None:
    modules = (present, configuration, notice, present, processor, result, strategy)
    things = [getattr(keepwhole, name) for name in keepwhole.__all__]
    for module in modules:
        assert module.__doc__
        things += [thing for name, thing in vars(module).items() if not name.startswith("_") and callable(thing)]
    for thing in things:
        if getattr(thing, "__module__", "").startswith("keepwhole"):
            assert inspect.getdoc(thing), thing


@pytest.mark.parametrize(
    ("tool", "limit"), [("list_directory", 10_000), ("execute_command", 5_000), ("read_file", 8_000), ("any", 8_000)]
)
def test_every_tool_of_the_document_has_its_limit(tool: str, limit: int) -> None:
    limits = TruncationConfiguration().for_tool(tool)
    assert limits.inline_limit == limit
