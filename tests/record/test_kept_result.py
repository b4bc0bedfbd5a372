"""What `keep` returns: a view from the record, or a whole output that could not be stored."""

import io
from typing import Any

import pytest

from keepwhole import MemoryStore
from keepwhole.canonical.entry import Decision
from keepwhole.errors import NotStored, StoreError, UsageError
from keepwhole.record.kept_result import KeptResult, not_stored, read_kept, with_exit_code
from keepwhole.record.writer import decision_draft
from keepwhole.store.protocol import Draft
from keepwhole.truncation.cut import Cut, Segment, whole
from tests.build import NOON, draft, opened, result

TEXT = "first line\nsecond line\n"


def kept(*cuts: Cut, **fields: Any) -> tuple[KeptResult, Draft]:
    """A result on record as it was shown, after these decisions about it."""
    store = MemoryStore()
    opened(store)
    one = draft(store, TEXT, **fields)
    about = one.header.trace_id
    store.append("s", [one, *(decision_draft(about, NOON, "cap", "head", cut, "shown") for cut in cuts)])
    row = store.find("s", about)
    assert row is not None
    return read_kept(store, row), one


def test_a_result_about_which_nothing_was_decided_is_shown_whole() -> None:
    found, one = kept(call_id="c1", tool="bash", is_error=True)
    assert (found.content, found.metadata.was_truncated, found.metadata.strategy_used) == (TEXT, False, "none")
    assert (found.call_id, found.tool, found.is_error, found.trace_id) == ("c1", "bash", True, one.header.trace_id)


def test_a_result_is_shown_as_the_newest_decision_says() -> None:
    found, one = kept(whole(len(TEXT)), Cut((Segment("kept", 0, 11),), above="[above]\n", below="[below]"))
    assert found.content == "[above]\nfirst line\n[below]"
    assert found.body == "first line\n"
    told = found.metadata
    assert (told.was_truncated, told.strategy_used, told.artifact_id) == (True, "head", one.header.artifact_id)
    assert (told.original_size, told.truncated_size, told.original_lines, told.original_bytes) == (23, 26, 2, 23)
    assert found.artifact_id == one.header.artifact_id
    assert found.is_error is False


def test_a_block_names_the_call_where_the_dialect_needs_one() -> None:
    found, _ = kept(call_id="c1")
    assert found.block("anthropic") == {"type": "tool_result", "tool_use_id": "c1", "content": TEXT}
    unnamed, _ = kept()
    with pytest.raises(UsageError, match="names the call it answers"):
        unnamed.block("anthropic")


@pytest.mark.parametrize(
    ("given", "was_error", "code", "is_error"),
    [
        (None, False, None, False),
        (0, False, 0, False),
        (3, False, 3, True),
        (0, True, 0, True),
        (lambda: 5, False, 5, True),
    ],
)
def test_any_exit_code_but_0_is_an_error(given: Any, was_error: bool, code: int | None, is_error: bool) -> None:
    found = with_exit_code(result(is_error=was_error), given)
    assert (found.exit_code, found.is_error) == (code, is_error)


class Rescue:
    """What is left of an output that was read and could not be stored."""

    def __init__(self, *chunks: bytes) -> None:
        self._chunks, self.is_closed = chunks, False

    def chunks(self) -> Any:
        return iter(self._chunks)

    def close(self) -> None:
        self.is_closed = True


@pytest.mark.parametrize(
    ("output", "text", "size"),
    [
        ("é\ud800", "é\ufffd", 5),
        (b"a\xff", "a\ufffd", 2),
        (bytearray(b"ab"), "ab", 2),
        (io.BytesIO(b"from a file"), "from a file", 11),
        (iter([b"in ", b"pieces"]), "in pieces", 9),
    ],
)
def test_an_output_that_could_not_be_stored_is_shown_whole_with_its_problem(output: Any, text: str, size: int) -> None:
    error = StoreError("The disk is full.")
    found = not_stored(result(call_id="c1"), output, error, 3)
    assert (found.content, found.body, found.problem, found.call_id, found.is_error) == (text, text, error, "c1", True)
    told = found.metadata
    assert (told.stored, told.was_truncated, told.strategy_used, told.original_bytes) == (False, False, "none", size)
    assert told.original_size == told.truncated_size == len(text)


def test_what_was_read_of_an_output_is_given_back_and_let_go() -> None:
    rescue = Rescue(b"all ", b"of it")
    error = NotStored("The disk is full.")
    error.rescue = rescue  # type: ignore[assignment]
    found = not_stored(result(), iter([b"the rest"]), error)
    assert (found.content, rescue.is_closed, error.rescue, found.is_error) == ("all of it", True, None, False)


def test_a_decision_is_of_this_version() -> None:
    made = decision_draft("trace", NOON, "cap", "head", whole(4), "shown").header
    assert isinstance(made, Decision)
    assert (made.at, made.rule, made.strategy, made.shown_chars) == (NOON, "cap", "head", 5)
