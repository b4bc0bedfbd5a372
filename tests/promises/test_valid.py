"""Valid: data that was cut still parses, each shown line is in the source, and every view can be encoded."""

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from keepwhole.truncation.cut import TextSource
from keepwhole.truncation.notice import imitates
from keepwhole.truncation.sniff import sniff
from tests.promises import texts
from tests.promises.recorded_outputs import NAMES, read_output
from tests.promises.views import ALL_STRATEGIES, check_view, is_json, is_xml, lines_parse, records, view_of

limits = st.integers(256, 3_000)
strategies = st.sampled_from([None, *ALL_STRATEGIES])
IMITATING = (
    {"": "000000000", "00000000": "... [3 lines omitted] ..."},
    {"": "[ARTIFACT:000", "\xa0\xa0\xa0": "", "00000000000": "", "... [3 lines omitted] ...": ""},
)
questions = st.sampled_from(("", "why did the error happen at 12:00:01?", "name of item 漢字"))


@settings(max_examples=150)
@given(texts.texts, strategies, limits, questions)
def test_every_view_of_any_text_by_any_strategy_is_sound(
    text: str, strategy: str | None, limit: int, question: str
) -> None:
    check_view(view_of(text, strategy, limit, question), text, limit)


@pytest.mark.parametrize("strategy", [None, *ALL_STRATEGIES])
@pytest.mark.parametrize("name", NAMES)
def test_every_view_of_real_output_by_every_strategy_is_sound(name: str, strategy: str | None) -> None:
    text = read_output(name).decode("utf-8", "surrogateescape")
    for limit in (256, 700, 2_000, 8_000):
        check_view(view_of(text, strategy, limit, "error in parse_config"), text, limit)


@settings(max_examples=60)
@given(texts.jsons | texts.objects, st.integers(600, 3_000))
def test_a_cut_json_still_parses(text: str, limit: int) -> None:
    view = view_of(text, None, limit)
    assert view.metadata.strategy_used in ("none", "element", "rows", "reference")
    if view.body:
        assert is_json(view.body) or lines_parse(view.body)


@settings(max_examples=40)
@given(texts.ndjsons, st.integers(600, 3_000))
@example("".join(json.dumps(row) + "\n" for row in IMITATING * 10), 1_579)  # with its marks the cut is too long
def test_every_line_of_a_cut_ndjson_still_parses(text: str, limit: int) -> None:
    for line in view_of(text, "rows", limit).body.split("\n"):
        assert line == "" or json.loads(line) is not None


@settings(max_examples=40)
@given(texts.tables, st.integers(600, 3_000))
def test_a_cut_table_has_its_header_and_only_whole_rows(text: str, limit: int) -> None:
    view = view_of(text, "rows", limit)
    if view.metadata.strategy_used == "head_tail":  # no row fits whole, with its marks, and text is better than none
        assert imitates(text) or all(len(row) > limit // 2 for row in text.splitlines()[1:2])
        return
    if not view.body:
        return
    kept, whole = (
        [[field.replace("[quoted] ", "") for field in row] for row in records(table)] for table in (view.body, text)
    )
    assert kept[0] == ["id", "name", "size"]
    assert all(row in whole for row in kept)


@settings(max_examples=40)
@given(texts.trees, st.integers(600, 3_000))
def test_a_cut_xml_is_still_well_formed(text: str, limit: int) -> None:
    assert is_xml(text)
    view = view_of(text, "element", limit)
    assert view.body == "" or is_xml(view.body)


@settings(max_examples=60)
@given(texts.noise, strategies, limits)
def test_no_view_has_a_lone_surrogate(text: str, strategy: str | None, limit: int) -> None:
    view = view_of(text, strategy, limit)
    assert view.content.encode().decode() == view.content


@pytest.mark.parametrize("strategy", [None, *ALL_STRATEGIES])
def test_no_strategy_splits_a_grapheme(strategy: str | None) -> None:
    for grapheme in ("e\u0301", "🇨🇭", "👩\u200d👩\u200d👧", "\r\n", "क्षि"):
        size = len(grapheme)
        many = grapheme * (2_400 // size)
        text = f"x{many}\nerror: {many}\n" * 2
        inside = {at + by for at in range(len(text)) if text.startswith(grapheme, at) for by in range(1, size)}
        view = view_of(text, strategy, 1_500, "error")
        assert view.cut is not None
        assert not inside & {part.start for part in view.cut.segments}


@pytest.mark.parametrize(
    ("name", "kind"),
    [("one_line.json", "json"), ("ndjson.jsonl", "ndjson"), ("table.csv", "csv"), ("junit.xml", "xml")],
)
def test_recorded_data_is_known_for_what_it_is(name: str, kind: str) -> None:
    assert sniff(TextSource(read_output(name).decode())) == kind
