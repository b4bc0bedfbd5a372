"""The habits of each client: sent messages stay unchanged, each call keeps its result, each result is stored once."""

from typing import Any

import pytest

from keepwhole.config import Settings
from keepwhole.models.tokens import estimate
from keepwhole.recall.names import NAMES
from tests.exchange.checked_proxy import CheckedProxy, extends, long_log, result_texts
from tests.wire.clients import CLIENTS, ClaudeCode, Codex, Json, Opencode, Sent

every_client = pytest.mark.parametrize("kind", CLIENTS)


def begun(client: Any, steps: int = 2) -> list[Json]:
    """A conversation of some steps with long results."""
    history = [client.prompt("go")]
    for number in range(1, steps + 1):
        history += [*client.calls(f"c{number}"), *client.results(**{f"c{number}": long_log(f"c{number}")})]
    return history


def more(client: Any, call: str) -> list[Json]:
    return [*client.calls(call), *client.results(**{call: long_log(call)})]


def was_cut(messages: list[Json], *calls: str) -> bool:
    return all("are left out: get_artifact(id=" in result_texts(messages)[call] for call in calls)


@every_client
def test_a_turn_after_a_turn_sends_the_same_and_something_new(kind: Any) -> None:
    client, proxy = kind(), CheckedProxy()
    history, before = begun(client, 1), list[Json]()
    for number in range(2, 12):
        after = proxy.send(client.request(history))
        assert extends(before, after)
        before = after
        history += more(client, f"c{number}")
    assert was_cut(before, "c1", "c10")
    assert proxy.kept_calls(client.session) == [f"c{number}" for number in range(1, 11)]
    assert proxy.sessions() == [client.session]


@every_client
def test_a_fork_is_a_session_of_its_own_with_the_same_history(kind: Any) -> None:
    client, fork, proxy = kind("old"), kind("fork"), CheckedProxy()
    history = begun(client)
    first = proxy.send(client.request(history))
    forked = proxy.send(fork.request([*history, *more(fork, "f1")]))
    onward = proxy.send(client.request([*history, *more(client, "o1")]))
    again = proxy.send(fork.request([*history, *more(fork, "f1"), *more(fork, "f2")]))
    assert extends(first, onward)
    assert extends(forked, again)
    assert was_cut(again, "c1", "f2")
    assert proxy.kept_calls("old") == ["c1", "c2", "o1"]
    assert proxy.kept_calls("fork") == ["c1", "c2", "f1", "f2"]


@every_client
def test_a_client_that_goes_back_and_goes_on_otherwise_is_followed(kind: Any) -> None:
    client, proxy = kind(), CheckedProxy()
    history = begun(client)
    first = proxy.send(client.request(history))
    proxy.send(client.request([*history, *more(client, "left1"), *more(client, "left2")]))
    back = proxy.send(client.request([*history, client.said("Done."), client.prompt("now otherwise")]))
    other = proxy.send(
        client.request([*history, client.said("Done."), client.prompt("now otherwise"), *more(client, "right1")])
    )
    left = proxy.send(client.request([*history, *more(client, "left1"), *more(client, "left2")]))
    assert extends(first, back)
    assert extends(back, other)
    assert extends(first, left)
    assert proxy.kept_calls(client.session) == ["c1", "c2", "left1", "left2", "right1"]


@every_client
def test_a_request_that_is_tried_again_is_the_same_request(kind: Any) -> None:
    client, proxy = kind(), CheckedProxy()
    sent = client.request(begun(client))
    first = proxy.forward(sent)
    entries = proxy.count_entries()
    again = sent._replace(headers={**sent.headers, "x-stainless-retry-count": "1"})
    assert proxy.forward(again) == first
    assert proxy.count_entries() == entries


@every_client
def test_after_a_restart_the_same_bytes_are_sent(kind: Any, tmp_path: Any) -> None:
    from keepwhole.store.sqlite.store import SqliteStore

    client, proxy = kind(), CheckedProxy(SqliteStore(tmp_path))
    sent = client.request(begun(client))
    first, before = proxy.forward(sent), proxy.send(sent)
    proxy.store.close()
    proxy = CheckedProxy(SqliteStore(tmp_path))
    assert proxy.forward(sent) == first
    after = proxy.send(client.request([*begun(client), *more(client, "c3")]))
    assert extends(before, after)
    assert proxy.kept_calls(client.session) == ["c1", "c2", "c3"]
    proxy.store.close()


@pytest.mark.parametrize(
    ("main", "agents"),
    [
        (ClaudeCode("s"), [ClaudeCode("s", agent="a1"), ClaudeCode("s", agent="a2")]),
        (Codex("s"), [Codex("s", thread="t1"), Codex("s", thread="t2")]),
        (Opencode("s"), [Opencode("own1", parent="s"), Opencode("own2", parent="s")]),
    ],
    ids=["claude-code", "codex", "opencode"],
)
def test_sub_agents_that_interleave_share_a_session_and_nothing_else(main: Any, agents: list[Any]) -> None:
    proxy = CheckedProxy()
    histories = [[main.prompt("go"), *more(main, "m1")], *([agent.prompt("go")] for agent in agents)]
    before: list[list[Json]] = [[], [], []]
    for number in range(4):
        for at, client in enumerate([main, *agents]):
            histories[at] += more(client, f"c{at}x{number}")
            after = proxy.send(client.request(histories[at]))
            assert extends(before[at], after)
            before[at] = after
    expected = {"m1", *(f"c{at}x{number}" for at in range(3) for number in range(4))}
    assert set(proxy.kept_calls("s")) == expected
    assert proxy.sessions() == ["s"]
    assert not set(result_texts(before[1])) & set(result_texts(before[2]))


def test_more_sub_agents_than_are_remembered_are_still_sent_the_same() -> None:
    proxy = CheckedProxy()
    agents = [ClaudeCode("s", agent=f"a{at}") for at in range(12)]
    histories = [[agent.prompt("go")] for agent in agents]
    before: list[list[Json]] = [[] for _ in agents]
    for number in range(3):
        for at, agent in enumerate(agents):
            histories[at] += more(agent, f"c{at}x{number}")
            after = proxy.send(agent.request(histories[at]))
            assert extends(before[at], after)
            before[at] = after
    assert len(proxy.kept_calls("s")) == 36


@every_client
def test_a_long_conversation_that_comes_for_the_first_time_fits_at_once(kind: Any) -> None:
    """A fork, a resumed one, or one that began before there was a proxy: results of old steps wait for nothing."""
    client, proxy = kind(), CheckedProxy(settings=Settings(home="unused", models={"default": {"window": 60_000}}))
    short = [
        part
        for n in range(60)
        for part in (*client.calls(f"c{n}"), *client.results(**{f"c{n}": long_log(str(n), 150)}))
    ]
    sent = client.request([client.prompt("go"), *short], model="some-model")
    assert estimate(sent.data.decode()) > 60_000
    before = proxy.send(sent)
    assert estimate(str(before)) < 60_000
    assert extends(
        before, proxy.send(client.request([client.prompt("go"), *short, *more(client, "n")], model="some-model"))
    )
    assert len(proxy.kept_calls(client.session)) == 61


@pytest.mark.parametrize("kind", [ClaudeCode, Opencode])
def test_a_side_call_passes_untouched_and_leaves_no_trace(kind: Any) -> None:
    client, proxy = kind(), CheckedProxy()
    title = client.title("go")
    assert proxy.begin(title) is None
    assert proxy.sessions() == []
    before = proxy.send(client.request(begun(client)))
    entries = proxy.count_entries()
    assert proxy.forward(title) == title.data
    assert proxy.count_entries() == entries
    assert extends(before, proxy.send(client.request([*begun(client), *more(client, "c3")])))
    assert proxy.router.counts["side"] == 2


def test_a_count_gets_the_same_projection_and_leaves_no_trace() -> None:
    client, proxy = ClaudeCode(), CheckedProxy()
    sent = client.request(begun(client))
    first, entries = proxy.forward(sent), proxy.count_entries()
    assert proxy.forward(sent._replace(path="/v1/messages/count_tokens")) == first
    proxy.forward(client.request([*begun(client), *more(client, "c3")], "/v1/messages/count_tokens"))
    assert proxy.count_entries() == entries


@every_client
def test_after_the_clients_own_compaction_old_calls_are_known_again(kind: Any) -> None:
    client, proxy = kind(), CheckedProxy()
    history = begun(client, 3)
    before = proxy.send(client.request(history))
    summary = client.prompt("This session is being continued from a previous conversation that ran out of context. …")
    preserved = history[-(len(more(client, "c3"))) :]
    after = proxy.send(client.request([summary, *preserved]))
    assert result_texts(after) == {"c3": result_texts(before)["c3"]}, "the preserved step is sent as it was"
    onward = proxy.send(client.request([summary, *preserved, *more(client, "c4")]))
    assert extends(after, onward)
    assert proxy.kept_calls(client.session) == ["c1", "c2", "c3", "c4"]
    assert proxy.sessions() == [client.session]
    session = proxy.session(client.session)
    assert all(session.recall(known.artifact_id) for known in session.artifacts()), "what is gone is still recalled"


def test_a_marker_that_moves_changes_nothing_but_itself() -> None:
    client, proxy = ClaudeCode(), CheckedProxy()
    history = begun(client)
    first = client.request(history)
    assert "cache_control" in str(first.messages[-1])
    before = proxy.send(first)
    second = client.request([*history, *more(client, "c3")])
    assert "cache_control" not in str(second.messages[len(history) - 1])
    assert extends(before, proxy.send(second))
    assert proxy.kept_calls(client.session) == ["c1", "c2", "c3"]


def test_a_result_that_is_spelled_as_a_block_is_the_one_that_was_a_text() -> None:
    client, proxy = ClaudeCode(), CheckedProxy()
    before = proxy.send(client.request(begun(client, 1)))
    as_block = begun(client, 1)
    as_block[-1]["content"][0]["content"] = [{"type": "text", "text": long_log("c1")}]
    assert result_texts(proxy.send(client.request(as_block))) == result_texts(before)
    assert proxy.kept_calls(client.session) == ["c1"]


def test_system_messages_between_and_at_the_end_are_left_where_they_are() -> None:
    client, proxy = ClaudeCode(), CheckedProxy()
    note: Json = {"role": "system", "content": "Called the Read tool with the following input: …"}
    history = [client.prompt("go"), note, *more(client, "c1"), note]
    sent = client.request(history)
    before = proxy.send(sent)
    assert [one["role"] for one in before] == ["user", "system", "assistant", "user", "system"]
    after = proxy.send(client.request([*history, *more(client, "c2")]))
    assert extends(before, after)
    assert was_cut(after, "c1", "c2")


def test_a_developers_item_between_a_call_and_its_output_stays_there() -> None:
    client, proxy = Codex(), CheckedProxy()
    hook: Json = {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "A hook says."}]}
    history = [client.prompt("go"), *client.calls("c1"), hook, *client.results(c1=long_log("c1"))]
    before = proxy.send(client.request(history))
    assert [one.get("role", one["type"]) for one in before[1:]] == [
        "user",
        "function_call",
        "developer",
        "function_call_output",
    ]
    assert was_cut(before, "c1")
    assert extends(before, proxy.send(client.request([*history, *more(client, "c2")])))
    assert proxy.kept_calls(client.session) == ["c1", "c2"]


@every_client
def test_parallel_results_may_come_in_any_order(kind: Any) -> None:
    client, proxy = kind(), CheckedProxy()
    calls = client.calls("p1", "p2", "p3")
    texts = {"p3": long_log("p3"), "p1": long_log("p1"), "p2": "short"}
    history = [client.prompt("go"), *calls, *client.results(**texts)]
    before = proxy.send(client.request(history))
    assert list(result_texts(before)) == ["p3", "p1", "p2"]
    assert extends(before, proxy.send(client.request([*history, *more(client, "c2")])))
    assert sorted(proxy.kept_calls(client.session)) == ["c2", "p1", "p2", "p3"]


@pytest.mark.parametrize(
    "mark", ["[Old tool result content cleared]", "<persisted-output>\nOutput too large (33.1KB).\n</persisted-output>"]
)
@every_client
def test_what_the_client_itself_cleared_stays_cleared_and_is_no_fork(kind: Any, mark: str) -> None:
    client, proxy = kind(), CheckedProxy()
    history = begun(client, 3)
    before = proxy.send(client.request(history))
    cleared = [client.prompt("go"), *client.calls("c1"), *client.results(c1=mark), *history[3:]]
    after = proxy.send(client.request(cleared))
    assert result_texts(after) == {**result_texts(before), "c1": mark}
    assert extends(after, proxy.send(client.request([*cleared, *more(client, "c4")])))
    assert proxy.kept_calls(client.session) == ["c1", "c2", "c3", "c4"]


def test_a_session_that_is_named_in_a_users_id_alone_is_the_same_one() -> None:
    client, proxy = ClaudeCode(), CheckedProxy()
    before = proxy.send(client.request(begun(client)))
    by_body = client.request([*begun(client), *more(client, "c3")])._replace(headers={})
    assert extends(before, proxy.send(by_body))
    assert proxy.sessions() == [client.session]


def test_what_goes_on_with_an_answer_of_the_providers_is_looked_at_alone() -> None:
    proxy, headers = CheckedProxy(), {"session-id": "s"}
    client = Codex("s")
    first = proxy.send(client.request(begun(client, 1)))
    delta = Sent(
        "/v1/responses", headers, {"previous_response_id": "resp_1", "input": client.results(c2=long_log("c2"))}
    )
    exchange = proxy.begin(delta)
    sent = exchange.body
    exchange.settle()
    assert b"call_id" in sent
    assert sent.count(b"function_call_output") == 1, "nothing is put in that the client did not send"
    assert proxy.kept_calls("s") == ["c1", "c2"]
    assert extends(first, proxy.send(client.request([*begun(client, 1), *more(client, "c3")])))


def test_half_a_conversation_that_nobody_names_passes_whole() -> None:
    proxy = CheckedProxy()
    items = Codex().results(c2=long_log("c2"))
    tools = [{"type": "function", "name": "f", "parameters": {}}]
    delta = Sent("/v1/responses", {}, {"previous_response_id": "resp_1", "input": items, "tools": tools})
    assert proxy.forward(delta) == delta.data
    assert proxy.sessions() == []


@every_client
def test_our_tools_are_offered_in_every_turn_from_the_first_on(kind: Any) -> None:
    client, proxy = kind(), CheckedProxy()
    history = [client.prompt("go")]
    fronts: set[bytes] = set()
    for _ in range(3):
        for sent in (client.request(history), client.compaction(history)):
            if "tools" in sent.body:
                body = proxy.forward(sent)
                at = body.index(b'"tools":')
                fronts.add(body[at : at + 200])
        history += more(client, f"c{len(history)}")
    assert len(fronts) == 1
    assert all(name.encode() in proxy.forward(client.request(history)) for name in NAMES)
