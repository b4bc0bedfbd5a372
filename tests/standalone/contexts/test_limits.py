"""Where names, descriptions and results of any size are bounded, what fits is left as it is."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from keepwhole.recall.selector import Candidate
from keepwhole.standalone.contexts import ContextManager, MemoryFileSystem
from keepwhole.standalone.contexts.context import file_stem, get_tool_description, subject_of


def saved(result: object, **args: Any) -> Any:
    """A result as it comes back from its file."""
    manager = ContextManager("/c", file_system=MemoryFileSystem(), persist_threshold=1)
    (found,) = manager.load_contexts([manager.save_context("t", args, result)])
    return found.result


def nested(levels: int) -> Any:
    value: Any = ["inmost"]
    for _ in range(levels - 1):
        value = [value]
    return value


def test_eighty_characters_of_a_tools_name_are_in_a_files_name() -> None:
    for length in (79, 80, 81):
        assert file_stem("t" * length, {}).split("_")[0] == "t" * min(length, 80)


def test_forty_characters_of_a_subject_are_in_a_files_name() -> None:
    for length in (39, 40, 41):
        assert subject_of({"query": "q" * length}) == "q" * min(length, 40)


def test_the_subject_is_looked_for_in_the_first_4096_characters_of_an_argument() -> None:
    assert subject_of({"path": "d/" * 2_046 + "abcd"}) == "abcd"
    assert subject_of({"path": "d/" * 2_047 + "abcd"}) == "ab"


def test_a_description_is_one_line_of_three_hundred_characters_and_eighty_of_each_argument() -> None:
    assert get_tool_description("t", {"a": "x" * 80}) == f"t: a {'x' * 80}"
    assert get_tool_description("t", {"a": "x" * 81}) == f"t: a {'x' * 79}…"
    many = {f"k{number}": "x" * 70 for number in range(9)}
    assert len(get_tool_description("t", many)) == 300
    assert len(get_tool_description("t" * 299, {})) == 299


def test_a_hundred_levels_of_a_result_come_back_and_deeper_ones_are_cut_off() -> None:
    assert saved(nested(100)) == nested(100)
    assert json.dumps(saved(nested(101))).count("[") == 100
    assert "…" in json.dumps(saved(nested(101)), ensure_ascii=False)


def test_a_number_that_python_would_not_write_as_a_decimal_comes_back_in_another_form() -> None:
    for bits, as_it_is in ((9_998, True), (9_999, False)):
        number = 1 << bits
        assert saved(number) == (number if as_it_is else hex(number))


class Chooser:
    """A selector that remembers how many it was given, and takes the last one."""

    def __init__(self) -> None:
        self.given = 0

    def __call__(self, query: str, candidates: Sequence[Candidate]) -> list[int]:
        self.given = len(candidates)
        return [self.given - 1]


@pytest.mark.parametrize(("many", "given"), [(99, 99), (100, 100), (101, 100)])
def test_a_selector_chooses_among_a_hundred(many: int, given: int) -> None:
    manager, chooser = ContextManager("/c", file_system=MemoryFileSystem()), Chooser()
    paths = [manager.save_context("read_file", {"path": f"{number}.py"}, "x") for number in range(many)]
    chosen = manager.select_relevant_contexts("read file", selector=chooser)
    assert (chooser.given, len(chosen)) == (given, 1)
    assert set(chosen) <= set(paths)


def test_small_results_are_dropped_from_memory_when_they_are_a_thousand_times_the_threshold() -> None:
    for more, is_there in ((0, True), (1, False)):
        files = MemoryFileSystem()
        manager = ContextManager("/c", file_system=files, persist_threshold=2_000)
        first = manager.save_context("t", {"n": 10_000}, "x" * 900)
        for number in range(1_024 * 2_000 // len(files.files[first]) - 1 + more):
            manager.save_context("t", {"n": 10_001 + number}, "x" * 900)
        files.remove(first)
        assert (len(manager.load_contexts([first])) == 1) is is_there
