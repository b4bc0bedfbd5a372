"""What real clients cut is on record whole under `wrap`, as far as they saved it, and the receipt says what is not."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from keepwhole.store.protocol import body_of, decision_of, result_of
from keepwhole.store.sqlite.store import SqliteStore
from tests.clients.drive import Start, start_claude, start_codex, start_opencode
from tests.clients.plan import LINGER
from tests.clients.test_wrap import ENVIRON, PROMPT, wrap
from tests.clients.upstream import results, upstream

pytestmark = pytest.mark.clients


def listing(lines: int) -> tuple[str, str]:
    """A command, and what it prints."""
    text = "".join(f"line {number:06} of a long output\n" for number in range(1, lines + 1))
    return f"seq -f 'line %06g of a long output' 1 {lines}; {LINGER}", text


class Case(NamedTuple):
    """One client, how many lines it saves whole, and whether what it leaves is cut further."""

    start: Callable[[Path, int], Start]
    lines: int
    rules: list[str]
    folder: str = ""
    """Where it saves outputs, for one that may lose some of them."""


CASES = {
    "claude": Case(lambda home, port: start_claude(port, PROMPT, tools="Bash,Read", **ENVIRON), 10_344, ["client"]),
    "codex": Case(lambda home, port: start_codex(home, port, PROMPT, **ENVIRON), 2_200, ["client", "arrival"]),
    "opencode": Case(
        lambda home, port: start_opencode(home, port, "run", "--format", "json", PROMPT, outside="ask", **ENVIRON),
        10_500,
        ["client", "arrival"],
        folder="tool-output",
    ),
}


def run_until_saved(case: Case, command: str, folder: Path) -> tuple[Path, str]:
    """Run a client with a command; the home it ran in, and the receipt. On a busy machine opencode loses the end of an
    output or all of it, in the file that it saves too: then it is run again."""
    saved: list[int] = []
    for attempt in range(4):
        home = folder / str(attempt)
        home.mkdir()
        with upstream([(command,), ("echo more",)]) as port:
            receipt = case.start(home, port).run(home, wrap()).stderr
        files = home.rglob(f"{case.folder}/*") if case.folder else ()
        saved = [path.read_bytes().count(b"\n") for path in files if path.is_file()]
        if not case.folder or case.lines in saved:
            return home, receipt
    raise AssertionError(f"the client saved {saved} of {case.lines} lines, four times")


@pytest.mark.parametrize("name", CASES)
def test_an_output_that_the_client_cut_is_read_back_whole(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    command, text = listing(case.lines)
    home, receipt = run_until_saved(case, command, tmp_path)
    assert "2 results in full" in receipt
    store = SqliteStore(str(home / ".keepwhole"))
    (info,) = store.sessions()
    row = next(row for row in store.rows(info.name, kind="result") if not result_of(row).tool.startswith("keepwhole_"))
    made = [decision_of(one).rule for one in store.rows(info.name, kind="decision") if one.trace_id == row.trace_id]
    # Of an output that it read in pieces, opencode may leave too little to be cut further.
    assert made == case.rules or (name == "opencode" and made == ["client"])
    assert body_of(row).facts.lines == case.lines
    store.close()
    recalled = keepwhole(home, "artifacts", "show", result_of(row).artifact_id, "--raw")
    assert hashlib.sha256(recalled).digest() == hashlib.sha256(text.encode()).digest()


def test_claude_code_sends_what_it_sends_without_us(tmp_path: Path) -> None:
    command, _ = listing(10_500)
    sent: list[str] = []
    for name, before in {"plain": [], "wrapped": wrap()}.items():
        home, log = tmp_path / name, list[Any]()
        home.mkdir()
        with upstream([(command,), ("echo more",)], log) as port:
            start_claude(port, PROMPT, tools="Bash", **ENVIRON).run(home, before)
        sent.append(results(log[-1]["messages"])[0].split("Preview", 1)[1])
    assert sent[0] == sent[1]


def test_the_text_is_known_again_when_a_session_is_resumed(tmp_path: Path) -> None:
    command, _ = listing(10_500)
    log: list[Any] = []
    with upstream([(command,), ("echo more",)], log) as port:
        for more in ([], ["--continue"]):
            start_claude(port, PROMPT, *more, tools="Bash", **ENVIRON).run(tmp_path, wrap())
    store = SqliteStore(str(tmp_path / ".keepwhole"))
    (info,) = store.sessions()
    sizes = [body_of(row).facts.lines for row in store.rows(info.name, kind="result")]
    store.close()
    assert sizes.count(10_500) == 1
    assert results(log[-1]["messages"])[0] == results(log[1]["messages"])[0]


def test_what_codex_did_not_save_is_stated(tmp_path: Path) -> None:
    command, _ = listing(10_500)
    log: list[Any] = []
    with upstream([(command,), ("echo more",)], log) as port:
        done = start_codex(tmp_path, port, PROMPT, **ENVIRON).run(tmp_path, wrap())
    assert "2 results, 1 of them as the client had cut them" in done.stderr
    assert "1 of them as the client had cut them" in keepwhole(tmp_path, "sessions", "show").decode()
    assert "1 of them as the client had cut them" in keepwhole(tmp_path, "status").decode()
    assert "What the client left of what the tool returned" in keepwhole(tmp_path, "show", "1").decode()


def test_a_failed_command_of_claude_code_is_stated(tmp_path: Path) -> None:
    command, _ = listing(3_000)
    with upstream([(f"{command}; false",)]) as port:
        done = start_claude(port, PROMPT, tools="Bash", **ENVIRON).run(tmp_path, wrap())
    assert "1 result, as the client had cut it" in done.stderr


def test_a_hook_and_wrap_on_one_session_store_the_output_once(tmp_path: Path) -> None:
    keepwhole(tmp_path, "hook", "install", "claude-code")
    command, text = listing(10_500)
    with upstream([(command,), ("echo more",)]) as port:
        start = start_claude(port, PROMPT, tools="Bash", **ENVIRON, KEEPWHOLE_MODE="shadow")
        start.run(tmp_path, wrap())
    store = SqliteStore(str(tmp_path / ".keepwhole"))
    sizes = [body_of(row).facts.size for info in store.sessions() for row in store.rows(info.name, kind="result")]
    store.close()
    assert sizes.count(len(text)) == 1
    assert not any(1_900 < size < 3_000 for size in sizes)


def keepwhole(home: Path, *words: str) -> bytes:
    environ = {**ENVIRON, "PATH": os.environ["PATH"], "HOME": str(home)}
    return subprocess.run(
        [sys.executable, "-m", "keepwhole", *words], cwd=home, env=environ, capture_output=True, check=True
    ).stdout
