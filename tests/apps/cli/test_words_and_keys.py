"""The words of imported logs, lists with titles, and exports without keys."""

import json
from pathlib import Path
from typing import Any

import pytest

from keepwhole import config
from keepwhole.apps.inspector import answers
from keepwhole.apps.inspector.answers import PageRequest
from keepwhole.apps.inspector.services import InspectorServices
from tests.apps.cli.cli import Cli

KEY = "sk-ant-api03-" + "A1b2" * 8


def log(folder: Path) -> Path:
    """A log of Claude Code's: two results, and words around them."""
    at = "2026-11-01T10:00:0{}.000Z"
    lines: list[dict[str, Any]] = [
        {"type": "user", "message": {"role": "user", "content": "Fix the flaky test, please."}}
    ]
    for number in (1, 2):
        call = {"type": "tool_use", "id": f"toolu_{number}", "name": "Bash", "input": {"command": f"make {number}"}}
        said = {"type": "text", "text": f"I run make {number}."}
        result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": f"made {number} of 2"}
        lines.append({"type": "assistant", "message": {"role": "assistant", "content": [said, call]}})
        lines.append({"type": "user", "message": {"role": "user", "content": [result]}})
    lines.append(
        {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": "Done."}]}}
    )
    path = folder / "log.jsonl"
    base = {"sessionId": "s1", "cwd": "/srv", "version": "2.1.0", "isSidechain": False}
    rows = ({**base, **line, "uuid": f"u{at_}", "timestamp": at.format(at_)} for at_, line in enumerate(lines))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def steps_of(cli: Cli, name: str) -> list[Any]:
    settings = config.load(folder=str(cli.folder), environ=cli.environ)
    store = config.open_record(settings)
    services = InspectorServices(settings, store)
    try:
        return answers.list_steps(services, PageRequest((name,)))["steps"]
    finally:
        services.close()
        store.close()


def test_imported_logs_keep_their_words_in_order_once_and_a_title(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    path = str(log(tmp_path))
    assert [cli.json("import", path)["added"] for _ in range(2)] == [2, 0], "words are no results, and known again"
    (session,) = cli.json("sessions", "list")
    assert (session["title"], session["errors"], session["cost"]) == ("Fix the flaky test, please.", 0, None)
    assert session["entries"] == 2 + 4
    steps = steps_of(cli, session["session"])
    exported = json.loads(cli("sessions", "export", session["session"], "--format", "json").stdout)
    assert [step["said"] for step in exported["steps"]] == [step["said"] for step in steps]
    said = [(each["role"], each["text"]) for step in steps for each in step["said"]]
    first = [("user", "Fix the flaky test, please."), ("assistant", "I run make 1.")]
    assert said == [*first, ("assistant", "I run make 2."), ("assistant", "Done.")]
    assert [result["argument"] for step in steps for result in step["results"]] == ["make 1", "make 2"]
    assert cli.json("status", "--session", session["session"])["results"] == 2


def test_words_are_stored_only_where_the_settings_say_so(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    cli.environ["KEEPWHOLE_STORE_WORDS"] = "off"
    cli.json("import", str(log(tmp_path)))
    (session,) = cli.json("sessions", "list")
    assert (session["title"], session["entries"]) == (None, 2)


@pytest.mark.parametrize("raw", [False, True])
def test_an_export_has_no_keys_unless_it_is_raw_and_is_imported_again(tmp_path: Path, raw: bool) -> None:
    cli = Cli(tmp_path)
    cli("keep", "--session", "s", "--tool", "bash", input=f"export TOKEN={KEY}".encode())
    cli("keep", "--session", "s", "--tool", "bash", input=b"harmless")
    done = cli("sessions", "export", "s", *(["--raw"] if raw else []))
    assert done.returncode == 0
    bodies = [json.loads(line)["body"] for line in done.stdout.splitlines() if b'"body"' in line]
    assert len(bodies) == 1 + raw
    assert (b"Only their hashes are exported" in done.stderr) is not raw
    back = cli("sessions", "import", "-", "--as", "again", input=done.stdout)
    assert back.returncode == 0, back.stderr
    assert cli.json("sessions", "verify", "again")[0]["forgotten"] == (not raw)
