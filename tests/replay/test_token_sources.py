"""Every token of a message has one source, and cut results and arguments move what each source has."""

from types import SimpleNamespace
from typing import Any

import pytest

from keepwhole.replay.token_sources import MEANINGS, TokenSources, TokenSourceTotals, sources_of


def words(text: str) -> int:
    return len(text.split())


def test_sources_are_added_one_by_one() -> None:
    one, more = TokenSources(1, 2, 3, 4, 5, 6, 7, 8), TokenSources(10, 20, 30, 40, 50, 60, 70, 80)
    assert one + more == TokenSources(11, 22, 33, 44, 55, 66, 77, 88)
    assert MEANINGS.keys() == set(TokenSources._fields)


def message(
    role: str, said: str = "", calls: tuple[Any, ...] = (), returned: tuple[Any, ...] = (), other: int = 0
) -> Any:
    return SimpleNamespace(role=role, said=said, calls=calls, returned=returned, other=other)


CALLS = (SimpleNamespace(tool="read file", arguments="a b c"), SimpleNamespace(tool="ls", arguments=""))
RESULTS = (SimpleNamespace(media=None), SimpleNamespace(media=object()), SimpleNamespace(media=None))


@pytest.mark.parametrize(
    ("of", "results", "tokens"),
    [
        (message("user", "one two three"), [], TokenSources(words=3, other=4)),
        (message("system", "one two"), [], TokenSources(system=2, other=4)),
        (message("user", other=9), [], TokenSources(other=13)),
        (message("assistant", "one", CALLS), [], TokenSources(words=1, arguments=6, other=12)),
        (message("tool", "", (), RESULTS), [100, 20, 3], TokenSources(results=103, images=20, other=4)),
    ],
)
def test_the_tokens_of_a_message_have_their_sources(of: Any, results: list[int], tokens: TokenSources) -> None:
    assert sources_of(of, results, words) == tokens


def totals(cut: int = 0, summary: int = 0, tools: int = 0) -> TokenSourceTotals:
    """Three messages: a system prompt, a result of 100 tokens, an image of 20 with 3 of arguments."""
    sources = [
        TokenSources(system=7, other=4),
        TokenSources(results=100, other=4),
        TokenSources(images=20, arguments=3, other=4),
    ]
    facts: Any = SimpleNamespace(sources=sources)
    front: Any = SimpleNamespace(cut=cut, in_front=(summary, tools))
    return TokenSourceTotals(facts, front)


def item(index: int, tokens: int, media: object = None) -> Any:
    return SimpleNamespace(index=index, tokens=tokens, media=media)


def test_requests_add_up_with_what_is_in_front_and_without_what_is_cut() -> None:
    two = totals()
    two.add_request([11, 104])
    assert two.total == TokenSources(results=100, system=7, other=8)
    two.add_request([11, 104, 27])
    assert two.total == TokenSources(200, 20, 3, 0, 14, 0, 20, 0)
    cut = totals(cut=1, summary=50, tools=9)
    cut.add_request([11, 104, 27])
    assert cut.total == TokenSources(100, 20, 3, 0, 0, 9, 8, 50)


def test_a_cut_result_and_cut_arguments_change_later_requests() -> None:
    found = totals()
    found.change_result(item(1, 100), 100, 30)
    found.add_arguments(2, -2)
    found.add_request([11, 34, 25])
    assert found.total == TokenSources(results=30, images=20, arguments=1, system=7, other=12)
    found.change_result(item(1, 100), 30, 10)
    found.add_request([11, 14])
    assert found.total == TokenSources(results=40, images=20, arguments=1, system=14, other=20)


def test_an_image_that_is_left_out_becomes_words_and_may_come_back() -> None:
    found, image = totals(), item(2, 20, media=object())
    found.change_result(image, 20, 6)
    found.add_request([11, 104, 13])
    assert (found.total.results, found.total.images) == (106, 0)
    found.change_result(image, 6, 8)
    found.add_request([11, 104, 15])
    assert (found.total.results, found.total.images) == (214, 0)
    found.change_result(image, 8, 20)
    found.add_request([11, 104, 27])
    assert (found.total.results, found.total.images) == (314, 20)
