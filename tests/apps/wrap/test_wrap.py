"""One run behind a proxy of its own: the agent keeps its terminal, exit code and settings; a receipt follows."""

import logging
import os
import pty
import re
import select
import shlex
import signal
import socket
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from keepwhole.apps.wrap import run as wrapping
from keepwhole.apps.wrap.child import end_with_parent
from keepwhole.exchange.request_log import RequestLog
from keepwhole.session import Session
from tests.apps.cli.cli import Cli
from tests.clients.upstream import Call, results, upstream
from tests.torture import mounts

AGENT = str(Path(__file__).parent / "fake_client.py")
LONG = "seq -f 'line %06g of a long listing' 1 900"
TEXT = "".join(f"line {number:06} of a long listing\n" for number in range(1, 901))


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


def run(cli: Cli, port: int, *words: str, code: int = 0) -> subprocess.CompletedProcess[bytes]:
    cli.environ["ANTHROPIC_BASE_URL"] = f"http://127.0.0.1:{port}"
    done = cli("wrap", *words, "--", sys.executable, AGENT, str(code), "go")
    where = f"keepwhole: anthropic requests, and the key in them, go to http://127.0.0.1:{port}\n".encode()
    assert where in done.stderr
    done.stderr = done.stderr.replace(where, b"")
    return done


def test_an_agent_runs_as_usual_and_a_receipt_follows(cli: Cli) -> None:
    log: list[Any] = []
    with upstream([(LONG,), ("echo short",), (LONG.replace("line", "row"),)], log) as port:
        done = run(cli, port)
    assert done.stdout == b"All done.\n"
    assert done.returncode == 0
    assert log[0]["tools"][0]["name"] == "get_artifact"
    first, short, _ = results(log[-1]["messages"])
    assert len(first) < 10_000
    assert short == "short\n"
    lines = done.stderr.decode().splitlines()
    assert lines[0] == "keepwhole: 4 requests"
    assert "left out" in lines[1]
    assert any("3 results in full" in line for line in lines)
    assert len(lines) <= 12
    session = Session("stand-in", store=str(cli.folder / "home"))
    assert session.recall(session.artifacts()[0].artifact_id) == TEXT
    session.close()


OUTPUT = "".join(f"line {number:06} of a long listing\n" for number in range(1, 10_001))


@pytest.mark.parametrize("is_saved", [True, False])
def test_what_the_agent_cut_is_read_back_whole_or_said_to_be_cut(is_saved: bool, cli: Cli, tmp_path: Path) -> None:
    log: list[Any] = []
    cli.environ |= {"HOME": str(tmp_path), "STAND_IN_CUTS": "saved" if is_saved else "lost"}
    with upstream([(LONG.replace("900", "10000"),), ("echo short",)], log) as port:
        told = run(cli, port).stderr.decode()
    sent = results(log[-1]["messages"])[0]
    assert sent.startswith("<persisted-output>")
    session = Session("stand-in", store=str(cli.folder / "home"))
    kept, _ = session.store.rows("stand-in", kind="result")
    with session.open(kept.trace_id) as reader:
        whole = reader.text()
    session.close()
    assert whole == (OUTPUT if is_saved else sent)
    words = "2 results in full, nothing" if is_saved else "2 results, 1 of them as the client had cut them, nothing"
    assert words in told
    said = "What the tool returned" if is_saved else "What the client left of what the tool returned"
    assert said in cli("show", "1", "--session", "stand-in").stdout.decode()
    assert words.removesuffix(", nothing") in cli("status", "--session", "stand-in").stdout.decode()
    assert words.removesuffix(", nothing") in cli("sessions", "show", "stand-in").stdout.decode()


def test_what_was_billed_is_on_the_receipt(cli: Cli) -> None:
    used = {"input_tokens": 100, "cache_read_input_tokens": 8_000, "cache_creation_input_tokens": 900}
    with upstream([(LONG,), (LONG,)], usage={**used, "output_tokens": 5}) as port:
        told = run(cli, port).stderr.decode()
    assert "cache     24k of 27k input tokens came from it" in told
    assert "input     paid ≈ $0.018, with `mode: off` ≈ $" in told
    assert "sent      ≈ 27k of " in told


def test_the_agent_has_the_terminal(cli: Cli) -> None:
    asking = "import os; print([os.isatty(number) for number in range(3)])"
    assert b"[True, True, True]" in cli.on_a_terminal("wrap", "--", sys.executable, "-c", asking)


def test_the_exit_code_is_the_agents(cli: Cli) -> None:
    with upstream([]) as port:
        assert run(cli, port, code=3).returncode == 3
    assert cli("wrap", "--", "sh", "-c", "kill -TERM $$").returncode == 128 + signal.SIGTERM


def test_the_exit_code_is_the_agents_whatever_happens_to_the_record(cli: Cli) -> None:
    breaking = (
        f"{shlex.join([sys.executable, AGENT])} 0 go; "
        'for file in "$KEEPWHOLE_HOME"/record.db*; do yes garbage | head -c 600000 > "$file"; done; exit 7'
    )
    with upstream([(LONG,)]) as port:
        cli.environ["ANTHROPIC_BASE_URL"] = f"http://127.0.0.1:{port}"
        done = cli("wrap", "--", "sh", "-c", breaking)
    assert done.returncode == 7
    assert b"record that cannot be read" in done.stderr


def test_a_command_that_is_not_installed_is_reported(cli: Cli) -> None:
    done = cli("wrap", "no-such-agent")
    assert done.returncode == 127
    assert b"`no-such-agent` is not installed" in done.stderr
    assert not (cli.folder / "home").exists()


UNRECORDED = b"keepwhole: nothing of this run is recorded, and requests are sent unchanged: "


def runs_unrecorded(cli: Cli) -> None:
    """The agent runs as without Keepwhole, which says in one sentence that nothing is recorded, and why."""
    log: list[Any] = []
    with upstream([(LONG,)], log) as port:
        done = run(cli, port, code=3)
    assert done.stdout == b"All done.\n"
    assert done.returncode == 3
    assert results(log[-1]["messages"]) == [TEXT]
    assert [tool["name"] for tool in log[-1]["tools"]] == ["Bash"]
    said, receipt = done.stderr.splitlines()
    assert said.startswith(UNRECORDED)
    assert cli.environ["KEEPWHOLE_HOME"].encode() in said
    assert receipt == b"keepwhole: 2 requests, 2 of them not recorded"


def test_an_agent_runs_also_where_the_records_folder_cannot_be_made(cli: Cli) -> None:
    cli.environ["KEEPWHOLE_HOME"] = "/dev/null/record"
    runs_unrecorded(cli)
    assert cli("proxy", "--port", "0").returncode == 4


@pytest.mark.root
@pytest.mark.parametrize("has_record", [False, True])
def test_an_agent_runs_also_where_the_records_folder_is_read_only(has_record: bool, cli: Cli) -> None:
    with mounts.tmpfs(str(cli.folder / "home"), "size=64m,mode=700") as disk, upstream([]) as port:
        if has_record:
            assert run(cli, port).stderr.startswith(b"keepwhole: 1 request\n")
        disk.remount("ro")
        runs_unrecorded(cli)


def test_nothing_to_run_is_wrong_use(cli: Cli) -> None:
    assert cli("wrap").returncode == 2
    assert cli("wrap", "--session", "not a name", "--", "true").returncode == 2


def test_a_run_that_changed_nothing_is_reported_as_unchanged(cli: Cli) -> None:
    with upstream([("echo one",)]) as port:
        assert b"nothing was left out, recall tools were offered" in run(cli, port).stderr
        cli.environ["STAND_IN"] = "another"
        assert b"nothing was changed" in run(cli, port, "--mode", "shadow").stderr


def test_a_run_with_everything_off_passes_everything_on(cli: Cli) -> None:
    log: list[Any] = []
    with upstream([(LONG,)], log) as port:
        done = run(cli, port, "--mode", "off")
    assert results(log[-1]["messages"]) == [TEXT]
    assert done.stderr == b"keepwhole: 2 requests, 2 of them not recorded\n"


def test_an_agent_that_names_no_session_finds_its_record_by_the_receipt(cli: Cli) -> None:
    cli.environ["STAND_IN"] = ""
    with upstream([(LONG,)]) as port:
        told = run(cli, port).stderr.decode()
    assert told.startswith("keepwhole: 2 requests, 1 of them not recorded\n")
    name = told.rpartition("keepwhole sessions show ")[2].partition("`")[0]
    assert name.startswith("untold-")
    assert cli("sessions", "show", name).returncode == 0


def test_a_session_that_is_held_out_is_sent_unchanged_and_reported(cli: Cli) -> None:
    (cli.folder / "keepwhole.yaml").write_text("proxy:\n  holdout: 1\n")
    log: list[Any] = []
    with upstream([(LONG,)], log) as port:
        assert b"nothing was changed" in run(cli, port).stderr
    assert results(log[-1]["messages"]) == [TEXT]
    groups = cli.json("report")["groups"]
    assert (groups["viewed"]["sessions"], groups["held_out"]["sessions"]) == (0, 1)


def test_a_run_without_any_request_is_reported(cli: Cli) -> None:
    done = cli("wrap", "--", "true")
    assert done.returncode == 0
    assert b"no request came through" in done.stderr


def test_without_a_receipt_nothing_is_printed(cli: Cli) -> None:
    with upstream([(LONG,)]) as port:
        assert run(cli, port, "--no-receipt").stderr == b""


def test_requests_go_where_the_environment_said_before(cli: Cli) -> None:
    log: list[Any] = []
    printing = (
        "import os; print(os.environ['ANTHROPIC_BASE_URL'], os.environ['OPENAI_BASE_URL'], os.environ['NO_PROXY'])"
    )
    cli.environ |= {"OPENAI_BASE_URL": "http://127.0.0.1:9/gateway", "NO_PROXY": "example.com"}
    with upstream([], log) as port:
        cli.environ["ANTHROPIC_BASE_URL"] = f"http://127.0.0.1:{port}"
        anthropic, openai, direct = cli("wrap", "--", sys.executable, "-c", printing).stdout.decode().split()
        assert run(cli, port).stdout == b"All done.\n"
    assert anthropic.startswith("http://127.0.0.1:")
    assert anthropic.endswith("/anthropic")
    assert openai.endswith("/openai")
    assert "/kw-" in openai
    assert direct == "example.com,127.0.0.1,localhost"
    assert len(log) == 1


def test_the_port_is_closed_and_no_process_is_left(cli: Cli) -> None:
    printing = "import os; print(os.environ['ANTHROPIC_BASE_URL'])"
    url = cli("wrap", "--", sys.executable, "-c", printing).stdout.decode()
    port = int(url.split("/")[2].rpartition(":")[2])
    with socket.socket() as client:
        assert client.connect_ex(("127.0.0.1", port)) != 0


def test_nothing_but_the_record_is_written(cli: Cli) -> None:
    (cli.folder / "temporary").mkdir()
    cli.environ["TMPDIR"] = str(cli.folder / "temporary")
    with upstream([(LONG,)]) as port:
        run(cli, port)
    assert sorted(path.name for path in cli.folder.iterdir()) == ["home", "temporary"]
    assert not list((cli.folder / "temporary").iterdir())


def test_the_agent_finds_its_own_umask_and_limits(cli: Cli) -> None:
    asking = "umask; ulimit -Sc; ulimit -Hc"
    told = subprocess.run(["sh", "-c", f"umask 027; ulimit -Sc 0; {asking}"], capture_output=True, check=False).stdout
    words = [sys.executable, "-m", "keepwhole", "wrap", "--", "sh", "-c", f"sleep 0.1; {asking}"]
    given = ["sh", "-c", 'umask 027; ulimit -Sc 0; exec "$@"', "sh", *words]
    done = subprocess.run(given, env=cli.environ, cwd=cli.folder, capture_output=True, check=False)
    assert done.stdout == told


def test_all_requests_go_to_a_session_that_is_named(cli: Cli) -> None:
    with upstream([(LONG,)]) as port:
        done = run(cli, port, "--session", "mine")
    assert b"keepwhole sessions show mine" in done.stderr
    assert [info["session"] for info in cli.json("sessions", "list")] == ["mine"]


def test_a_resumed_session_counts_only_what_is_new(cli: Cli) -> None:
    with upstream([(LONG,), ("echo short",)]) as port:
        assert b"2 results in full" in run(cli, port).stderr
        again = run(cli, port).stderr.decode()
    assert "3 requests" in again
    assert "results in full" not in again  # the same calls again: they are recorded already


def test_requests_are_printed_only_where_they_do_not_disturb_the_agent(cli: Cli) -> None:
    file = cli.folder / "requests.txt"
    with upstream([("echo one",)]) as port:
        watched = run(cli, port, "--watch").stderr.decode()
        assert run(cli, port, "--watch-file", str(file), "--no-receipt").stderr == b""
    assert watched.count("200 · complete") == 2
    assert file.read_text().count("200 · complete") == 2
    words = ("wrap", "--watch", "--", sys.executable, "-c", "print('here')")
    assert b"--watch-file" in cli.on_a_terminal(*words)


def test_an_interrupt_ends_the_agent_and_the_receipt_still_comes(cli: Cli) -> None:
    master, slave = pty.openpty()
    waiting = "import time; print('ready', flush=True); time.sleep(30)"
    process = subprocess.Popen(
        [sys.executable, "-m", "keepwhole", "wrap", "--", sys.executable, "-c", waiting],
        stdin=slave,
        stdout=slave,
        stderr=subprocess.PIPE,
        env=cli.environ,
        cwd=cli.folder,
        start_new_session=True,
        preexec_fn=_take_terminal,
    )
    os.close(slave)
    assert b"ready" in os.read(master, 100)
    os.write(master, b"\x03")
    assert process.wait(timeout=20) in (1, 130)
    assert process.stderr is not None
    assert b"no request came through" in process.stderr.read()
    process.stderr.close()
    os.close(master)


def _take_terminal() -> None:
    os.close(os.open(os.ttyname(0), os.O_RDWR))


def test_a_signal_to_keepwhole_ends_the_agent_first(cli: Cli) -> None:
    acting = (
        "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit(7)); "
        "print('ready', flush=True); time.sleep(30)"
    )
    words = [sys.executable, "-m", "keepwhole", "wrap", "--no-receipt", "--", sys.executable, "-c", acting]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, env=cli.environ, cwd=cli.folder)
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(0.05)
    process.terminate()
    assert process.wait(timeout=20) == 7
    process.stdout.close()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process that its parent has ended")
def test_the_agent_ends_when_keepwhole_is_killed(cli: Cli) -> None:
    waiting = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
    words = [sys.executable, "-m", "keepwhole", "wrap", "--no-receipt", "--", sys.executable, "-c", waiting]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, env=cli.environ, cwd=cli.folder)
    assert process.stdout is not None
    agent = os.pidfd_open(int(process.stdout.readline()))
    process.kill()
    process.wait()
    has_ended, _, _ = select.select([agent], [], [], 20)
    assert has_ended
    os.close(agent)
    process.stdout.close()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process that its parent has ended")
def test_an_agent_whose_parent_was_killed_before_it_began_does_not_begin() -> None:
    not_the_parent = os.getpid() + 1
    late = subprocess.run(["true"], preexec_fn=partial(end_with_parent, not_the_parent), check=False)
    assert late.returncode == -signal.SIGTERM
    assert subprocess.run(["true"], preexec_fn=partial(end_with_parent, os.getpid()), check=False).returncode == 0


def test_a_provider_that_cannot_be_reached_is_in_the_receipt(cli: Cli) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        done = run(cli, unused.getsockname()[1])
    assert done.returncode == 1
    assert b"request failed" in done.stderr


@pytest.mark.root
def test_requests_that_a_full_disk_did_not_take_are_counted(cli: Cli) -> None:
    log: list[Any] = []
    with mounts.tmpfs(str(cli.folder / "home"), "size=900k,mode=700"):
        with upstream([(f"head -c 60000 /dev/urandom | base64; echo {number}",) for number in range(15)], log) as port:
            told = run(cli, port).stderr.decode()
        with Session("stand-in", store=str(cli.folder / "home")) as session:
            recorded = len(RequestLog(session).all())
    assert len(log) == 16
    assert 0 < recorded < 16
    assert told.startswith(f"keepwhole: 16 requests, {16 - recorded} of them not recorded\n")
    assert "`keepwhole doctor`" in told


def several(cli: Cli, port: int, *options: str) -> str:
    """The receipt of an agent that is started again until it succeeds."""
    cli.environ["ANTHROPIC_BASE_URL"] = f"http://127.0.0.1:{port}"
    once = f"{shlex.join([sys.executable, AGENT])} 0 go 2>/dev/null"
    done = cli("wrap", *options, "--", "sh", "-c", f"{once} || {once} || {once}")
    assert done.returncode == 0
    return done.stderr.decode()


def test_requests_that_were_refused_are_in_the_receipt_and_their_tokens_are_not(cli: Cli) -> None:
    with upstream([("echo one",)], usage={"input_tokens": 1_000, "output_tokens": 5}, faults=[429, 529]) as port:
        told = several(cli, port)
    assert "keepwhole: 4 requests\n" in told
    assert "sent      ≈ 2,000 tokens;" in told
    assert "request failed, 429 (once)" in told
    assert "request failed, 529 (once)" in told


@pytest.mark.parametrize("mode", ["on", "off"])
def test_an_answer_that_was_cut_off_is_called_so_and_has_not_failed(mode: str, cli: Cli) -> None:
    with upstream([("echo one",)], faults=["cut"]) as port:
        told = several(cli, port, "--mode", mode)
    assert "answer cut off (once)" in told
    assert "failed" not in told


def test_what_was_read_back_is_counted_by_calls_and_not_by_rounds(cli: Cli) -> None:
    def read_back(newest: str) -> Call:
        name = re.search(r"art_\w+", newest)
        return "get_artifact", {"id": name[0] if name else "art_0", "lines": "1-9"}

    with upstream([(LONG,), (read_back, read_back), (read_back,), ("echo short",)]) as port:
        told = run(cli, port).stderr.decode()
    assert "keepwhole: 3 requests\n" in told, "the rounds between them are Keepwhole's"
    assert "2 results in full, read back 3 times" in told


def test_an_agent_without_tools_is_told_why_nothing_is_on_record(cli: Cli) -> None:
    asking = (
        "import os, urllib.request as web; url = os.environ['ANTHROPIC_BASE_URL'] + '/v1/messages'; "
        """body = b'{"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}'; """
        "asked = web.Request(url, body, {'content-type': 'application/json'}); "
        "web.build_opener(web.ProxyHandler({})).open(asked).read()"
    )
    with upstream([]) as port:
        cli.environ["ANTHROPIC_BASE_URL"] = f"http://127.0.0.1:{port}"
        told = cli("wrap", "--", sys.executable, "-c", asking).stderr.decode()
    assert "keepwhole: 1 request, 1 of them not recorded\n  why       no tools" in told


def test_a_single_request_of_an_agent_that_names_no_session_is_explained(cli: Cli) -> None:
    cli.environ["STAND_IN"] = ""
    with upstream([]) as port:
        told = run(cli, port).stderr.decode()
        assert run(cli, port, "--session", "mine").stderr.startswith(b"keepwhole: 1 request\n")
    assert told.startswith("keepwhole: 1 request, 1 of them not recorded\n  why ")
    assert "`--session ID`" in told


def test_a_record_that_cannot_be_written_is_in_the_receipt_and_the_agent_goes_on(cli: Cli) -> None:
    (cli.folder / "keepwhole.yaml").write_text("session_quota: 100\n")
    log: list[Any] = []
    with upstream([(LONG,)], log) as port:
        done = run(cli, port)
    assert done.stdout == b"All done.\n"
    assert results(log[-1]["messages"]) == [TEXT]
    told = done.stderr.decode()
    assert "result not kept and so shown in full" in told
    assert told.startswith("keepwhole: 2 requests, 2 of them not recorded\n")
    assert all(line.startswith(("keepwhole: ", "  ")) for line in told.splitlines())


def test_warnings_are_counted_and_not_printed_while_a_client_runs() -> None:
    log = logging.getLogger("keepwhole")
    assert log.propagate
    with wrapping._count_warnings() as counted:
        assert not log.propagate
        log.warning("something")
        assert len(log.handlers) >= 1
    assert log.propagate
    assert counted not in log.handlers
