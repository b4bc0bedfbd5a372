"""The guard knows text that somebody cut, and says so without touching it."""

import pytest

from keepwhole.canonical import guard
from keepwhole.canonical.guard import is_blank, is_cleared, mark_in_chunks, truncation_mark
from keepwhole.truncation import notice

WRITTEN = (
    # Claude Code
    "[Old tool result content cleared]",
    "<persisted-output>\nOutput too large (293.0 KB). Full output saved to: /home/u/.claude/tool-results/x.txt",
    "Exit code 1\nhead\n\n... [20012 characters truncated] ...\n\ntail",
    "[Truncated: PARTIAL view — showing lines 1-1941 of 5001 total (54742 tokens, cap 25000). Call Read with offset",
    "result (54,742 tokens) exceeds maximum allowed tokens. Output has been saved to /tmp/x.txt",
    "(Output capped at 100 matches)",
    # Codex
    "Warning: truncated output (original token count: 27224)\nTotal output lines: 900",
    "head…17224 tokens truncated…tail",
    "head…7 tokens truncated…tail",
    "... 512 bytes omitted ...",
    "Output exceeded the available model context and was truncated",
    # Gemini CLI and Qwen Code
    "Output too large. Showing first 4,000 and last 4,000 characters. For full output see: /tmp/x",
    "... [31,000 characters omitted] ...",
    "<tool_output_masked>",
    "Tool output was too large and has been truncated.\nThe full output has been saved to: /tmp/x",
    "... [CONTENT TRUNCATED] ...",
    # opencode
    "...output truncated...\n\nFull output saved to: /home/u/.local/share/opencode/tool-output/tool_1",
    "...120 lines truncated...",
    "The tool call succeeded but the output was truncated. Full output saved to: /tmp/x",
    "... output truncated; full content saved to /tmp/x ...",
    "(Results truncated. Consider using a more specific path or pattern.)",
    # SWE-agent, OpenHands and mini-swe-agent
    "<response clipped>",
    "<response clipped><NOTE>Observations should not exceeded 100000 characters.</NOTE>",
    "Old environment output: (120 lines omitted)",
    '{"output_head": "a", "output_tail": "b", "elided_chars": 500, "warning": "Output too long."}',
    # Cline, Crush and frameworks
    "[... output truncated: 120000 chars total. Refine the command (grep, head, tail) to view the elided middle ...]",
    "... [1234 lines truncated] ...",
    "[truncated: 500 chars omitted from the middle; showing first 10 + last 10 of 520 chars]",
    "[Truncated: 3 blocks, ~900 tokens]",
    "[... 500 chars elided ...]",
    "[... truncated 500 bytes ...]",
    "_This content has been truncated to stay below 20000 characters_",
    "... [Output truncated: 90000 characters total; request a narrower result to inspect omitted content] ...",
    "OUTPUT TRUNCATED TO PREVENT CONTEXT OVERFLOW",
    # in data, and as anybody writes it
    '"truncated": true',
    '{"stdout": "x", "is_truncated":true}',
    "{'truncated': True}",
    "truncatedContentId",
    "... [truncated 500 lines]",
    "[... omitted 120 of 300 lines ...]",
    "...500 bytes truncated...",
    "[truncated]",
    "<truncated>",
    '<truncated lines="30"/>',
    "... (truncated)",
    "[1009 lines omitted: 1009 INFO]",
    "[omitted]",
    "[TRUNCATED — full output in get_task_trace",
    "[content truncated - 8 steps ago]",
)
OURS = (
    notice.omitted(150, 12_340),
    notice.omitted(1, 1),
    notice.remainder_omitted(3, 9),
    notice.beginning_omitted(3, 9),
    notice.items_omitted(45),
    f'{{"...": "{notice.keys_omitted(4)}"}}',
    notice.elements_omitted(4),
    notice.text_omitted(400),
    notice.rows_omitted(4, 50),
    notice.similar_lines(12),
    notice.reference("art_1700000000_x", "read_file", 5),
)
ORDINARY = (
    "",
    "an ordinary text",
    "chars omitted",
    "truncated",
    "[Artifact: none]",
    '"truncated": false',
    "def truncated(text): return text[:truncated]",
    "names = ['truncated', 'omitted']",
    "See [truncated](#truncated) and [the omitted part](x.md).",
    "The file was truncated by mistake, and two fields were omitted.",
    "if (truncated) { return }",
    "TRUNCATE TABLE users; -- the table is truncated",
    "git commit -m 'Fix truncated output'",
    "results were saved to disk",
)


@pytest.mark.parametrize("text", [*WRITTEN, *OURS])
@pytest.mark.parametrize("around", [("", ""), ("before ", " after"), ("x" * 40_000 + "\n", "\n" + "y" * 40_000)])
def test_what_clients_and_tools_write_where_they_cut_is_known_anywhere(text: str, around: tuple[str, str]) -> None:
    before, after = around
    assert truncation_mark(f"{before}{text}{after}".encode()) is not None


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_is_not_suspected(text: str) -> None:
    assert truncation_mark(text.encode(), text.encode()) is None


def test_the_mark_is_said_as_it_is_written() -> None:
    mark = b"<Response Clipped>"
    assert truncation_mark(mark, b"") == truncation_mark(b"", mark) == mark.decode()


@pytest.mark.parametrize("size", [1, 7, 100, 4_096, 1 << 20])
@pytest.mark.parametrize("at", [0, 4_090, (1 << 20) - 9, 1 << 20, 2_500_000])
def test_a_mark_is_found_wherever_a_body_is_split(size: int, at: int) -> None:
    near = max(0, at - 3_000)
    body = b"x" * (at - near) + b"...500 bytes truncated..." + b"y" * 3_000
    first, rest = b"x" * near, (body[start : start + size] for start in range(0, len(body), size))
    assert mark_in_chunks([first, *rest]) is not None
    assert truncation_mark(first + body) is not None


def test_the_invariants_go_by_their_names() -> None:
    assert guard.CANONICAL_TOOL_RESULT_IS_LOSSLESS == "canonical_tool_result_is_lossless"
    assert (
        guard.TRANSPORT_TRUNCATION_MUST_NOT_MUTATE_CANONICAL_HISTORY
        == "transport_truncation_must_not_mutate_canonical_history"
    )


@pytest.mark.parametrize(("size", "is_mark"), [(299, True), (300, False)])
def test_a_text_that_is_longer_than_any_mark_is_no_mark_of_what_is_gone(size: int, is_mark: bool) -> None:
    mark = "[Old tool result content cleared]"
    assert is_cleared(mark.ljust(size)) is is_mark
    assert is_blank(" " * size) is is_mark
