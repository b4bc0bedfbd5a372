"""Results of clients that put a frame around them: repeats, cuts and pointers are of what the tool returned."""

from typing import Any

import pytest

from keepwhole.canonical.entry import Result
from keepwhole.exchange.request_log import RequestLog
from keepwhole.store.protocol import body_of, result_of
from keepwhole.store.sqlite.store import SqliteStore
from tests.exchange.checked_proxy import CheckedProxy, long_log, result_texts
from tests.wire.clients import ClaudeCode, Codex, Json, Nameless
from tests.wire.test_frames import PARTIAL, TASKS, chunk, tokens_left

OUTPUT = "".join(f"{number}\n" for number in range(1_300))
"""Six kilobytes, as a command prints them: shown in full when they come."""
SAME = "Same as the earlier result"


def framed(client: Any, text: str, number: int) -> str:
    """A text in the frame of its client, which is another one each time."""
    if isinstance(client, Codex):
        return chunk(0, f"{number:06x}", f"{number}.0125") + text
    return text + tokens_left(15_000_000 - 7 * number)


def steps(client: Any, *texts: str) -> list[Json]:
    history = [client.prompt("go")]
    for number, text in enumerate(texts):
        history += [*client.calls(f"c{number}"), *client.results(**{f"c{number}": text})]
    return history


def kept(proxy: CheckedProxy, client: Any) -> list[tuple[Result, str]]:
    found: list[tuple[Result, str]] = []
    for row in proxy.store.rows(client.session, kind="result"):
        result = result_of(row)
        if result.call_id is not None:
            with proxy.session(client.session).open(row.trace_id) as reader:
                found.append((result, reader.text()))
    return found


every_client = pytest.mark.parametrize("client", [ClaudeCode(), Codex()], ids=["claude", "codex"])


@every_client
def test_the_same_output_again_becomes_a_pointer_in_its_own_frame(client: Any) -> None:
    proxy = CheckedProxy()
    texts = [framed(client, OUTPUT, number) for number in range(3)]
    shown = result_texts(proxy.send(client.request(steps(client, *texts))))
    assert shown["c0"] == texts[0]
    for number in (1, 2):
        view = shown[f"c{number}"]
        assert SAME in view
        assert len(view) < 600
        pointer = view.removeprefix(framed(client, "", number)).removesuffix(framed(client, "", number))
        assert framed(client, pointer, number) == view


@every_client
def test_the_record_has_what_the_tool_returned_and_the_frame_beside_it(client: Any, tmp_path: Any) -> None:
    proxy = CheckedProxy(SqliteStore(tmp_path))
    texts = [framed(client, OUTPUT, number) for number in range(2)]
    proxy.send(client.request(steps(client, *texts)))
    results = kept(proxy, client)
    assert [text for _, text in results] == [OUTPUT, OUTPUT]
    assert [f"{result.frame[0]}{OUTPUT}{result.frame[1]}" for result, _ in results if result.frame] == texts
    assert {result.exit_code for result, _ in results} == ({0} if isinstance(client, Codex) else {None})
    assert proxy.session(client.session).verify().whole
    proxy.store.close()


@every_client
def test_a_cut_leaves_the_frame_where_it_was(client: Any) -> None:
    proxy, log = CheckedProxy(), long_log("c0")
    view = result_texts(proxy.send(client.request(steps(client, framed(client, log, 1)))))["c0"]
    assert "left out" in view
    assert len(view) < len(log) / 2
    before, _, behind = framed(client, "\0", 1).partition("\0")
    assert view.startswith(before)
    assert view.endswith(behind)


def test_the_reminder_that_a_file_was_read_in_part_survives_a_cut_and_is_a_mark() -> None:
    client, proxy = ClaudeCode(), CheckedProxy()
    reminder = f"\n\n<system-reminder>\n{PARTIAL}\n</system-reminder>" + TASKS + tokens_left(3)
    view = result_texts(proxy.send(client.request(steps(client, long_log("c0", 9_000) + reminder))))["c0"]
    assert "left out" in view
    assert view.endswith(reminder)
    ((result, _),) = kept(proxy, client)
    assert "truncation_marker" in result.flags


@every_client
def test_an_aged_pointer_leaves_the_frame_where_it_was(client: Any) -> None:
    proxy = CheckedProxy()
    outputs = [f"{number} {OUTPUT * 2}" for number in range(90)]
    texts = [framed(client, text, number) for number, text in enumerate(outputs)]
    shown: dict[str, str] = {}
    for length in range(10, 91, 10):
        shown = result_texts(proxy.send(client.request(steps(client, *texts[:length]))))
    aged = [number for number in range(90) if len(shown[f"c{number}"]) < 1_000]
    assert len(aged) > 10
    for number in aged:
        before, _, behind = framed(client, "\0", number).partition("\0")
        assert shown[f"c{number}"].startswith(before)
        assert shown[f"c{number}"].endswith(behind)


@pytest.mark.parametrize("change", ["another number", "gone"])
def test_a_frame_that_changes_in_an_old_message_changes_nothing_else(change: str) -> None:
    client, proxy = ClaudeCode(), CheckedProxy()
    log = long_log("c0")
    texts = [log + tokens_left(9), OUTPUT + tokens_left(8), OUTPUT + tokens_left(7)]
    first = result_texts(proxy.send(client.request(steps(client, *texts))))
    later = [log + (tokens_left(5) if change == "another number" else ""), *texts[1:], "end" + tokens_left(4)]
    second = result_texts(proxy.send(client.request(steps(client, *later))))
    assert second["c0"] == first["c0"].removesuffix(tokens_left(9)) + (tokens_left(5) if change != "gone" else "")
    assert {call: second[call] for call in ("c1", "c2")} == {call: first[call] for call in ("c1", "c2")}
    assert proxy.kept_calls(client.session) == ["c0", "c1", "c2", "c3"]


@every_client
def test_a_session_recorded_with_frames_in_its_results_goes_on_unchanged(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = CheckedProxy()
    texts = [framed(client, long_log("a"), 1), framed(client, OUTPUT, 2)]
    with monkeypatch.context() as before:
        before.setattr("keepwhole.conversation.recognized_messages.without_frames", lambda message, _: message)
        first = result_texts(proxy.send(client.request(steps(client, *texts))))
    restarted = CheckedProxy(proxy.store)
    second = result_texts(restarted.send(client.request(steps(client, *texts, framed(client, OUTPUT, 3)))))
    assert {call: second[call] for call in first} == first
    assert restarted.kept_calls(client.session) == ["c0", "c1", "c2"]
    assert [text for _, text in kept(restarted, client)] == [*texts, OUTPUT]


@every_client
def test_the_same_bytes_are_sent_after_a_restart(client: Any) -> None:
    proxy = CheckedProxy()
    texts = [framed(client, long_log("a"), 1), framed(client, OUTPUT, 2), framed(client, OUTPUT, 3)]
    sent = client.request(steps(client, *texts))
    first = proxy.forward(sent)
    entries = proxy.count_entries()
    assert CheckedProxy(proxy.store).forward(sent) == first
    assert proxy.count_entries() == entries


def test_a_result_that_the_client_lost_is_put_back_with_its_frame() -> None:
    client, proxy = Codex(), CheckedProxy()
    history = steps(client, framed(client, long_log("a"), 1), framed(client, OUTPUT, 2))
    first = proxy.send(client.request(history))
    history[2]["output"] = ""
    assert result_texts(proxy.send(client.request(history))) == result_texts(first)


def test_a_tool_that_prints_what_a_client_would_loses_nothing() -> None:
    printed = long_log("a") + tokens_left(5)
    nameless, proxy = Nameless(), CheckedProxy()
    proxy.send(nameless.request(steps(nameless, printed)))
    (name,) = proxy.sessions()
    (row,) = proxy.store.rows(name, kind="result")
    with proxy.session(name).open(row.trace_id) as reader:
        assert reader.text() == printed

    client = ClaudeCode()
    view = result_texts(proxy.send(client.request(steps(client, printed + tokens_left(4)))))["c0"]
    assert view.endswith(tokens_left(5) + tokens_left(4))
    ((result, text),) = kept(proxy, client)
    assert result.frame is not None
    assert f"{result.frame[0]}{text}{result.frame[1]}" == printed + tokens_left(4)


@every_client
def test_a_request_on_record_refers_to_the_result_in_its_frame(client: Any) -> None:
    proxy = CheckedProxy()
    texts = [framed(client, long_log("a"), 1), framed(client, OUTPUT, 2), framed(client, OUTPUT, 3)]
    body = proxy.forward(client.request(steps(client, *texts)))
    session = proxy.session(client.session)
    log = RequestLog(session)
    trace_id = log.add(body)
    assert trace_id is not None
    row = session.store.newest(client.session, "request", trace_id)
    assert row is not None
    with session.store.open(body_of(row)) as reader:
        assert reader.facts.size < len(body) - 2 * len(OUTPUT)
    assert log.body(trace_id) == body


@every_client
def test_a_fork_of_a_conversation_with_frames_begins_with_what_was_shown_of_it(client: Any) -> None:
    proxy, fork = CheckedProxy(), type(client)(session="a-fork-of-it")
    texts = [framed(client, long_log(f"c{number}"), number) for number in range(3)]
    history = steps(client, *texts)
    shown = result_texts(proxy.send(client.request(history)))
    answered = [*history, client.said("Done."), client.prompt("And now?")]
    again = result_texts(proxy.send(fork.request(answered)))
    assert "left out" in again["c0"]
    assert again == shown, "the same ids in the same notices"
