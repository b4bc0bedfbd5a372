"""One conversation in each dialect, with every shape that a client is known to send."""

from typing import Any

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk" * 50

CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "developer", "content": [{"type": "text", "text": "Be kind."}]},
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "What is"},
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
            {"type": "text", "text": "in here?"},
        ],
    },
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": '{"path":"a.py"}'}},
            {"id": "c2", "type": "custom", "custom": {"name": "run_python", "input": "print(1)"}},
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "print('content')\n"},
    {
        "role": "tool",
        "tool_call_id": "c2",
        "content": [{"type": "text", "text": "1\n"}, {"type": "text", "text": "done"}],
    },
    {
        "role": "assistant",
        "content": [{"type": "text", "text": "It prints"}, {"type": "refusal", "refusal": "No more."}],
    },
    {"role": "assistant", "content": "", "function_call": {"name": "old", "arguments": "{}"}},
    {"role": "function", "name": "old", "content": "what the old way gave back"},
    {"role": "user", "content": "Thanks – ünïcode 🎉"},
]

RESPONSES: list[dict[str, Any]] = [
    {"role": "developer", "content": "Be brief."},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "What is in here?"}]},
    {
        "role": "user",
        "content": [
            {"type": "input_text", "text": "This:"},
            {"type": "input_image", "detail": "auto", "image_url": f"data:image/png;base64,{PNG}"},
            {"type": "input_file", "file_data": PNG, "filename": "a.pdf"},
        ],
    },
    {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "Four letters make a token"}],
        "encrypted_content": PNG,
    },
    {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "read_file", "arguments": '{"path":"a.py"}'},
    {"type": "function_call", "call_id": "c2", "namespace": "mcp__big", "name": "plain", "arguments": "{}"},
    {"type": "function_call_output", "id": "fco_1", "call_id": "c1", "output": "print('output')\n"},
    {
        "type": "function_call_output",
        "call_id": "c2",
        "output": [
            {"type": "input_text", "text": "one"},
            {"type": "input_image", "detail": "auto", "image_url": f"data:image/png;base64,{PNG}"},
            {"type": "input_text", "text": "two"},
        ],
    },
    {"type": "custom_tool_call", "call_id": "c3", "name": "apply_patch", "input": "*** Begin Patch"},
    {"type": "custom_tool_call_output", "call_id": "c3", "output": "Done."},
    {
        "type": "local_shell_call",
        "id": "ls_1",
        "call_id": "c4",
        "status": "completed",
        "action": {"type": "exec", "command": ["ls", "-l"], "env": {}},
    },
    {"type": "local_shell_call_output", "id": "c4", "output": "a.py\n"},
    {"type": "shell_call", "call_id": "c5", "action": {"commands": ["make", "make test"]}},
    {
        "type": "shell_call_output",
        "call_id": "c5",
        "output": [
            {"stdout": "made", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}},
            {"stdout": "1 failed", "stderr": "Error 2", "outcome": {"type": "exit", "exit_code": 2}},
            {"stdout": "…", "stderr": "", "outcome": {"type": "timeout"}},
        ],
    },
    {
        "type": "apply_patch_call",
        "call_id": "c6",
        "status": "completed",
        "operation": {"type": "delete_file", "path": "a.py"},
    },
    {"type": "apply_patch_call_output", "call_id": "c6", "status": "failed", "output": "No such file"},
    {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "weather"}},
    {
        "type": "mcp_call",
        "id": "mcp_1",
        "server_label": "s",
        "name": "t",
        "arguments": "{}",
        "output": "what the server's tool said",
    },
    {"type": "item_reference", "id": "msg_7"},
    {"type": "compaction", "encrypted_content": PNG},
    {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "It prints – ünïcode 🎉", "annotations": []}],
    },
]

ANTHROPIC: list[dict[str, Any]] = [
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "What is in here?"},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
            {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": PNG}},
        ],
    },
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "Four letters make a token", "signature": PNG},
            {"type": "redacted_thinking", "data": PNG},
            {"type": "text", "text": "Let me look."},
            {"type": "tool_use", "id": "c1", "name": "Read", "input": {"path": "ä.py"}},
            {"type": "tool_use", "id": "c2", "name": "Bash", "input": {"command": "make"}},
            {"type": "tool_use", "id": "c3", "name": "mcp__big__plain", "input": {}},
        ],
    },
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "c2", "content": "make: Error 2", "is_error": True},
            {"type": "tool_result", "tool_use_id": "c1", "content": "print('content')\n", "is_error": False},
            {
                "type": "tool_result",
                "tool_use_id": "c3",
                "content": [
                    {"type": "text", "text": "one"},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
                    {"type": "text", "text": "two", "cache_control": {"type": "ephemeral"}},
                ],
                "cache_control": {"type": "ephemeral"},
            },
        ],
    },
    {
        "role": "assistant",
        "content": [
            {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "weather"}},
            {
                "type": "web_search_tool_result",
                "tool_use_id": "s1",
                "content": [
                    {
                        "type": "web_search_result",
                        "title": "Weather",
                        "url": "weather.example",
                        "encrypted_content": PNG,
                    }
                ],
            },
            {"type": "text", "text": "It will rain – ünïcode 🎉"},
            {"type": "tool_use", "id": "c4", "name": "Read", "input": {"path": "b.py"}},
        ],
    },
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "c4"},
            {"type": "text", "text": "Stop."},
        ],
    },
    {"role": "system", "content": "The user has stopped you."},
    {"role": "user", "content": "Go on."},
]
