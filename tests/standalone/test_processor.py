"""The processor: storage, strategies and configuration are injected; nothing is hidden before it is stored."""

import pytest

from keepwhole.errors import NotFound, NotStored
from keepwhole.standalone.processor import IArtifactStorage, TruncationProcessor
from keepwhole.truncation.configuration import ToolOverride, TruncationConfiguration
from keepwhole.truncation.strategy import STRATEGIES
from tests.build import numbered_lines


class Shelf:
    """An artifact storage in a dictionary."""

    def __init__(self) -> None:
        self.contents: dict[str, str] = {}

    def create(self, content: str, tool_name: str) -> str:
        artifact_id = f"art_1700000000_{len(self.contents):022d}"
        self.contents[artifact_id] = content
        return artifact_id

    def get(self, artifact_id: str, *, lines: tuple[int, int] | None = None) -> str:
        if artifact_id not in self.contents:
            raise NotFound(artifact_id)
        content = self.contents[artifact_id]
        return content if lines is None else "".join(content.splitlines(keepends=True)[lines[0] - 1 : lines[1]])


class Full:
    """A storage that is full."""

    def create(self, content: str, tool_name: str) -> str:
        raise NotStored("no room")

    def get(self, artifact_id: str, *, lines: tuple[int, int] | None = None) -> str:
        raise NotFound(artifact_id)


def processor(storage: IArtifactStorage, **settings: object) -> TruncationProcessor:
    return TruncationProcessor(STRATEGIES, storage, TruncationConfiguration(**settings))  # type: ignore[arg-type]


def test_a_result_under_the_limit_is_shown_whole_and_not_stored() -> None:
    shelf = Shelf()
    shown = processor(shelf).process("short", "read_file")
    assert (shown.content, shown.artifact_id, shown.metadata.was_truncated) == ("short", None, False)
    assert shelf.contents == {}


def test_a_result_over_the_limit_is_stored_whole_and_shown_cut() -> None:
    shelf, text = Shelf(), numbered_lines(1_000)
    shown = processor(shelf).process(text, "read_file")
    assert shown.artifact_id is not None
    assert shelf.contents == {shown.artifact_id: text}
    assert len(shown.content) <= 8_000
    assert shown.artifact_id in shown.content
    assert shown.metadata.artifact_id == shown.artifact_id


def test_what_was_left_out_can_be_got_from_the_storage() -> None:
    shelf, text = Shelf(), numbered_lines(1_000)
    shown = processor(shelf).process(text, "read_file")
    assert shelf.get(str(shown.artifact_id), lines=(500, 501)) == "".join(text.splitlines(keepends=True)[499:501])


def test_nothing_is_hidden_where_nothing_could_be_stored() -> None:
    with pytest.raises(NotStored, match="no room"):
        processor(Full()).process(numbered_lines(1_000), "read_file")
    assert processor(Full()).process("short", "read_file").content == "short"


def test_the_limits_of_the_tool_hold() -> None:
    shelf = Shelf()
    own = {"run": ToolOverride(inline_limit=300, strategy="head")}
    shown = processor(shelf, overrides=own).process(numbered_lines(100), "run")
    assert len(shown.content) <= 300
    assert shown.metadata.strategy_used == "head"
    assert processor(shelf, overrides=own).process(numbered_lines(100), "walk").metadata.strategy_used == "none"


def test_a_configuration_given_with_a_call_applies_to_that_call() -> None:
    shelf = Shelf()
    machine = processor(shelf)
    strict = TruncationConfiguration(inline_limit=300)
    assert machine.process(numbered_lines(100), "run", strict).metadata.was_truncated
    assert not machine.process(numbered_lines(100), "run").metadata.was_truncated


def test_sizes_are_characters_and_the_reference_gives_bytes() -> None:
    shown = processor(Shelf()).process("é" * 8_001, "t")
    assert shown.metadata.original_size == 8_001
    assert shown.metadata.original_bytes == 16_002
    assert "(15.6 KB)" in shown.content


def test_text_with_half_surrogates_is_stored_as_it_is_and_shown_so_that_it_can_be_sent() -> None:
    shelf, text = Shelf(), "\ud800 alone " * 1_200
    shown = processor(shelf).process(text, "t")
    assert list(shelf.contents.values()) == [text]
    assert "\ufffd alone" in shown.content
    shown.content.encode()


def test_a_processor_needs_no_configuration() -> None:
    shown = TruncationProcessor(STRATEGIES, Shelf()).process("x" * 8_001, "t")
    assert shown.metadata.was_truncated
