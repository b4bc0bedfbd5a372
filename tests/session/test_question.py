"""What a result is wanted for decides what is kept of it."""

import json

from keepwhole import MemoryStore, Session

ITEMS = json.dumps([{"id": n, "name": f"item {n}"} for n in range(2_000)])


def test_the_element_that_the_question_names_is_shown() -> None:
    session = Session(store=MemoryStore())
    assert '"item 1234"' in session.keep("list", {}, ITEMS, question="what is item 1234?").content
    assert '"item 1234"' not in session.keep("list", {}, ITEMS).content


def test_a_call_that_asks_something_says_what_its_result_is_wanted_for() -> None:
    session = Session(store=MemoryStore())
    assert '"item 1234"' in session.keep("find", {"query": "item 1234"}, ITEMS).content
    assert session.keep("find", "no json", ITEMS).metadata.was_truncated
    assert session.keep("find", "[1]", ITEMS).metadata.was_truncated
    assert session.verify().whole
