"""Odd values for small functions, by their types; for some functions arguments of their own."""

from typing import Any

from tests.golden.edge_texts import TEXTS

STRINGS = (
    *("", " ", "a", "A b", "\n", "x\ny", "x\r\ny\r\n", "0", "-1", "7", "12-20", "20-12", "3-", "1,000", "12k", "1.5m"),
    *("bash", "Read", "grep -rn crane src", "cat a.txt | head -5", "python -m pytest", "mcp__git__log", "get_artifact"),
    *(
        "claude-sonnet-4-5",
        "gpt-5-mini",
        "models/gemini-2.5-pro",
        "us.anthropic.claude-opus-4-1-v1:0",
        "codex",
        "claude",
    ),
    *("localhost:8080", "http://[::1]:9/x", "0.0.0.0", "example.com:99999", "s3://bucket/a/b?region=x", "s3://"),
    *(
        "postgresql://me:secret@db:5432/x?sslmode=require",
        "postgres://",
        "bytes=0-9",
        "bytes=-5",
        "bytes=5-",
        "bytes=9-2",
    ),
    *(
        "/",
        "/api/sessions",
        "/api/sessions/a%2Fb/steps",
        "/v1/messages",
        "/v1/chat/completions",
        "/v1/responses",
        "GET",
    ),
    *("sk-ant-api03-abcdefghijklmnop", "Bearer eyJhbGciOiJIUzI1NiJ9.e30.x", "password=hunter2", "AKIAIOSFODNN7EXAMPLE"),
    *(
        "art_1700000000_aaaaaaaaaaaaaaaaaaaaaa",
        "trace_aaaaaaaaaaaaaaaaaaaaaa",
        "$.items[0:9].name",
        '$["a b"][-1]',
        "$[*]",
    ),
    *(
        "text/event-stream; charset=utf-8",
        "gzip, br",
        "2026-11-02T09:00:00Z",
        "2026-11-02T09:00:00.123+02:00",
        "log.jsonl.gz",
    ),
    *(
        '{"command": "ls -la", "path": "src/crane.py"}',
        '{"a": [1, "two", null, true, {"b": 1.5}]}',
        "[1, 2",
        "null",
        '"x"',
    ),
    *(
        "Error: no such file",
        "Traceback (most recent call last):\n  x\nValueError: y",
        "exit code 1",
        "permission denied",
    ),
    *("\x1b[31mred\x1b[0m", "\u202eabc", "e\u0301", "👩\u200d👧", "\ud800", "\x00\x07", "漢字", "ﬁle", "İstanbul", "ẞ"),
    *('data: {"a": 1}\n\nevent: x\ndata: y\n\n', "data: [DONE]", "parseArgs src/app.py:120-140", "customs_invoice_12"),
    *(
        "CREATE TABLE a (b);\nCREATE TRIGGER t AFTER INSERT ON a BEGIN SELECT 1; END;\n",
        "[12 lines omitted]",
        "x" * 300,
    ),
)
OBJECTS: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        0,
        1,
        -3,
        2.5,
        1e300,
        float("inf"),
        [],
        {},
        (),
        "",
        "text",
        b"bytes",
        [None],
        ["a", 1, {"b": []}],
    ),
    *({"type": "text", "text": "x"}, {"type": "tool_use", "id": "a", "name": "bash", "input": {"command": "ls"}}),
    *({"role": "user", "content": "hi"}, {"role": "assistant", "content": [{"type": "text", "text": "yes"}]}),
    *(
        {"role": "tool", "tool_call_id": "a", "content": "out"},
        {"type": "function_call_output", "call_id": "a", "output": "o"},
    ),
    *(
        {"id": "b", "type": "function", "function": {"name": "bash", "arguments": "{}"}},
        {"lines": "2-3"},
        {"start_char": 5},
    ),
    *(
        {"type": "function_call", "call_id": "c", "name": "bash", "arguments": '{"a": 1}'},
        {"from_end": 3},
        {"query": "x y"},
    ),
    *(
        {"pattern": "a", "context": "2", "regex": "true"},
        {"id": "art_1", "artifact_id": "b"},
        {"path": "/a/b.py", "n": 1},
    ),
    *(
        {"url": "https://example.com/a?b=c", "symbols": ["X", "Y"]},
        {"file_path": "/x/y.txt", "limit": 10},
        [{"text": "q"}],
    ),
)
LONG = tuple(text[:1_500] for text in TEXTS.values())
NUMBERS = (0, 1, 2, 3, 5, 7, 10, 63, 64, 99, 100, 999, 1_000, 1_023, 1_024, 2_048, 99_999, 1_000_000, 1 << 31, -1, -7)
LISTS: tuple[list[int], ...] = ([], [0], [0, 3], [0, 5, 9, 40], [1, 3, 9], list(range(0, 300, 7)))
NAMES: tuple[list[str], ...] = (
    [],
    ["a"],
    ["mode", "policy", "preset"],
    ["x", "y", "x"],
    ["Read", "Bash"],
    ["a", "b", "c", "d", "e", "f"],
)


_FAILURES = (
    *(
        "fatal: not a git repository",
        "KeyError: 'x'",
        "main.c:3:5: error: expected ';'\n1 error generated.",
        "4 failed",
    ),
    *("make: *** [Makefile:7: app] Error 1", "bash: nope: command not found", "cat: x: No such file or directory"),
    *(
        "npm ERR! code E404",
        "curl: (7) refused",
        "thread 'main' panicked at src/x.rs",
        "Killed",
        "0 errors",
        "error rate: 0",
    ),
    *(
        '{"error": null}',
        '{"ok": false}',
        '{"status": "error"}',
        '{"exit_code": 2}',
        "exit code 0",
        "class ParseError:",
    ),
    *(
        "# Error handling",
        "CONFLICT (content): a",
        "FAILED tests/test_a.py::test_b",
        "404 Not Found",
        "E: Unable to locate",
    ),
    *(
        "09:00:00 ERROR x",
        "09:00:00 INFO no error",
        "unable to open",
        "timed out",
        "Segmentation fault",
        "permission denied",
    ),
)
_TOOLS = (
    *(
        "bash",
        "Bash",
        "shell",
        "exec_command",
        "local_shell",
        "Read",
        "read_file",
        "view",
        "cat",
        "Grep",
        "search_files",
    ),
    *(
        "glob",
        "list_dir",
        "web_search",
        "WebFetch",
        "Task",
        "mcp__files__readFile",
        "mcp__git__git_log",
        "edit",
        "Write",
    ),
    *(
        "run_tests",
        "query",
        "sql",
        "get_artifact",
        "TodoWrite",
        "apply_patch",
        "browser_snapshot",
        "python",
        "notebook",
    ),
)
_COMMANDS = (
    *(
        "cat a.py",
        "head -5 a",
        "sed -n 1,9p a",
        "grep -rn x .",
        "rg x",
        "find . -name y",
        "ls -la",
        "git log",
        "git diff",
    ),
    *(
        "pytest -q",
        "cd /a && cat b",
        "cat a | grep b",
        "cat a > b",
        "sudo cat a",
        "A=1 cat a",
        "bash -lc 'cat a'",
        "nl a",
    ),
    *(
        "python x.py",
        "make",
        "echo hi",
        "tail -f x",
        "wc -l x",
        "awk '{print}' x",
        "",
        "  cat  a ",
        "cat a; rm b",
        "npm test",
    ),
)
_PEOPLE = "The crane at quay 7 lifts cargo.\n\nThe crane waits.\ncustoms_12 and crane-7 and crane\nlast crane"
OWN: dict[str, list[tuple[Any, ...]]] = {
    "policies.failures.is_error_text": [
        (f"{before}{one}{after}",)
        for one in _FAILURES
        for before, after in (("", ""), ("ok\n" * 9, ""), ("", "\nok" * 9), ("ok\n" * 9, "\nok" * 9))
    ],
    "policies.failures.error_line": [
        (f"{before}{one}{after}",)
        for one in _FAILURES
        for before, after in (("", ""), ("a\nb\n", "\n1 error generated."))
    ],
    "policies.kinds.kind_of": [(tool, "{}") for tool in _TOOLS]
    + [
        (tool, '{"command": ' + repr(one).replace("'", '"') + "}")
        for tool in ("bash", "exec_command")
        for one in _COMMANDS
        if "'" not in one
    ]
    + [("shell", f'{{"command": ["bash", "-lc", "{one}"]}}') for one in _COMMANDS],
    "policies.kinds.works_on_files": [((one,),) for one in _TOOLS],
    "policies.arrival.named_in": [
        ('{"path": "a", "n": 1, "url": ""}', keys) for keys in (("path",), ("n", "path"), ("url", "path"), ("z",))
    ],
    "truncation.configuration.job_of": [(one,) for one in _TOOLS],
    "apps.inspector.raw.parse_range": [
        (f"bytes={one}", size)
        for one in ("0-9", "-5", "5-", "9-2", "0-", "-0", "10-10", "9-9", "x-1", "1-2,3-4", "0-999")
        for size in (0, 1, 10, 11)
    ],
    "apps.inspector.routes.find_route": [
        (method, path)
        for method in ("GET", "POST")
        for path in (
            "/",
            "/x",
            "/static/a.js",
            "/static/b/a.js",
            "/api/sessions",
            "/api/sessions/s",
            "/api/sessions/s/steps",
            "/api/sessions/s/results/r/lines",
            "/api/sessions/a%2Fb/verify",
            "/api/sessions/s/none",
            "//",
            "/api/enter",
        )
    ],
    "apps.listener.is_same": [(one, other) for one in ("", "a", "ab", "é") for other in ("", "a", "ab", "é")],
    "apps.listener.probe_of": [
        (one,)
        for one in ("/health", "/healthz", "/livez/", "/readyz?x", "/health?x", "/metrics", "/", "/ready", "/x/health")
    ],
    "apps.listener.parse_address": [
        (one,)
        for one in (
            "127.0.0.1:8080",
            "localhost:0",
            ":80",
            "80",
            "[::1]:9",
            "::1",
            "h:65535",
            "h:65536",
            "h:-1",
            "h:x",
            "a:1:2",
            "0.0.0.0:1",
        )
    ],
    "apps.redaction.has_key_shape": [
        (f"{one}{'a1B2' * size}",)
        for one in ("sk-", "sk-ant-", "ghp_", "AKIA", "xoxb-", "AIza", "key-", "")
        for size in (1, 2, 4, 5, 8, 10, 16)
    ],
    "apps.redaction.redacted": [
        (f"use {one}{'a1B2' * size} now",)
        for one in ("sk-", "sk-ant-", "ghp_", "AKIA", "Bearer ", "password=", "")
        for size in (1, 4, 8, 16)
    ],
    "canonical.guard.is_cleared": [
        (one,)
        for one in (
            "[Old tool result content cleared]",
            "[cleared]",
            "cleared",
            "[content truncated]",
            "[Tool result cleared to save space]",
            "(no content)",
            "",
        )
    ],
    "models.profiles.profile_for": [
        (one,)
        for one in (
            "claude-haiku-4-5",
            "claude-3-5-sonnet-20241022",
            "gpt-4o-mini",
            "gpt-5.1",
            "gemini-2.5-flash",
            "deepseek-chat",
            "o3",
            "grok-4",
            "kimi-k2",
            "glm-4.6",
            "qwen3",
            "mistral-large",
            "openai/gpt-5",
            "claude",
            "gpt",
            "GPT-5",
            None,
        )
    ],
    "models.profiles.input_price": [
        (one,)
        for one in (
            "claude-haiku-4-5",
            "claude-haiku-4-5-20251001",
            "claude-sonnet-4-5@20250929",
            "gpt-5.1",
            "gpt-5-latest",
            "gpt-5-x",
            "us.anthropic.claude-opus-4-5-v1:0",
            "deepseek-chat",
            None,
        )
    ],
    "logs.run.length_of": [(number * 10_000,) for number in range(60)],
    "logs.message_order.epoch_seconds": [
        (one,)
        for one in (
            0,
            1,
            1_700_000_000,
            1_700_000_000_000,
            1.5,
            -1,
            True,
            "1700000000",
            "2026-11-02",
            "2026-11-02T09:00:00Z",
            "2026-11-02T09:00:00",
            "x",
            None,
            1e30,
        )
    ],
    "recall.ranges.number_of": [
        ({"n": one}, "n") for one in (5, "5", "1,000", 5.0, 5.5, "", None, True, "x", 1 << 60, -(1 << 60), [])
    ],
    "recall.ranges.range_of": [
        (one,)
        for one in (
            {"start_line": 1},
            {"end_line": 9},
            {"start_line": 0},
            {"length": 1},
            {"length": 0},
            {"start_char": 0, "length": 5},
            {"from_end": 1},
            {"from_end": 0},
            {"lines": 7},
            {"lines": ""},
        )
    ],
    "recall.grep.parse_grep": [
        ({"pattern": "a", "context": context, "regex": regex},)
        for context in (None, 0, 1, 49, 50, 51, "x", -1)
        for regex in (True, "TRUE", "yes", "1", 1, "no", None)
    ],
    "recall.scorer.idf": [(one, other) for one in (0, 1, 2, 10, 1_000) for other in (0, 1, 2, 10, 1_000)],
    "policies.atoms.positions": [
        (one, _PEOPLE) for one in ("crane", "quay 7", "customs_12", "7", "The", "none", "crane\n", "ran")
    ],
    "policies.atoms.occurs": [(one, _PEOPLE) for one in ("crane", "customs", "customs_12", "7", "none", "ran")],
    "policies.atoms.occurrences_in_context": [
        (one, text)
        for one in ("crane", "7", "customs_12")
        for text in (_PEOPLE, "x" * 16 + " crane " + "y" * 16, "crane", "a\ncrane\nb")
    ],
    "replay.missed_evidence.text_around": [
        (_PEOPLE * 9, needles) for needles in (("crane",), ("customs_12",), ("none",), ())
    ],
    "replay.missed_evidence.brings_back": [
        (f'get_artifact(id="a", {part})', needle, _PEOPLE)
        for part in ('lines="1-2"', 'lines="3-4"', 'pattern="crane"', "start_char=10, length=30")
        for needle in ("crane", "customs_12", "none")
    ],
    "replay.missed_evidence.answer_to": [
        (f'get_artifact(id="a", {part})', _PEOPLE)
        for part in ('lines="1-2"', 'lines="9"', 'pattern="crane"', "start_char=10, length=30", "x")
    ],
    "replay.prices.parse_tokens": [
        (one,) for one in ("128k", "1m", "200000", "0", "-1", "1.5k", "k", "12 k", "1M", "64K", "999", "1000")
    ],
    "replay.evidence.is_recorded_under_masking": [
        (one, other) for one in range(0, 12) for other in (0, 1, 5, 10, 11, 40)
    ],
    "truncation.code.is_among": [(at, places) for at in (-1, 0, 1, 3, 4, 9, 10) for places in ((), (0,), (1, 3, 9))],
    "truncation.question.hits_of": [
        (_PEOPLE.lower(), one, most)
        for one in ("crane", "the", "7", "customs", "none", "quay")
        for most in (0, 1, 2, 9)
    ],
    "truncation.paragraphs.bounds_of": [(text, eol) for text in LONG[:40] for eol in ("\n", "\r\n", "\r")],
    "truncation.lines.line_bounds": [(text, eol) for text in LONG[:40] for eol in ("\n", "\r\n", "\r")],
    "truncation.lines.after_ends": [
        (text, eol, base) for text in LONG[:12] for eol in ("\n", "\r\n") for base in (0, 5)
    ],
    "truncation.rows.record_bounds": [
        (text, eol, quoted) for text in LONG for eol in ("\n", "\r\n") for quoted in (False, True)
    ],
    "truncation.strategy.strategy_for": [
        (one,)
        for one in (
            "json",
            "ndjson",
            "csv",
            "xml",
            "wrapped",
            "broken",
            "diff",
            "log",
            "code",
            "search",
            "listing",
            "text",
        )
    ],
    "truncation.strategy.is_strategy": [
        (one,) for one in ("head", "tail", "head_tail", "lines", "element", "rows", "log", "code", "diff", "none")
    ],
    "wire.content.field_of": [(one, key) for one in OBJECTS for key in ("type", "text", "role", "none")],
    "wire.dialects.dialect_named": [(one,) for one in ("anthropic", "openai_chat", "openai_responses", "mcp", "none")],
    "wire.dialects.conversation_dialect": [
        (one,) for one in ("anthropic", "openai_chat", "openai_responses", "mcp", "none")
    ],
    "wire.dialects.endpoint_of": [
        (one,)
        for one in (
            "/v1/messages",
            "/v1/messages/count_tokens",
            "/v1/chat/completions",
            "/v1/responses",
            "/v1/responses/x",
            "/anthropic/v1/messages",
            "/v1/models",
            "",
            "/v1/messages?beta=true",
        )
    ],
    "wire.sse.is_event_stream": [
        (one,)
        for one in (
            "text/event-stream",
            "TEXT/EVENT-STREAM;x",
            " text/event-stream",
            "text/event-streams",
            "application/json",
            "",
        )
    ],
    "wire.usage.streamed_body": [
        (one,)
        for one in (
            b'data: {"type": "message_start", "message": {"usage": {"input_tokens": 5}}}\n\n'
            b'event: message_delta\ndata: {"type": "message_delta", "usage": {"output_tokens": 7}}\n\n',
            b'data: {"usage": {"prompt_tokens": 3}}\n\ndata: [DONE]\n\n',
            b'data: {"type": "response.completed", "response": {"usage": {"input_tokens": 2}}}\n\n',
            b"data: {\n\n",
            b"",
        )
    ],
    "transfer.archive.parse_hash": [("ab" * size,) for size in (0, 1, 31, 32, 33)] + [("zz" * 32,), ("AB" * 32,)],
    "store.sql_store.is_after": [
        (one, other) for one in (None, 0, 1, 2, "1", True) for other in (None, 0, 1, 2, "1", True)
    ],
    "store.blobs.bucket_address.bucket_of": [
        (f"s3://{one}",)
        for one in (
            "a",
            "bucket",
            "bucket/",
            "bucket/x/y",
            "b?region=eu",
            "b?endpoint=http://h:9&region=x",
            "b?none=1",
            "B_d",
            "a/../b",
            "me@b",
            "b/x?path_style=true",
        )
    ],
    "store.postgres.address.address_of": [
        (f"postgresql://{one}",)
        for one in (
            "h/d",
            "u@h/d",
            "u:p@h:5/d?sslmode=require",
            "h",
            "/d",
            "h/d#x",
            "h:x/d",
            "h/d?password=p",
            "h1,h2/d",
        )
    ],
    "apps.mcp.routes.parsed_cursor": [
        (one, servers)
        for one in (None, "", "0", "0:", "0:x", "1:y", "2:z", "x:1", "-1:a", "01:a", "1")
        for servers in (0, 1, 2)
    ],
    "apps.json_file.indent": [
        (one,) for one in ("{}", '{\n  "a": 1\n}', '{\n\t"a": 1\n}', '{\n    "a": {\n        "b": 1}}', "")
    ],
    "standalone.contexts.arguments.check_limit": [("n", one) for one in (-1, 0, 1, 5, True, 1.0, "1", None)],
    "standalone.contexts.arguments.check_size": [("n", one) for one in (-1, 0, 1, 5, True, 1.0, "1", None)],
}
