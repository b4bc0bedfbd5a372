"""`keepwhole wrap` around the real command lines: the same answer from smaller requests, and nothing left behind."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import keepwhole
from keepwhole.session import Session
from keepwhole.store.protocol import body_of, result_of
from keepwhole.store.sqlite.store import SqliteStore
from keepwhole.testing import printed_calls
from keepwhole.wire.frames import split_frame
from tests.clients.drive import Start, start_claude, start_codex, start_opencode
from tests.clients.upstream import AGENT, COMPACTED, Call, Move, Script, results, upstream
from tests.upstream.prompt_cache import Breakpoints, Clock

pytestmark = pytest.mark.clients
HERE = str(Path(str(keepwhole.__file__)).parent.parent)
ENVIRON = {"PYTHONPATH": HERE}
PROMPT = "look around"
LISTING = "seq -f 'listing {} line %06g of many' 1 700"
_VARIES = re.compile(r"^(Chunk ID|Wall time): .*\n", re.M)
_LEFT_OUT = re.compile(r"^.*left out(?: in part)?: (?:cat|sed|tail) .*$", re.M)


def called(text: str) -> Move:
    """What a notice says to call, by an agent's own tool."""
    calls = printed_calls(text)
    return calls[-1] if calls else "echo nothing was left out"


def typed(text: str) -> Move:
    """What a notice says to type."""
    lines = _LEFT_OUT.findall(text)
    return lines[-1].partition(": ")[2] if lines else "echo nothing was left out"


def script(back: Callable[[str], Move]) -> Script:
    """A dozen steps with long outputs; after the third the model reads back what it was not shown."""
    steps: list[tuple[Move, ...]] = [(LISTING.format(number),) for number in range(11)]
    return [*steps[:3], (back,), *steps[3:]]


class Case(NamedTuple):
    """One client."""

    start: Callable[..., Start]
    back: Callable[[str], Move]
    settings: str

    def run(self, home: Path, log: list[Any], *before: str) -> subprocess.CompletedProcess[str]:
        home.mkdir(exist_ok=True)
        with upstream(script(self.back), log) as port:
            return self.start(home, port).run(home, before)


CASES = {
    "claude": Case(lambda home, port: start_claude(port, PROMPT, tools="Bash,Read", **ENVIRON), called, ""),
    "codex": Case(lambda home, port: start_codex(home, port, PROMPT, **ENVIRON), typed, ".codex/config.toml"),
    "opencode": Case(
        lambda home, port: start_opencode(home, port, "run", "--format", "json", PROMPT, outside="ask", **ENVIRON),
        called,
        ".config/opencode/opencode.json",
    ),
}


def wrap(*options: str) -> list[str]:
    return [sys.executable, "-m", "keepwhole", "wrap", *options]


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


def said(body: dict[str, Any]) -> list[Any]:
    """The messages of a request as a provider's cache sees them: markers do not count, nor how a text is spelled."""
    return [_plain(message) for message in body.get("messages") or body["input"]]


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if not isinstance(value, dict):
        return value
    plain = {key: _plain(one) for key, one in value.items() if key != "cache_control"}
    if isinstance(plain.get("content"), str):
        plain["content"] = [{"type": "text", "text": plain["content"]}]
    return plain


def ids(body: dict[str, Any], *kinds: str) -> list[str]:
    """The ids of all calls or all results of a request, in order."""
    found = []
    for one in _walk(body.get("messages") or body["input"]):
        if one.get("type") in kinds or one.get("role") in kinds:
            found.append(one.get("tool_use_id") or one.get("tool_call_id") or one.get("call_id") or one["id"])
    return found


def _walk(value: Any) -> Iterator[dict[str, Any]]:
    for one in value if isinstance(value, list) else value.values():
        if isinstance(one, dict):
            yield one
        if isinstance(one, dict | list):
            yield from _walk(one)


def record(home: Path) -> dict[str, list[str]]:
    """The text of every result on record, by session."""
    store = SqliteStore(str(home / ".keepwhole"))
    found: dict[str, list[str]] = {}
    for info in store.sessions():
        for row in store.rows(info.name, kind="result"):
            with store.open(body_of(row)) as reader:
                if not result_of(row).tool.startswith("keepwhole_"):
                    found.setdefault(info.name, []).append(reader.text())
        assert Session(info.name, store=store).verify().whole
    store.close()
    return found


def test_an_agent_comes_to_the_same_end_with_smaller_requests(case: Case, tmp_path: Path) -> None:
    plain: list[Any] = []
    viewed: list[Any] = []
    case.run(tmp_path / "plain", plain)
    home = tmp_path / "viewed"
    done = case.run(home, viewed, *wrap())
    assert "All done." in done.stdout
    assert len(viewed) == len(plain) == 13
    assert len(json.dumps(viewed[-1])) < 0.6 * len(json.dumps(plain[-1]))
    assert "keepwhole: 1" in done.stderr
    assert "left out" in done.stderr
    assert "read back once" in done.stderr

    calls, answers = ("tool_use", "function_call", "function"), ("tool_result", "function_call_output", "tool")
    for body in viewed:
        assert ids(body, *calls) == ids(body, *answers)
    for before, after in pairwise(viewed):
        assert said(after)[: len(said(before))] == said(before)

    whole = results(plain[-1].get("messages") or plain[-1]["input"])
    (kept,) = record(home).values()
    assert [text for number, text in enumerate(kept) if number != 3] == [
        split_frame(text)[1] for number, text in enumerate(whole) if number != 3
    ]
    back = results(viewed[-1].get("messages") or viewed[-1]["input"])[3]
    missing = {line for line in whole[2].splitlines() if "line 000" in line} - set(whole[3].splitlines())
    shown = results(viewed[3].get("messages") or viewed[3]["input"])[2]
    assert any(line in back and line not in shown for line in missing)


@pytest.mark.parametrize("name", ["claude", "codex"])
def test_the_same_output_again_becomes_a_pointer_in_the_frame_of_its_client(name: str, tmp_path: Path) -> None:
    home, log = tmp_path / "home", list[Any]()
    home.mkdir()
    with upstream([("seq 1 1300",)] * 3, log) as port:
        CASES[name].start(home, port).run(home, wrap())
    first, *others = results(log[-1].get("messages") or log[-1]["input"])
    ((one, two, three),) = record(home).values()
    assert one.strip().splitlines() == [str(number) for number in range(1, 1_301)]
    assert one == two == three == split_frame(first)[1]
    for text in others:
        before, pointer, behind = split_frame(text)
        assert "Same as the earlier result" in pointer
        assert before or behind


def test_nothing_is_left_behind_but_the_record(case: Case, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    with upstream([("echo one",)]) as port:
        start = case.start(home, port)
        settings = (home / case.settings).read_bytes() if case.settings else b""
        temporary = home / "temporary"
        temporary.mkdir()
        start = start._replace(environ={**start.environ, "TMPDIR": str(temporary)})
        start.run(home, wrap())
        before = {path.name for path in temporary.rglob("*keepwhole*")}
    assert not before
    assert ((home / case.settings).read_bytes() if case.settings else b"") == settings
    assert not [path for path in home.rglob("*keepwhole*") if ".keepwhole" not in path.parts]
    assert not (home / ".claude" / "settings.json").exists()
    leaks = [path for path in home.rglob("*") if path.is_file() and b"/kw-" in path.read_bytes()]
    assert not [path for path in leaks if ".keepwhole" not in path.parts and "log" not in path.name]


def test_the_exit_code_is_the_agents(tmp_path: Path) -> None:
    start = start_claude(9, PROMPT, "--no-such-option")
    plain = _code(start, tmp_path, [])
    assert plain != 0
    assert _code(start, tmp_path, wrap()) == plain


def _code(start: Start, home: Path, before: list[str]) -> int:
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), **ENVIRON, **start.environ}
    if shutil.which(start.command[0], path=environ["PATH"]) is None:
        pytest.skip(f"`{start.command[0]}` is not installed; `make clients` installs it")
    return subprocess.run([*before, *start.command], env=environ, capture_output=True, check=False).returncode


def test_claude_code_under_an_address_of_its_own_settings_goes_there_by_the_proxy(tmp_path: Path) -> None:
    log: list[Any] = []
    (tmp_path / ".claude").mkdir()
    with upstream(script(called), log) as port:
        settings = {"env": {"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}"}}
        (tmp_path / ".claude" / "settings.json").write_text(json.dumps(settings))
        start = start_claude(9, PROMPT, tools="Bash,Read", **ENVIRON)
        done = start.run(tmp_path, wrap())
    assert len(log) == 13
    assert "13 requests" in done.stderr


@pytest.mark.parametrize("is_inline", [True, False])
def test_settings_that_the_user_gives_claude_code_hold_beside_the_proxys_address(
    is_inline: bool, tmp_path: Path
) -> None:
    """The address is in the user's settings file; `--settings` denies a file and sets a variable."""
    log: list[Any] = []
    (tmp_path / ".claude").mkdir()
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "secret.txt").write_text("the word is quicksilver\n")
    mine = tmp_path / "work" / "mine.json"
    rule = "secret.txt" if is_inline else "/secret.txt"
    text = json.dumps({"env": {"MY_OWN": "set-by-me"}, "permissions": {"deny": [f"Read({rule})"]}}, indent=3)
    mine.write_text(text)
    reading = ("Read", {"file_path": str(tmp_path / "work" / "secret.txt")})
    with upstream([("echo $MY_OWN",), (reading,), (LISTING.format(1),)], log) as port:
        settings = {"env": {"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}"}}
        (tmp_path / ".claude" / "settings.json").write_text(json.dumps(settings))
        given = text if is_inline else "mine.json"
        done = start_claude(9, PROMPT, "--settings", given, tools="Bash,Read", **ENVIRON).run(tmp_path, wrap())
    said_by_me, denied, listing = results(log[-1]["messages"])
    assert "set-by-me" in said_by_me
    assert "quicksilver" not in denied
    assert "left out" in listing
    assert "4 requests" in done.stderr
    assert mine.read_text() == text


def test_codex_with_its_built_in_provider_goes_on_without_a_websocket(tmp_path: Path) -> None:
    log: list[Any] = []
    with upstream([(LISTING.format(1),)], log) as port:
        start = start_codex(tmp_path, port, PROMPT, **ENVIRON)
        settings = tmp_path / ".codex" / "config.toml"
        lines = settings.read_text().splitlines()
        own = [line for line in lines if "fake" not in line and line.partition(" ")[0] not in _OF_PROVIDER]
        settings.write_text(f'openai_base_url = "http://127.0.0.1:{port}/v1"\n' + "\n".join(own))
        start.environ["CODEX_API_KEY"] = "sk-fake"
        done = start.run(tmp_path, wrap())
    assert "All done." in done.stdout
    assert len(log) == 2
    assert "2 requests" in done.stderr


_OF_PROVIDER = ("base_url", "wire_api", "env_key", "request_max_retries", "stream_max_retries")


def test_a_sub_agent_and_a_resumed_session_are_in_the_session_of_the_first(tmp_path: Path) -> None:
    log: list[Any] = []
    with upstream([(AGENT,), (LISTING.format(2),)], log) as port:
        first = start_claude(port, PROMPT, tools="Bash,Agent,Read", **ENVIRON).run(tmp_path, wrap())
    session = json.loads(first.stdout)["session_id"]
    assert list(record(tmp_path)) == [session]
    assert sum("line 000700" in text for text in record(tmp_path)[session]) == 2  # the sub-agent's, and its own
    more: list[Any] = []
    with upstream([(AGENT,), (LISTING.format(2),), (LISTING.format(3),)], more) as port:
        again = start_claude(port, "go on", "--resume", session, tools="Bash,Agent,Read", **ENVIRON)
        assert "All done." in again.run(tmp_path, wrap()).stdout
    assert said(more[0])[: len(said(log[-1])) - 1] == said(log[-1])[:-1]
    assert list(record(tmp_path)) == [session]
    assert "listing 3 line" in record(tmp_path)[session][-1]


def test_a_fork_of_a_session_goes_on_from_what_was_sent_of_it(tmp_path: Path) -> None:
    log: list[Any] = []
    with upstream(script(called), log) as port:
        first = start_claude(port, PROMPT, tools="Bash,Read", **ENVIRON).run(tmp_path, wrap())
    origin, sent = json.loads(first.stdout)["session_id"], len(log)
    with upstream([*script(called), (LISTING.format(20),)], log) as port:
        again = start_claude(port, "go on", "--resume", origin, "--fork-session", tools="Bash,Read", **ENVIRON)
        fork = json.loads(again.run(tmp_path, wrap()).stdout)["session_id"]
    assert fork != origin
    assert set(record(tmp_path)) == {origin, fork}
    assert said(log[sent])[: len(said(log[sent - 1])) - 1] == said(log[sent - 1])[:-1]
    till = Breakpoints(Clock(), window=200_000)
    *_, last, forked = [till.bill(body) for body in log[: sent + 1]]
    assert forked.read == last.read + last.written
    assert "listing 20 line" in record(tmp_path)[fork][-1]


def test_a_client_that_compacts_under_wrap_goes_on_after_it(tmp_path: Path) -> None:
    log: list[Any] = []
    with upstream(script(called), log) as port:
        start = start_claude(port, PROMPT, tools="Bash,Read", **ENVIRON)
        session = json.loads(start.run(tmp_path, wrap()).stdout)["session_id"]
        start_claude(port, "/compact", "--resume", session, tools="Bash,Read", **ENVIRON).run(tmp_path, wrap())
        again = start_claude(port, "go on", "--resume", session, tools="Bash,Read", **ENVIRON)
        assert "All done." in again.run(tmp_path, wrap()).stdout
    assert list(record(tmp_path)) == [session]
    assert any("Respond with TEXT ONLY" in json.dumps(body) for body in log)
    assert "This session is being continued" in json.dumps(log[-1])


def test_codex_that_compacts_under_wrap_goes_on_after_it(tmp_path: Path) -> None:
    log: list[Any] = []
    with upstream([(LISTING.format(1),), (LISTING.format(2),)], log) as port:
        start = start_codex(tmp_path, port, PROMPT, "-c", "model_auto_compact_token_limit=12", **ENVIRON)
        done = start.run(tmp_path, wrap())
    assert "All done." in done.stdout
    assert COMPACTED in json.dumps(log[-1])
    assert not results(log[-1]["input"])
    assert len(record(tmp_path)) == 1


def test_codex_and_opencode_resume_in_the_session_of_the_first(tmp_path: Path) -> None:
    starts: dict[str, Callable[[Path, int, bool], Start]] = {
        "codex": lambda home, port, again: start_codex(
            home, port, PROMPT, *(["resume", "--last"] if again else []), **ENVIRON
        ),
        "opencode": lambda home, port, again: start_opencode(
            home, port, "run", *(["--continue"] if again else []), PROMPT, outside="ask", **ENVIRON
        ),
    }
    for name, start in starts.items():
        home = tmp_path / name
        home.mkdir()
        log: list[Any] = []
        with upstream([(LISTING.format(1),)], log) as port:
            start(home, port, False).run(home, wrap())
        with upstream([(LISTING.format(1),), (LISTING.format(2),)], log) as port:
            start(home, port, True).run(home, wrap())
        (kept,) = record(home).values()
        assert ["listing 1 line" in kept[0], "listing 2 line" in kept[1]] == [True, True]
        for before, after in pairwise(log):
            assert said(after)[: len(said(before))] == said(before)


def written(number: int) -> Call:
    """The call that writes a file of 15 KB."""
    lines = "".join(f"part {number}, line {line} of the text that the model wrote\n" for line in range(320))
    return "Write", {"file_path": f"part_{number}.txt", "content": lines}


def test_a_session_whose_weight_is_in_arguments_costs_what_it_costs_without_us(tmp_path: Path) -> None:
    steps: Script = [
        move
        for number in range(26)
        for move in ((written(number),), (f"seq -f 'step {number} printed line %04g of some output' 1 100",))
    ]
    costs: dict[str, float] = {}
    newest: dict[str, list[str]] = {}
    for name, before in {"plain": [], "wrapped": wrap()}.items():
        home, log = tmp_path / name, list[Any]()
        home.mkdir()
        with upstream(steps, log) as port:
            start_claude(port, PROMPT, tools="Bash,Write", **ENVIRON).run(home, before)
        clock = Clock()
        till = Breakpoints(clock, window=200_000)
        for body in log:
            till.bill(body)
            clock.pass_by(10)
        costs[name], newest[name] = till.cost, [_VARIES.sub("", text) for text in results(log[-1]["messages"])[-5:]]
        assert till.bills[-1].tokens > 118_000
    assert costs["wrapped"] <= 1.02 * costs["plain"]
    assert [len(text) for text in newest["wrapped"]] == [len(text) for text in newest["plain"]]
