"""What is shown of a result: all of it, a cut with its reference, or a reference with a preview, within the limit."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwhole.truncation.configuration import ToolOverride, TruncationConfiguration
from keepwhole.truncation.cut import Cut, Inserted, Segment, Source, TextSource, render
from keepwhole.truncation.present import Artifact, needs_artifact, present, summarize
from keepwhole.truncation.result import TruncationResult, estimated_tokens
from keepwhole.truncation.strategy import STRATEGIES, Strategy, StrategyOptions
from tests.build import numbered_lines

ID = "art_1700000000_" + "x" * 22
LONGEST = Artifact(artifact_id=ID, summary="s" * 100, size=1_099_511_627_775)
ATOMS = ("word ", "\n", "\r\n", "é", "😀", "e\u0301", "🇨🇭", "\ud800", "x" * 50, "line of text\n" * 3)
texts = st.binary(max_size=250).map(lambda raw: "".join(ATOMS[byte % len(ATOMS)] for byte in raw))
strategies = st.sampled_from(sorted(STRATEGIES))


def shown(text: str, artifact: Artifact = LONGEST, **settings: object) -> TruncationResult:
    limits = TruncationConfiguration(**settings).for_tool("t")  # type: ignore[arg-type]
    return present(TextSource(text), artifact, limits, STRATEGIES)


def artifact(text: str) -> Artifact:
    return Artifact(artifact_id=ID, summary="read_file: a.txt", size=len(text.encode()))


@given(texts, st.integers(256, 3_000), st.integers(1, 4_000), st.integers(1, 3_000), strategies)
def test_no_view_is_longer_than_its_limit(text: str, limit: int, threshold: int, preview: int, strategy: str) -> None:
    view = shown(
        text, inline_limit=limit, artifact_threshold=threshold, preview_limit=preview, default_strategy=strategy
    )
    assert len(view.content) <= limit
    assert len(view.content) <= len(text)


@given(texts, st.integers(256, 3_000), st.integers(1, 4_000), strategies)
def test_a_view_is_what_its_recorded_cut_renders(text: str, limit: int, threshold: int, strategy: str) -> None:
    view = shown(text, inline_limit=limit, artifact_threshold=threshold, default_strategy=strategy)
    assert view.cut is not None
    assert view.cut.covers(len(text))
    assert render(view.cut, TextSource(text)) == view.content


@given(texts, st.integers(256, 3_000), strategies)
def test_the_metadata_says_what_happened(text: str, limit: int, strategy: str) -> None:
    view = shown(text, inline_limit=limit, default_strategy=strategy)
    about = view.metadata
    assert about.was_truncated == (len(text) > limit)
    assert about.original_size == len(text)
    assert about.truncated_size == len(view.content)
    assert about.artifact_id == view.artifact_id == (ID if about.was_truncated else None)
    assert (about.strategy_used == "none") == (not about.was_truncated)
    assert about.original_tokens == estimated_tokens(len(text))
    assert about.truncated_tokens == estimated_tokens(len(view.content))


@pytest.mark.parametrize(("chars", "tokens"), [(0, 0), (1, 1), (4, 1), (5, 2), (8_000, 2_000)])
def test_tokens_are_estimated_as_a_quarter_of_the_characters(chars: int, tokens: int) -> None:
    assert estimated_tokens(chars) == tokens


def test_a_short_result_is_shown_as_it_is() -> None:
    text = "x" * 8_000
    view = shown(text)
    assert view.content == view.body == text
    assert view.artifact_id is None
    assert view.artifact_reference is None


def test_a_result_over_the_inline_limit_is_cut_and_followed_by_its_reference() -> None:
    text = numbered_lines(1_000)
    view = shown(text, artifact(text))
    cut, _, rest = view.content.partition("[Artifact: ")
    assert cut == view.body
    assert "chars omitted] ..." in cut
    assert rest.startswith(ID)
    assert "get_artifact(id=" in rest
    assert view.artifact_reference is not None
    assert view.artifact_reference in view.content
    assert 7_500 < len(view.content) <= 8_000


def test_a_result_over_the_threshold_is_a_reference_and_then_a_preview() -> None:
    text = numbered_lines(5_000)
    view = shown(text, artifact(text))
    assert view.artifact_reference is not None
    assert view.content.startswith(view.artifact_reference + "\n\n")
    assert f'get_artifact(id="{ID}")' in view.content
    assert f'get_artifact(id="{ID}", lines="1-100")' in view.content
    assert view.content.endswith(view.body)
    assert 1_500 < len(view.body) <= 2_000


@pytest.mark.parametrize(("size", "strategy"), [(8_000, "none"), (8_001, "head_tail"), (50_001, "head_tail")])
def test_the_bands_begin_right_after_their_limits(size: int, strategy: str) -> None:
    assert shown("x" * size).metadata.strategy_used == strategy


@pytest.mark.parametrize(("size", "starts"), [(50_000, False), (50_001, True)])
def test_only_above_the_threshold_the_reference_comes_first(size: int, starts: bool) -> None:
    assert shown("x" * size).content.startswith("[Artifact: ") is starts


@pytest.mark.parametrize("size", [8_001, 8_900, 9_600, 9_999, 10_000, 20_000, 99_999])
@pytest.mark.parametrize("strategy", ["head", "tail", "head_tail"])
def test_one_endless_line_is_cut_like_any_other_text(size: int, strategy: str) -> None:
    view = shown("x" * size, default_strategy=strategy)
    assert view.metadata.strategy_used == strategy
    assert len(view.body) > 1_500


def test_where_body_and_notice_do_not_fit_there_is_the_bare_reference() -> None:
    view = shown("x" * 300, inline_limit=256)
    assert view.content == LONGEST.reference
    assert view.body == ""
    assert view.metadata.strategy_used == "reference"


def test_a_strategy_that_loses_text_is_not_trusted() -> None:
    def forgetful(source: Source, budget: int, options: StrategyOptions) -> Cut:
        return Cut((Segment("kept", 0, 10),))

    limits = TruncationConfiguration(default_strategy="forgetful").for_tool("t")
    view = present(TextSource("x" * 9_000), LONGEST, limits, {"forgetful": forgetful})
    assert view.metadata.strategy_used == "head_tail"


def test_a_strategy_that_goes_over_its_budget_is_not_trusted() -> None:
    def greedy(source: Source, budget: int, options: StrategyOptions) -> Cut:
        return Cut((Segment("kept", 0, 9_000), Segment("gap", 9_000, source.chars)))

    limits = TruncationConfiguration(default_strategy="greedy").for_tool("t")
    view = present(TextSource("x" * 20_000), LONGEST, limits, {"greedy": greedy})
    assert view.metadata.strategy_used == "head_tail"
    assert len(view.content) <= 8_000


def test_a_binary_result_is_shown_as_type_size_and_digest() -> None:
    picture = LONGEST.replace(media_type="image/png", size=2_048, digest=bytes(range(32)))
    view = shown("\udc89PNG" * 20, picture)
    assert view.content == f"[Binary: image/png, 2.0 KB, digest 0001020304050607]\n{picture.reference}"
    assert view.metadata.strategy_used == "binary"
    assert view.artifact_id == ID


@given(st.integers(0, 1 << 50), st.integers(256, 400))
def test_a_binary_view_fits_the_smallest_limit(size: int, limit: int) -> None:
    view = shown("", LONGEST.replace(media_type="application/octet-stream", size=size), inline_limit=limit)
    assert len(view.content) <= limit


def test_a_result_needs_an_id_when_it_is_cut_or_not_text() -> None:
    limits = TruncationConfiguration().for_tool("t")
    assert not needs_artifact(8_000, limits)
    assert needs_artifact(8_001, limits)
    assert needs_artifact(1, limits, is_text=False)


@given(st.text(st.characters(exclude_categories=())), st.none() | st.text(st.characters(exclude_categories=())))
def test_a_summary_is_one_printable_line_of_at_most_100_characters(tool: str, arguments: str | None) -> None:
    summary = summarize(tool, arguments)
    assert len(summary) <= 100
    assert summary == "" or summary.isprintable()


@pytest.mark.parametrize("arguments", [None, "", "{}", "null"])
def test_a_summary_without_arguments_is_the_tool(arguments: str | None) -> None:
    assert summarize("list_files", arguments) == "list_files"


def test_a_long_summary_says_that_it_was_shortened() -> None:
    assert summarize("read_file", '{"path": "' + "x" * 200 + '"}').endswith("…")


def test_a_bare_reference_that_is_too_long_loses_the_end_of_its_summary() -> None:
    about = Artifact(artifact_id=ID, summary="s" * 400, size=5_000)
    view = shown('{"a": "' + "x" * 5_000 + '"}', about, inline_limit=256, default_strategy="element")
    assert len(view.content) <= 256
    assert view.content.startswith(f"[Artifact: {ID}] sss")
    assert "s…" in view.content


def without_middle(source: Source, budget: int, options: StrategyOptions) -> Cut:
    """A strategy that loses what is between two parts."""
    return Cut((Segment("kept", 0, 100), Segment("gap", 200, source.chars)))


def with_odd_pieces(source: Source, budget: int, options: StrategyOptions) -> Any:
    return Cut((Segment("kept", 0, 100), Segment("gap", 100, source.chars), "words"))  # type: ignore[arg-type]


def with_odd_words(source: Source, budget: int, options: StrategyOptions) -> Any:
    return Cut((Segment("kept", 0, 100), Inserted(7), Segment("gap", 100, source.chars)))  # type: ignore[arg-type]


def with_half_offsets(source: Source, budget: int, options: StrategyOptions) -> Any:
    return Cut((Segment("kept", 0, 100.0), Segment("gap", 100, source.chars)))  # type: ignore[arg-type]


def no_cut(source: Source, budget: int, options: StrategyOptions) -> Any:
    return ((0, 100),)


@pytest.mark.parametrize("function", [without_middle, with_odd_pieces, with_odd_words, with_half_offsets, no_cut])
def test_a_cut_that_does_not_cover_the_text_is_refused_and_both_ends_are_shown(function: Any) -> None:
    text = "".join(f"line {number} of a text\n" for number in range(2_000))
    limits = TruncationConfiguration(default_strategy="own").for_tool("t")
    view = present(TextSource(text), LONGEST, limits, {**STRATEGIES, "own": Strategy("own", function)})
    assert view.strategy_failure == "own: InvalidCut"
    assert view.metadata.strategy_used == "head_tail"
    assert view.cut is not None
    assert view.cut.covers(len(text))


def test_what_is_not_stored_is_counted_and_no_way_to_read_it_is_named() -> None:
    text = numbered_lines(2_000)
    view = shown(text, artifact(text).replace(is_stored=False))
    assert ID not in view.content
    assert "get_artifact" not in view.content
    assert artifact(text).replace(is_stored=False).reference
    assert "omitted" in view.content


@pytest.mark.parametrize("name", sorted(STRATEGIES))
def test_of_a_very_large_text_only_strategies_that_read_parts_of_it_are_used(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = numbered_lines(2_000)
    limits = TruncationConfiguration(overrides={"t": ToolOverride(strategy=name)}).for_tool("t")
    monkeypatch.setattr("keepwhole.truncation.present._LARGEST", len(text))
    assert present(TextSource(text), LONGEST, limits, STRATEGIES).metadata.strategy_used == name
    monkeypatch.setattr("keepwhole.truncation.present._LARGEST", len(text) - 1)
    used = present(TextSource(text), LONGEST, limits, STRATEGIES).metadata.strategy_used
    assert used == (name if name in ("head", "tail", "head_tail", "lines") else "head_tail")


def test_tokens_are_estimated_from_what_is_shown_and_from_what_there_was() -> None:
    view = shown(numbered_lines(2_000))
    assert view.metadata.original_tokens == estimated_tokens(view.metadata.original_size)
    assert view.metadata.truncated_tokens == estimated_tokens(view.metadata.truncated_size)
    assert view.metadata.original_tokens > view.metadata.truncated_tokens > 100
