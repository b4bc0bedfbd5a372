"""`select_relevant_contexts`: words of the query and of the calls, the best first, all where nothing matches."""

from collections.abc import Sequence

import pytest

from keepwhole.errors import UsageError
from keepwhole.recall.selector import Candidate, by_embedding, by_model
from keepwhole.standalone.contexts import ContextManager, MemoryFileSystem, get_tool_description, hash_query
from keepwhole.standalone.contexts.pointers import Pointers


@pytest.fixture
def contexts() -> ContextManager:
    contexts = ContextManager("/c", file_system=MemoryFileSystem())
    contexts.save_context("get_financials", {"ticker": "AAPL", "period": "quarterly"}, {"revenue": 1}, 1, "q1")
    contexts.save_context("get_financials", {"ticker": "MSFT", "period": "quarterly"}, {"revenue": 2}, 2, "q1")
    contexts.save_context("search_code", {"pattern": "parseConfig", "path": "src/settings"}, "none", 1, "q2")
    contexts.save_context("read_file", {"path": "src/billing/refunds.py"}, "text", 2, "q2")
    return contexts


def chosen(contexts: ContextManager, query: str, **how: object) -> list[str]:
    """The arguments of the chosen calls, as text."""
    paths = contexts.select_relevant_contexts(query, **how)  # type: ignore[arg-type]
    loaded = contexts.load_contexts(paths)
    return [str(context.args.get("ticker") or context.args.get("path")) for context in loaded]


def test_it_returns_an_empty_list_for_no_pointers(contexts: ContextManager) -> None:
    assert contexts.select_relevant_contexts("anything", []) == []
    assert ContextManager("/d", file_system=MemoryFileSystem()).select_relevant_contexts("anything") == []


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("How did AAPL do?", "AAPL"),
        ("what did refunds.py hold?", "src/billing/refunds.py"),
        ("which refund code did we read?", "src/billing/refunds.py"),
        ("where is parse_config used?", "src/settings"),
    ],
)
def test_it_matches_words_of_the_query_to_descriptions(contexts: ContextManager, query: str, expected: str) -> None:
    assert chosen(contexts, query)[0] == expected


def test_it_scores_by_how_many_words_are_shared(contexts: ContextManager) -> None:
    assert chosen(contexts, "quarterly financials of MSFT") == ["MSFT", "AAPL"]


def test_it_returns_paths_of_files_sorted_by_relevance(contexts: ContextManager) -> None:
    pointers = contexts.get_all_pointers()
    found = contexts.select_relevant_contexts("read the settings path of parseConfig in src", pointers)
    assert found == [pointers[2].filepath, pointers[3].filepath]
    assert found == contexts.select_relevant_contexts("read the settings path of parseConfig in src")


@pytest.mark.parametrize("query", ["zebra", "", "what is the?"])
def test_it_falls_back_to_all_pointers_where_nothing_matches(contexts: ContextManager, query: str) -> None:
    pointers = contexts.get_all_pointers()
    everything = [pointer.filepath for pointer in pointers]
    assert contexts.select_relevant_contexts(query, pointers) == everything
    assert contexts.select_relevant_contexts(query) == everything
    assert contexts.select_relevant_contexts(query, pointers[:2]) == everything[:2]


def test_it_chooses_only_among_the_pointers_given(contexts: ContextManager) -> None:
    of_query = contexts.get_pointers_for_query("q2")
    assert chosen(contexts, "quarterly AAPL src", available_pointers=of_query)[:1] == ["src/billing/refunds.py"]


def test_it_gives_no_more_than_the_limit(contexts: ContextManager) -> None:
    assert len(contexts.select_relevant_contexts("zebra", limit=3)) == 3


def test_a_limit_below_none_is_refused(contexts: ContextManager) -> None:
    assert contexts.select_relevant_contexts("anything", limit=0) == []
    with pytest.raises(UsageError, match="`limit`"):
        contexts.select_relevant_contexts("anything", limit=-1)


def test_many_given_pointers_are_looked_up_in_the_index() -> None:
    contexts = ContextManager("/c", file_system=MemoryFileSystem())
    for n in range(3_000):
        contexts.save_context("read_file", {"path": f"src/part_{n}.py"}, n)
    pointers = contexts.get_all_pointers()
    wanted = pointers[1234].filepath
    assert contexts.select_relevant_contexts("part_1234.py", pointers)[0] == wanted
    assert wanted not in contexts.select_relevant_contexts("part_1234.py", pointers[:1234] + pointers[1235:])
    strangers = [pointer._replace(filename="x", filepath=f"/x/{at}") for at, pointer in enumerate(pointers)]
    assert contexts.select_relevant_contexts("part_1234.py", strangers)[0] == "/x/1234"


def test_of_equally_good_ones_the_newest_comes_first_and_common_words_are_capped() -> None:
    pointers = Pointers("/c")
    for n in range(5_000):
        pointers.add(f"f{n}", "read_file", f'{{"n": "{"zebra" if n == 7 else "horse"}"}}', None, None)
    assert pointers.best("read file")[:2] == ["/c/f4999", "/c/f4998"]
    assert len(pointers.best("read file")) <= 1_000
    assert pointers.best("read zebra file")[0] == "/c/f7"


def test_a_model_may_choose(contexts: ContextManager) -> None:
    asked: list[str] = []

    def ask(prompt: str) -> str:
        asked.append(prompt)
        return "1, 0, 99"

    assert chosen(contexts, "quarterly financials", selector=by_model(ask)) == ["AAPL", "MSFT"]
    assert "get_financials: ticker MSFT, period quarterly" in asked[0]
    assert "Question: quarterly financials" in asked[0]


def test_a_model_that_answers_nothing_leaves_the_order_as_it_was(contexts: ContextManager) -> None:
    plainly = chosen(contexts, "quarterly financials")
    assert chosen(contexts, "quarterly financials", selector=by_model(lambda _: "none of them")) == plainly


def test_an_embedding_may_choose(contexts: ContextManager) -> None:
    def embed(texts: Sequence[str]) -> list[list[float]]:
        return [[float("AAPL" in text or "fruit" in text), 1.0, 0.0] for text in texts]

    assert chosen(contexts, "quarterly fruit", selector=by_embedding(embed))[0] == "AAPL"


def test_a_selector_of_the_manager_holds_for_every_selection() -> None:
    def last(query: str, candidates: Sequence[Candidate]) -> list[int]:
        return [len(candidates) - 1]

    contexts = ContextManager("/c", file_system=MemoryFileSystem(), selector=last)
    paths = [contexts.save_context("t", {"n": n}, n) for n in range(3)]
    assert contexts.select_relevant_contexts("zebra", contexts.get_all_pointers()) == paths[-1:]


def test_descriptions_are_one_line_for_people() -> None:
    described = get_tool_description("run", {"command": "ls\n-la " + "x" * 500, "none": None, "n": [1, 2]})
    assert described.startswith("run: command ls -la xxx")
    assert described.endswith("…, n [1, 2]")
    assert get_tool_description("status", {}) == "status"


def test_a_query_is_identified_by_a_hash_of_its_words() -> None:
    assert hash_query(" how is it? ") == hash_query("how is it?") != hash_query("how was it?")
