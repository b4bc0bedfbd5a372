"""Rounds that a client does not see: it hears what a model without our tools would have said, in its own dialect."""

import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keepwhole.recall.names import NAMES
from keepwhole.store.sqlite.store import SqliteStore
from tests.apps.proxy.answer_reader import Heard, expected, heard
from tests.apps.proxy.proxy_server import DIALECTS, PATHS, Served, ask, proxy, request
from tests.upstream.answer import Answer, refusal
from tests.upstream.server import Upstream, upstream
from tests.upstream.spelling import Dialect, Json, Part, Text, Thinking, Tool

pytestmark = pytest.mark.usefixtures("recall_from_start")

OURS = Tool("get_artifact", {"id": "art_1700000000_AAAAAAAAAAAAAAAAAAAAAA"})
SEARCH = Tool("search_artifacts", {"query": "needle"})
TRACE = Tool("get_task_trace", {"trace_id": "none"})
THEIRS = Tool("work", {"n": 7})
WORDS, MORE, HM, SO = Text("Grüße."), Text("And more."), Thinking("hm"), Thinking("so")
CASES: dict[str, list[list[Part]]] = {
    "text": [[WORDS]],
    "thinking and text": [[HM, WORDS]],
    "a call of theirs": [[HM, WORDS, THEIRS]],
    "a round of ours": [[OURS], [WORDS]],
    "a round with text and thinking": [[HM, WORDS, OURS], [SO, MORE]],
    "two of ours at once": [[OURS, SEARCH], [WORDS]],
    "several rounds": [[OURS], [WORDS, SEARCH], [TRACE], [HM, MORE]],
    "rounds that end in a call of theirs": [[HM, OURS], [SO, WORDS, THEIRS]],
    "ours before theirs": [[HM, OURS, THEIRS]],
    "theirs before ours": [[HM, THEIRS, OURS]],
    "ours between theirs": [[WORDS, THEIRS, SEARCH, Tool("work", {"n": 8})]],
    "text after a call of ours": [[OURS, WORDS], [MORE]],
    "structured output after a round": [[OURS], [Text('{"answer": 42}')]],
    "as many rounds as there may be": [*[[OURS]] * 11, [WORDS]],
}
every_dialect = pytest.mark.parametrize("dialect", DIALECTS)
every_way = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
every_case = pytest.mark.parametrize("case", CASES)
_names = itertools.count()


class Script:
    """A model that says what it is told to, line by line."""

    def __init__(self) -> None:
        self.lines: Iterator[Any] = iter(())
        self.upstream: Upstream
        self.proxy: Served

    def __call__(self, _: Json) -> Any:
        return next(self.lines)

    def play(self, *lines: Any) -> None:
        self.lines, self.upstream.answers = iter(lines), 0
        self.upstream.asked.clear()
        self.upstream.refused.clear()
        self.upstream.failed.clear()

    def ask(self, dialect: Dialect, streamed: bool, session: str = "", **more: Any) -> Heard:
        headers = {"x-api-key": "k", **({"x-keepwhole-session": session} if session else {})}
        answer = ask(self.proxy.port, PATHS[dialect], request(dialect, streamed, **more), headers)
        assert not self.upstream.refused
        assert not self.upstream.failed
        assert answer.status == 200, answer.data
        return heard(dialect, answer.data, streamed)


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Script]:
    made = Script()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KEEPWHOLE_HOME", str(tmp_path_factory.mktemp("home")))
        patch.setenv("KEEPWHOLE_RECALL_FROM", "start")
        with upstream(made) as made.upstream, proxy(made.upstream.url) as made.proxy:
            yield made


def reason(dialect: Dialect, rounds: list[list[Part]]) -> str:
    waits = any(isinstance(part, Tool) and part.name not in NAMES for part in rounds[-1])
    words = {"anthropic": ("end_turn", "tool_use"), "openai_chat": ("stop", "tool_calls")}
    return words.get(dialect, ("completed", "completed"))[waits]


def check(script: Script, dialect: Dialect, streamed: bool, rounds: list[list[Part]]) -> Heard:
    script.play(*rounds)
    got = script.ask(dialect, streamed)
    assert got.seen == expected(dialect, rounds, NAMES)
    assert got.reason == reason(dialect, rounds)
    assert len(script.upstream.asked) == len(rounds)
    assert not any(name in json.dumps(got.body) for name in NAMES)
    return got


@every_dialect
def test_headers_say_what_all_rounds_took(script: Script, dialect: Dialect) -> None:
    script.play([OURS], [SEARCH], [WORDS])
    headers = ask(script.proxy.port, PATHS[dialect], request(dialect)).headers
    assert (headers["x-keepwhole-rounds"], headers["x-keepwhole-input-tokens"]) == ("3", "600")
    script.play([WORDS])
    assert "x-keepwhole-input-tokens" not in ask(script.proxy.port, PATHS[dialect], request(dialect)).headers


@every_case
@every_way
@every_dialect
def test_a_client_hears_what_a_model_without_our_tools_would_say(
    script: Script, dialect: Dialect, streamed: bool, case: str
) -> None:
    got = check(script, dialect, streamed, CASES[case])
    taken = got.usage.get("input_tokens", got.usage.get("prompt_tokens"))
    assert taken == 100 * len(CASES[case]), "how much the model read last"


@every_case
@every_dialect
def test_a_streamed_answer_is_the_whole_one(script: Script, dialect: Dialect, case: str) -> None:
    whole, streamed = (check(script, dialect, way, CASES[case]).body for way in (False, True))
    fields = ("content", "stop_reason", "output", "status")
    if dialect == "openai_chat":
        whole, streamed = (body["choices"][0]["message"] for body in (whole, streamed))
        fields = ("role", "content", "tool_calls")
    assert [whole.get(one) for one in fields] == [streamed.get(one) for one in fields]


_words = st.text('abc \n"\\é', min_size=1, max_size=8).filter(lambda text: text.strip() == text)
_shown = st.one_of(st.builds(Text, _words), st.builds(Thinking, _words))
_ours = st.sampled_from([OURS, SEARCH, TRACE])


@st.composite
def models(draw: st.DrawFn) -> list[list[Part]]:
    """Rounds of a model: in all but the last it calls tools of ours alone, among whatever else it says."""
    rounds: list[list[Part]] = []
    for _ in range(draw(st.integers(0, 3))):
        said = draw(st.lists(st.one_of(_shown, _ours), max_size=4))
        rounds.append(draw(st.permutations([*said, draw(_ours)])))
    theirs = st.builds(lambda n: Tool("work", {"n": n}), st.integers(0, 9))
    last = draw(st.lists(st.one_of(_shown, theirs), min_size=1, max_size=5))
    if any(isinstance(part, Tool) for part in last):
        last += draw(st.lists(_ours, max_size=2))
    rounds.append(draw(st.permutations(last)))
    return [_one_thought(said) for said in rounds]


def _one_thought(said: list[Part]) -> list[Part]:
    """What is said, with the first thought alone: the provider seals one for each answer."""
    first = next((part for part in said if isinstance(part, Thinking)), None)
    return [part for part in said if part is first or not isinstance(part, Thinking)] or [WORDS]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(rounds=models(), dialect=st.sampled_from(DIALECTS))
def test_whatever_a_model_says_is_heard_the_same_whole_and_streamed(
    script: Script, rounds: list[list[Part]], dialect: Dialect
) -> None:
    assert check(script, dialect, False, rounds).seen == check(script, dialect, True, rounds).seen


@pytest.mark.torture
@pytest.mark.timeout(1_800)
@settings(max_examples=2_000, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(rounds=models(), dialect=st.sampled_from(DIALECTS))
def test_two_thousand_models_are_heard_the_same_whole_and_streamed(
    script: Script, rounds: list[list[Part]], dialect: Dialect
) -> None:
    assert check(script, dialect, False, rounds).seen == check(script, dialect, True, rounds).seen


def messages_of(body: Json) -> list[Json]:
    return body.get("messages") or body["input"]


def results(dialect: Dialect, got: Heard) -> list[Json]:
    """What a client adds for the calls that it heard of; else the next thing its user says."""
    body = got.body
    if dialect == "anthropic":
        ids = [block["id"] for block in body["content"] if block["type"] == "tool_use"]
        blocks = [{"type": "tool_result", "tool_use_id": one, "content": "done"} for one in ids]
        return [{"role": "user", "content": blocks or "go on"}]
    if dialect == "openai_chat":
        calls = body["choices"][0]["message"].get("tool_calls", ())
        return [{"role": "tool", "tool_call_id": call["id"], "content": "done"} for call in calls] or [
            {"role": "user", "content": "go on"}
        ]
    ids = [item["call_id"] for item in body["output"] if item["type"] == "function_call"]
    return [{"type": "function_call_output", "call_id": one, "output": "done"} for one in ids] or [
        {"role": "user", "content": "go on"}
    ]


def goes_on(script: Script, dialect: Dialect, streamed: bool, case: str, between: Any = lambda: None) -> None:
    """Ask, go on with the answer, and look at what the model reads of it."""
    session = f"s{next(_names)}"
    script.play(*CASES[case])
    got = script.ask(dialect, streamed, session)
    read = messages_of(script.upstream.asked[-1].body)
    between()
    key = "input" if dialect == "openai_responses" else "messages"
    own = [{"role": "user", "content": "hello"}, *got.history(dialect), *results(dialect, got)]
    script.play([MORE])
    script.upstream.answers = 50
    script.ask(dialect, streamed, session, **{key: own})
    again = messages_of(script.upstream.asked[-1].body)
    assert again[: len(read)] == read, "the model reads something else than before"
    names = [name for name in NAMES if name in json.dumps(again)]
    assert bool(names) == any(part.name in NAMES for said in CASES[case] for part in said if isinstance(part, Tool))


@every_case
@every_way
@every_dialect
def test_the_rounds_are_put_back_into_what_a_client_sends_later(
    script: Script, dialect: Dialect, streamed: bool, case: str
) -> None:
    goes_on(script, dialect, streamed, case)


@every_way
@every_dialect
@pytest.mark.parametrize("case", ["several rounds", "ours before theirs"])
def test_the_rounds_are_put_back_after_a_restart(dialect: Dialect, streamed: bool, case: str) -> None:
    made = Script()
    with upstream(made) as made.upstream:
        running = proxy(made.upstream.url)
        made.proxy = running.__enter__()
        ends = [running]

        def restart() -> None:
            ends.pop().__exit__(None, None, None)
            ends.append(proxy(made.upstream.url))
            made.proxy = ends[0].__enter__()

        try:
            goes_on(made, dialect, streamed, case, restart)
        finally:
            ends[0].__exit__(None, None, None)


@every_way
@every_dialect
@pytest.mark.parametrize("case", ["several rounds", "ours before theirs"])
def test_the_rounds_are_put_back_where_nothing_can_be_written(
    dialect: Dialect, streamed: bool, case: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from keepwhole.errors import StoreError

    def full(*_: Any, **__: Any) -> Any:
        raise StoreError("The disk is full.")

    store = SqliteStore(str(tmp_path / "home"))
    monkeypatch.setattr(store, "append", full)
    made = Script()
    with upstream(made) as made.upstream, proxy(made.upstream.url, store=store) as made.proxy:
        goes_on(made, dialect, streamed, case)
    store.close()


@every_dialect
@every_way
@pytest.mark.parametrize("status", [400, 401, 429, 500, 529])
@pytest.mark.parametrize("later", [False, True], ids=["first round", "later round"])
def test_an_error_is_the_providers_own(
    script: Script, dialect: Dialect, streamed: bool, status: int, later: bool
) -> None:
    error = refusal(dialect, status, "so it is")
    script.play(*([[WORDS, OURS]] if later else []), error)
    answer = ask(script.proxy.port, PATHS[dialect], request(dialect, streamed), {"x-api-key": "k"})
    if later and streamed:
        assert answer.status == 200
        assert b"so it is" in answer.data
        assert not answer.is_cut
        last = answer.data.rstrip().rpartition(b"\n\n")[2]
        told = json.loads(last.partition(b"data: ")[2])
        assert told["error"]["message"] == "so it is"
        assert last.startswith(b"data: " if dialect == "openai_chat" else b"event: error\n")
    else:
        assert (answer.status, answer.data) == (status, error.body)


@every_dialect
@pytest.mark.parametrize("later", [False, True], ids=["first round", "later round"])
def test_an_error_in_the_middle_of_a_stream_is_the_last_thing_heard(
    script: Script, dialect: Dialect, later: bool
) -> None:
    script.play(*([[WORDS, OURS]] if later else []), Answer([WORDS, OURS], breaks_off=3))
    answer = ask(script.proxy.port, PATHS[dialect], request(dialect, True), {"x-api-key": "k"})
    last = answer.data.rstrip().rpartition(b"\n\n")[2]
    assert b"Overloaded" in last
    assert len(script.upstream.asked) == 1 + later


OPTIONS: dict[str, dict[Dialect, Json]] = {
    "forced to a tool of theirs": {
        "anthropic": {"tool_choice": {"type": "tool", "name": "work"}},
        "openai_chat": {"tool_choice": {"type": "function", "function": {"name": "work"}}},
        "openai_responses": {"tool_choice": {"type": "function", "name": "work"}},
    },
    "no tool": {
        "anthropic": {"tool_choice": {"type": "none"}},
        "openai_chat": {"tool_choice": "none"},
        "openai_responses": {"tool_choice": "none"},
    },
    "one call at a time": {
        "anthropic": {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
        "openai_chat": {"parallel_tool_calls": False},
        "openai_responses": {"parallel_tool_calls": False},
    },
    "few tokens": {
        "anthropic": {"max_tokens": 5},
        "openai_chat": {"max_completion_tokens": 5},
        "openai_responses": {"max_output_tokens": 5},
    },
    "a format": {
        "anthropic": {"output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}}},
        "openai_chat": {"response_format": {"type": "json_object"}},
        "openai_responses": {"text": {"format": {"type": "json_object"}}},
    },
}


@every_dialect
@every_way
@pytest.mark.parametrize("option", OPTIONS)
def test_what_a_client_asks_for_is_asked_for_in_every_round(
    script: Script, dialect: Dialect, streamed: bool, option: str
) -> None:
    given = OPTIONS[option][dialect]
    script.play([OURS], [THEIRS])
    script.ask(dialect, streamed, **given)
    assert len(script.upstream.asked) == 2
    for asked in script.upstream.asked:
        assert {key: asked.body[key] for key in given} == given
        assert "stream_options" not in asked.body


@every_dialect
@every_way
@pytest.mark.parametrize("rounds", [[[WORDS, OURS]], [[HM, WORDS, OURS], [MORE, SEARCH]], [[OURS, WORDS]]])
def test_what_a_client_parses_has_nothing_of_a_round_that_it_does_not_see(
    script: Script, dialect: Dialect, streamed: bool, rounds: list[list[Part]]
) -> None:
    script.play(*rounds, [Text('{"answer": 42}')])
    got = script.ask(dialect, streamed, **OPTIONS["a format"][dialect])
    assert got.seen == expected(dialect, [[Text('{"answer": 42}')]], NAMES)
    assert len(script.upstream.asked) == len(rounds) + 1
    assert WORDS.text in json.dumps(script.upstream.asked[-1].body, ensure_ascii=False)


@every_dialect
@every_way
@pytest.mark.parametrize("last", [[WORDS, THEIRS], [WORDS, THEIRS, OURS], [WORDS]])
def test_what_a_client_parses_of_the_last_round_is_all_of_it(
    script: Script, dialect: Dialect, streamed: bool, last: list[Part]
) -> None:
    script.play([MORE, OURS], last)
    got = script.ask(dialect, streamed, **OPTIONS["a format"][dialect])
    assert got.seen == expected(dialect, [last], NAMES)


@every_way
def test_several_answers_at_once_are_none_of_ours(script: Script, streamed: bool) -> None:
    """`n` of OpenAI Chat: no round could be gone on with, so our tools are not offered."""
    script.play([WORDS])
    script.ask("openai_chat", streamed, n=2)
    assert [tool["function"]["name"] for tool in script.upstream.asked[0].body["tools"]] == ["work"]
    script.play([WORDS])
    script.ask("openai_chat", streamed, n=1)
    assert len(script.upstream.asked[0].body["tools"]) > 1


@every_dialect
@every_way
@pytest.mark.parametrize("first", ["whole", "streamed"])
def test_a_packed_answer_is_heard(script: Script, dialect: Dialect, streamed: bool, first: str) -> None:
    lines = (
        [Answer([OURS], packed=True), Answer([WORDS], packed=True)]
        if first == "whole"
        else [[OURS], Answer([WORDS], packed=True)]
    )
    script.play(*lines)
    answer = ask(script.proxy.port, PATHS[dialect], request(dialect, streamed), {"x-api-key": "k"})
    assert "content-encoding" not in answer.headers
    assert heard(dialect, answer.data, streamed).seen == [("text", WORDS.text)]
    assert all(asked.headers.get("accept-encoding", "identity") == "identity" for asked in script.upstream.asked)
