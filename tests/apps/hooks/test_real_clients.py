"""The hooks in the real command lines, driven on loopback: what is kept, what the model gets, what leads back."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import keepwhole
from keepwhole.apps.hooks.install import install, installed, target, uninstall
from keepwhole.store.protocol import body_of, result_of
from keepwhole.store.sqlite.store import SqliteStore
from keepwhole.testing import printed_calls
from tests.apps.hooks.server import TABLE, picture
from tests.canonical.pictures import png
from tests.clients.drive import claude, codex, drive, opencode, start_opencode
from tests.clients.upstream import AGENT, results, upstream

pytestmark = pytest.mark.clients
NUMBERS = "\n".join(map(str, range(1, 9_001)))
PROMPT = "look around"
HERE = Path(str(keepwhole.__file__)).parent.parent
ENVIRON = {"PYTHONPATH": str(HERE)}
TRUNCATION = {**ENVIRON, "KEEPWHOLE_POLICY": "truncation"}
"""A policy that cuts files too: the default shows any file whole that the client reads at once."""


def record(home: Path) -> dict[str, list[tuple[str, str]]]:
    """Every result on record, by session: its call and its text."""
    store = SqliteStore(str(home / ".keepwhole"))
    found: dict[str, list[tuple[str, str]]] = {}
    for info in store.sessions():
        for row in store.rows(info.name, kind="result"):
            with store.open(body_of(row)) as reader:
                call = f"{result_of(row).tool} {result_of(row).arguments}"
                found.setdefault(info.name, []).append((call, reader.text()))
    store.close()
    return found


def kept(home: Path, session: str, words: str) -> str:
    return next(text for call, text in record(home)[session] if words in call)


def follow(text: str) -> tuple[str, dict[str, Any]]:
    """The last call that a notice prints."""
    return printed_calls(text)[-1]


def returned(text: str) -> str:
    """A result without the reminder that newer versions of Claude Code put behind it."""
    return re.sub(r"\n*<system-reminder>.*</system-reminder>\s*$", "", text, flags=re.S)


def shell_of(text: str) -> str:
    """The command that a notice prints."""
    return re.findall(r"^.*are left out(?: in part)?: (.*)$", text, re.M)[-1]


def test_claude_code_shows_what_fits_and_reads_back_what_was_left_out(tmp_path: Path) -> None:
    install(target("claude-code", "user", {}, str(tmp_path)))
    log: list[Any] = []
    with upstream([("seq 1 9000",), (follow,), ("echo small; cat no-such-file",)], log) as port:
        session = claude(tmp_path, port, PROMPT, tools="Bash,Read", **ENVIRON)
    long, back, failed = results(log[-1]["messages"])
    assert "persisted-output" not in long
    assert long.startswith("... [Beginning omitted: ")
    assert "Read(file_path=" in long
    assert len(returned(long)) <= 8_000
    assert "1\t1\n2\t2\n" in back
    assert "\n5000\t5000\n" in back
    assert "small" in failed
    assert kept(tmp_path, session, "seq 1 9000").strip() == NUMBERS
    assert "small" in kept(tmp_path, session, "echo small")


def test_a_second_read_leads_to_what_was_hidden_also_where_claude_code_refuses_it(tmp_path: Path) -> None:
    install(target("claude-code", "user", {}, str(tmp_path)))
    (tmp_path / "work").mkdir()
    text = "".join(f"line {number} of a file\n" for number in range(1, 1_501))
    (tmp_path / "work" / "long.txt").write_text(text)
    reading = ("Read", {"file_path": str(tmp_path / "work" / "long.txt")})
    log: list[Any] = []
    with upstream([(reading,), (reading,), (follow,)], log) as port:
        session = claude(tmp_path, port, PROMPT, tools="Bash,Read", **TRUNCATION)
    first, second, back = results(log[-1]["messages"])
    assert first.startswith("1\tline 1 of a file\n2\tline 2 of a file\n")
    assert "1500\tline 1500" not in first
    assert "Wasted call" not in second
    assert "shows only a part of it" in second or second[:1_000] == first[:1_000], "newer versions read again"
    assert "\tline 1500 of a file" in back
    assert kept(tmp_path, session, "long.txt") == text


def test_claude_code_takes_our_replacement_of_every_tool_that_has_a_shape(tmp_path: Path) -> None:
    install(target("claude-code", "project", {}, str(tmp_path / "work")))
    work = tmp_path / "work"
    (work / "long.txt").write_text("".join(f"alpha {number} {'x' * 60}\n" for number in range(200)))
    for number in range(99):
        (work / f"{'n' * 100}{number:03}.txt").write_text("alpha\n")
    server = {"type": "stdio", "command": sys.executable, "args": [str(Path(__file__).parent / "server.py")]}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"big": server}}))
    script = [
        (("Grep", {"pattern": "alpha", "output_mode": "content", "glob": "long.txt"}),),
        (("Grep", {"pattern": "alpha"}),),
        (("Glob", {"pattern": "*.txt"}),),
        (("mcp__big__table", {}),),
    ]
    log: list[Any] = []
    more = ["--mcp-config", str(tmp_path / "mcp.json"), "--strict-mcp-config"]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    with upstream(script, log) as port:
        tools = "Bash,Read,Grep,Glob,mcp__big"
        session = claude(
            tmp_path, port, PROMPT, *more, tools=tools, PATH=path, KEEPWHOLE_POLICY="truncation", **ENVIRON
        )
    shown = results(log[-1]["messages"])
    assert [("[Artifact: art_" in text, len(text) < 10_200) for text in shown] == [(True, True)] * 4
    assert [bool(re.search(r'Read\(file_path="[^"]+/results/', text)) for text in shown] == [True] * 4
    assert kept(tmp_path, session, "mcp__big__table") == TABLE
    assert kept(tmp_path, session, "Glob").count(".txt") == 100
    assert kept(tmp_path, session, "content").count("alpha") == 200


def kept_media(home: Path) -> list[tuple[str, str, bytes]]:
    """Every image and document on record: its tool, its type and its bytes."""
    store = SqliteStore(str(home / ".keepwhole"))
    found: list[tuple[str, str, bytes]] = []
    for info in store.sessions():
        for row in store.rows(info.name, kind="result"):
            if result_of(row).media_type != "text/plain":
                with store.open(body_of(row)) as reader:
                    found.append((result_of(row).tool, result_of(row).media_type, reader.read()))
    store.close()
    return found


def test_images_that_claude_code_reads_and_gets_are_kept_and_still_sent(tmp_path: Path) -> None:
    install(target("claude-code", "user", {}, str(tmp_path)))
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.png").write_bytes(png(300, 200, 3))
    server = {"type": "stdio", "command": sys.executable, "args": [str(Path(__file__).parent / "server.py")]}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"big": server}}))
    more = ["--mcp-config", str(tmp_path / "mcp.json"), "--strict-mcp-config"]
    log: list[Any] = []
    reading = ("Read", {"file_path": str(tmp_path / "work" / "a.png")})
    with upstream([(reading,), (("mcp__big__shot", {}),)], log) as port:
        claude(tmp_path, port, PROMPT, *more, tools="Bash,Read,mcp__big", **ENVIRON)
    assert kept_media(tmp_path) == [
        ("Read", "image/png", png(300, 200, 3)),
        ("mcp__big__shot", "image/png", picture()),
    ]
    sent = json.dumps(log[-1]["messages"])
    assert sent.count('"type": "image"') == 2
    assert "[Artifact: art_" in results(log[-1]["messages"])[-1], "the table beside the image is cut"


def test_an_image_that_codex_views_is_kept_and_still_sent(tmp_path: Path) -> None:
    install(target("codex", "user", {}, str(tmp_path)))
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.png").write_bytes(png(300, 200, 3))
    log: list[Any] = []
    with upstream([(("view_image", {"path": str(tmp_path / "work" / "a.png")}),)], log) as port:
        codex(tmp_path, port, PROMPT, "--dangerously-bypass-hook-trust", **ENVIRON)
    assert kept_media(tmp_path) == [("view_image", "image/png", png(300, 200, 3))]
    assert '"input_image"' in json.dumps(log[-1]["input"])


def test_an_image_that_opencode_reads_is_kept_and_still_shown(tmp_path: Path) -> None:
    install(target("opencode", "user", {}, str(tmp_path)))
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.png").write_bytes(png(300, 200, 3))
    log: list[Any] = []
    with upstream([(("read", {"filePath": str(tmp_path / "work" / "a.png")}),)], log) as port:
        opencode(tmp_path, port, "run", "--format", "json", "-m", "fake/m1", PROMPT, **ENVIRON)
    assert kept_media(tmp_path) == [("read", "image/png", png(300, 200, 3))]
    assert results(log[-1]["messages"]) == ["Image read successfully"]


def test_claude_code_is_told_after_compaction_where_earlier_results_are(tmp_path: Path) -> None:
    install(target("claude-code", "user", {}, str(tmp_path)))
    log: list[Any] = []
    with upstream([("echo needle-81423",), (AGENT,)], log) as port:
        session = claude(tmp_path, port, PROMPT, tools="Bash,Agent", **ENVIRON)
        claude(tmp_path, port, "/compact", "--resume", session, tools="Bash", **ENVIRON)
        claude(tmp_path, port, "go on", "--resume", session, tools="Bash", **ENVIRON)
    assert {"PreCompact", "SessionStart"} <= {call.split()[0] for call, _ in record(tmp_path)[session]}
    told = re.findall(r"`([^`]* search [^`]*)` finds the words put after it", json.dumps(log[-1]["messages"]))
    environ = {**os.environ, **ENVIRON, "HOME": str(tmp_path)}
    environ.pop("KEEPWHOLE_HOME")
    command = ["/bin/sh", "-c", f"{told[-1]} needle-81423"]
    listed = subprocess.run(command, env=environ, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert "needle-81423" in listed


def test_codex_shows_what_fits_and_reads_back_what_was_left_out(tmp_path: Path) -> None:
    install(target("codex", "user", {}, str(tmp_path)))
    log: list[Any] = []
    with upstream([("seq 1 9000; exit 3",), (shell_of,), ("echo small",)], log) as port:
        codex(tmp_path, port, PROMPT, "--dangerously-bypass-hook-trust", **ENVIRON)
    long, back, small = results(log[-1]["input"])
    assert long.startswith("Process exited with code 3\nOutput:\n... [Beginning omitted: ")
    assert len(long) < 8_100
    assert "\n1\n2\n3\n" in back
    assert small.endswith("Output:\nsmall\n")
    (session,) = record(tmp_path)
    assert kept(tmp_path, session, "seq 1 9000").strip() == NUMBERS
    assert kept(tmp_path, session, "SessionStart") == '{"source": "startup"}'


def test_opencode_shows_what_fits_and_reads_back_what_was_left_out(tmp_path: Path) -> None:
    install(target("opencode", "user", {}, str(tmp_path)))
    log: list[Any] = []
    with upstream([("seq 1 9000",), (follow,), ("echo small",)], log) as port:
        opencode(tmp_path, port, "run", "--format", "json", "-m", "fake/m1", PROMPT, **ENVIRON)
    long, back, small = results(log[-1]["messages"])
    assert long.startswith("... [Beginning omitted: ")
    assert "\n5: 5\n6: 6\n7: 7\n" in back
    assert small.strip() == "small"
    (session,) = record(tmp_path)
    assert kept(tmp_path, session, "seq 1 9000").strip() == NUMBERS


@pytest.mark.parametrize("outside", ["ask", "deny"])
def test_opencode_run_goes_on_to_its_end_whatever_the_user_allows(outside: str, tmp_path: Path) -> None:
    def back(text: str) -> Any:
        calls = printed_calls(text)
        return calls[-1] if calls else "echo no notice"

    install(target("opencode", "user", {}, str(tmp_path)))
    log: list[Any] = []
    with upstream([("seq 1 9000",), (back,), ("echo small",)], log) as port:
        start = start_opencode(
            tmp_path, port, "run", "--format", "json", "-m", "fake/m1", PROMPT, outside=outside, **ENVIRON
        )
        assert "All done." in start.run(tmp_path).stdout
    long, second, small = results(log[-1]["messages"])
    assert small.strip() == "small"
    if outside == "ask":
        assert long.startswith("... [Beginning omitted: ")
        assert "\n5: 5\n6: 6\n7: 7\n" in second
    else:
        assert second.strip() == "no notice"
        assert "keepwhole" not in long
    (session,) = record(tmp_path)
    assert kept(tmp_path, session, "seq 1 9000").strip() == NUMBERS


def test_a_hook_that_cannot_write_leaves_the_clients_results_alone(tmp_path: Path) -> None:
    install(target("claude-code", "user", {}, str(tmp_path)))
    (tmp_path / ".keepwhole").write_text("no folder can be here")
    log: list[Any] = []
    with upstream([("seq 1 5000",)], log) as port:
        claude(tmp_path, port, PROMPT, tools="Bash", **ENVIRON)
    (long,) = results(log[-1]["messages"])
    assert returned(long).strip() == "\n".join(map(str, range(1, 5_001)))


def test_what_was_installed_is_found_and_taken_away(tmp_path: Path) -> None:
    to = target("claude-code", "user", {}, str(tmp_path))
    assert install(to)
    assert len(installed(to)) == 1
    assert uninstall(to)
    log: list[Any] = []
    with upstream([("echo hi",)], log) as port:
        claude(tmp_path, port, PROMPT, tools="Bash", **ENVIRON)
    assert not (tmp_path / ".keepwhole").exists()
    assert drive(tmp_path, ["claude", "--version"])
