"""Search by the one text index: every word of an indexed text is found by its beginning, whatever stands beside it."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepwhole import MemoryStore, Session, SqliteStore
from keepwhole.store.passages import passages_of, tokens
from keepwhole.store.protocol import Store, result_of
from tests.build import draft, numbered_lines, opened

ODD = [
    "retries of parseConfig failed",
    "src/linux-x86_64-gnu/a.out v1.2.3",
    "1,234,567 rows, 1,2,3",
    "the a of I is it",
    "Äpfel ÄPFEL straße ΣΑΣ",
    "abc日本語 日本 語",
    "f" * 200 + " snake_case_name __dunder__ kebab-case-name",
    '{"k": "\\u00e4pfel"}',
    "a3f9c0de" * 16,
]


def finds(store: Store, text: str, word: str) -> bool:
    opened(store)
    store.append("s", [draft(store, text)])
    return len(store.search("s", word)) == 1


@pytest.mark.parametrize("text", ODD)
def test_every_token_is_found_by_each_of_its_beginnings(text: str, tmp_path: Path) -> None:
    store = SqliteStore(str(tmp_path))
    opened(store)
    store.append("s", [draft(store, text), draft(store, "something else")])
    for token in tokens(text):
        for stop in (1, 2, len(token) // 2, len(token)):
            beginning = token[: max(1, stop)]
            assert any(match.text[:500] == text[:500] for match in store.search("s", beginning)), beginning
    store.close()


UNSPACED = [
    ("请求超时了，需要重试", ["超时", "超时了", "求超时了", "超", "了", "需要重"]),
    ("接続がタイムアウトしました", ["タイムアウト", "アウトし", "ト", "続がタ"]),
    ("연결시간초과", ["시간", "시간초", "과"]),
    ("การตั้งค่าหมดเวลา", ["เวลา", "าหมด"]),
    ("1,234件です", ["234件です", "34件で", "です"]),
    ("abc日本語def", ["c日本語d", "本語d", "語"]),
    ("\U00020000\U00020001\U00020002", ["\U00020001\U00020002"]),
]
"""Texts in scripts without spaces, and words that are anywhere in them."""


@pytest.mark.parametrize(("text", "words"), UNSPACED, ids=[text for text, _ in UNSPACED])
def test_in_a_script_without_spaces_a_word_is_found_wherever_it_begins(text: str, words: list[str]) -> None:
    store = MemoryStore()
    opened(store)
    store.append("s", [draft(store, text), draft(store, "something else 时候 ト")])
    assert store.passages("s").is_all
    for word in words:
        assert text in [match.text for match in store.search("s", word)], word


@settings(max_examples=150)
@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=80))
def test_every_token_of_any_text_is_a_term_of_its_passage_or_its_literal_form_is(text: str) -> None:
    store = MemoryStore()
    opened(store)
    row = store.append("s", [draft(store, text)])[0]
    result = result_of(next(store.rows("s")))
    terms = {term for _, found in passages_of(row.seq, result, text) for term in found}
    for token in tokens(text):
        assert token in terms or f".{token[:64]}" in terms


@pytest.mark.parametrize("make", [lambda _: MemoryStore(), lambda path: SqliteStore(str(path))])
def test_the_words_of_a_call_are_no_words_of_its_result(make: Callable[[Path], Store], tmp_path: Path) -> None:
    store = make(tmp_path)
    session = Session("s", store=store)
    session.keep("zebra", {"path": "quokka.py"}, "nothing of it")
    assert store.search("s", "zebra") == []
    (found,) = store.search("s", "quokka")
    assert (found.part, found.text) == ("arguments", "quokka.py")
    assert store.passages("s").newest([["zebra"]], 9) == [64]
    assert store.passages("s").starting_with("zebr", 9) == []
    store.close()


def test_words_in_different_passages_of_a_result_are_found_together(tmp_path: Path) -> None:
    store = SqliteStore(str(tmp_path))
    assert finds(store, "zebra\n" + numbered_lines(2_000) + "quokka\n", "quokka zebra")
    store.close()


def test_a_word_that_very_many_passages_have_rules_no_result_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("keepwhole.store.text_search._MOST_PASSAGES", 3)
    store = SqliteStore(str(tmp_path))
    opened(store)
    store.append("s", [draft(store, "common rare"), *(draft(store, f"common {number}") for number in range(9))])
    assert [match.text for match in store.search("s", "rare common")] == ["common rare"]
    assert len(store.search("s", "common")) == 10
    store.close()


def test_a_line_that_is_cut_inside_a_character_is_searched_to_its_end() -> None:
    for shift in range(3):
        text = "x" * shift + "漢" * 400_000 + " needle"
        store = MemoryStore()
        opened(store)
        store.append("s", [draft(store, text)])
        assert [match.line for match in store.search("s", "needle")] == [1], shift
