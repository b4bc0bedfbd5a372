"""Messages, requests, answers and streams of Gemini and of Converse, to be varied like those of `wire_shapes`. Must not
know: the package.
"""

import json
from typing import Any

from tests.golden.wire_shapes import _PDF, _PNG  # pyright: ignore[reportPrivateUsage]
from tests.upstream.spelling import SPELLINGS, Part, Text, Thinking, Tool

_SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}}
_POINT = {"cachePoint": {"type": "default", "ttl": "1h"}}
_RESULTS = [
    {"text": "out"},
    {"json": {"rows": [1, 2]}},
    {"image": {"format": "png", "source": {"bytes": _PNG}}},
    {"document": {"format": "txt", "name": "a", "source": {"text": "inside"}}},
]

PARTS: tuple[Any, ...] = (
    {"text": "a text", "thought": True},
    {"inlineData": {"mimeType": "image/png", "data": _PNG}},
    {"fileData": {"mimeType": "application/pdf", "fileUri": "https://example.com/a.pdf"}},
    {"functionResponse": {"name": "bash", "response": {"output": "out"}}},
    {"image": {"format": "png", "source": {"bytes": _PNG}}},
    {"document": {"format": "pdf", "name": "a", "source": {"bytes": _PDF}}},
    {"image": {"format": "png", "source": {"s3Location": {"uri": "s3://bucket/a.png"}}}},
    {"reasoningContent": {"redactedContent": "eA=="}},
)
MESSAGES: tuple[Any, ...] = (
    {"role": "user", "parts": [{"text": "go"}, {"inlineData": {"mimeType": "image/png", "data": _PNG}}]},
    {
        "role": "model",
        "parts": [
            {"text": "hm", "thought": True},
            {"text": "I go"},
            {"functionCall": {"name": "bash", "args": {"command": "ls"}}, "thoughtSignature": "c2ln"},
        ],
    },
    {"role": "user", "parts": [{"functionResponse": {"name": "bash", "response": {"output": "out", "code": 0}}}]},
    {"role": "user", "content": [{"text": "go"}, *PARTS[4:6], _POINT]},
    {
        "role": "assistant",
        "content": [
            {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "c2ln"}}},
            {"text": "I go"},
            {"toolUse": {"toolUseId": "c1", "name": "bash", "input": {"command": "ls"}}},
        ],
    },
    {"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": _RESULTS, "status": "error"}}]},
)
REQUESTS: tuple[Any, ...] = (
    {
        "contents": list(MESSAGES[:3]),
        "systemInstruction": {"parts": [{"text": "You are careful."}]},
        "tools": [{"functionDeclarations": [{"name": "bash", "parameters": _SCHEMA}]}, {"googleSearch": {}}],
        "generationConfig": {"candidateCount": 1, "responseMimeType": "application/json"},
    },
    {
        "messages": list(MESSAGES[3:]),
        "system": [{"text": "You are careful."}, _POINT],
        "toolConfig": {"tools": [{"toolSpec": {"name": "bash", "inputSchema": {"json": _SCHEMA}}}, _POINT]},
        "inferenceConfig": {"maxTokens": 100},
        "outputConfig": {"textFormat": {"type": "json_schema", "structure": {"jsonSchema": {"schema": "{}"}}}},
    },
)
_SAID: list[Part] = [
    Thinking("hm"),
    Text("I go"),
    Tool("get_artifact", {"id": "art_1"}, "c1"),
    Tool("bash", {"command": "ls"}, "c2"),
]
_USAGE = {"inputTokens": 3, "outputTokens": 5, "totalTokens": 8, "cacheReadInputTokens": 2, "cacheWriteInputTokens": 1}
ANSWERS: tuple[Any, ...] = (
    SPELLINGS["gemini"].whole(_SAID, 1, None),
    SPELLINGS["converse"].whole(_SAID, 1, _USAGE),
)


def _gemini(ids: tuple[str, ...]) -> list[Any]:
    calls = [{"functionCall": {"name": "bash", "args": {"n": each}}} for each in ids]
    results = [{"functionResponse": {"name": "bash", "response": {"output": f"out {each}"}}} for each in ids]
    return [{"role": "model", "parts": calls}, {"role": "user", "parts": results}]


def _converse(ids: tuple[str, ...]) -> list[Any]:
    calls = [{"toolUse": {"toolUseId": each, "name": "bash", "input": {}}} for each in ids]
    results = [{"toolResult": {"toolUseId": each, "content": [{"text": f"out {each}"}]}} for each in ids]
    return [{"role": "assistant", "content": calls}, {"role": "user", "content": [*results, {"text": "go on"}]}]


_TURNS = (("c1", "c2"), ("c3",), ("c4", "c5"))
CONVERSATIONS: dict[str, list[Any]] = {
    "gemini": [MESSAGES[0], *(message for ids in _TURNS for message in _gemini(ids))],
    "converse": [MESSAGES[3], *(message for ids in _TURNS for message in _converse(ids))],
}


def _event(name: str, data: Any) -> bytes:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n".encode()


STREAMS: dict[str, list[bytes]] = {
    "gemini": list(SPELLINGS["gemini"].events(_SAID, 1, None)),
    "converse": [
        *list(SPELLINGS["converse"].events(_SAID, 1, _USAGE))[:-2],
        _event("contentBlockDelta", {"contentBlockIndex": 4, "delta": {"text": "see"}}),
        _event("contentBlockDelta", {"contentBlockIndex": 4, "delta": {"citation": {"title": "t"}}}),
        _event(
            "contentBlockDelta", {"contentBlockIndex": 5, "delta": {"reasoningContent": {"redactedContent": "eA=="}}}
        ),
        *list(SPELLINGS["converse"].events(_SAID, 1, _USAGE))[-2:],
    ],
}
