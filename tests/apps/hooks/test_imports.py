"""A hook runs beside every call of a tool, so it imports only what one result takes."""

import json
import os
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import json, sys
from keepwhole.apps.hooks.run import answer
told = answer("claude-code", sys.stdin.buffer.read())
print(json.dumps([told is not None, *sorted(sys.modules)]))
"""
ELSEWHERE = (
    *("keepwhole.conversation", "keepwhole.exchange", "keepwhole.integrations", "keepwhole.wire"),
    *(
        "keepwhole.policies.auto",
        "keepwhole.policies.policy",
        "keepwhole.policies.transcript",
        "keepwhole.models.profiles",
    ),
    *("keepwhole.store.memory", "keepwhole.store.passages", "keepwhole.store.sqlite.purge"),
    *("keepwhole.canonical.json_text", "keepwhole.truncation.broken_json"),
    *("asyncio", "base64", "csv", "logging", "pyexpat", "ssl", "subprocess", "yaml"),
)
"""What ages results, follows conversations, searches, or reads texts of other kinds."""


def test_a_hook_that_cuts_a_plain_text_imports_nothing_that_other_work_needs(tmp_path: Path) -> None:
    output = "".join(f"line {number} of an output\n" for number in range(1_200))
    event = {
        "hook_event_name": "PostToolUse",
        "tool_name": "Bash",
        "tool_response": {"stdout": output, "stderr": "", "interrupted": False},
        "session_id": "hook",
    }
    environ = {**os.environ, "KEEPWHOLE_HOME": str(tmp_path / "home")}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], input=json.dumps(event), env=environ, capture_output=True, text=True, check=True
    )
    is_cut, *modules = json.loads(done.stdout)
    assert is_cut
    assert [name for name in modules if name in ELSEWHERE] == []
