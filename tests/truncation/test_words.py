"""Words as an index holds them: one spelling for what is the same, the same for what is stored and what is asked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwhole.truncation.words import runs, spelled, stem, words


@pytest.mark.parametrize("name", ["parse_config", "parseConfig", "parse-config", "ParseConfig"])
def test_a_name_is_the_same_word_in_every_spelling(name: str) -> None:
    assert spelled(name) == ("parseconfig", "pars", "config")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("retry", "retries"),
        ("query", "queries"),
        ("stop", "stopping"),
        ("cache", "cached"),
        ("ledger", "ledgers"),
        ("compaction", "compacting"),
        ("expire", "expired"),
        ("schedule", "scheduler"),
        ("release", "releases"),
    ],
)
def test_forms_of_a_word_share_a_stem(one: str, other: str) -> None:
    assert stem(one) == stem(other)


@pytest.mark.parametrize(("one", "other"), [("1,234,567", "1234567"), ("v1.2.3", "1.2.3"), ("Лиссабоне", "лиссабон")])
def test_numbers_versions_and_cases_are_written_one_way(one: str, other: str) -> None:
    assert words(one) & words(other)


def test_a_file_name_is_a_word_and_so_are_its_parts() -> None:
    assert {"app.py", "app", "src"} <= words("src/app.py:12")


def test_a_script_without_spaces_gives_pairs_of_characters() -> None:
    assert {"证书", "过期"} <= words("因为证书已过期")


def test_what_json_escapes_is_the_word_it_stands_for() -> None:
    assert words('"\\u8bc1\\u4e66"') == {"证书"}


def test_words_that_every_text_has_are_left_out() -> None:
    assert words("what is the of and for") == set()


@given(st.text(max_size=400))
def test_words_never_hold_what_an_index_would_take_for_its_own(text: str) -> None:
    for word in words(text):
        assert word
        assert not word.startswith("_")
        assert not set(word) & set(' "\x00()*+^:-')
        assert len(word) <= 70


def test_the_spelling_is_the_one_that_stored_indexes_were_made_with() -> None:
    """If this has to change, an index made before cannot forget what it holds: empty it with a migration."""
    text = "GET /v2/Orders?id=1,204 → 500 in retry_policy.py (HTTPError), Größe 证书已过期"
    assert sorted(words(text)) == [
        "1204", "500", "error", "größe", "http", "httperror", "id", "ord", "polic", "py", "retr", "retrypolicy.py",
        "v2", "书已", "已过", "证书", "过期",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("run", "found"),
    [
        ("parse", ("pars",)),
        ("ABC", ("abc",)),
        ("Abc", ("abc",)),
        ("aBc", ("abc", "bc")),
        ("ab12cd", ("ab12cd", "ab", "12", "cd")),
        ("HTTPServer2", ("httpserver2", "http", "serv")),
        ("123", ("123",)),
        ("a_b", ("ab",)),
        ("1,234", ("1234",)),
        ("v1.2", ("1.2",)),
        ("straße", ("straße",)),
        ("Häuserblock", ("häuser",)),
        ("__", ()),
    ],
)
def test_a_run_is_the_words_that_are_in_it(run: str, found: tuple[str, ...]) -> None:
    assert spelled(run) == found


def test_a_word_of_more_than_sixty_four_characters_is_nobodys_word() -> None:
    assert [len(spelled("z" * size)) for size in (64, 65)] == [1, 0]
    name = "q" * 31 + "_" + "w" * 32
    assert spelled(name) == ("q" * 31 + "w" * 32, stem("q" * 31), stem("w" * 32))
    assert spelled(name + "w") == (stem("q" * 31), stem("w" * 33))
    assert spelled(",".join(["123"] * 30)) == (("123" * 30)[:64],)


def test_a_list_with_commas_is_its_parts_and_a_number_is_whole() -> None:
    assert list(runs("a1,b2,c3, d4")) == ["a1", "b2", "c3", "d4"]
    assert list(runs("1,234 x")) == ["1,234", "x"]
