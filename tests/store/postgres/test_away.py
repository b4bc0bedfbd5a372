"""A server that is stopped in mid-session: results go out whole, what was decided holds, and it goes on after."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from keepwhole import Session
from keepwhole.config import Settings
from keepwhole.errors import StoreError
from tests.build import numbered_lines
from tests.postgres import fresh_url, running
from tests.promises import conversations as talk

pytest.importorskip("psycopg_pool", reason="needs the extra `postgres`")

import psycopg

from keepwhole.store.postgres.server import one_line
from keepwhole.store.postgres.store import PostgresStore
from tests.store.postgres.relay import Relay

LONG = numbered_lines(3_000)


@pytest.fixture
def relay() -> Iterator[Relay]:
    with Relay(str(running().pgdata)) as relay:
        yield relay


@pytest.fixture
def session(relay: Relay, tmp_path: Path) -> Iterator[Session]:
    """A session whose server can be stopped."""
    url = relay.url(fresh_url().rpartition("schema=")[2])
    store = PostgresStore(url, str(tmp_path), patience=0.3)
    yield Session("s", store=store, settings=Settings(home=str(tmp_path), policy="truncation"))
    store.close()


def until_stored(session: Session, text: str) -> str:
    """Keep it again and again until the server is found to be back; its trace id."""
    until = time.monotonic() + 5
    while time.monotonic() < until:
        shown = session.keep("t", None, text)
        if shown.trace_id is not None:
            return shown.trace_id
        assert shown.content == text
        time.sleep(0.1)
    raise AssertionError("never stored again")


@pytest.mark.parametrize("size", [40, 3_000, 20_000], ids=["in the row", "cut", "in pieces"])
def test_what_cannot_be_stored_is_shown_whole_and_counted_and_it_goes_on_after(
    session: Session, relay: Relay, size: int
) -> None:
    text = numbered_lines(size)
    before = session.keep("t", None, text, call_id="before")
    relay.away()
    for count in range(1, 4):
        shown = session.keep("t", None, iter([text[:5_000], text[5_000:]]), call_id=f"away {count}")
        assert (shown.content, shown.trace_id, shown.metadata.stored) == (text, None, False)
        assert isinstance(shown.problem, StoreError), "`NotStored`, or what kept us from asking the server at all"
        assert session.metrics.unstored_total == count
    relay.back()
    after = until_stored(session, text)
    assert session.recall(after) == session.recall(str(before.trace_id)) == text
    assert session.verify().whole


def test_only_the_first_result_waits_for_a_server_that_is_away(relay: Relay, tmp_path: Path) -> None:
    store = PostgresStore(relay.url(fresh_url().rpartition("schema=")[2]), str(tmp_path), patience=1.5)
    session = Session("s", store=store)
    session.keep("t", None, "x")
    relay.away()
    took: list[float] = []
    for _ in range(4):
        began = time.monotonic()
        assert session.keep("t", None, LONG).content == LONG
        took.append(time.monotonic() - began)
    assert took[0] > 1.0
    assert max(took[1:]) < 0.5
    store.close()


def test_what_was_decided_is_still_shown_so_and_what_is_new_is_whole(session: Session, relay: Relay) -> None:
    messages = [talk.user_message("go")]

    def step(name: str) -> dict[str, str]:
        messages.extend(talk.call_messages("anthropic", [(name, "bash", {"n": name})]))
        messages.extend(talk.result_messages("anthropic", [(name, LONG + name)]))
        return dict(talk.result_texts("anthropic", session.view(messages)))

    seen = step("one")
    assert len(seen["one"]) < len(LONG)
    relay.away()
    away = step("two")
    assert away == {"one": seen["one"], "two": LONG + "two"}
    assert step("three") == {**away, "three": LONG + "three"}
    relay.back()
    time.sleep(1.1)
    back = step("four")
    assert back["one"] == seen["one"]
    assert len(back["four"]) < len(LONG)
    kept = {session.recall(row.trace_id) for row in session.store.rows("s", kind="result")}
    assert kept >= {LONG + "one", LONG + "four"}


def test_what_a_server_says_in_several_lines_becomes_one_sentence_after_another() -> None:
    said = psycopg.OperationalError("connection failed: Connection refused\n\tIs the server running  there?\n")
    assert one_line(said) == "connection failed: Connection refused; Is the server running there?"
    assert one_line(psycopg.OperationalError()) == "OperationalError"
