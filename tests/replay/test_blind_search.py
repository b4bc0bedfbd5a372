"""Blind search: what an agent finds that does not know what it misses."""

import pytest

from keepwhole.logs.run import Run
from keepwhole.replay.blind_search import known_words
from keepwhole.replay.cache import CacheUsage
from keepwhole.replay.cost import BlindSearch, Price, RequestTokens, blind_search_cost
from keepwhole.replay.outcome import Outcome
from keepwhole.replay.replay import replay
from keepwhole.replay.run_texts import RunTextIndex
from keepwhole.replay.search import PAGE, ResultSearch, pieces
from keepwhole.replay.summary import ComparedRun, summarize
from tests.replay.recorded import DROP_ALL, KEEP_ALL, Made, calls, facts, once_read, result, run, user

SHELVES = "\n".join(f"shelf {number} holds part P-{number:04} and nothing else" for number in range(40))
CUSTOMER = "the customer Smith has the order W-2380, which is open"
LISTING = f"{SHELVES}\n{CUSTOMER}\n{SHELVES}"


def shop(says: str | None = None, asks: str = "Help the customer.", **arguments: object) -> Run:
    """A listing, something else, and a step that uses an id of the listing."""
    return run(
        user(asks),
        calls("a", q="all"),
        result(LISTING, "a"),
        calls("b", q="hours"),
        result("nine to five", "b"),
        calls("c", says=says, **arguments),
    )


def under(policy: Made, run: Run) -> Outcome:
    return replay(facts(run), policy)


def words_of(run: Run, shown: str) -> set[str]:
    """The words for a search in the last step, where the listing is shown like this."""
    whole = facts(run)
    missing = [one for one in whole.evidence if one.sources == (0,)]
    return set(known_words(whole, 2, missing, {0: shown}))


def test_an_agent_asks_without_what_it_misses() -> None:
    one = shop("Cancel the order of Smith.", id="W-2380", other="P-0007 now")
    assert words_of(one, "-") == {"tool", "Cancel", "the", "order", "of", "Smith", "now"}


def test_rare_words_beside_a_call_are_not_known_if_only_hidden_results_have_them() -> None:
    one = shop("Smith has P-0007, and I think of v17.", id="W-2380")
    assert "0007" not in words_of(one, "-")
    assert "0007" in words_of(one, "parts: P-0007")
    assert "v17" in words_of(one, "-"), "no result has it: the agent's own idea"


def test_words_that_were_said_before_are_known() -> None:
    one = shop("Cancel it and look at P-0007.", asks="What of P-0007?", id="W-2380")
    assert "0007" in words_of(one, "-")


def test_the_words_on_the_line_of_what_is_missing_count_most_then_those_nearby() -> None:
    body = "ticket for Smith\norder W-2380 goes back\nby post\nwith\nmany thanks"
    whole = facts(shop(body=body))
    weights = known_words(whole, 2, whole.evidence, {0: "-"})
    assert [weights[word] for word in ("order", "back", "ticket", "with", "thanks")] == [16, 16, 8, 8, 1]


def test_a_page_says_nothing_twice() -> None:
    assert searched("smith order", CUSTOMER, CUSTOMER) == CUSTOMER


def test_a_quoted_line_that_is_missing_is_not_asked_with() -> None:
    assert words_of(shop(old=CUSTOMER), "-") == {"tool"}


def test_a_string_that_a_digest_lists_can_be_asked_for() -> None:
    one = shop(id="W-2380")
    assert "2380" not in words_of(one, "-")
    assert "2380" in words_of(one, "mentions W-2380")
    listed, hidden = (under(once_read(words), one).blind_searches for words in ("mentions W-2380", "gone"))
    assert [(ask.missing, ask.hits) for ask in (*listed, *hidden)] == [(1, 1), (1, 0)]


def test_a_listed_string_and_a_hidden_one_are_searched_for_together() -> None:
    (search,) = under(once_read("mentions W-2380"), shop(id="W-2380", part="P-0007")).blind_searches
    assert search.missing == 2


def test_the_words_round_a_string_bring_it_back() -> None:
    (search,) = under(once_read("gone"), shop("Cancel the open order of customer Smith.", id="W-2380")).blind_searches
    assert (search.step, search.missing, search.hits, search.rerun) == (2, 1, 1, ())
    assert len(CUSTOMER) < search.fetched <= PAGE


def test_a_miss_has_to_run_the_tool_again() -> None:
    (search,) = under(once_read("gone"), shop(id="W-2380")).blind_searches
    assert search == BlindSearch(2, 0, 1, 0, (len(LISTING),))


def test_half_a_hit_runs_again_only_what_is_missing() -> None:
    two = run(
        calls("a", q="1"),
        result(LISTING, "a"),
        calls("b", q="2"),
        result("the stock has item Q-5511", "b"),
        calls("c", says="Cancel for customer Smith.", id="W-2380", also="Q-5511"),
    )
    (search,) = under(DROP_ALL, two).blind_searches
    assert (search.missing, search.hits, search.rerun) == (2, 1, (len("the stock has item Q-5511"),))


def test_a_hit_costs_a_round_trip_with_its_page_and_a_miss_the_whole_result_besides() -> None:
    requests = [RequestTokens(1_000, 0, 0, CacheUsage(0, 0, 0))] * 11
    price = Price(0.1, 1.25, out=5)
    hit = BlindSearch(0, 100, 1, 1)
    miss = BlindSearch(0, 50, 1, 0, (400,))
    assert blind_search_cost(requests, [hit], price) == pytest.approx(100 + 100 * 2.25 + 200)
    assert blind_search_cost(requests, [miss], price) == pytest.approx(
        (100 + 50 * 2.25 + 200) + (100 + 400 * 2.25 + 200)
    )


def test_keeping_all_needs_no_search_and_dropping_all_costs_more_than_an_oracle() -> None:
    one = shop("Cancel the open order of customer Smith.", id="W-2380")
    full, none = under(KEEP_ALL, one), under(DROP_ALL, one)
    kept, dropped = summarize([ComparedRun(full, full)]), summarize([ComparedRun(none, full)])
    assert (kept.cost.blind_hits, kept.cost.all_in_blind) == (None, 1.0)
    assert dropped.cost.blind_hits == 1.0
    assert dropped.cost.prefix.value < dropped.cost.all_in_context.value < dropped.cost.all_in_blind
    missed = under(DROP_ALL, shop(id="W-2380"))
    row = summarize([ComparedRun(missed, under(KEEP_ALL, shop(id="W-2380")))])
    assert (row.cost.blind_hits, row.cost.all_in_blind > row.cost.rerun) == (0.0, True), (
        "a search in vain, then the tool again"
    )


def test_one_rare_word_weighs_more_than_many_common_ones() -> None:
    shelf = "this shelf holds one part and nothing else"
    assert searched("shelf holds part nothing smith", shelf, CUSTOMER, *[shelf] * 9).startswith(CUSTOMER)


def test_a_page_does_not_repeat_what_is_shown() -> None:
    first = pieces(SHELVES)[0]
    assert first in searched("shelf 0 holds", SHELVES)
    assert first not in searched("shelf 0 holds", SHELVES, shown=f"{first}\n[cut]")


def test_pieces_are_whole_lines_and_make_up_the_text() -> None:
    assert "\n".join(pieces(LISTING)) == LISTING
    assert all(line in LISTING.split("\n") for piece in pieces(LISTING) for line in piece.split("\n"))
    assert [len(piece) for piece in pieces("x" * 1_700)] == [800, 800, 100]


def searched(query: str, *results: str, shown: str = "-") -> str:
    texts = RunTextIndex()
    for text in results:
        texts.add(text)
    page = ResultSearch(texts, len).first_page(
        dict.fromkeys(query.split(), 1.0), dict.fromkeys(range(len(texts)), shown)
    )
    assert page.tokens <= PAGE
    return page.text
