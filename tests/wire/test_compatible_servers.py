"""Servers that speak like OpenAI, each in its own words: the usage that they report, and how they stream calls."""

import json
from typing import Any

import pytest

from keepwhole.wire.openai_chat.dialect import OPENAI_CHAT
from keepwhole.wire.usage import Usage
from tests.wire.test_odd_streams import STOPPED, delta, events
from tests.wire.test_stream_cuts import begin

_COUNTS = {"prompt_tokens": 2_000, "completion_tokens": 5, "total_tokens": 2_005}
_SILENT = Usage(2_000, 0, 0, 5, says_cached=False, model="m")
_CACHED = Usage(2_000, 1_920, 0, 5, model="m")
SERVERS: dict[str, tuple[dict[str, Any], Usage]] = {
    "deepseek": ({"usage": {**_COUNTS, "prompt_cache_hit_tokens": 1_920, "prompt_cache_miss_tokens": 80}}, _CACHED),
    "groq": ({"usage": {**_COUNTS, "queue_time": 0.1, "prompt_tokens_details": {"cached_tokens": 1_920}}}, _CACHED),
    "xai": ({"usage": {**_COUNTS, "prompt_tokens_details": {"text_tokens": 80, "cached_tokens": 1_920}}}, _CACHED),
    "mistral": ({"usage": {**_COUNTS, "num_cached_tokens": 1_920}}, _CACHED),
    "moonshot": ({"usage": {**_COUNTS, "cached_tokens": 1_920}}, _CACHED),
    "openrouter": (
        {
            "usage": {
                **_COUNTS,
                "cost": 0.01,
                "prompt_tokens_details": {"cached_tokens": 1_920, "cache_write_tokens": 64},
            }
        },
        _CACHED._replace(written=64),
    ),
    "vllm": ({"usage": {**_COUNTS, "prompt_tokens_details": None}}, _SILENT),
    "vllm with details": ({"usage": {**_COUNTS, "prompt_tokens_details": {"cached_tokens": 1_920}}}, _CACHED),
    "llama.cpp": ({"usage": _COUNTS, "timings": {"cache_n": 1_920, "prompt_n": 80, "prompt_ms": 3.0}}, _CACHED),
    "ollama": ({"usage": _COUNTS}, _SILENT),
    "lm studio": ({"usage": _COUNTS, "stats": {"tokens_per_second": 50}}, _SILENT),
}


@pytest.mark.parametrize(("fields", "usage"), SERVERS.values(), ids=SERVERS)
def test_the_usage_of_a_server_is_read_whole_and_streamed(fields: dict[str, Any], usage: Usage) -> None:
    whole = {"id": "1", "model": "m", "choices": [], **fields}
    first = {"id": "1", "model": "m", "choices": [{"index": 0, "delta": {"content": "hi"}}], "usage": None}
    streamed = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in (first, whole)) + "data: [DONE]\n\n"
    assert OPENAI_CHAT.usage_of(json.dumps(whole).encode(), streamed=False) == usage
    assert OPENAI_CHAT.usage_of(streamed.encode(), streamed=True) == usage


def test_a_count_of_zero_is_news_and_not_taken_from_elsewhere() -> None:
    usage = {**_COUNTS, "prompt_tokens_details": {"cached_tokens": 0}, "prompt_cache_hit_tokens": 7}
    found = OPENAI_CHAT.usage_of(json.dumps({"usage": usage}).encode(), streamed=False)
    assert found is not None
    assert (found.cached, found.says_cached) == (0, True)


Json = dict[str, Any]
RECALL, WORK = {"name": "get_artifact", "arguments": '{"id": "x"}'}, {"name": "work", "arguments": '{"n": 1}'}
ENDED = {"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
COUNTED = {"id": "c", "choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2}}


def called(call_id: str, function: Json, **more: Any) -> Json:
    return {"id": call_id, "type": "function", "function": function, **more}


def step(*calls: Json) -> Json:
    return delta({"tool_calls": list(calls)})


def pieces(call_id: str, function: Json, **more: Any) -> list[Json]:
    """A call whose id and name are in each of its deltas."""
    return [step(called(call_id, {**function, "arguments": piece}, **more)) for piece in ("", function["arguments"])]


PARALLEL: dict[str, list[Json]] = {
    "no index, in one delta": [step(called("o", RECALL), called("w", WORK))],
    "no index, in two deltas": [step(called("o", RECALL)), step(called("w", WORK))],
    "no index and no ids": [step({"function": RECALL}), step({"function": WORK})],
    "no index, the client's first": [step(called("w", WORK)), step(called("o", RECALL))],
    "an index of null": [step(called("o", RECALL, index=None)), step(called("w", WORK, index=None))],
    "the same index": [step(called("o", RECALL, index=0)), step(called("w", WORK, index=0))],
    "id and name in each delta": [*pieces("o", RECALL, index=0), *pieces("w", WORK, index=1)],
    "id and name in each delta without an index": [*pieces("o", RECALL), *pieces("w", WORK)],
    "an id of its own in each delta": [
        step(called("o", {**RECALL, "arguments": ""}, index=0), called("w", {**WORK, "arguments": ""}, index=1)),
        step(called("p", {"arguments": RECALL["arguments"]}, index=0)),
        step(called("q", {"name": None, "arguments": WORK["arguments"]}, index=1)),
    ],
    "arguments that are an object": [
        step(called("o", {**RECALL, "arguments": {"id": "x"}}, index=0)),
        step(called("w", {**WORK, "arguments": {"n": 1}}, index=1)),
    ],
}
"""One call of a recall tool and one of the client's, as servers stream them."""


def shown(data: bytes) -> list[Json]:
    """The calls in all deltas of a stream."""
    chunks = [json.loads(line[6:]) for line in data.decode().splitlines() if line.startswith("data: {")]
    deltas = [choice.get("delta") or {} for chunk in chunks for choice in chunk["choices"]]
    return [call for one in deltas for call in one.get("tool_calls") or ()]


@pytest.mark.usefixtures("recall_from_start")
@pytest.mark.parametrize("chunks", PARALLEL.values(), ids=PARALLEL)
def test_the_clients_call_beside_a_recall_is_shown_as_it_came(chunks: list[Json]) -> None:
    exchange = begin("openai_chat")
    got = exchange.feed_chunk(events(*chunks, ENDED, COUNTED, "[DONE]")) + (exchange.end_stream() or b"")
    calls = [call for chunk in chunks for call in chunk["choices"][0]["delta"]["tool_calls"]]
    own = [call for call in calls if call.get("id") in ("w", "q") or call["function"] == WORK]
    assert [{**call, "index": 0} for call in shown(got)] == [{**call, "index": 0} for call in own]
    assert b"get_artifact" not in got
    assert b'"tool_calls"}' in got, "the client must answer its own call"


ALONE: dict[str, list[Json]] = {
    "no index": [step(called("o", RECALL)), ENDED],
    "id and name in each delta": [*pieces("o", RECALL, index=0), ENDED],
    "an empty id": [step(called("", RECALL, index=0)), ENDED],
    "a choice without an index": [delta({"tool_calls": [called("o", RECALL)]}, index=None), ENDED],
    "no reason why it ended": [step(called("o", RECALL, index=0))],
    "an object in place of text": [step(called("o", {**RECALL, "arguments": {"id": "x"}}, index=0)), ENDED],
}


@pytest.mark.usefixtures("recall_from_start")
@pytest.mark.parametrize("chunks", ALONE.values(), ids=ALONE)
def test_a_recall_is_answered_however_it_is_streamed(chunks: list[Json]) -> None:
    exchange = begin("openai_chat")
    assert exchange.feed_chunk(events(*chunks, COUNTED, "[DONE]")) == b""
    assert exchange.end_stream() is None, "the model gets its answer in another round"
    call, result = json.loads(exchange.body)["messages"][-2:]
    assert call["tool_calls"][0]["id"] == result["tool_call_id"] in ("", "o")
    assert '"x"' in result["content"], "the arguments were read"


THOUGHT: Json = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
PARTS: Json = {"content": [THOUGHT, {"type": "text", "text": "It says 5."}]}


@pytest.mark.usefixtures("recall_from_start")
@pytest.mark.parametrize("words", ["Let me look.", "", None])
def test_words_of_all_rounds_are_kept_where_one_has_parts(words: str | None) -> None:
    """Mistral's reasoning models write parts, other servers texts."""
    exchange = begin("openai_chat")
    first = {"role": "assistant", "content": words, "tool_calls": [called("o", RECALL)]}
    assert (
        exchange.read_answer(json.dumps({"choices": [{"message": first, "finish_reason": "tool_calls"}]}).encode())
        is None
    )
    got = exchange.read_answer(json.dumps({"choices": [{"message": PARTS, "finish_reason": "stop"}]}).encode())
    assert got is not None
    content = json.loads(got)["choices"][0]["message"]["content"]
    before = [{"type": "text", "text": words}, {"type": "text", "text": "\n\n"}] if words else []
    assert [part for part in content if part["type"] == "thinking"] == [THOUGHT]
    assert "".join(part.get("text", "") for part in content) == "".join(part["text"] for part in before) + "It says 5."


@pytest.mark.usefixtures("recall_from_start")
def test_parts_that_go_on_as_text_are_sent_back_together() -> None:
    exchange = begin("openai_chat")
    chunks = [delta({"content": [THOUGHT]}), delta({"content": "So."}), step(called("o", RECALL, index=0)), ENDED]
    assert exchange.feed_chunk(events(*chunks, "[DONE]")) == events(*chunks[:2])
    assert exchange.end_stream() is None
    said = json.loads(exchange.body)["messages"][-2]
    assert said["content"] == [THOUGHT, {"type": "text", "text": "So."}]
    last = [delta(PARTS), STOPPED]
    got = exchange.feed_chunk(events(*last, "[DONE]")) + (exchange.end_stream() or b"")
    shown = json.loads(got.split(b"\n\n")[0][6:])["choices"][0]["delta"]["content"]
    assert shown == [{"type": "text", "text": "\n\n"}, *PARTS["content"]]


@pytest.mark.usefixtures("recall_from_start")
def test_a_stream_that_has_failed_has_no_further_round() -> None:
    exchange = begin("openai_chat")
    error = {"error": {"message": "overloaded", "code": 529}}
    got = exchange.feed_chunk(events(step(called("o", RECALL, index=0)), error, "[DONE]"))
    end = exchange.end_stream()
    assert end is not None
    assert got + end == events(error, "[DONE]")


CALL: Json = {"type": "function_call", "id": "fo", "call_id": "o", **RECALL}
OWN: Json = {"type": "function_call", "id": "fw", "call_id": "w", **WORK}


def responses(items: list[Json], *without: str) -> list[Json]:
    """A streamed answer of Responses, without what a server leaves out."""
    made: list[Json] = [{"type": "response.created", "response": {"id": "r", "output": []}}]
    for at, item in enumerate(items):
        where = {} if "index" in without else {"output_index": at}
        item = {key: value for key, value in item.items() if key != "id" or "ids" not in without}
        named = {} if "ids" in without else {"item_id": item["id"]}
        added = [
            {"type": "response.output_item.added", **where, "item": {**item, "arguments": ""}},
            {"type": "response.function_call_arguments.delta", **where, **named, "delta": item["arguments"]},
        ]
        made += [] if "beginnings" in without else added
        made.append({"type": "response.output_item.done", **where, "item": item})
    body = {"id": "r", "usage": {"input_tokens": 1, "output_tokens": 2}}
    body |= {} if "status" in without else {"status": "completed"}
    body |= {} if "no output" in without else {"output": [] if "output" in without else items}
    return [*made, {"type": "response.completed", "response": body}]


def told(chunks: list[Json]) -> bytes:
    return events(*((str(one["type"]), one) for one in chunks))


LEFT_OUT = [
    (),
    ("output",),
    ("no output",),
    ("status",),
    ("index",),
    ("beginnings",),
    ("index", "ids", "beginnings", "output"),
]
each_server = pytest.mark.parametrize(
    "without", LEFT_OUT, ids=["nothing", *(" and ".join(one) for one in LEFT_OUT[1:])]
)


@pytest.mark.usefixtures("recall_from_start")
@each_server
def test_a_recall_in_responses_is_answered_whatever_a_server_leaves_out(without: tuple[str, ...]) -> None:
    exchange = begin("openai_responses")
    chunks = responses([CALL], *without)
    assert exchange.feed_chunk(told(chunks)) == told(chunks[:1])
    assert exchange.end_stream() is None
    assert '"x"' in json.loads(exchange.body)["input"][-1]["output"]


@pytest.mark.usefixtures("recall_from_start")
@each_server
@pytest.mark.parametrize("items", [[CALL, OWN], [OWN, CALL]], ids=["recall first", "recall last"])
def test_a_clients_item_beside_a_recall_is_all_that_it_sees(items: list[Json], without: tuple[str, ...]) -> None:
    exchange = begin("openai_responses")
    got = exchange.feed_chunk(told(responses(items, *without))) + (exchange.end_stream() or b"")
    seen = [json.loads(line[6:]) for line in got.decode().splitlines() if line.startswith("data: ")]
    assert seen[:-1] == responses([OWN], *without)[:-1]
    own = {key: value for key, value in OWN.items() if key != "id" or "ids" not in without}
    assert seen[-1]["response"]["output"] == [own]


@pytest.mark.usefixtures("recall_from_start")
def test_a_response_without_a_status_that_is_incomplete_has_no_further_round() -> None:
    exchange = begin("openai_responses")
    chunks = responses([CALL], "status", "output")
    exchange.feed_chunk(told([*chunks[:-1], {**chunks[-1], "type": "response.incomplete"}]))
    assert exchange.end_stream() is not None
