"""The test lists and the six scenarios of the truncation document, each by its name.

The limits of that document are those of the policy `truncation`.
"""

import json
import re
import threading
from pathlib import Path

import pytest

from keepwhole import NotFound, Session
from keepwhole.record.kept_result import KeptResult
from keepwhole.standalone.processor import TruncationProcessor
from keepwhole.truncation.configuration import ToolOverride, TruncationConfiguration
from keepwhole.truncation.result import TruncationResult
from keepwhole.truncation.strategy import STRATEGIES
from tests.build import TRUNCATION, in_memory, numbered_lines, printed_call
from tests.standalone.test_processor import Shelf

TEXT = numbered_lines(1_000)
LARGE = numbered_lines(5_000)
FOUND = json.dumps({"matches": [{"file": f"src/{n}.py", "line": n, "text": f"match {n}"} for n in range(1_000)]})
MARKER = re.compile(r"\n\.\.\. \[[\d,]+ lines / [\d,]+ chars omitted\] \.\.\.\n")


def by(name: str, text: str = TEXT, limit: int = 2_000, **options: object) -> TruncationResult:
    own = ToolOverride(strategy=name, inline_limit=limit, **options)  # type: ignore[arg-type]
    machine = TruncationProcessor(STRATEGIES, Shelf(), TruncationConfiguration(overrides={"t": own}))
    return machine.process(text, "t")


# The processor's list


def test_list_processor_should_not_truncate_under_limit() -> None:
    shown = by("head_tail", "x" * 2_000)
    assert (shown.content, shown.metadata.was_truncated) == ("x" * 2_000, False)


def test_list_processor_should_truncate_over_limit() -> None:
    assert len(by("head_tail").content) <= 2_000


def test_list_processor_should_create_artifact_over_threshold() -> None:
    shelf = Shelf()
    shown = TruncationProcessor(STRATEGIES, shelf).process(LARGE, "t")
    assert shelf.contents == {shown.artifact_id: LARGE}
    assert shown.content.startswith(str(shown.artifact_reference))


def test_list_processor_should_add_metadata() -> None:
    about = by("tail").metadata
    assert (about.original_size, about.strategy_used, about.was_truncated) == (len(TEXT), "tail", True)


# The list of head and tail


def test_list_head_tail_should_keep_head_and_tail() -> None:
    body = by("head_tail").body
    assert body.startswith("line 000001 of the text\n")
    assert body.endswith("line 001000 of the text\n")


def test_list_head_tail_should_insert_marker() -> None:
    assert len(MARKER.findall(by("head_tail").body)) == 1


@pytest.mark.parametrize("ratio", [0.2, 0.6, 0.9])
def test_list_head_tail_should_respect_split_ratio(ratio: float) -> None:
    shown = by("head_tail", "x" * 20_000, 8_000, head_ratio=ratio)
    assert shown.cut is not None
    (gap,) = shown.cut.gaps
    assert gap.start / (gap.start + 20_000 - gap.stop) == pytest.approx(ratio, abs=0.01)


def test_list_head_tail_should_handle_small_content() -> None:
    assert by("head_tail", "").content == ""
    assert by("head_tail", "small").content == "small"


# The list of tail


def test_list_tail_should_keep_only_tail() -> None:
    numbers = [int(number) for number in re.findall(r"line (\d+)", by("tail").body)]
    assert numbers == list(range(numbers[0], 1_001))
    assert numbers[0] > 900


def test_list_tail_should_preserve_complete_lines() -> None:
    _, *lines = by("tail").body.splitlines()
    assert all(re.fullmatch(r"line \d{6} of the text", line) for line in lines)


def test_list_tail_should_insert_head_marker() -> None:
    assert re.match(r"\.\.\. \[Beginning omitted: [\d,]+ lines / [\d,]+ chars\] \.\.\.\n", by("tail").body)


# The list of elements


def test_list_element_should_preserve_valid_json() -> None:
    assert list(json.loads(by("element", FOUND).body)) == ["matches"]


def test_list_element_should_keep_first_last_elements() -> None:
    matches = json.loads(by("element", FOUND).body)["matches"]
    assert (matches[0]["line"], matches[-1]["line"]) == (0, 999)


def test_list_element_should_show_omitted_count() -> None:
    matches = json.loads(by("element", FOUND).body)["matches"]
    assert f"... {1_001 - len(matches):,} items omitted ..." in matches


# The list of the artifact storage


def test_list_storage_should_create_artifact(tmp_path: Path) -> None:
    with Session("s", store=str(tmp_path)) as opened:
        opened.keep("t", None, TEXT)
        assert [artifact.size for artifact in opened.artifacts()] == [len(TEXT)]


def test_list_storage_should_retrieve_artifact(tmp_path: Path) -> None:
    with Session("s", store=str(tmp_path)) as opened:
        shown = opened.keep("t", None, TEXT)
    with Session("s", store=str(tmp_path)) as again:
        assert again.recall(str(shown.artifact_id)) == TEXT


def test_list_storage_should_cleanup_on_session_end(tmp_path: Path) -> None:
    with Session("s", store=str(tmp_path), ephemeral=True) as opened:
        shown = opened.keep("t", None, LARGE)
    with Session("s2", store=str(tmp_path)) as other, pytest.raises(NotFound):
        other.recall(str(shown.artifact_id))
    assert not [path for path in (tmp_path / "blobs").rglob("*") if path.is_file()]


def test_list_storage_should_handle_concurrent_access(tmp_path: Path) -> None:
    opened = Session("s", store=str(tmp_path))
    shown: list[tuple[KeptResult, str]] = []

    def work(text: str) -> None:
        shown.append((opened.keep("t", None, text), text))

    threads = [threading.Thread(target=work, args=(f"{number}\n{TEXT}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(shown) == 8
    assert all(opened.recall(str(view.artifact_id)) == text for view, text in shown)
    opened.close()


# The list for everything together


def test_list_integration_should_truncate_file_content(tmp_path: Path) -> None:
    (tmp_path / "file.txt").write_text(TEXT)
    shown = in_memory(settings=TRUNCATION).keep("read_file", {"path": "file.txt"}, (tmp_path / "file.txt").read_text())
    assert shown.metadata.strategy_used == "head_tail"
    assert len(shown.content) <= 8_000


def test_list_integration_should_truncate_command_output() -> None:
    shown = in_memory(settings=TRUNCATION).keep("execute_command", {"command": "seq"}, TEXT)
    assert shown.metadata.strategy_used == "tail"
    assert len(shown.content) <= 5_000


def test_list_integration_should_create_and_retrieve_artifact() -> None:
    opened = in_memory(settings=TRUNCATION)
    shown = opened.keep("read_file", {"path": "big.txt"}, LARGE)
    answer = opened.call_tool("get_artifact", {"id": shown.artifact_id, "lines": "1-5000"})
    assert answer.content.startswith("line 000001 of the text\n")
    assert opened.recall(str(shown.artifact_id)) == LARGE


# The scenarios


def test_scenario_1_small_content_is_shown_whole_without_marker_or_artifact() -> None:
    opened = in_memory(settings=TRUNCATION)
    text = numbered_lines(300)
    shown = opened.keep("read_file", {"path": "small.txt"}, text)
    assert shown.content == text
    assert "omitted" not in shown.content
    assert shown.artifact_id is None
    assert opened.artifacts() == []


def test_scenario_2_medium_content_is_cut_with_a_marker_between_its_ends() -> None:
    shown = in_memory(settings=TRUNCATION).keep("read_file", {"path": "medium.txt"}, TEXT)
    assert len(shown.content) <= 8_000
    first, last = MARKER.split(shown.body)
    assert TEXT.startswith(first)
    assert TEXT.endswith(last)
    assert len(first) > len(last) > 1_000


def test_scenario_3_large_content_is_a_reference_that_get_artifact_answers() -> None:
    opened = in_memory(settings=TRUNCATION)
    shown = opened.keep("read_file", {"path": "large.txt"}, LARGE)
    assert shown.content.startswith(f"[Artifact: {shown.artifact_id}] ")
    answer = opened.call_tool("get_artifact", printed_call(shown.content))
    assert answer.content.startswith("".join(LARGE.splitlines(keepends=True)[:100]))


def test_scenario_4_a_command_with_long_output_shows_its_end_only() -> None:
    shown = in_memory(settings=TRUNCATION).keep("execute_command", {"command": "seq 1000"}, TEXT)
    assert shown.body.startswith("... [Beginning omitted: ")
    assert shown.body.endswith("line 001000 of the text\n")
    assert "line 000001 " not in shown.body


def test_scenario_5_a_search_with_many_results_stays_json_with_its_ends_and_a_count() -> None:
    shown = in_memory(settings=TRUNCATION).keep("search_files", {"pattern": "match"}, FOUND)
    matches = json.loads(shown.body)["matches"]
    assert (matches[0]["line"], matches[-1]["line"]) == (0, 999)
    assert any(re.fullmatch(r"\.\.\. [\d,]+ items omitted \.\.\.", str(match)) for match in matches)


def test_scenario_6_a_range_of_lines_of_an_artifact_is_returned_and_nothing_else() -> None:
    opened = in_memory(settings=TRUNCATION)
    shown = opened.keep("read_file", {"path": "large.txt"}, LARGE)
    arguments = {"artifact_id": shown.artifact_id, "start_line": 100, "end_line": 200}
    answer = opened.call_tool("get_artifact", arguments).content
    assert answer.startswith("".join(LARGE.splitlines(keepends=True)[99:200]))
    assert "line 000099" not in answer
    assert "line 000201" not in answer
