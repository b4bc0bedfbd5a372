"""The guard knows text that somebody cut, and says so without touching it."""

import pytest

from keepwhole.canonical import guard
from keepwhole.canonical.guard import truncation_mark
from keepwhole.truncation import notice

FOREIGN = (
    "[Old tool result content cleared]",
    "<persisted-output>",
    "[TRUNCATED — full output in get_task_trace",
    "... [truncated 500 lines]",
    "<response clipped>",
    "…1234 tokens truncated…",
)


@pytest.mark.parametrize("text", FOREIGN)
def test_common_foreign_marks_are_known(text: str) -> None:
    assert truncation_mark(f"before {text} after".encode(), b"") is not None


@pytest.mark.parametrize(
    "text",
    [
        notice.omitted(150, 12_340),
        notice.omitted(1, 1),
        notice.remainder_omitted(3, 9),
        notice.reference("art_1700000000_x", "read_file", 5),
    ],
)
def test_our_own_notices_are_known(text: str) -> None:
    assert truncation_mark(text.encode(), b"") is not None


def test_a_mark_at_either_end_is_found() -> None:
    mark = b"<response clipped>"
    assert truncation_mark(mark, b"") == truncation_mark(b"", mark) == mark.decode()


@pytest.mark.parametrize("text", ["", "an ordinary text", "chars omitted", "truncated", "[Artifact: none]"])
def test_ordinary_text_is_not_suspected(text: str) -> None:
    assert truncation_mark(text.encode(), text.encode()) is None


def test_only_the_first_and_last_16_kilobytes_are_looked_at() -> None:
    mark, far = b"<response clipped>", b"x" * 16_384
    assert truncation_mark(far + mark, mark + far) is None
    assert truncation_mark(far[: -len(mark)] + mark, b"") is not None


def test_the_invariants_go_by_their_names() -> None:
    assert guard.CANONICAL_TOOL_RESULT_IS_LOSSLESS == "canonical_tool_result_is_lossless"
    assert (
        guard.TRANSPORT_TRUNCATION_MUST_NOT_MUTATE_CANONICAL_HISTORY
        == "transport_truncation_must_not_mutate_canonical_history"
    )
