"""What was said later refers to a result if it holds twenty characters of it, or a value that is no common word."""

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwhole.policies.references import STRETCH, ReferenceIndex, argument_texts, feeds, is_quoted
from tests.promises.texts import texts

LISTING = "".join(f"src/part_{number}/module_{number}.py  {number * 37} bytes\n" for number in range(200))
PROSE = "The quick brown fox jumps over the lazy dog while the band plays on.\n" * 3


def arguments(**given: object) -> str:
    return json.dumps(given)


@pytest.mark.parametrize(
    ("text", "given"),
    [
        (LISTING, {"path": "src/part_17/module_17.py"}),
        ("user: ann, id: 4815162", {"user_id": 4815162}),
        ("commit 3a56a42 Begin projection", {"command": "git show 3a56a42"}),
        ("def parse_config(path):\n    ...", {"pattern": "parse_config"}),
        ("class HttpClient: ...", {"query": "HttpClient"}),
        ("order INV-20431 is open", {"filter": {"ids": ["INV-20431"]}}),
        (PROSE, {"old_string": "jumps over the lazy dog", "new_string": "sits"}),
        ('say "hello, wide world"\nand then go home\n', {"old_string": '"hello, wide world"\nand then'}),
        (
            "漢字かな交じり文の長いテキストがここにあって引用されますよ",
            {"q": "交じり文の長いテキストがここにあって引用され"},
        ),
    ],
)
def test_a_result_feeds_a_call_that_takes_a_value_or_a_stretch_from_it(text: str, given: dict[str, object]) -> None:
    assert feeds(text, json.dumps(given))


@pytest.mark.parametrize(
    ("text", "given"),
    [
        (PROSE, {"command": "the quick fox"}),
        (PROSE, {"n": 5, "ok": True, "none": None}),
        ("year 2026, port 8080", {"year": 2026}),
        ("-" * 80, {"text": "-" * 40}),
        ("x" * 10 + " " * 60 + "y", {"text": "a" + " " * 50 + "b"}),
        ("see parse_configuration", {"pattern": "parse_config"}),
        ("parse_config " * 20, {"pattern": "parse_config"}),
        ("", {"pattern": "parse_config"}),
        (PROSE, {}),
    ],
)
def test_common_words_rulers_parts_of_words_and_what_stands_everywhere_feed_nothing(
    text: str, given: dict[str, object]
) -> None:
    assert not feeds(text, json.dumps(given))


def test_what_was_known_before_the_result_did_not_come_from_it() -> None:
    own = arguments(command="cd /home/ann/project && ls INV-20431")
    text = "/home/ann/project/\nINV-20431\n"
    assert feeds(text, arguments(path="/home/ann/project/ INV-20431"))
    assert not feeds(text, arguments(path="/home/ann/project"), known=own)
    assert not feeds(text, arguments(id="INV-20431"), known=own)


def test_a_user_quotes_a_result_by_its_words_or_by_a_value_in_it() -> None:
    assert is_quoted(PROSE, "Why does it say 'over the lazy dog while'?")
    assert is_quoted("ticket ABC-1234 was closed", "reopen ABC-1234 please")
    assert not is_quoted(PROSE, "What about the fox and the dog?")


def test_what_was_said_is_indexed_once_and_asked_from_any_point_on() -> None:
    said = ReferenceIndex(["look at INV-20431", "over the lazy dog while they sleep", "thanks"])
    text = PROSE + "INV-20431"
    assert said.shared_with(text) == "INV-20431"
    assert said.shared_with(text, since=said.starts[1]) == "over the lazy dog while the"
    assert said.shared_with(text, since=said.starts[2]) is None
    assert feeds(text, said)
    assert is_quoted(text, said)


def test_of_very_many_values_the_latest_count() -> None:
    said = " ".join(f"ab_{number:05d}" for number in range(1_000))
    assert is_quoted("see ab_00999", said)
    assert not is_quoted("see ab_00000", said)


def test_arguments_are_looked_at_unescaped_and_what_is_no_json_is_taken_as_it_is() -> None:
    assert argument_texts('{"a": "x\\ny", "b": [1, {"c": 2.5}], "d": null, "e": true}') == ["x\ny", "1", "2.5"]
    assert argument_texts("rg -n foo") == ["rg -n foo"]
    assert argument_texts("[" * 100_000) == ["[" * 100_000]


LETTERS = "abcdefghijklmnopqrstuvwxyzäöü漢字"


@given(
    st.text(LETTERS, max_size=60),
    st.permutations("abcdefghijklmnopqrstuvwxyz"),
    st.text(LETTERS, max_size=60),
    st.integers(0, 6),
)
def test_any_stretch_of_twenty_characters_is_found_wherever_it_stands(
    before: str, letters: list[str], after: str, extra: int
) -> None:
    stretch = "".join(letters)[: STRETCH + extra]
    assert is_quoted(f"{before}{stretch}{after}", f"{after}|{stretch}|{before}")


@given(st.permutations("abcdefghijklmnopqrstuvwxyz"), st.integers(0, 7))
def test_nineteen_characters_are_not_enough(letters: list[str], start: int) -> None:
    stretch = "".join(letters)[start : start + STRETCH - 1]
    assert not is_quoted(f"1{stretch}2", f"3{stretch}4"[1:-1] + "!")


@given(texts, texts)
def test_what_is_shared_is_in_both(text: str, said: str) -> None:
    shared = ReferenceIndex([said]).shared_with(text)
    assert shared is None or (shared in _readable(text) and shared in _readable(said))


def _readable(text: str) -> str:
    """A text without lone surrogates, which no stretch holds."""
    return text.encode("utf-8", "ignore").decode()


def test_the_answer_does_not_hang_on_the_hash_seed() -> None:
    code = (
        "from keepwhole.policies.references import ReferenceIndex\n"
        "text = ''.join(f'some words of line {n * n} here\\n' for n in range(300))\n"
        "print(ReferenceIndex([text[2000:4000], text[500:900]]).shared_with(text))"
    )
    answers = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(answers) == 1
    assert answers != {"None\n"}


@pytest.mark.parametrize(
    ("text", "value", "is_found"),
    [
        (" INV-204 " * 5, "INV-204", True),
        (" INV-204 " * 6, "INV-204", False),
        ("xINV-204", "INV-204", False),
        ("INV-204x", "INV-204", False),
        ("xINV-204x (INV-204)", "INV-204", True),
        ("INV-204", "INV-204", True),
        ("a1b2c", "a1b2c", False),
        ("a1b2cd", "a1b2cd", True),
        ("12345", "12345", True),
        ("1234", "1234", False),
        ("a.b_cd", "a.b_cd", False),
        ("a.b_cde", "a.b_cde", True),
        ("parseAb", "parseAb", True),
        ("parsAb", "parsAb", False),
        ("see x1" + "y" * 17, "x1" + "y" * 17, True),
    ],
)
def test_a_value_is_found_where_it_is_rare_and_a_word_of_its_own(text: str, value: str, is_found: bool) -> None:
    assert feeds(text, json.dumps([value])) is is_found


@pytest.mark.parametrize("before", range(13))
def test_twenty_shared_characters_are_found_wherever_they_begin(before: int) -> None:
    shared = "qwertyuiop asdfghjkl"
    assert len(shared) == STRETCH == 20
    text = "0" * before + shared + "1" * 30
    assert ReferenceIndex(["2" * 7 + shared + "3" * 9]).shared_with(text) == shared
    assert ReferenceIndex(["2" * 7 + shared[:19] + "3" * 9]).shared_with(text) is None


@pytest.mark.parametrize(("letters", "is_found"), [("abcdefgh", True), ("abcdefg", False)])
def test_a_stretch_of_less_than_eight_different_characters_says_nothing(letters: str, is_found: bool) -> None:
    stretch = (letters * 5)[:30]
    assert feeds(f"{stretch}\n", json.dumps([f"!!{stretch}!!"])) is is_found


def test_a_shared_stretch_reaches_a_hundred_and_twenty_bytes_to_either_side() -> None:
    text = "".join(f"{number:03} " for number in range(100))
    shared = ReferenceIndex([text]).shared_with(text)
    assert shared == text[: 12 + 120].strip()
    later = ReferenceIndex([text[200:]]).shared_with("x" * 12 + text[200:])
    assert later is not None
    assert text[200:].startswith(later)


def test_a_stretch_is_found_at_an_earlier_place_where_a_later_one_has_only_its_beginning() -> None:
    shared = "qwertyuiop asdfghjkl"
    assert ReferenceIndex([f"00{shared}99 {shared[:12]}!!"]).shared_with(f"{shared}77") == shared


def test_of_many_values_the_latest_forty_eight_are_looked_for() -> None:
    values = [f"id-{number:04}" for number in range(60)]
    index = ReferenceIndex([" ".join(values)])
    assert [index.shared_with(f"({value})") is not None for value in values] == [False] * 12 + [True] * 48


def test_a_value_counts_from_the_part_on_that_says_it_last() -> None:
    index = ReferenceIndex(["üü INV-204", "INV-204 and", "more"])
    assert index.starts == [0, 13, 25]
    assert index.shared_with("INV-204", since=13) == "INV-204"
    assert index.shared_with("INV-204", since=14) is None


@pytest.mark.parametrize(
    ("arguments", "texts_found"),
    [
        ('{"a": ["x", 1, null, true], "b": {"c": 2.5}}', ["x", "1", "2.5"]),
        ("no JSON", ["no JSON"]),
        ("[" * 9_000, ["[" * 9_000]),
        ("null", []),
    ],
)
def test_arguments_are_their_texts_and_numbers(arguments: str, texts_found: list[str]) -> None:
    assert sorted(argument_texts(arguments)) == sorted(texts_found)
