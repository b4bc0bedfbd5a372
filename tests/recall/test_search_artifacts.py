"""A search of a session's results by words: which words are tried, and how matches are told."""

from collections.abc import Sequence

import pytest

from keepwhole import MemoryStore, Session
from keepwhole.recall.search_artifacts import answer_search, find_matches, query_of
from keepwhole.store.protocol import Match, Row
from tests.build import in_memory


def kept(count: int, tool: str = "grep") -> tuple[list[Match], dict[str, Row]]:
    """Matches in this many results, and their rows."""
    session: Session = in_memory()
    assert isinstance(session.store, MemoryStore)
    traces = [session.keep(tool, {"n": number}, f"text {number}\n").trace_id for number in range(count)]
    rows = {row.trace_id: row for row in session.store.rows(session.id, kind="result")}
    return [Match(trace_id=trace, line=7, text=f"  line of {trace[-4:]}  ") for trace in traces], rows


def told(matches: Sequence[Match], rows: dict[str, Row], query: str = "line", limit: int = 32_000, **more: bool) -> str:
    return answer_search(
        query, matches, rows.get, lambda _, line: (line - 2, line + 2), limit, more.get("is_all", True)
    ).content


def test_a_query_is_one_line_of_bounded_length() -> None:
    assert query_of({"query": " a\n b\t c "}) == "a b c"
    assert query_of({"q": 7}) == "7"
    assert query_of({"query": "", "pattern": "x"}) == "x"
    assert query_of({"query": "x" * 400}) == query_of({"query": "x" * 401}) == "x" * 400


def test_words_are_tried_one_by_one_only_where_no_result_has_them_all() -> None:
    asked: list[tuple[str, int]] = []

    def search(words: str, most: int) -> list[Match]:
        asked.append((words, most))
        return [Match(trace_id="t", line=1, text="x")] if words == "all of it" else []

    assert [match.trace_id for match in find_matches("all of it", search)] == ["t"]
    assert asked == [("all of it", 20)]
    asked.clear()
    words = "alpha beta gamma delta epsilon zeta eta theta"
    assert find_matches(words, search) == []
    assert asked[0] == (words, 20)
    assert len(asked) == 7
    assert {most for _, most in asked} == {20}


def test_a_word_counts_from_its_least_weight_on_and_results_with_more_of_them_come_first() -> None:
    found = {"fail": ["b", "a"], "config": ["a"]}

    def search(words: str, most: int) -> list[Match]:
        return [Match(trace_id=name, line=1, text=words) for name in found.get(words, [])]

    assert [match.trace_id for match in find_matches("fail config", search)] == ["a", "b"]
    assert [match.trace_id for match in find_matches("fail config", search, 1.0)] == ["a", "b"]
    assert find_matches("fail config", search, 1.1) == []


def test_nothing_found_is_told_apart_from_not_everything_looked_at() -> None:
    assert told([], {}) == "[No result of this session holds these words. Look for fewer or other ones.]"
    assert told([], {}, is_all=False) == (
        "[Nothing found so far, but not every result could be looked at in time. Ask again, or for fewer words.]"
    )
    matches, rows = kept(1)
    hint = " (not everything was looked at: ask again, or for fewer words)"
    assert f"[1 found, best first{hint}; next: " in told(matches, rows, is_all=False)
    assert "[1 found, best first; next: " in told(matches, rows)


def test_a_match_is_told_with_the_call_that_reads_around_it() -> None:
    matches, rows = kept(1)
    (row,) = rows.values()
    answer = told(matches, rows)
    assert f'\nline 7: line of {row.trace_id[-4:]}\nget_artifact(id="art_' in answer
    assert 'lines="5-9")\n[1 found' in answer
    assert told([matches[0], Match(trace_id="gone", line=1, text="x")], rows) == answer


def test_ten_matches_are_told_and_all_are_counted() -> None:
    matches, rows = kept(12)
    answer = told(matches, rows)
    assert answer.count("\nline 7: ") == 10
    assert "[10 of 12 found, best first; next: " in answer


@pytest.mark.parametrize("limit", range(600, 1_400, 37))
def test_as_many_matches_are_told_as_fit_and_at_least_one(limit: int) -> None:
    matches, rows = kept(4)
    whole = told(matches, rows)
    answer = told(matches, rows, limit=limit)
    shown = answer.count("\nline 7: ")
    blocks = whole[: whole.rindex("[4 found")].split("[Artifact: ")[1:]
    call = blocks[0].splitlines()[-1]
    room, size, fits = limit - 200 - len(call), 0, 0
    for block in blocks:
        size += len("[Artifact: " + block)
        if size > room and fits:
            break
        fits += 1
    assert shown == fits
    assert f"[{f'{fits} of 4' if fits < 4 else 4} found, best first; next: {call}]" in answer


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("x" * 200, "x" * 200),
        ("x" * 201, "x" * 200 + "…"),
        ("a\tb\x07c", "a b c"),
        ("[Artifact: art_1", "> [Artifact: art_1"),
    ],
)
def test_a_line_is_told_in_two_hundred_printable_characters(line: str, shown: str) -> None:
    matches, rows = kept(1)
    answer = told([matches[0].replace(text=line)], rows)
    assert f"line 7: {shown}\n" in answer or shown.removeprefix("> ") in answer


@pytest.mark.parametrize(
    ("text", "query", "argument"),
    [
        ("x" * 499, "xx", 'lines="5-9"'),
        ("y" * 490 + " Needle yy", "needle other", 'pattern="Needle"'),
        ("needle" + "y" * 500, "NEEDLE longer_than_that", 'pattern="needle"'),
        ("y" * 500, "aa bbb c", 'pattern="bbb"'),
        ("İ needle" + "y" * 500, "NEEDLE", 'pattern="NEEDLE"'),
    ],
)
def test_a_long_line_is_read_by_the_longest_word_as_it_is_spelled_there(text: str, query: str, argument: str) -> None:
    matches, rows = kept(1)
    assert f", {argument})\n" in told([matches[0].replace(text=text)], rows, query)


def test_a_match_in_what_a_call_was_given_is_read_there() -> None:
    matches, rows = kept(1)
    answer = told([matches[0].replace(part="arguments", text="Some Words")], rows, "words")
    assert "\narguments of the call: Some Words\n" in answer
    assert ', part="arguments", pattern="Words")\n' in answer
