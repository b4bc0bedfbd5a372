"""Results that are sent in full may be stored after the request is sent; results that are cut are stored before."""

from pathlib import Path
from typing import Any

from keepwhole.session import Session


def _request(*texts: str) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
    for number, text in enumerate(texts):
        call = {"type": "tool_use", "id": f"toolu_{number}", "name": "Bash", "input": {"command": f"ls {number}"}}
        result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": text}
        messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    return messages


def _kept(session: Session) -> list[bytes]:
    rows = session.store.rows(session.id, kind="result")
    return [session.recall_bytes(row.trace_id) for row in rows]


def _session(folder: Path) -> Session:
    return Session("s", store=str(folder))


def test_a_result_that_is_sent_whole_is_on_record_once_it_is_settled(tmp_path: Path) -> None:
    with _session(tmp_path) as session:
        messages = _request("short")
        assert session.view(messages, policy="auto", settles=True) == messages
        assert _kept(session) == []
        session.settle()
        assert _kept(session) == [b"short"]
        session.settle()
        assert _kept(session) == [b"short"]


def test_a_result_that_is_hidden_is_on_record_before_it_is_sent(tmp_path: Path) -> None:
    long = "a line of output\n" * 5_000
    with _session(tmp_path) as session:
        view = session.view(_request(long), policy="auto", settles=True)
        assert len(view[-1]["content"][0]["content"]) < len(long)
        assert _kept(session) == [long.encode()]


def test_what_was_not_settled_is_kept_with_the_next_request(tmp_path: Path) -> None:
    with _session(tmp_path) as session:
        session.view(_request("one"), policy="auto", settles=True)
        session.view(_request("one", "two"), policy="auto")
        assert _kept(session) == [b"one", b"two"]


def test_settling_where_the_record_cannot_be_written_loses_nothing(tmp_path: Path) -> None:
    with _session(tmp_path / "store") as session:
        session.view(_request("one"), policy="auto", settles=True)
        (tmp_path / "store").rename(tmp_path / "away")
        (tmp_path / "store").write_text("no folder")
        session.settle()
        (tmp_path / "store").unlink()
        (tmp_path / "away").rename(tmp_path / "store")
        session.view(_request("one", "two"), policy="auto")
        assert _kept(session) == [b"one", b"two"]


def test_a_view_that_settles_is_the_same_as_one_that_does_not(tmp_path: Path) -> None:
    texts = ["short", "a line of output\n" * 3_000, "short", "other"]
    with _session(tmp_path / "a") as one, _session(tmp_path / "b") as other:
        for many in range(1, len(texts) + 1):
            messages = _request(*texts[:many])
            settled = one.view(messages, policy="auto", settles=True)
            one.settle()
            plain = other.view(messages, policy="auto")
            assert [len(str(each)) for each in settled] == [len(str(each)) for each in plain]


def _talk(name: str, text: str) -> list[dict[str, Any]]:
    """A conversation that begins like all others of its session."""
    call = {"type": "tool_use", "id": f"toolu_{name}", "name": "Bash", "input": {"command": name}}
    result = {"type": "tool_result", "tool_use_id": f"toolu_{name}", "content": text}
    first = {"role": "user", "content": "go"}
    return [first, {"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]


def test_a_conversation_that_begins_alike_loses_nothing_of_one_that_is_not_settled(tmp_path: Path) -> None:
    """Sub-agents begin with the same words, and answer while others wait for theirs."""
    with _session(tmp_path) as session:
        session.view(_talk("a", "of one agent"), policy="auto", settles=True)
        session.view(_talk("b", "of another agent"), policy="auto", settles=True)
        session.settle()
        assert sorted(_kept(session)) == [b"of another agent", b"of one agent"]


def test_going_back_loses_nothing_that_was_not_settled(tmp_path: Path) -> None:
    with _session(tmp_path) as session:
        session.view(_request("one", "two"), policy="auto", settles=True)
        session.view(_request("one"), policy="auto", settles=True)
        session.settle()
        assert _kept(session) == [b"one", b"two"]


def test_conversations_that_are_forgotten_are_settled_first(tmp_path: Path) -> None:
    with _session(tmp_path) as session:
        talks = [_talk(f"t{number}", f"result {number}") for number in range(12)]
        for number, talk in enumerate(talks):
            session.view([{"role": "user", "content": f"go {number}"}, *talk[1:]], policy="auto", settles=True)
        session.settle()
        assert sorted(_kept(session)) == sorted(f"result {number}".encode() for number in range(12))
