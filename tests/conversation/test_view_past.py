"""A first view of a session on record, by another process: sent the same, and safe where a lookup fails."""

from pathlib import Path
from typing import Any

import pytest

from keepwhole import Session
from keepwhole.errors import StoreError
from keepwhole.store.protocol import HasLookups
from tests.build import numbered_lines
from tests.stores import place


def messages(results: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [{"role": "user", "content": "go on"}]
    for number in range(results):
        call = {"id": f"c{number}", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
        found.append({"role": "assistant", "content": None, "tool_calls": [call]})
        found.append({"role": "tool", "tool_call_id": f"c{number}", "content": f"{number}\n{numbered_lines(4_000)}"})
    return found


each_kind = pytest.mark.parametrize("kind", ["sqlite", "postgres"])


@each_kind
@pytest.mark.parametrize("lookup", ["results_of_calls", "decisions_about", "newest_views"])
def test_a_lookup_that_fails_hides_nothing_and_records_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, lookup: str
) -> None:
    at = place(kind, tmp_path)
    first = at.open()
    sent = Session("s", store=first).view(messages(3), policy="truncation")
    assert sent != messages(3), "something is cut"
    entries = len(list(first.rows("s")))
    first.close()

    store = at.open()
    assert isinstance(store, HasLookups)
    session = Session("s", store=store)

    def fail(*_: object) -> None:
        raise StoreError("away")

    with monkeypatch.context() as away:
        away.setattr(store.lookups, lookup, fail)
        longer = messages(4)
        assert session.view(longer, policy="truncation")[-1] == longer[-1], "what is not on record is sent in full"
        assert len(list(store.rows("s"))) == entries
    again = session.view(messages(4), policy="truncation")
    assert again[: len(sent)] == sent
    assert len([row for row in store.rows("s") if row.kind == "result"]) == 4, "no result is recorded twice"
    store.close()


@each_kind
def test_another_process_sends_the_same_and_records_nothing_again(tmp_path: Path, kind: str) -> None:
    at = place(kind, tmp_path)
    first = at.open()
    sent = Session("s", store=first).view(messages(3), policy="truncation")
    store = at.open()
    session = Session("s", store=store)
    assert session.view(messages(3), policy="truncation") == sent
    assert session.view(sent, policy="truncation") == sent, "views come back as the results they stand for"
    assert session.hydrate(sent) == messages(3)
    longer = Session("s", store=first).view(messages(5), policy="truncation")
    assert session.view(messages(5), policy="truncation") == longer, "what the other one recorded since is followed"
    assert len([row for row in store.rows("s") if row.kind == "result"]) == 5
    first.close()
    store.close()
