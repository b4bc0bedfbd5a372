"""The numbers: what they count, and that they are the same live and read back."""

import json
import re
import threading
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from keepwhole import MemoryStore, Session, metrics
from keepwhole.metrics import Metrics
from keepwhole.store.protocol import entry_of
from tests.build import in_memory, numbered_lines

TEXT = numbered_lines(1_000)


def busy(session: Session) -> Session:
    """A session in which a bit of everything happened."""
    session.keep("fetch", {"path": "a"}, TEXT)
    session.keep("fetch", {"path": "a"}, TEXT)
    session.keep("fetch", {"path": "b"}, "short")
    session.keep("run", None, numbered_lines(9_000), call_id="c")
    session.keep("run", None, numbered_lines(9_000), call_id="c")
    session.keep("draw", None, b"\x89PNG\r\n\x1a\n" + bytes(100))
    session.keep("cat", None, "x <response clipped>")
    return session


def test_nothing_is_counted_before_anything_happened() -> None:
    assert set(Metrics().as_dict().values()) == {0}


def test_results_and_their_characters_are_counted() -> None:
    session = in_memory()
    one, two = session.keep("a", None, TEXT), session.keep("b", None, "é")
    numbers = session.metrics.as_dict()
    assert numbers["results_total"] == 2
    assert numbers["chars_in_total"] == len(TEXT) + 1
    assert numbers["chars_out_total"] == len(one.content) + len(two.content)
    assert numbers["bytes_kept_total"] == len(TEXT) + 2


def test_truncations_are_counted_by_tool_and_strategy() -> None:
    session = busy(in_memory())
    assert session.metrics.truncations_total == {
        ("fetch", "head_tail"): 2,
        ("run", "tail"): 1,
        ("draw", "binary"): 1,
    }
    assert session.metrics.truncation_rate == pytest.approx(4 / 6)


def test_a_result_fetched_again_while_the_first_was_hidden_is_a_refetch() -> None:
    session = in_memory()
    session.keep("fetch", {"path": "a"}, TEXT)
    session.keep("fetch", {"path": "b"}, TEXT)
    assert session.metrics.tool_refetch_rate == 0
    session.keep("fetch", {"path": "a"}, TEXT)
    assert session.metrics.tool_refetch_rate == pytest.approx(1 / 3)


def test_a_result_fetched_again_that_was_shown_whole_is_none() -> None:
    session = in_memory()
    for _ in range(3):
        session.keep("fetch", {"path": "a"}, "short")
    assert session.metrics.tool_refetch_rate == 0


def test_the_same_call_in_another_session_is_no_refetch() -> None:
    both, store = Metrics(), MemoryStore()
    for name in ("one", "two"):
        Session(name, store=store, metrics=both).keep("fetch", {"path": "a"}, TEXT)
    assert both.refetches_total == 0
    Session("two", store=store, metrics=both).keep("fetch", {"path": "a"}, TEXT)
    assert both.refetches_total == 1


def test_what_is_remembered_of_a_call_does_not_grow_with_its_arguments() -> None:
    session = in_memory()
    session.keep("write_file", {"text": TEXT}, numbered_lines(9_000))
    assert TEXT[:100] not in repr((session.metrics._results, session.metrics._hidden))


def test_results_without_a_record_are_counted_as_missing() -> None:
    session = Session("s", store="/proc/keepwhole")
    session.keep("t", None, "x")
    assert session.metrics.as_dict()["unstored_total"] == 1
    assert session.metrics.tool_result_missing_rate == 1
    assert session.metrics.results_total == 0


def conversation(*steps: tuple[str, str]) -> list[dict[str, Any]]:
    """A call for each id, and what it returned; nothing for one whose result is lost."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
    for call_id, text in steps:
        function = {"name": "bash", "arguments": json.dumps({"command": call_id})}
        messages.append({"role": "assistant", "tool_calls": [{"id": call_id, "function": function}]})
        messages += [{"role": "tool", "tool_call_id": call_id, "content": text}] if text else []
    return messages


@pytest.mark.parametrize("policy", ["auto", "rolling", "retention", "truncation"])
def test_the_share_of_results_that_were_cut_is_one_at_most(policy: str) -> None:
    session = in_memory()
    session.view(conversation(*((f"c{number}", f"{number}: {TEXT}") for number in range(60))), policy=policy)
    assert 0.5 < session.metrics.truncation_rate <= 1
    hidden = session.artifacts()[0].artifact_id
    before = session.metrics.truncation_rate
    session.undo(hidden)
    assert session.metrics.truncation_rate == before


def test_calls_without_a_result_are_counted_as_missing_until_it_comes() -> None:
    session = in_memory()
    for _ in range(3):
        session.view(conversation(("c1", ""), ("c2", "text")))
        assert session.metrics.tool_result_missing_rate == 0.5
    session.view(conversation(("c1", "late"), ("c2", "text")))
    assert session.metrics.tool_result_missing_rate == 0
    session.view(conversation(("c1", "late"), ("c2", "text"), ("c3", "")))
    assert session.metrics.tool_result_missing_rate == 0, "a result that is still to come is not missing"


def test_results_that_arrive_cut_are_counted_and_ours_is_zero() -> None:
    assert busy(in_memory()).metrics.canonical_writes_with_truncation_marker == 1
    session = in_memory()
    session.keep("fetch", None, TEXT)
    assert session.metrics.canonical_writes_with_truncation_marker == 0


def test_the_numbers_are_the_same_live_and_read_back() -> None:
    store = MemoryStore()
    session = busy(Session("s", store=store))
    again = Metrics()
    for row in store.rows("s"):
        again.observe(entry_of(row))
    assert again.as_dict() == session.metrics.as_dict()
    assert again.prometheus() == session.metrics.prometheus()


@pytest.mark.parametrize("policy", ["rolling", "retention", "truncation"])
def test_what_ages_step_by_step_is_counted_as_it_is_recorded(policy: str) -> None:
    store = MemoryStore()
    session = Session("s", store=store)
    steps = [(f"c{number}", f"{number}: {TEXT}") for number in range(9)]
    for upto in range(1, 10):
        session.view(conversation(*steps[:upto]), policy=policy)
    again = Metrics()
    for row in store.rows("s"):
        again.observe(entry_of(row))
    assert again.as_dict() == session.metrics.as_dict()


def test_the_text_is_what_prometheus_reads() -> None:
    text = busy(in_memory()).metrics.prometheus()
    assert text.endswith("\n")
    helped: set[str] = set()
    typed: set[str] = set()
    for line in text.splitlines():
        if found := re.fullmatch(r"# HELP (keepwhole_[a-z_]+) [A-Z].+\.", line):
            helped.add(found[1])
        elif found := re.fullmatch(r"# TYPE (keepwhole_[a-z_]+) (counter|gauge)", line):
            typed.add(found[1])
        else:
            found = re.fullmatch(r"(keepwhole_[a-z_]+)(\{[a-z]+=\"[^\"]*\",[a-z]+=\"[^\"]*\"\})? [0-9.e+-]+", line)
            assert found is not None, line
            assert found[1] in typed
    assert helped == typed
    assert 'keepwhole_truncations_total{tool="fetch",strategy="head_tail"} 2' in text


def test_large_numbers_are_not_rounded() -> None:
    metrics = Metrics()
    metrics.chars_in_total = 12_345_678_901
    assert "keepwhole_chars_in_total 12345678901\n" in metrics.prometheus()


@pytest.mark.parametrize("tool", ['a"b', "a\\b", "a\nb", "a\x1b[2J", "\ud800", "x" * 500, "a\u2028b"])
def test_a_tool_cannot_break_the_text_with_its_name(tool: str) -> None:
    session = in_memory()
    session.keep(tool, None, TEXT)
    (line,) = (line for line in session.metrics.prometheus().splitlines() if line.startswith("keepwhole_truncations"))
    line.encode()
    assert len(line) < 300
    assert re.fullmatch(r'keepwhole_truncations_total\{tool="(?:[^"\\]|\\.)*",strategy="head_tail"\} 1', line)


def test_many_threads_count_right() -> None:
    session = in_memory()
    threads = [threading.Thread(target=lambda: [session.keep("t", None, "x") for _ in range(50)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert session.metrics.results_total == session.metrics.chars_in_total == 200


def test_a_tool_that_names_itself_anew_each_time_does_not_make_endless_labels(tmp_path: Path) -> None:
    with Session("s", store=str(tmp_path)) as session:
        for number in range(3):
            session.keep(f"tool-{number}", {}, "a line\n" * 20_000)
        with patch.object(metrics, "_MOST_TOOLS", 3):
            session.keep("one-more", {}, "a line\n" * 20_000)
    tools = {tool for tool, _ in session.metrics.truncations_total}
    assert tools == {"tool-0", "tool-1", "tool-2", "others"}


def test_results_are_not_remembered_for_ever(tmp_path: Path) -> None:
    with Session("s", store=str(tmp_path)) as session, patch.object(metrics, "_MOST_RESULTS", 2):
        for number in range(5):
            session.keep("read", {"n": number}, f"result {number}")
    assert len(session.metrics._results) == 2
    assert session.metrics.results_total == 5
