"""Messages, requests, answers and streams of every provider, and what is near them. Must not know: the package.

Each value is varied at every place: left out, empty, of another type. So every branch that asks for a field is met.
"""

import base64
import json
import struct
import zlib
from collections.abc import Iterator
from typing import Any


def _png(width: int, height: int) -> str:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    body = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", b"") + chunk(b"IEND", b"")
    return base64.b64encode(body).decode()


_PNG = _png(640, 480)
_PDF = base64.b64encode(b"%PDF-1.4\n<< /Type /Page >>\n<< /Type /Pages /Count 2 >>\n%%EOF\n").decode()
_WAV = base64.b64encode(b"RIFF\x24\x00\x00\x00WAVEfmt " + bytes(24)).decode()
_URL = f"data:image/png;base64,{_PNG}"

PARTS: tuple[Any, ...] = (
    "plain",
    {"type": "text", "text": "a text", "cache_control": {"type": "ephemeral", "ttl": "1h"}},
    {"type": "input_text", "text": "asked"},
    {"type": "output_text", "text": "said", "annotations": []},
    {"type": "refusal", "refusal": "no"},
    {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
    {"type": "redacted_thinking", "data": "eA=="},
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": _PNG}, "cache_control": {}},
    {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}},
    {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": _PDF}},
    {"type": "document", "source": {"type": "file", "file_id": "file_1"}, "title": "t"},
    {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "words"}},
    {"type": "image_url", "image_url": {"url": _URL, "detail": "low"}},
    {"type": "image_url", "image_url": "https://example.com/b.png"},
    {"type": "input_audio", "input_audio": {"data": _WAV, "format": "wav"}},
    {"type": "file", "file": {"file_data": f"data:application/pdf;base64,{_PDF}", "filename": "a.pdf"}},
    {"type": "input_image", "image_url": _URL, "detail": "high"},
    {"type": "input_file", "file_data": _PDF, "filename": "b.pdf"},
    {"type": "input_file", "file_url": "https://example.com/c.pdf"},
    {"type": "computer_screenshot", "image_url": _URL},
    {"type": "image", "data": _PNG, "mimeType": "image/png"},
    {"type": "audio", "data": _WAV, "mimeType": "audio/wav"},
    {"type": "resource", "resource": {"uri": "file:///a", "mimeType": "application/pdf", "blob": _PDF}},
    {"type": "resource", "resource": {"uri": "file:///b", "text": "inside"}},
    {"type": "image", "base64": _PNG, "mime_type": "image/png"},
    {"type": "image", "file": {"base64": _PNG, "type": "image/png"}},
    {"output_type": "display_data", "image": {"image_data": _PNG, "media_type": "image/png"}},
    {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "q"}},
    {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"type": "x", "encrypted_content": "e"}]},
    {"type": "compaction", "content": "earlier"},
)
MESSAGES: tuple[Any, ...] = (
    {"role": "user", "content": "hello"},
    {"role": "system", "content": "be kind"},
    {"role": "developer", "content": [{"type": "text", "text": "rules"}]},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "bash", "input": {"command": "ls"}}]},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
            {"type": "text", "text": "I look"},
            {"type": "tool_use", "id": "c1", "name": "get_artifact", "input": {"id": "art_1"}},
            {"type": "tool_use", "id": "c2", "name": "bash", "input": {}},
        ],
    },
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "c1", "content": "a.txt", "is_error": True},
            {"type": "tool_result", "tool_use_id": "c2", "content": [{"type": "text", "text": "b"}, PARTS[7]]},
            {"type": "text", "text": "go on"},
        ],
    },
    {"role": "user", "content": list(PARTS[1:])},
    {
        "role": "assistant",
        "content": None,
        "reasoning_content": "hm",
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}},
            {"id": "c2", "type": "custom", "custom": {"name": "patch", "input": "*** Begin"}},
            {
                "id": "c3",
                "type": "function",
                "function": {"name": "get_artifact", "arguments": "{}"},
                "extra_content": {},
            },
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "name": "bash", "content": "a.txt"},
    {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "a"}, PARTS[12]]},
    {"role": "assistant", "content": "done", "refusal": None, "annotations": [], "audio": {"id": "x"}},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]},
    {"type": "message", "role": "assistant", "id": "m1", "content": [{"type": "output_text", "text": "yes"}]},
    {"type": "reasoning", "id": "r1", "summary": [], "encrypted_content": "e"},
    {"type": "function_call", "id": "f1", "call_id": "c1", "name": "bash", "namespace": "mcp", "arguments": '{"a": 1}'},
    {"type": "function_call", "call_id": "c2", "name": "get_artifact", "arguments": '{"id": "art_1"}'},
    {"type": "function_call_output", "call_id": "c1", "output": "a.txt", "status": "failed"},
    {"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": "a"}, PARTS[16]]},
    {"type": "custom_tool_call", "call_id": "c3", "name": "apply_patch", "input": "*** Begin Patch"},
    {"type": "custom_tool_call_output", "call_id": "c3", "output": "done"},
    {"type": "local_shell_call", "call_id": "c4", "action": {"type": "exec", "command": ["ls"]}},
    {"type": "local_shell_call_output", "id": "c4", "output": '{"output": "x"}'},
    {"type": "shell_call", "call_id": "c5", "action": {"commands": ["ls"]}},
    {
        "type": "shell_call_output",
        "call_id": "c5",
        "output": [
            {"stdout": "a", "stderr": "b", "outcome": {"type": "exit", "exit_code": 0}},
            {"stdout": "c", "stderr": "", "outcome": {"type": "exit", "exit_code": 1}},
            {"stdout": "", "stderr": "d", "outcome": {"type": "timeout"}},
        ],
    },
    {"type": "apply_patch_call", "call_id": "c6", "operation": {"type": "update_file", "path": "a", "diff": "@@"}},
    {"type": "apply_patch_call_output", "call_id": "c6", "status": "failed", "output": "no"},
    {"type": "computer_call", "call_id": "c7", "actions": [{"type": "click", "x": 1, "y": 2}]},
    {"type": "computer_call_output", "call_id": "c7", "output": {"type": "computer_screenshot", "image_url": _URL}},
    {"type": "item_reference", "id": "m1"},
    {"type": "compaction", "id": "k1", "encrypted_content": "e"},
)
REQUESTS: tuple[Any, ...] = (
    {
        "model": "claude-sonnet-4-5",
        "max_tokens": 1_000,
        "stream": True,
        "system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}],
        "metadata": {"user_id": '{"session_id": "s-1"}'},
        "context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]},
        "tools": [{"name": "bash", "description": "d", "input_schema": {"type": "object"}}, {"type": "web_search_1"}],
        "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
        "output_format": {"type": "json_schema", "schema": {}},
        "messages": [MESSAGES[0], MESSAGES[3], MESSAGES[5]],
    },
    {
        "model": "gpt-5-mini",
        "n": 2,
        "stream": False,
        "max_completion_tokens": 500,
        "prompt_cache_key": "k",
        "response_format": {"type": "json_schema", "json_schema": {}},
        "tools": [
            {"type": "function", "function": {"name": "bash", "parameters": {}}},
            {"type": "custom", "custom": {"name": "patch"}},
        ],
        "functions": [{"name": "old"}],
        "messages": [MESSAGES[1], MESSAGES[0], MESSAGES[7], MESSAGES[8]],
    },
    {
        "model": "gpt-5-codex",
        "instructions": "i",
        "input": [MESSAGES[11], MESSAGES[13], MESSAGES[14], MESSAGES[16]],
        "store": False,
        "previous_response_id": "resp_1",
        "conversation": {"id": "conv_1"},
        "client_metadata": {"x-codex-turn-metadata": '{"request_kind": "compaction"}'},
        "text": {"format": {"type": "json_schema"}},
        "include": ["reasoning.encrypted_content"],
        "background": True,
        "truncation": "auto",
        "tools": [{"type": "function", "name": "bash"}, {"type": "namespace", "name": "mcp", "tools": [{"name": "a"}]}],
    },
    {"model": "gpt-5", "input": "one text", "max_output_tokens": 9, "prompt": {"id": "p"}},
)
ANSWERS: tuple[Any, ...] = (
    {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "stop_reason": "tool_use",
        "content": MESSAGES[4]["content"],
        "usage": {
            "input_tokens": 10,
            "cache_creation_input_tokens": 20,
            "cache_read_input_tokens": 300,
            "output_tokens": 5,
            "iterations": [{"type": "message", "input_tokens": 4}, {"type": "message", "input_tokens": 6}],
            "server_tool_use": {"web_search_requests": 2},
        },
        "context_management": {"applied_edits": [{"type": "clear_tool_uses", "cleared_input_tokens": 7}]},
    },
    {
        "id": "chat_1",
        "object": "chat.completion",
        "choices": [{"index": 0, "finish_reason": "tool_calls", "message": MESSAGES[7]}],
        "usage": {
            "prompt_tokens": 100,
            "completion_tokens": 7,
            "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 8},
        },
    },
    {
        "id": "resp_1",
        "object": "response",
        "status": "completed",
        "store": False,
        "output": [MESSAGES[13], MESSAGES[12], MESSAGES[15], MESSAGES[18]],
        "usage": {"input_tokens": 100, "output_tokens": 7, "input_tokens_details": {"cached_tokens": 600}},
    },
)
HEADERS: tuple[dict[str, str], ...] = (
    {},
    {"user-agent": "claude-cli/2.1.325 (external)", "x-claude-code-session-id": "s-1", "x-claude-code-agent-id": "a-1"},
    {"user-agent": "codex_cli_rs/0.169.0", "session_id": "s-2", "conversation_id": "s-2", "x-codex-turn-metadata": "{"},
    {"x-codex-turn-metadata": '{"request_kind": "compaction"}', "x-keepwhole-session": "mine"},
    {"x-keepwhole-session": "a" * 300, "anthropic-version": "2023-06-01"},
    {"openai-organization": "o", "user-agent": "opencode/1.2", "x-session-affinity": "ses_1"},
)
_OTHERS: tuple[Any, ...] = (None, "", [], {}, 7, True, "x", [None], ["x"], [{"type": "text", "text": "y"}])


def varied(value: Any) -> Iterator[Any]:
    """Yield a value as it is, then with every place in it left out or replaced by something else in turn."""
    yield value
    for number, path in enumerate(_paths(value)):
        yield _changed(value, path)
        for at in (number, number + 3, number + 6):
            yield _changed(value, path, _OTHERS[at % len(_OTHERS)])


def rearranged(items: list[Any]) -> Iterator[list[Any]]:
    """Yield a conversation with items left out, doubled and exchanged, one or two at a time."""
    yield items
    for at in range(len(items)):
        yield items[: at + 1]
        yield [*items[:at], *items[at + 1 :]]
        yield [*items[: at + 1], *items[at:]]
        for other in range(at + 1, len(items)):
            yield [*items[:at], items[other], *items[at + 1 : other], items[at], *items[other + 1 :]]
            yield [*items[:at], *items[at + 1 : other], *items[other + 1 :]]


def _paths(value: Any) -> Iterator[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield (key,)
        yield from ((key, *path) for path in _paths(each))


_GONE = object()


def _changed(value: Any, path: tuple[Any, ...], other: Any = _GONE) -> Any:
    key, *rest = path
    copied = dict(value) if isinstance(value, dict) else list(value)
    if rest:
        copied[key] = _changed(value[key], tuple(rest), other)
    elif other is _GONE:
        del copied[key]
    else:
        copied[key] = other
    return copied


def _turns(calls: Any, result: Any) -> list[Any]:
    """A conversation of two turns with two calls and one with one call."""
    found: list[Any] = []
    for ids in (("c1", "c2"), ("c3",), ("c4", "c5")):
        found += calls(ids)
        found += result(ids)
    return found


def _anthropic(ids: Any) -> list[Any]:
    return [
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": each, "name": "bash", "input": {}} for each in ids],
        }
    ]


def _anthropic_results(ids: Any) -> list[Any]:
    blocks = [{"type": "tool_result", "tool_use_id": each, "content": f"out {each}"} for each in ids]
    return [{"role": "user", "content": [*blocks, {"type": "text", "text": "go on"}][: 3 if "c1" in ids else None]}]


def _chat(ids: Any) -> list[Any]:
    calls = [{"id": each, "type": "function", "function": {"name": "bash", "arguments": "{}"}} for each in ids]
    return [{"role": "assistant", "content": None, "tool_calls": calls}]


def _chat_results(ids: Any) -> list[Any]:
    return [{"role": "tool", "tool_call_id": each, "content": f"out {each}"} for each in ids]


def _responses(ids: Any) -> list[Any]:
    return [{"type": "function_call", "call_id": each, "name": "bash", "arguments": "{}"} for each in ids]


def _responses_results(ids: Any) -> list[Any]:
    return [{"type": "function_call_output", "call_id": each, "output": f"out {each}"} for each in ids]


CONVERSATIONS: dict[str, list[Any]] = {
    "anthropic": [MESSAGES[0], *_turns(_anthropic, _anthropic_results)],
    "openai_chat": [MESSAGES[1], MESSAGES[0], *_turns(_chat, _chat_results), MESSAGES[10]],
    "openai_responses": [MESSAGES[11], *_turns(_responses, _responses_results), MESSAGES[12]],
}


def _event(data: Any, name: str = "") -> bytes:
    return (f"event: {name}\n" if name else "").encode() + f"data: {json.dumps(data)}\n\n".encode()


def _named(*events: dict[str, Any]) -> list[bytes]:
    return [_event(event, event["type"]) for event in events]


def _block(at: int, block: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": at, "content_block": block},
        *({"type": "content_block_delta", "index": at, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": at},
    ]


def _chunk(delta: dict[str, Any], reason: str | None = None, **more: Any) -> bytes:
    choices = [{"index": 0, "delta": delta, "finish_reason": reason}]
    return _event({"id": "chat_1", "object": "chat.completion.chunk", "choices": choices, **more})


def _item(at: int, item: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "response.output_item.added", "output_index": at, "item": item},
        *({**delta, "output_index": at} for delta in deltas),
        {"type": "response.output_item.done", "output_index": at, "item": item},
    ]


STREAMS: dict[str, list[bytes]] = {
    "anthropic": _named(
        {
            "type": "message_start",
            "message": {"id": "m", "role": "assistant", "content": [], "usage": {"input_tokens": 9}},
        },
        *_block(0, {"type": "thinking", "thinking": ""}, {"type": "thinking_delta", "thinking": "hm"}),
        *_block(
            1, {"type": "text", "text": ""}, {"type": "text_delta", "text": "I "}, {"type": "text_delta", "text": "go"}
        ),
        *_block(
            2,
            {"type": "tool_use", "id": "c1", "name": "get_artifact", "input": {}},
            {"type": "input_json_delta", "partial_json": '{"id": "ar'},
            {"type": "input_json_delta", "partial_json": 't_1"}'},
        ),
        {"type": "ping"},
        *_block(3, {"type": "tool_use", "id": "c2", "name": "bash", "input": {}}),
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 4}},
        {"type": "message_stop"},
    ),
    "openai_chat": [
        _chunk({"role": "assistant", "content": ""}),
        _chunk({"content": "I go"}),
        _chunk({"reasoning_content": "hm"}),
        _chunk({"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "get_artifact", "arguments": ""}}]}),
        _chunk({"tool_calls": [{"index": 0, "function": {"arguments": '{"id":'}}]}),
        _chunk({"tool_calls": [{"index": 0, "function": {"arguments": ' "art_1"}'}}]}),
        _chunk({"tool_calls": [{"index": 1, "id": "c2", "type": "function", "function": {"name": "bash"}}]}),
        _chunk({"tool_calls": [{"index": 1, "function": {"arguments": "{}"}}]}),
        _chunk({}, "tool_calls"),
        _event({"id": "chat_1", "choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 4}}),
        b"data: [DONE]\n\n",
    ],
    "openai_responses": _named(
        {"type": "response.created", "response": {"id": "r", "status": "in_progress", "output": []}},
        *_item(0, MESSAGES[13]),
        *_item(1, MESSAGES[12], {"type": "response.output_text.delta", "content_index": 0, "delta": "yes"}),
        *_item(2, MESSAGES[15], {"type": "response.function_call_arguments.delta", "delta": '{"id": '}),
        *_item(3, MESSAGES[14], {"type": "response.function_call_arguments.done", "arguments": "{}"}),
        {
            "type": "response.completed",
            "response": {**ANSWERS[2], "output": [MESSAGES[13], MESSAGES[12], MESSAGES[15], MESSAGES[14]]},
        },
    ),
}
