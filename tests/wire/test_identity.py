"""Whose request it is and what for, from what the clients send and from nothing else."""

import copy
import json
from typing import Any

import pytest

from keepwhole.canonical.ids import is_session_id
from keepwhole.wire.dialects import endpoint_of
from keepwhole.wire.identity import Identity, conversation, identity_of, session_id
from keepwhole.wire.request_body import read_request
from tests.wire.clients import CHECKPOINT, CLIENTS, SUMMARISE, ClaudeCode, Codex, Nameless, Opencode, Sent, marked


def identity(sent: Sent) -> Identity:
    endpoint, request = endpoint_of(sent.path), read_request(sent.data)
    assert endpoint is not None
    assert request is not None
    return identity_of(endpoint, sent.headers, request)


def talk(client: Any, call: str = "c1") -> list[dict[str, Any]]:
    return [client.prompt("go"), *client.calls(call), *client.results(**{call: "done"})]


# Sessions


@pytest.mark.parametrize("kind", CLIENTS)
def test_a_session_goes_by_the_id_of_its_client(kind: Any) -> None:
    client = kind()
    assert identity(client.request(talk(client)))[:4] == (client.session, "main", "turn", "client")


@pytest.mark.parametrize("kind", CLIENTS)
def test_our_own_header_comes_before_what_a_client_says(kind: Any) -> None:
    sent = kind().request(talk(kind()))
    found = identity(sent._replace(headers={**sent.headers, "x-keepwhole-session": "mine"}))
    assert (found.session, found.explicit) == ("mine", True)
    assert not identity(sent).explicit


def test_each_name_is_taken_before_those_after_it() -> None:
    headers = {
        "x-keepwhole-session": "a",
        "x-claude-code-session-id": "b",
        "session-id": "c",
        "x-parent-session-id": "d",
        "x-session-id": "e",
        "x-opencode-session": "f",
    }
    fields = {"conversation": "g", "metadata": {"user_id": "h"}, "prompt_cache_key": "i"}
    for expected in "abcdefghi":
        sent = Sent("/v1/responses", headers, {"input": [{"role": "user", "content": "go"}], **fields})
        assert identity(sent).session == expected
        gone = headers or fields
        gone.pop(next(iter(gone)))


@pytest.mark.parametrize(
    ("user", "session"),
    [
        ('{"device_id":"d","session_id":"inner"}', "inner"),
        ("plain", "plain"),
        ('{"device_id":"d"}', session_id('{"device_id":"d"}')),
        ('{"session_id": 3}', session_id('{"session_id": 3}')),
        ("{broken", session_id("{broken")),
    ],
)
def test_a_session_is_found_inside_of_a_users_id(user: str, session: str) -> None:
    sent = Nameless().request(talk(ClaudeCode()))
    assert identity(sent._replace(body={**sent.body, "metadata": {"user_id": user}})).session == session


def test_a_conversation_that_the_provider_keeps_goes_by_its_id() -> None:
    item = {"type": "function_call_output", "call_id": "c1", "output": "x"}
    for kept in ("conv_1", {"id": "conv_1"}):
        assert identity(Sent("/v1/responses", {}, {"conversation": kept, "input": [item]})).session == "conv_1"


def test_half_a_conversation_is_nobodys_unless_it_is_named() -> None:
    call = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
    items = [call, {"type": "function_call_output", "call_id": "c1", "output": "x"}]
    found = identity(Sent("/v1/responses", {}, {"previous_response_id": "resp_1", "input": items}))
    assert found[:4] == (None, "main", "turn", "nobody"), "what came before it is not known"


@pytest.mark.parametrize("told", ["a" * 129, "with space", "ünïcode", "\ud800", "../up", ""])
def test_whatever_somebody_says_becomes_a_valid_id(told: str) -> None:
    assert is_session_id(session_id(told))
    assert is_session_id(session_id(told, lambda name: f"tenant/{name}"))


def test_the_same_words_of_two_tenants_are_two_sessions() -> None:
    long = "x" * 128
    names = {session_id(told, scope) for told in ("s", long) for scope in ("a:{}".format, "b:{}".format)}
    assert len(names) == 4


# Conversations that nobody names


def test_an_unnamed_conversation_has_one_name_as_it_grows() -> None:
    client = Nameless()
    history = talk(client)
    name = identity(client.request(history)).session
    assert name is not None
    assert is_session_id(name)
    for call in ("c2", "c3"):
        history += [*client.calls(call), *client.results(**{call: "more"})]
        assert identity(client.request(history))[:4] == (name, "main", "turn", "messages")
    history[2] = client.results(c1="[Old tool result content cleared]")[0]
    assert identity(client.request(history)).session == name


def test_two_that_begin_with_the_same_prompt_have_two_names() -> None:
    client = Nameless()
    assert identity(client.request(talk(client, "c1"))).session != identity(client.request(talk(client, "c2"))).session
    other = [client.prompt("go on"), *talk(client)[1:]]
    assert identity(client.request(other)).session != identity(client.request(talk(client))).session


def test_before_the_first_call_an_unnamed_conversation_has_no_name() -> None:
    client = Nameless()
    found = identity(client.request([client.prompt("go"), client.said("where?"), client.prompt("there")]))
    assert found[:4] == (None, "main", "turn", "nobody")


@pytest.mark.parametrize("kind", CLIENTS)
def test_what_clients_change_in_place_does_not_change_a_name(kind: Any) -> None:
    client = kind()
    history = talk(client)
    name = conversation(history)
    assert name is not None
    assert conversation([{"role": "system", "content": "The date has changed."}, *history]) == name
    assert conversation([history[0], {"role": "developer", "content": "Be brief."}, *history[1:]]) == name
    assert conversation([history[0], {"type": "reasoning", "id": "rs_1", "summary": []}, *history[1:]]) == name
    assert conversation([{"role": "user", "content": "go"}, *history[1:]]) == name
    assert conversation([{"role": "user", "content": [{"type": "text", "text": "go\n"}]}, *history[1:]]) == name


def test_markers_and_thinking_do_not_change_a_name() -> None:
    client = Nameless()
    history = talk(client)
    name = conversation(history)
    assert conversation(marked(history)) == conversation(marked([*history, client.prompt("and now?")])) == name
    thought = copy.deepcopy(history)
    thought[1]["content"].insert(0, {"type": "thinking", "thinking": "hm", "signature": "s"})
    assert conversation(thought) == name


# Branches


def test_a_sub_agent_is_a_branch_of_the_session_that_started_it() -> None:
    agents = [ClaudeCode("s", agent="a1"), Codex("s", thread="t1"), Opencode("own", parent="s")]
    found = [identity(agent.request(talk(agent))) for agent in agents]
    assert [one.session for one in found] == ["s", "s", "s"]
    assert [one.branch for one in found] == ["a1", "t1", "own"]


@pytest.mark.parametrize("kind", CLIENTS)
def test_whoever_is_no_sub_agent_is_the_main_branch(kind: Any) -> None:
    assert identity(kind().request(talk(kind()))).branch == "main"


# What a request is for


@pytest.mark.parametrize("kind", CLIENTS)
def test_a_clients_own_compaction_is_known(kind: Any) -> None:
    client = kind()
    assert identity(client.compaction(talk(client))).purpose == "compaction"
    asked = [*talk(client), client.said("Done.")]
    assert identity(client.compaction(asked)).purpose == "compaction"


def test_codex_says_itself_what_a_request_is_for() -> None:
    client = Codex()
    words = [*talk(client), client.prompt(CHECKPOINT)]
    assert identity(client.request(words, "turn")).purpose == "turn", "words alone do not outdo what it says"
    by_words = client.request(words)
    by_words.body.pop("client_metadata")
    assert identity(by_words._replace(headers={})).purpose == "compaction"
    by_body = client.request(talk(client), "compaction")
    assert identity(by_body._replace(headers={})).purpose == "compaction"
    plain = client.request(talk(client), client_metadata={"request_kind": "compaction"})
    assert identity(plain._replace(headers={})).purpose == "compaction"
    broken = client.request(talk(client))
    broken.body.pop("client_metadata")
    assert identity(broken._replace(headers={"x-codex-turn-metadata": "{no"})).purpose == "turn"


@pytest.mark.parametrize("words", [SUMMARISE, CHECKPOINT])
def test_words_of_a_compaction_count_only_where_the_user_speaks_last(words: str) -> None:
    client = ClaudeCode()
    printed = [client.prompt("go"), *client.calls("c1"), *client.results(c1=words)]
    assert identity(client.request(printed)).purpose == "turn", "a tool printed them"
    before = [client.prompt(words), client.said("A summary."), client.prompt("go on")]
    assert identity(client.request(before)).purpose == "turn", "that was before"
    quoted = [client.prompt(f"What does this mean: {words}")]
    assert identity(client.request(quoted)).purpose == "turn", "somebody asks about them"


def test_a_user_with_tools_may_paste_a_conversation() -> None:
    client = ClaudeCode()
    assert identity(client.request([client.prompt("Here is the conversation so far: …")])).purpose == "turn"


@pytest.mark.parametrize("kind", [ClaudeCode, Opencode])
def test_a_title_call_is_beside_the_conversation(kind: Any) -> None:
    assert identity(kind().title("go")).purpose == "side"


def test_a_request_without_tools_is_a_turn_where_tools_were_called_or_may_have_been() -> None:
    client = ClaudeCode()
    assert identity(client.request(talk(client), tools=[])).purpose == "turn"
    continued = Sent("/v1/responses", {}, {"previous_response_id": "resp_1", "input": "go on"})
    assert identity(continued).purpose == "turn"
    legacy = Sent("/v1/chat/completions", {}, {"functions": [{"name": "f"}], "messages": [client.prompt("go")]})
    assert identity(legacy).purpose == "turn"


def test_paths_say_what_they_are_for_whatever_stands_before_them() -> None:
    client = Codex()
    for before in ("", "/v1", "/openai/v1", "/t/secret-token/v1"):
        assert identity(client.request(talk(client), path=f"{before}/responses/compact")).purpose == "compaction"
        assert identity(client.request(talk(client), path=f"{before}/responses/input_tokens")).purpose == "count"
        assert identity(client.request(talk(client), path=f"{before}/responses")).purpose == "turn"
    assert endpoint_of("/v1/responses/resp_1/cancel") is None


def test_one_text_as_input_is_understood() -> None:
    sent = Sent("/v1/responses", {}, {"input": CHECKPOINT, "tools": [{"type": "function", "name": "f"}]})
    assert identity(sent).purpose == "compaction"
    assert identity(sent._replace(body={**sent.body, "input": "go"})) == Identity()


@pytest.mark.parametrize("odd", [None, 3, "x", [], {"role": 3}, {"role": "user", "content": 3}, {"content": [None, 1]}])
def test_odd_messages_break_nothing(odd: Any) -> None:
    body = {"messages": [odd], "metadata": odd, "client_metadata": odd, "conversation": odd, "tools": odd}
    assert identity(Sent("/v1/messages", {}, json.loads(json.dumps(body)))).branch == "main"
