"""A client's own cut is read as a cut of the original, and of nothing else."""

from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from keepwhole.record.arrival import CLIENT_CUT, flags_of
from keepwhole.truncation.client_cut import cut_of, is_client_cut, readings
from keepwhole.truncation.cut import TextSource, render
from tests.exchange.client_files import AnyClient, Claude, Codex, Opencode

CLIENTS = st.sampled_from([Claude(Path("/home/u")), Opencode(Path("/home/u")), Codex(Path("/home/u"))])
LINES = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=60)


@st.composite
def outputs(draw: st.DrawFn) -> str:
    """A long output: a few drawn lines again and again, each with its number, the last perhaps without a line end."""
    lines = draw(st.lists(LINES, min_size=1, max_size=5))
    many = "".join(f"{number:05} {lines[number % len(lines)]}\n" for number in range(9_000))
    return many.removesuffix("\n") if draw(st.booleans()) else many


@given(
    CLIENTS,
    outputs(),
    st.sampled_from(["", "\n\n<system-reminder>\n<total_tokens>9</total_tokens>\n</system-reminder>"]),
)
def test_the_cut_of_the_original_is_the_text_to_the_character(client: AnyClient, output: str, behind: str) -> None:
    text = client.cut("b1", output) + (behind if isinstance(client, Claude) else "")
    (reading, *_) = readings(text)
    assert reading.text == text
    cut = cut_of(reading, TextSource(output))
    assert cut is not None
    assert cut.covers(len(output))
    assert render(cut, TextSource(output)) == text
    assert CLIENT_CUT in flags_of(text)


@given(CLIENTS, outputs(), st.data())
def test_another_text_is_never_taken_for_the_original(client: AnyClient, output: str, data: st.DataObject) -> None:
    (reading, *_) = readings(client.cut("b1", output))
    shown = len(reading.head) or 1
    at = data.draw(st.integers(0, shown - 1)) if reading.head else len(output) - 1 - data.draw(st.integers(0, 999))
    other = output[:at] + ("x" if output[at] != "x" else "y") + output[at + 1 :]
    assert cut_of(reading, TextSource(other)) is None
    assert cut_of(reading, TextSource(output[: len(output) // 2])) is None
    assert cut_of(reading, TextSource("")) is None


@given(st.text(max_size=400))
def test_a_short_text_is_no_reading(text: str) -> None:
    assume("truncated" not in text)
    assert list(readings(text)) == []


@pytest.mark.parametrize(
    "text",
    [
        "Exit code 1\nfirst\n\n... [20012 characters truncated] ...\n\nlast",
        "1\ta\n\n<system-reminder>\n[Truncated: PARTIAL view — showing lines 1-9 of 99 total]\n</system-reminder>",
        "<system-reminder>[Truncated: PARTIAL view — showing lines 1-9 of 99 total]</system-reminder>\n\n1\ta",
        "Error: result (110,000 characters across 10,000 lines) exceeds maximum allowed tokens. Output has been "
        "saved to /x.",
        "<path>a</path>\n<content>\n1: x\n"
        "(Output capped at 50 KB. Showing lines 1-869. Use offset=870 to continue.)\n</content>",
        "Chunk ID: 1\nOutput:\nWarning: truncated output (original token count: 27224)\n"
        "Total output lines: 9\n\na…7 tokens truncated…b",
        "Output too large. Showing first 8,000 and last 32,000 characters. For full output see: "
        "/x.txt\n<untrusted_context>",
        "Tool output was too large and has been truncated.\nThe full output has been saved to: /x",
    ],
)
def test_what_clients_cut_without_a_file_is_flagged(text: str) -> None:
    assert is_client_cut(text)
    assert CLIENT_CUT in flags_of(text)


@pytest.mark.parametrize(
    "text",
    [
        "the docs say: <persisted-output>\nOutput too large (3KB). Full output saved to: x",
        "grep: `...output truncated...\n\nFull output saved to: x` is what opencode writes",
        "# Warning: truncated output (original token count: 3) is what Codex writes",
        "... [12 characters truncated] ...",
    ],
)
def test_text_about_such_cuts_is_not_said_to_be_one(text: str) -> None:
    assert CLIENT_CUT not in flags_of(text)


@pytest.mark.parametrize(("size", "is_cut"), [(1 << 20, True), ((1 << 20) + 1, False)])
def test_a_text_over_a_million_characters_is_no_cut_of_a_client(size: int, is_cut: bool) -> None:
    text = Codex(Path("/home/u")).cut("b1", "a line of output\n" * 9_000)
    padded = text.replace("a line of output\n", "a line of output\n" + "x" * (size - len(text)), 1)
    assert len(padded) == size
    assert is_client_cut(padded) is is_cut
    assert bool(list(readings(padded))) is is_cut
