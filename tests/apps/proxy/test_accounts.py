"""Which tokens may enter a session of an account: the first, those let in before, and those that know its results."""

import json
import logging
from types import SimpleNamespace
from typing import Any

import pytest

from keepwhole import MemoryStore, Session
from keepwhole.apps.proxy import accounts
from keepwhole.apps.proxy.accounts import TOOL, AccountSessions
from keepwhole.errors import StoreError
from tests.build import in_memory


def tool(call_id: str, content: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def call(call_id: str) -> dict[str, Any]:
    function = {"name": "read", "arguments": json.dumps({"path": call_id})}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": call_id, "type": "function", "function": function}],
    }


def conversation(**results: str) -> list[dict[str, Any]]:
    made = [message for call_id, text in results.items() for message in (call(call_id), tool(call_id, text))]
    return [{"role": "user", "content": "Look."}, *made]


def request(*messages: dict[str, Any]) -> Any:
    return SimpleNamespace(messages=list(messages))


def admits(session: Session, token: str, *messages: dict[str, Any], may_write: bool = True) -> bool:
    """What a process that was just started decides."""
    return AccountSessions().admit(session, token, request(*messages), may_write)


def noted(session: Session) -> list[dict[str, Any]]:
    return [json.loads(note.arguments or "") for note in session.conversations.notes(TOOL)]


@pytest.fixture
def session() -> Session:
    """A session that the token `first` made, with results of 60, 39 and 1 characters."""
    session = in_memory()
    assert admits(session, "first")
    session.view(conversation(c1="a" * 60, c2="b" * 39, c5="c"))
    return session


def test_the_token_that_makes_a_session_may_enter_it_from_then_on(session: Session) -> None:
    assert noted(session) == [{"v": 1, "token": "first", "first": True}]
    assert admits(session, "first")
    assert not admits(session, "second")
    assert len(noted(session)) == 1


@pytest.mark.parametrize(
    ("messages", "is_admitted"),
    [
        (conversation(c1="a" * 60, c2="b" * 39, c5="c"), True),
        (conversation(c5="c", c2="b" * 39, c1="a" * 60), True),
        (conversation(c1="a" * 60, c2="b" * 39), False),
        (conversation(c1="a" * 60, c2="b" * 39, c5="d"), False),
        (conversation(c1="a" * 60, c2="b" * 38, c5="c"), False),
        (conversation(c2="a" * 60, c1="b" * 39, c5="c"), False),
        (conversation(c3="a" * 60, c4="b" * 39, c5="c"), False),
        (conversation(c1="a" * 200), False),
        ([], False),
    ],
)
def test_a_new_token_enters_with_a_hundred_characters_of_results_under_their_ids(
    session: Session, messages: list[dict[str, Any]], is_admitted: bool
) -> None:
    assert admits(session, "second", *messages) is is_admitted
    assert admits(session, "second") is is_admitted
    assert noted(session)[1:] == ([{"v": 1, "token": "second", "first": False}] if is_admitted else [])
    assert not admits(session, "third")


def test_who_may_not_write_is_let_in_without_a_note(session: Session) -> None:
    whole, known = conversation(c1="a" * 60, c2="b" * 39, c5="c"), AccountSessions()
    assert known.admit(session, "second", request(*whole), may_write=False)
    assert not known.admit(session, "second", request(), may_write=False)
    assert len(noted(session)) == 1
    empty = in_memory()
    assert admits(empty, "any", may_write=False)
    assert noted(empty) == []


def test_a_process_asks_the_record_once(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    known, asked = AccountSessions(), list[str]()
    read = accounts._tokens

    def tokens(of: Session) -> set[str]:
        asked.append(of.id)
        return read(of)

    monkeypatch.setattr(accounts, "_tokens", tokens)
    for _ in range(3):
        assert known.admit(session, "first", request(), may_write=True)
    assert len(asked) == 1
    monkeypatch.setattr(accounts, "_MOST", 1)
    other = Session("other", store=MemoryStore())
    assert known.admit(other, "first", request(), may_write=True)
    before = len(asked)
    assert known.admit(session, "first", request(), may_write=True)
    assert len(asked) == before + 1


def test_a_record_that_cannot_be_read_lets_nobody_in(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(MemoryStore):
        def rows(self, *_: Any, **__: Any) -> Any:
            raise StoreError("gone")

    session = in_memory(store=Broken())
    with caplog.at_level(logging.WARNING):
        assert not admits(session, "first")
    assert "a token could not be looked up (StoreError): it gets a session of its own" in caplog.text


def test_only_the_first_of_several_that_say_they_made_a_session_did() -> None:
    session = in_memory()
    for about in ({"first": True}, {"first": True}, {"first": False}, {}, "no note"):
        number = len(session.conversations.notes(TOOL))
        given = {"v": 1, "token": f"t{number}", **about} if isinstance(about, dict) else about
        session.writer.append_notes([(session.writer.new_result(TOOL, given), "")])
        with session.conversations.journal.lock:
            session.conversations.journal.catch_up()
    assert [admits(session, f"t{number}") for number in range(4)] == [True, False, True, False]
