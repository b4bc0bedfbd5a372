"""What is cut by structure stays valid: JSON and NDJSON parse, CSV keeps its header, XML is well-formed."""

import csv
import io
import json
import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepwhole.truncation.configuration import ToolOverride, TruncationConfiguration
from keepwhole.truncation.cut import Segment, TextSource, length, render
from keepwhole.truncation.json_element import JsonCut
from keepwhole.truncation.notice import omitted
from keepwhole.truncation.present import Artifact, present
from keepwhole.truncation.result import TruncationResult
from keepwhole.truncation.strategy import STRATEGIES, StrategyOptions
from keepwhole.truncation.xml_element import NotXml, Tags, XmlCut

ARTIFACT = Artifact(artifact_id="art_1700000000_" + "0" * 22, summary="t", size=1)
ITEMS = [{"id": n, "name": f"item {n}", "tags": ["a", "b"], "text": "é" * (n % 40)} for n in range(1_500)]
leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=80)
documents = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=30) | st.dictionaries(st.text(max_size=12), inner, max_size=20),
    max_leaves=300,
).filter(lambda value: isinstance(value, list | dict))


def shown(text: str, limit: int = 8_000, question: str = "", **override: Any) -> TruncationResult:
    policy = TruncationConfiguration(
        inline_limit=limit, artifact_threshold=10**9, overrides={"t": ToolOverride(**override)} if override else {}
    )
    limits = policy.for_tool("t")
    limits = limits.replace(options=limits.options.replace(question=question))
    return present(TextSource(text), ARTIFACT, limits, STRATEGIES)


@settings(max_examples=40)
@given(documents, st.integers(256, 900), st.sampled_from((None, 1, 4)))
def test_a_cut_json_still_parses_and_fits(value: Any, limit: int, indent: int | None) -> None:
    text = json.dumps(value, indent=indent)
    view = shown(text, limit)
    assert len(view.content) <= max(limit, len(text) if len(text) <= limit else 0)
    if view.metadata.strategy_used == "element":
        json.loads(view.body)


@settings(max_examples=40)
@given(documents, st.integers(60, 900))
def test_a_structural_cut_covers_the_original_and_shows_only_its_text(value: Any, budget: int) -> None:
    text = json.dumps(value, ensure_ascii=False)
    source = TextSource(text)
    cut = STRATEGIES["element"](source, budget, StrategyOptions())
    assert cut.covers(len(text))
    assert len(render(cut, source)) <= budget or not any(part.stop > part.start for part in cut.kept)


@pytest.mark.parametrize("indent", [None, 2])
def test_a_cut_array_keeps_both_ends_and_counts_what_it_left_out(indent: int | None) -> None:
    left = json.loads(shown(json.dumps(ITEMS, indent=indent)).body)
    assert left[0] == ITEMS[0]
    assert left[-1] == ITEMS[-1]
    (words,) = [item for item in left if isinstance(item, str)]
    assert words == f"... {len(ITEMS) - (len(left) - 1):,} items omitted ..."


def test_a_cut_object_keeps_keys_and_counts_the_others() -> None:
    left = json.loads(shown(json.dumps({f"key {n}": "v" * 90 for n in range(500)})).body)
    assert left["..."] == f"{500 - (len(left) - 1):,} keys omitted"
    assert left["key 0"] == "v" * 90


def test_an_object_that_has_our_key_already_keeps_it() -> None:
    value = {"...": "mine", **{f"key {n}": "v" * 90 for n in range(500)}}
    left = json.loads(shown(json.dumps(value)).body)
    assert left["..."] == "mine"
    assert any(str(word).endswith("keys omitted") for word in left.values())


def test_a_long_string_is_cut_inside_its_quotes() -> None:
    left = json.loads(shown(json.dumps({"log": 'a "quoted"\\ 😀 line\n' * 3_000, "ok": True})).body)
    assert left["ok"] is True
    assert "chars omitted] ..." in left["log"]
    assert left["log"].encode()


def test_a_wrapper_round_a_long_list_is_kept() -> None:
    left = json.loads(shown(json.dumps({"items": ITEMS, "total": len(ITEMS), "next": None})).body)
    assert left["total"] == len(ITEMS)
    assert left["items"][0] == ITEMS[0]


def test_json_after_what_a_shell_says_is_cut_by_structure_and_the_words_stay() -> None:
    words = "Wall time: 0.1 seconds\nProcess exited with code 0\nOutput:\n"
    body = shown(words + json.dumps(ITEMS), question="what is item 1234?").body
    assert body.startswith(words)
    left = json.loads(body[len(words) :])
    assert left[0] == ITEMS[0]
    assert ITEMS[1234] in left


def test_an_element_that_the_question_names_is_kept() -> None:
    left = shown(json.dumps(ITEMS), question="what is item 1234?")
    assert '"item 1234"' in left.body


def test_keys_that_the_settings_name_are_kept_first() -> None:
    value = {f"key {n}": "v" * 90 for n in range(500)}
    left = json.loads(shown(json.dumps(value), strategy="element", keep_keys=("key 321",)).body)
    assert left["key 321"] == "v" * 90


def test_beyond_the_depth_only_counts_are_shown() -> None:
    deep: Any = ITEMS
    for _ in range(4):
        deep = {"in": deep}
    left = json.loads(shown(json.dumps(deep), strategy="element", max_depth=2).body)
    assert left == {"in": {"in": {"...": "1 keys omitted"}}}


@pytest.mark.parametrize(
    "text",
    [
        "[" + "1.50," * 9_000 + "1e5]",
        "[NaN," + "-0," * 9_000 + "1E400]",
        '{"a":1,' + '"a":2,' * 5_000 + '"b":0.1000000000000000055}',
        '["\\ud800",' + '"x",' * 5_000 + '"\\ud83d\\ude00"]',
        "[" + "9" * 30 + ",1" * 9_000 + "]",
    ],
)
def test_values_are_never_spelled_anew(text: str) -> None:
    view = shown(text)
    assert view.metadata.strategy_used == "element"
    json.loads(view.body)
    for part in view.cut.kept if view.cut else ():
        assert text[part.start : part.stop] in view.body


@pytest.mark.parametrize(
    "text",
    [
        "[" * 50_000 + "]" * 50_000,
        '{"a":' * 20_000 + "1" + "}" * 20_000,
        "[1," * 9_000,
        '{"a": tru' + " " * 9_000 + "}",
    ],
)
def test_what_cannot_be_parsed_is_cut_as_text(text: str) -> None:
    view = shown(text)
    assert view.metadata.was_truncated
    assert len(view.content) <= 8_000


def table(rows: int) -> str:
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(["id", "day", "note"])
    for n in range(rows):
        writer.writerow([n, f"2026-01-{n % 28 + 1:02d}", 'two\nlines, "quoted"' if n % 7 == 0 else "plain"])
    return file.getvalue()


def test_a_cut_table_keeps_its_header_and_whole_rows() -> None:
    text = table(3_000)
    view = shown(text, question="row 2222")
    rows, all_rows = list(csv.reader(io.StringIO(view.body))), list(csv.reader(io.StringIO(text)))
    assert view.metadata.strategy_used == "rows"
    assert rows[0] == all_rows[0]
    assert rows[-1] == all_rows[-1]
    assert all(row in all_rows for row in rows)
    assert f"{len(all_rows) - len(rows):,} rows" in view.content
    assert any(row[0] == "2222" for row in rows)


def test_a_cut_ndjson_is_still_one_value_a_line() -> None:
    view = shown("".join(json.dumps(item) + "\n" for item in ITEMS))
    values = [json.loads(line) for line in view.body.splitlines()]
    assert view.metadata.strategy_used == "rows"
    assert sum(isinstance(value, str) for value in values) == 1
    assert values[0] == ITEMS[0]
    assert values[-1] == ITEMS[-1]


def test_a_cut_xml_is_well_formed_and_counts_what_it_left_out() -> None:
    text = (
        "<?xml version='1.0'?>\n<list>" + "".join(f"<item n='{n}'>é {n}</item>\n" for n in range(2_000)) + "</list>\n"
    )
    view = shown(text)
    root = ElementTree.fromstring(view.body)
    assert view.metadata.strategy_used == "element"
    assert root[0].text == "é 0"
    assert root[-1].text == "é 1999"
    assert f"{2_000 - len(root):,} elements omitted" in view.body


ODD_XML = (
    '<?xml version="1.0"?><!-- <a> -->\n<all k="1>2">'
    + "".join(
        f"<item n='{n}'><name>né {n}</name><!-- <c> --><![CDATA[<x></y>]]><b/><d k=\"/>\"/> tail /> {n}</item >\n"
        for n in range(600)
    )
    + "</all><?end <b> ?>"
)


@pytest.mark.parametrize("limit", [600, 3_000, 8_000])
def test_what_only_looks_like_a_tag_is_none(limit: int) -> None:
    items = ElementTree.fromstring(shown(ODD_XML, limit, strategy="element").body).findall("item")
    assert len(items) >= 2
    assert all([child.tag for child in item] == ["name", "b", "d"] for item in items)


def test_a_question_finds_the_xml_element_and_not_the_text_beside_it() -> None:
    text = "<all>" + "".join(f"<item>word {n}</item> beside{n} " for n in range(900)) + "</all>"
    assert "<item>word 456</item>" in shown(text, 2_000, "what is word 456?", strategy="element").body
    assert "<item>word 457</item>" not in shown(text, 2_000, "what is beside456?", strategy="element").body


def test_entities_are_never_expanded() -> None:
    bomb = "<!DOCTYPE a [<!ENTITY x 'xxxxxxxxxx'>]><a>" + "&x;" * 5_000 + "</a>"
    view = shown(bomb)
    assert view.metadata.strategy_used == "head_tail"
    assert len(view.content) <= 8_000


@pytest.mark.parametrize("files", [5, 40])
def test_a_search_shows_the_first_lines_of_every_file(files: int) -> None:
    text = "".join(f"src/part{n * files // 3_000}.py:{n}: found\n" for n in range(3_000))
    body = shown(text, 4_000, strategy="element").body
    first = [f"src/part{number}.py:{-(-3_000 * number // files)}: found\n" for number in range(files)]
    assert all(line in body for line in first)


@pytest.mark.parametrize("order", [sorted, list])
def test_a_listing_shows_as_many_files_of_every_folder_in_any_order(order: Any) -> None:
    paths = order([f"src/{n % 9}/deep/file_{n:04}.py\n" for n in range(3_000)])
    body = shown("".join(paths), 4_000, strategy="element").body
    assert all(f"src/{number}/deep/file_000{number}.py\n" in body for number in range(9))


def test_the_users_own_choice_of_strategy_holds_for_data_too() -> None:
    assert shown(json.dumps(ITEMS), strategy="tail").metadata.strategy_used == "tail"


@pytest.mark.parametrize("limit", range(600, 606))
def test_no_grapheme_is_split_inside_a_json_string(limit: int) -> None:
    text = json.dumps({"text": "e\u0301" * 4_000}, ensure_ascii=False)
    view = shown(text, limit)
    assert view.cut is not None
    assert view.metadata.strategy_used == "element"
    assert not any(text[part.start : part.start + 1] == "\u0301" for part in view.cut.segments)


@pytest.mark.parametrize(("deep", "is_xml"), [(100, True), (101, True), (102, False)])
def test_xml_is_read_101_levels_deep(deep: int, is_xml: bool) -> None:
    text = "".join(f"<a{n}>" for n in range(deep)) + "x" + "".join(f"</a{n}>" for n in reversed(range(deep)))
    try:
        Tags(text)
    except NotXml:
        assert not is_xml
    else:
        assert is_xml


def test_children_of_an_element_are_counted_from_both_ends_and_in_slices() -> None:
    text = "<a>" + "".join(f"<b>{number}</b>" for number in range(9)) + "</a>"
    tags = Tags(text)
    children = tags.children(0, len(tags) - 1)
    assert children is not None
    assert [text[one.start : one.stop] for one in children[2:7:2]] == ["<b>2</b>", "<b>4</b>", "<b>6</b>"]
    assert (children[-1].start, children[-1].stop) == (children[8].start, children[8].stop)
    assert len(children) == 9


def places(cut: JsonCut | XmlCut, begin: int, stop: int) -> list[int]:
    return [at - begin for at in range(begin, stop + 1) if cut.may_cut(at, begin)]


@pytest.mark.parametrize(
    ("inside", "where"),
    [
        ("abcd", [0, 1, 2, 3, 4]),
        (r"a\nb", [0, 1, 3, 4]),
        (r"\\\\n", [0, 2, 4, 5]),
        (r"a\u00e9b", [0, 1, 7, 8]),
        (r"\ud83d\ude00", [0, 12]),
        (r"\uD83D\uDE00x", [0, 12, 13]),
        (r"\ud83dx", [0, 6, 7]),
        (r"\ude00\ud83d", [0, 6, 12]),
        ("e\u0301x", [0, 2, 3]),
    ],
)
def test_a_json_string_is_cut_between_two_characters_as_json_spells_them(inside: str, where: list[int]) -> None:
    for before in ("", "\\\\"):
        cut = JsonCut(f'"{before}{inside}"', (), 4, frozenset())
        begin = 1 + len(before)
        assert places(cut, begin, begin + len(inside)) == where


@pytest.mark.parametrize(
    ("inside", "where"),
    [("abc", [0, 1, 2, 3]), ("a&amp;b", [0, 1, 6, 7]), ("a; b&lt;", [0, 1, 2, 3, 4, 8]), ("e\u0301x", [0, 2, 3])],
)
def test_the_text_of_an_element_is_cut_outside_references_and_graphemes(inside: str, where: list[int]) -> None:
    assert places(XmlCut(f"<a>{inside}</a>", (), 4), 3, 3 + len(inside)) == where


def json_view(value: Any, budget: int, question: str = "", **options: Any) -> Any:
    text = json.dumps(value)
    source = TextSource(text)
    shown = render(STRATEGIES["element"](source, budget, StrategyOptions(question=question, **options)), source)
    assert len(shown) <= budget
    return json.loads(shown)


def test_three_elements_of_the_beginning_come_with_two_of_the_end() -> None:
    left = json_view([[number] * 3 for number in range(100, 200)], 150)
    assert [one if isinstance(one, str) else one[0] for one in left] == [
        100,
        101,
        102,
        "... 95 items omitted ...",
        198,
        199,
    ]


def test_members_of_an_object_are_kept_in_order_and_the_rest_is_counted() -> None:
    left = json_view({f"k{number}": number for number in range(100, 200)}, 130)
    assert list(left) == [*(f"k{number}" for number in range(100, 100 + len(left) - 1)), "..."]
    assert left["..."] == f"{100 - (len(left) - 1)} keys omitted"
    assert len(left) > 5


def test_a_long_value_of_an_object_is_cut_so_that_others_have_room() -> None:
    left = json_view({"id": 7, "log": "a line of words " * 200, "rows": list(range(900)), "ok": True}, 400)
    assert (left["id"], left["ok"]) == (7, True)
    assert left["log"].startswith("a line of words ")
    assert " omitted" in left["log"]
    assert left["rows"][0] == 0
    assert left["rows"][-1] == 899


def test_each_of_several_runs_that_are_left_out_of_an_object_has_a_key_of_its_own() -> None:
    value = {f"k{number}": number for number in range(100, 300)}
    left = json_view(value, 260, keep_keys=("k150", "k250"))
    assert [key for key in left if key.startswith("...")] == ["...", "....", "....."]
    assert (left["k150"], left["k250"]) == (150, 250)
    counted = sum(int(str(words).split(" ")[0]) for key, words in left.items() if key.startswith("..."))
    assert counted + len(left) - 3 == 200


def test_of_two_long_members_that_are_asked_for_both_are_shown_in_part() -> None:
    value = [{"id": number, "text": f"{name} " * 150} for number, name in enumerate(["plain"] * 40)]
    value[11]["text"], value[29]["text"] = ("swordfish " + "plain " * 249 for _ in range(2))
    left = json_view(value, 1_500, "where are swordfish?")
    assert [one if isinstance(one, str) else one["text"][:9] for one in left] == [
        *("... 11 items omitted ...", "swordfish", "... 17 items omitted ...", "swordfish"),
        "... 10 items omitted ...",
    ]
    assert all("omitted" in one["text"] for one in left if isinstance(one, dict))
    sizes = [len(one["text"]) for one in left if isinstance(one, dict)]
    assert max(sizes) - min(sizes) < 100


def test_a_string_is_cut_the_same_wherever_it_is_in_the_text() -> None:
    value = '"' + "words " * 150 + '"'
    for before in (0, 9_000, 90_000):
        text = f'["{"x" * before}", {value}]'
        start = text.index(value)
        pieces = JsonCut(text, (), 4, frozenset()).leaf(start, start + len(value), 400)
        assert pieces is not None
        assert 390 < length(pieces) <= 400


def test_a_string_for_whose_count_there_is_no_room_is_not_cut() -> None:
    text = '"' + "words " * 15 + '"'
    cut, counted = JsonCut(text, (), 4, frozenset()), len(json.dumps(omitted(90, 90)))
    assert cut.leaf(0, len(text), counted - 1) is None
    pieces = cut.leaf(0, len(text), counted)
    assert pieces is not None
    assert [piece for piece in pieces if isinstance(piece, Segment)] == [
        *(Segment("kept", 0, 1), Segment("gap", 1, 91), Segment("kept", 91, 92)),
    ]


FLAGS = "\U0001f1e9\U0001f1ea" * 4_000


def test_a_text_of_flags_is_cut_between_two_of_them_and_far_from_its_beginning_not_at_all() -> None:
    for cut, begin in (
        (JsonCut(f'"{FLAGS}"', (), 4, frozenset()), 1),
        (XmlCut(f"<a>{FLAGS}</a>", (), 4), 3),
    ):
        assert [cut.may_cut(begin + at, begin) for at in (1, 2, 3, 4)] == [False, True] * 2
        assert [cut.may_cut(begin + at, begin) for at in (4_999, 5_000, 5_002)] == [False] * 3


@pytest.mark.parametrize("number", [0, 1, 17, 38, 39])
def test_the_one_element_of_xml_that_is_asked_for_is_shown_before_all_others(number: int) -> None:
    items = [f"<item>about {name} " + "words " * 40 + "</item>" for name in ["nothing"] * 40]
    items[number] = items[number].replace("nothing", "swordfish")
    text = "<all>" + "".join(items) + "</all>"
    source = TextSource(text)
    cut = STRATEGIES["element"](source, 420, StrategyOptions(question="where is swordfish?"))
    left = ElementTree.fromstring(render(cut, source)).findall("item")
    assert [(item.text or "")[:15] for item in left if len(item.text or "") > 200] == ["about swordfish"]


def test_elements_of_xml_that_are_asked_for_are_found_one_right_after_the_other() -> None:
    items = [f"<item>about {name} " + "words " * 40 + "</item>" for name in ["nothing"] * 38 + ["swordfish"] * 2]
    source = TextSource("<all>" + "".join(items) + "</all>")
    cut = STRATEGIES["element"](source, 720, StrategyOptions(question="where is swordfish?"))
    left = ElementTree.fromstring(render(cut, source)).findall("item")
    assert [(item.text or "")[:15] for item in left if len(item.text or "") > 200] == ["about swordfish"] * 2
