"""Odd streams in which the model names a recall tool and calls none: the client gets every byte, in its order."""

import base64
import json
from typing import Any

import pytest

from keepwhole.wire.event_stream import write_frame
from tests.wire.test_stream_cuts import begin

pytestmark = pytest.mark.usefixtures("recall_from_start")

Json = dict[str, Any]
WORDS = "get_artifact in words, ü"
UNKNOWN = {"new": {"number": 1.0e5, "again": WORDS}}


def events(*given: Json | str | tuple[str, Json], end: str = "\n\n") -> bytes:
    """Server-sent events: data, or a name and data."""
    named = [one if isinstance(one, tuple) else ("", one) for one in given]
    heads = [(f"event: {name}\n" if name else "", one) for name, one in named]
    return "".join(
        f"{head}data: {one if isinstance(one, str) else json.dumps(one)}{end}" for head, one in heads
    ).encode()


def candidate(part: Json | None = None, reason: str = "", **more: Any) -> Json:
    parts = [] if part is None else [part]
    told = {"content": {"role": "model", "parts": parts}, **({"finishReason": reason} if reason else {}), **more}
    return {"candidates": [told], "responseId": "r", "usageMetadata": {"promptTokenCount": 5}}


def delta(value: Json, **more: Any) -> Json:
    return {"id": "c", "choices": [{"index": 0, "delta": value, "finish_reason": None, **more}]}


def frames(*given: tuple[str, Json | bytes]) -> bytes:
    """Amazon's frames: events, or exceptions by their name."""
    return b"".join(
        write_frame(
            {":exception-type": name, ":message-type": "exception"}
            if name.endswith("Exception")
            else {":event-type": name, ":content-type": "application/json", ":message-type": "event"},
            data if isinstance(data, bytes) else json.dumps(data).encode(),
        )
        for name, data in given
    )


def grown(value: Json) -> tuple[str, Json]:
    return "contentBlockDelta", {"contentBlockIndex": 0, "delta": value, "p": "abcd"}


LAST: tuple[tuple[str, Json], ...] = (
    ("messageStop", {"stopReason": "end_turn"}),
    ("metadata", {"usage": {"inputTokens": 5, "outputTokens": 1}, "metrics": {"latencyMs": 1.0}}),
)
BEGUN, ENDED = candidate({"text": WORDS}), candidate({"text": "x"}, "STOP")
STOPPED: Json = {"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop", "logprobs": None}]}
USED: Json = {"id": "c", "choices": [], "usage": {"prompt_tokens": 1, "cost": 1.0e-7}}
SAID: tuple[tuple[str, Json], ...] = (
    ("message_start", {"type": "message_start", "message": {"content": [], "usage": {"input_tokens": 1}}}),
    ("content_block_start", {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
    (
        "content_block_delta",
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": WORDS}},
    ),
    ("content_block_stop", {"type": "content_block_stop", "index": 0}),
    ("message_delta", {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}}),
    ("message_stop", {"type": "message_stop"}),
)
STREAMS: dict[str, dict[str, bytes]] = {
    "gemini": {
        "CRLF": events(BEGUN, ENDED, end="\r\n\r\n"),
        "an empty text with a signature": events(BEGUN, candidate({"text": "", "thoughtSignature": "s"}, "STOP")),
        "a call": events(BEGUN, candidate({"functionCall": {"name": "work", "args": {"a": WORDS}}}, "STOP")),
        "two candidates": events(BEGUN, {"candidates": [*ENDED["candidates"], *BEGUN["candidates"]]}, ENDED),
        "a refused prompt": events({"promptFeedback": {"blockReason": "SAFETY", "message": WORDS}}),
        "an end without content": events(BEGUN, {"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL"}]}),
        "counts behind the end": events(BEGUN, ENDED, {"usageMetadata": {"promptTokenCount": 5}}),
        "an error": events(BEGUN, {"error": {"code": 503, "status": "UNAVAILABLE"}}),
        "an error behind the end": events(BEGUN, ENDED, {"error": {"code": 503, "status": "UNAVAILABLE"}}, UNKNOWN),
        "no end": events(BEGUN, candidate({"text": "x"})),
        "no JSON": events(BEGUN, "{broken " + WORDS, ENDED),
        "wrong types": events(
            BEGUN, {"candidates": {"a": 1}}, {"candidates": [5, {"content": {"parts": None}}]}, ENDED
        ),
    },
    "converse": {
        "an exception": frames(("messageStart", {"role": "assistant"}), grown({"text": WORDS}), ("aException", {})),
        "an exception at first": frames(("validationException", {"message": WORDS})),
        "unknown events": frames(("newEvent", UNKNOWN), grown({"text": WORDS}), *LAST, ("newEvent", UNKNOWN)),
        "an unknown delta": frames(("messageStart", {}), grown({"image": UNKNOWN}), *LAST),
        "no counts": frames(grown({"text": WORDS}), LAST[0]),
        "lines in a payload": frames(("messageStart", b'{"role":\r\n\n"assistant"}'), grown({"text": WORDS}), *LAST),
        "no JSON": frames(("messageStart", bytes(range(256))), ("newEvent", b""), grown({"text": WORDS}), *LAST),
        "equal frames": frames(grown({"text": WORDS}), *[grown({"text": "a"})] * 3, *LAST),
    },
    "openai_chat": {
        "other white space": events(delta({"content": WORDS}), STOPPED, USED, "[DONE]", end="\r\n\r\n"),
        "an event behind the end": events(delta({"content": WORDS}), STOPPED, UNKNOWN, "[DONE]"),
        "an error": events(delta({"content": WORDS}), {"error": {"message": "m", "code": 502}}),
        "no [DONE]": events(delta({"content": WORDS}), STOPPED, USED),
        "comments": b": OPENROUTER PROCESSING\n\n" + events(delta({"content": WORDS}), ": x", STOPPED, USED, "[DONE]"),
        "a filter's result at first": events(
            {"choices": [], "prompt_filter_results": [1.0]}, delta({"content": WORDS})
        ),
    },
    "anthropic": {
        "an event behind the end": events(*SAID[:5], ("ping", {"type": "ping"}), SAID[5], ("new", UNKNOWN)),
        "an error": events(*SAID[:3], ("error", {"type": "error", "error": {"type": "overloaded_error"}})),
        "ids and comments": b"\xef\xbb\xbfretry: 10\nid: 5\n" + events(*SAID[:3]) + b": x\n\n\n" + events(*SAID[3:]),
        "no blank line at the end": events(*SAID)[:-2],
    },
    "bedrock": {
        "what is no event": frames(
            *(("chunk", {"bytes": base64.b64encode(json.dumps(one).encode()).decode()}) for _, one in SAID[:4]),
            *(
                ("chunk", {"bytes": base64.b64encode(one).decode(), "p": "abc"})
                for one in (b"\xff", b"[1]", b'{"type": 5}')
            ),
            *(("chunk", {"new": 1}), ("chunk", b"no JSON"), ("internalServerException", {"message": "m"})),
        ),
    },
}
CASES = [(dialect, name) for dialect, streams in STREAMS.items() for name in streams]


@pytest.mark.parametrize(("dialect", "name"), CASES, ids=[f"{dialect}: {name}" for dialect, name in CASES])
def test_a_stream_without_a_call_of_a_recall_tool_passes_as_it_came(dialect: str, name: str) -> None:
    data = STREAMS[dialect][name]
    for at in (len(data), len(data) // 3, len(data) - 5):
        exchange = begin(dialect)
        got = exchange.feed_chunk(data[:at]) + exchange.feed_chunk(data[at:]) + (exchange.end_stream() or b"")
        assert got == data
