"""How long a session lives: a durable one until it is purged, an ephemeral one until its end."""

import re
from pathlib import Path
from typing import Any

import pytest

import keepwhole
from keepwhole import MemoryStore, Session, SqliteStore
from keepwhole.errors import NotFound, UsageError
from tests.build import numbered_lines, open_files, run_python

LARGE = numbered_lines(9_000)


def files(folder: Path) -> list[Path]:
    return [path for path in (folder / "blobs").rglob("*") if path.is_file()]


# Opening


def test_a_session_without_a_name_gets_one_of_its_own() -> None:
    one, two = keepwhole.session(), keepwhole.session()
    assert re.fullmatch(r"s_[0-9A-Za-z]{22}", one.id)
    assert one.id != two.id


@pytest.mark.parametrize("name", ["", "../up", "a b", "-x", "x" * 129])
def test_a_name_that_cannot_be_one_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="128 letters"):
        keepwhole.session(name)


def test_a_session_is_given_the_name_of_its_policy() -> None:
    old = "".join(f"old line {number}\n" for number in range(400))
    messages: list[Any] = [{"role": "user", "content": "go"}]
    for number in range(8):
        function = {"name": "read_file", "arguments": f'{{"path": "/f{number}"}}'}
        call = {"id": f"c{number}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": old})
    sent = Session("s", store=MemoryStore(), policy="rolling").view(messages)
    assert sent[2]["content"] == "[content truncated - 7 steps ago]"
    assert sent[-1]["content"] == old


@pytest.mark.parametrize("given", ["nope", 5, {"max_age": 2}])
def test_what_is_no_policy_is_refused_where_it_is_given(given: Any) -> None:
    with pytest.raises(UsageError, match="policy"):
        Session("s", store=MemoryStore(), policy=given)
    session = Session("s", store=MemoryStore())
    with pytest.raises(UsageError, match="policy"):
        session.view([{"role": "user", "content": "go"}], policy=given)


def test_a_session_is_recorded_with_its_agent_and_its_place(tmp_path: Path) -> None:
    store = MemoryStore()
    Session("s", store=store, agent="helper", workspace="/work").keep("t", None, "x")
    (info,) = store.sessions()
    assert (info.agent, info.workspace, info.ephemeral) == ("helper", "/work", False)


def test_a_session_that_is_never_used_leaves_nothing(tmp_path: Path) -> None:
    for ephemeral in (False, True):
        with Session("s", store=str(tmp_path / "home"), ephemeral=ephemeral):
            pass
    assert not (tmp_path / "home").exists()


def test_a_session_lies_where_the_environment_says(tmp_path: Path) -> None:
    with keepwhole.session("s") as session:
        session.keep("t", None, "x")
    assert (tmp_path / "home" / "record.db").is_file()


# Durable


def test_a_durable_session_outlives_its_block() -> None:
    with keepwhole.session("s") as session:
        shown = session.keep("t", None, LARGE)
    with keepwhole.session("s") as session:
        assert session.recall(str(shown.artifact_id)) == LARGE


RESUME = """
import sys
import keepwhole
with keepwhole.session("s", store=sys.argv[1]) as session:
    print(len(session.recall(sys.argv[2])), session.verify().whole)
    session.keep("t", None, "from another process")
"""


def test_a_durable_session_is_resumed_in_another_process(tmp_path: Path) -> None:
    with Session("s", store=str(tmp_path)) as session:
        shown = session.keep("t", None, LARGE)
    assert run_python(RESUME, str(tmp_path), str(shown.artifact_id)).split() == [str(len(LARGE)), "True"]
    with Session("s", store=str(tmp_path)) as session:
        assert [row.seq for row in session.store.rows("s")] == [1, 2, 3]
        assert session.verify().whole


def test_a_durable_session_that_ends_says_so_and_stays(tmp_path: Path) -> None:
    session = Session("s", store=str(tmp_path))
    shown = session.keep("t", None, LARGE)
    session.end()
    assert session.store.sessions()[0].ended_at is not None
    assert session.recall(str(shown.trace_id)) == LARGE
    session.close()


def test_a_closed_session_holds_nothing_open_and_can_be_closed_again(tmp_path: Path) -> None:
    session = Session("s", store=str(tmp_path))
    session.keep("t", None, LARGE)
    session.close()
    session.close()
    assert open_files(str(tmp_path)) == []


def test_a_session_leaves_a_store_that_it_was_given_open(tmp_path: Path) -> None:
    store = SqliteStore(str(tmp_path))
    with Session("s", store=store) as session:
        session.keep("t", None, "x")
    assert open_files(str(tmp_path))
    store.close()


# Ephemeral


def test_an_ephemeral_session_is_purged_at_its_end(tmp_path: Path) -> None:
    with Session("s", store=str(tmp_path), ephemeral=True) as session:
        session.keep("t", None, LARGE)
        session.keep("t", None, "short")
        assert files(tmp_path)
    assert files(tmp_path) == []
    store = SqliteStore(str(tmp_path))
    assert store.sessions() == []
    (stone,) = store.tombstones()
    assert (stone.name, stone.seq) == ("s", 3)
    store.close()


def test_an_ephemeral_session_is_purged_though_its_block_fails(tmp_path: Path) -> None:
    def fail(session: Session) -> None:
        with session:
            session.keep("t", None, LARGE)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail(Session("s", store=str(tmp_path), ephemeral=True))
    assert files(tmp_path) == []


def test_what_an_ephemeral_session_shows_resolves_while_it_lives(tmp_path: Path) -> None:
    with Session("s", store=str(tmp_path), ephemeral=True) as session:
        shown = session.keep("t", None, LARGE)
        assert session.call_tool("get_artifact", {"id": shown.artifact_id}).is_error is False
        session.end()
        with pytest.raises(NotFound):
            session.recall(str(shown.artifact_id))


def test_an_ephemeral_session_is_in_use_while_it_is_open(tmp_path: Path) -> None:
    store = SqliteStore(str(tmp_path))
    session = Session("s", store=str(tmp_path), ephemeral=True)
    session.keep("t", None, "x")
    assert store.is_held("s")
    session.close()
    assert not store.is_held("s")
    store.close()


def test_a_durable_session_is_not_purged_because_it_was_resumed_as_ephemeral(tmp_path: Path) -> None:
    with Session("s", store=str(tmp_path)) as session:
        shown = session.keep("t", None, LARGE)
    with Session("s", store=str(tmp_path), ephemeral=True) as session:
        session.keep("t", None, "more")
    with Session("s", store=str(tmp_path)) as session:
        assert session.recall(str(shown.artifact_id)) == LARGE


def test_an_ephemeral_session_is_purged_though_it_was_resumed_without_saying_so(tmp_path: Path) -> None:
    first = Session("s", store=str(tmp_path), ephemeral=True)
    first.keep("t", None, LARGE)
    first.close()
    with Session("s", store=str(tmp_path)) as session:
        session.keep("t", None, "more")
        session.end()
    assert files(tmp_path) == []


def test_an_ephemeral_session_can_begin_again_after_its_end(tmp_path: Path) -> None:
    with Session("s", store=str(tmp_path), ephemeral=True) as session:
        session.keep("t", None, "first life")
        session.end()
        shown = session.keep("t", None, "second life")
        assert session.recall(str(shown.trace_id)) == "second life"
        assert session.verify().whole
    store = SqliteStore(str(tmp_path))
    assert store.sessions() == []
    store.close()
