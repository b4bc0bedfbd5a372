"""The search of a replay: pieces of results, the words of a query, and what fits on the first page."""

import pytest

from keepwhole.replay.run_texts import RunTextIndex
from keepwhole.replay.search import ResultSearch, pieces, query_words


def index(*texts: str) -> RunTextIndex:
    made = RunTextIndex()
    for text in texts:
        made.add(text)
    return made


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("", [0]),
        ("a" * 399, [399]),
        ("a" * 400, [400]),
        ("a" * 399 + "\nb", [401]),
        ("a" * 400 + "\nb", [400, 1]),
        ("a" * 200 + "\n" + "b" * 200 + "\nc", [401, 1]),
        ("a" * 800 + "\nb", [800, 1]),
        ("a" * 801, [800, 1]),
        ("a" * 1_700, [800, 800, 100]),
    ],
)
def test_a_piece_is_whole_lines_up_to_four_hundred_characters_and_a_long_line_is_split(
    text: str, sizes: list[int]
) -> None:
    assert [len(piece) for piece in pieces(text)] == sizes


@pytest.mark.parametrize("many", [1_999, 2_000, 2_001])
def test_two_thousand_pieces_of_a_result_are_searched(many: int) -> None:
    assert len(pieces("\n".join(["a" * 400] * many))) == min(many, 2_000)
    assert len(pieces("\n".join(["a" * 400] * many) + "\nb")) == min(many + 1, 2_000)


def test_a_word_of_a_query_has_the_largest_of_its_weights() -> None:
    assert query_words({"Disk_1 is-full": 1.0, "full x": 2.0, "disk_1": 0.5}) == {"disk_1": 1.0, "is": 1.0, "full": 2.0}


def search(*texts: str) -> ResultSearch:
    return ResultSearch(index(*texts), len)


def test_pieces_come_by_what_they_share_with_the_query_as_far_as_they_fit_on_a_page() -> None:
    texts = [f"the disk of host{n}\n" + f"plain words {n} " * 20 for n in range(9)]
    query = {f"host{n}": float(n + 1) for n in range(9)}
    page = search(*texts).first_page(query, dict.fromkeys(range(9), ""))
    assert page == ("\n".join(texts[number] for number in (8, 7, 6)), 3 * (len(texts[0]) + 8))


def test_what_is_shown_already_or_is_there_twice_takes_no_room() -> None:
    texts = ["the disk is full", "the disk is full", "a disk is there", "no word of it"]
    found = search(*texts).first_page({"disk": 1.0}, {0: "", 1: "", 2: "so a disk is there, too", 3: ""})
    assert found.text == "the disk is full"
    assert found.tokens == len("the disk is full") + 8
    assert search(*texts).first_page({"nothing": 1.0}, {0: ""}) == ("", 0)
    assert search(*texts).first_page({"disk": 1.0}, {}) == ("", 0)


@pytest.mark.parametrize(("tokens", "taken"), [(992, 1_000), (993, 0)])
def test_a_page_is_filled_to_its_last_token(tokens: int, taken: int) -> None:
    found = ResultSearch(index("the disk is full"), lambda _: tokens).first_page({"disk": 1.0}, {0: ""})
    assert found.tokens == taken
