"""Scenarios of the applications: every command over a record, and every address of the page."""

import json
import os
import re
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.golden import doors
from tests.golden.app_doors import (
    COMMANDS,
    FOLDER,
    SAMPLE,
    VERSION,
    CommandLine,
    Page,
    command_line,
    options_of,
    page,
    sample_logs,
    sample_record,
    tombstones,
)
from tests.golden.recorder import Recorder
from tests.golden.texts import KINDS, binary, text

_SMALL = "a small result\nof two lines\n"


class _Printed:
    """Records what commands print, under their words; those with `!` are on a terminal."""

    def __init__(self, out: Recorder, name: str, run: CommandLine) -> None:
        self._out, self._name, self._run, self._times = out, name, run, Counter[str]()
        self.added: list[str] = []

    def __call__(self, *words: str, given: bytes = b"", is_terminal: bool = False) -> dict[str, Any]:
        done = self._run(*words, given=given, is_terminal=is_terminal)
        name = re.sub(r"[^\w.=-]+", "_", " ".join(words))[:100] + "!" * is_terminal
        self._times[name] += 1
        self._out.add(f"{self._name}/{name}/{self._times[name]}", done)
        return done

    def add(self, name: str, value: Any) -> None:
        """Record something else that a command left."""
        self._out.add(f"{self._name}/{name}", value)
        self.added.append(name)

    def both(self, *words: str, given: bytes = b"") -> None:
        """As text, as text on a terminal, and for programs."""
        self(*words, given=given)
        self(*words, given=given, is_terminal=True)
        self(*words, "--json", given=given)


def _in_folder(out: Recorder, name: str, act: Callable[[_Printed, CommandLine], None]) -> None:
    with doors.folder() as folder:
        out.replace(folder, doors.PLACEHOLDER)
        out.replace(VERSION, "VERSION")
        with command_line(folder, name) as run:
            act(_Printed(out, name, run), run)


def options(out: Recorder) -> None:
    """What every command takes."""
    for command in COMMANDS:
        out.add(f"cli-options/{command}", options_of(command))


def reading(out: Recorder) -> None:
    """The commands that read the record of the made-up session."""
    _in_folder(out, "cli/reading", _read)


def _read(said: _Printed, run: CommandLine) -> None:
    sample_record(run.folder, run.clock)
    steps = run.json("sessions", "show", SAMPLE)["steps"]
    cut = run.json("artifacts", "list", "--session", SAMPLE)
    sent = [one["request"]["trace_id"] for one in run.json("sent")["requests"]]
    for words in (
        ("sessions", "list"),
        ("sessions", "list", "--limit", "0"),
        ("sessions", "show"),
        ("sessions", "show", "sample"),
        ("sessions", "show", "none"),
        ("sessions", "verify"),
        ("sessions", "verify", "--all"),
        ("artifacts", "list"),
        ("artifacts", "list", "--all", "--limit", "2"),
        ("artifacts", "search", "harbour"),
        ("artifacts", "search", "assert", "test", "--limit", "3"),
        ("artifacts", "search", "nowhere-at-all"),
        ("explain",),
        ("explain", SAMPLE, "2"),
        ("explain", SAMPLE, "9999"),
        ("status",),
        ("sent",),
        ("report",),
        ("report", "--since", "0.0001"),
        ("search", "which", "test", "fails"),
        ("search", "tide", "--budget", "300"),
        ("config", "show"),
        ("config", "check"),
    ):
        said.both(*words)
    for artifact in (
        cut[0]["artifact_id"],
        cut[-1]["artifact_id"],
        cut[-1]["trace_id"],
        steps[0]["trace_id"],
        "art_1_none",
    ):
        said.both("show", artifact)
        for part in ((), ("--lines", "3-9"), ("--chars", "10-60"), ("--lines", "9-3"), ("--raw",)):
            said("artifacts", "show", artifact, *part)
        said("artifacts", "show", artifact, "--raw", is_terminal=True)
        for part in ((), ("--lines", "2-4"), ("--from-end", "3"), ("--pattern", "harbour", "--context", "1")):
            said.both("trace", "show", artifact, *part)
    said.both("show", "3")
    for request in (sent[0], sent[-1], "none"):
        said("sent", request)
        said("sent", request, "--response")
    said.both("undo", cut[0]["artifact_id"])
    said.both("explain")


def writing(out: Recorder) -> None:
    """The commands that write: keep, cut, view, forget, purge, export, import, switches."""
    _in_folder(out, "cli/writing", _write)


def _write(said: _Printed, run: CommandLine) -> None:
    _keep(said)
    _cut_and_view(said, Path(run.folder, "work"))
    _remove(said, run.json("artifacts", "list")[0]["artifact_id"])
    said.add("tombstones", tombstones(run.folder))


def _keep(said: _Printed) -> None:
    said.both("keep", "--tool", "small", given=_SMALL.encode())
    said("keep", "--tool", "failing", "--exit-code", "3", "--arguments", '{"path": "a.txt"}', given=b"no such file\n")
    said("keep", "--tool", "failing", "--error", "--call-id", "call-1", given=b"")
    said("keep", "--tool", "odd", "--arguments", "{", given=b"x")
    for kind in KINDS:
        said("keep", "--tool", f"read_{kind}", "--json", given=text(kind, 40_000).encode("utf-8", "surrogatepass"))
    said("keep", "--tool", "picture", given=binary(5_000))
    said.both("artifacts", "list")
    said.both("sessions", "show")


def _cut_and_view(said: _Printed, work: Path) -> None:
    for kind in ("log", "json", "csv", "code", "huge_lines"):
        (work / kind).write_text(text(kind, 30_000), encoding="utf-8")
        said("cut", kind, "--json")
        said("cut", kind, "--limit", "2000", "--question", "customs invoice")
    said("cut", "log", "--strategy", "head_tail", "--limit", "256", "--json")
    said("cut", "log", "--limit", "255")
    said("cut", "log", "--strategy", "none")
    said("cut", "absent")
    (work / "messages.json").write_text(json.dumps(_conversation()), encoding="utf-8")
    for policy in ("auto", "truncation", "retention", "rolling"):
        said.both("view", "messages.json", "--policy", policy, "--diff")
    said("view", "messages.json", "--out", "sent.json")


def _remove(said: _Printed, artifact: str) -> None:
    said.both("forget", artifact)
    said.both("forget", artifact, "--yes")
    said.both("forget", "--text", "crane")
    said.both("forget", "--yes", "--text", "crane")
    said.both("sessions", "verify", "--all")
    for switch in ("status", "on", "status", "off", "status"):
        said.both("rolling-context", switch)
    said("sessions", "export", "-o", "archive")
    said("sessions", "export", "-o", "archive")
    said("sessions", "export", is_terminal=True)
    said.both("sessions", "import", "archive", "--as", "again")
    said.both("sessions", "list")
    said.both("sessions", "purge", "again")
    said("sessions", "purge", "again", given=b"y\n", is_terminal=True)
    said.both("artifacts", "clean")
    said.both("artifacts", "clean", "--all", "--yes")
    said.both("artifacts", "collect")
    said.both("sessions", "list")
    said.both("sessions", "verify")
    said("init")
    said("trust", "--list")


def _conversation() -> list[dict[str, Any]]:
    """Nine calls of a tool whose results are long."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Find the crane."}]
    for number, kind in enumerate(("log", "json", "code", "csv", "plain", "grep", "log", "diff", "plain")):
        call = {"id": f"call-{number}", "type": "function"}
        call["function"] = {"name": "bash", "arguments": json.dumps({"command": f"cat {kind}"})}  # type: ignore[assignment]
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"call-{number}", "content": text(kind, 12_000)})
    return messages


def importing(out: Recorder) -> None:
    """Logs of the made-up sessions, imported and replayed."""
    _in_folder(out, "cli-logs/importing", _import)


def _import(said: _Printed, run: CommandLine) -> None:
    work = Path(run.folder, "work")
    (work / "logs").mkdir()
    files = sorted(os.path.relpath(path, work) for path in sample_logs(work / "logs"))
    said.both("import", *files)
    said.both("import", "logs")
    said.both("sessions", "list")
    said("replay", "logs", "--json", "--report", "page.html", "--jobs", "1")
    said("replay", files[-1], "--missed", "--jobs", "1", "--policy", "truncation", "rolling", "--window", "64k")
    said("replay", "absent")
    said.add("page", (work / "page.html").read_bytes())


def copying(out: Recorder) -> None:
    """Whole records: copied, backed up, restored."""
    _in_folder(out, "cli-files/copying", _copy)


def _copy(said: _Printed, run: CommandLine) -> None:
    sample_record(run.folder, run.clock, bugs=2)
    for kind in ("log", "json", "huge_lines"):
        run("keep", "--tool", f"read_{kind}", given=text(kind, 50_000).encode())
    run("store", "backup", "backup")  # its size depends on how well the names of folders compress
    said.both("store", "copy", FOLDER, "other")
    said.both("store", "copy", FOLDER, "some", "--session", SAMPLE, "--quick")
    said("store", "copy", FOLDER, "none", "--session", "absent")
    said("store", "copy", "absent", "none")
    said.both("store", "restore", "backup", "--into", "restored")
    said.both("store", "restore", "backup", "--into", "part", "--session", "shell")
    said("store", "restore", "absent")
    said("store", "restore", "backup", "--into", "none", "--session", "absent")
    artifact = run.json("artifacts", "list", "--session", "shell")[0]["artifact_id"]
    said("forget", artifact, "--yes", "--json")
    said("sessions", "purge", SAMPLE, "--yes", "--json")
    said.both("store", "copy", FOLDER, "other")
    said.both("store", "copy", FOLDER, "other", "--yes")
    said.both("store", "restore", "backup")
    said.both("store", "restore", "backup", "--erased")
    said("sessions", "export", "shell", "-o", "archive")
    said("sessions", "import", "archive", "--as", "second", "--json")
    Path(run.folder, "work", "cut").write_bytes(Path(run.folder, "work", "backup").read_bytes()[:-900])
    said.both("store", "restore", "cut", "--into", "broken")
    said("store", "migrate")


def connecting(out: Recorder) -> None:
    """Hooks of clients, files of MCP servers, and what the files of a folder may decide."""
    with doors.folder() as folder:
        out.replace(folder, doors.PLACEHOLDER)
        out.replace(doors.own_command(), "COMMAND")
        out.replace(sys.executable, "PYTHON")
        with command_line(folder, "cli-files/connecting") as run:
            _connect(_Printed(out, "cli-files/connecting", run), run)
            with patch.dict(os.environ, PATH=folder):  # where `keepwhole` is found by its name, that is written instead
                _wrap_servers(_Printed(out, "cli-files/servers", run), Path(folder, "work"))


def _connect(said: _Printed, run: CommandLine) -> None:
    home = Path(run.folder)
    (home / ".claude").mkdir()
    (home / ".claude" / "settings.json").write_text('{"theme": "dark", "hooks": {"Stop": []}}\n')
    for client in ("claude-code", "codex", "opencode"):
        for scope in ("user", "project"):
            for act in ("status", "install", "install", "status", "uninstall", "uninstall", "status"):
                said("hook", act, client, "--scope", scope)
                if act == "install":
                    said.add(f"{client}-{scope}-{len(said.added)}", _files(home))
    work = home / "work"
    (work / "keepwhole.yaml").write_text("store: postgresql://db.example/x\nmode: shadow\n")
    for words in ((), ("--list",), ("--yes",), ("--list",), ("--revoke",), ("--list",)):
        said("trust", *words)
    said("trust", given=b"y\n", is_terminal=True)
    said("trust", given=b"n\n", is_terminal=True)
    (work / "keepwhole.yaml").unlink()


def _files(folder: Path) -> dict[str, str]:
    """The small files below a folder, by their names, but for the record's."""
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file() and FOLDER not in path.parts)
    return {str(path.relative_to(folder)): path.read_text("utf-8", "replace") for path in paths}


_SERVERS = {
    "git": {"command": "uvx", "args": ["mcp-server-git", "--repository", "."], "env": {"A": "b"}},
    "far": {"type": "http", "url": "https://mcp.example/mcp"},
    "keyed": {"url": "https://mcp.example/key", "headers": {"Authorization": "Bearer x"}},
    "odd": {"nothing": True},
}


def _wrap_servers(said: _Printed, work: Path) -> None:
    for label, indent in (("flat", None), ("two", 2), ("tab", "\t")):
        path = work / f"{label}.json"
        path.write_text(json.dumps({"before": 1, "mcpServers": _SERVERS, "after": [2]}, indent=indent))
        for words in (("wrap",), ("wrap",), ("wrap", "--all"), ("unwrap",), ("unwrap",)):
            said("mcp-gateway", words[0], path.name, *words[1:])
            said.add(f"{label}-{len(said.added)}", path.read_text())
    (work / "list.json").write_text("[]")
    for name in ("list.json", "absent.json"):
        said("mcp-gateway", "wrap", name)
        said("mcp-gateway", "unwrap", name)


def looking(out: Recorder) -> None:
    """Every address of the page, over the made-up session."""
    with doors.folder() as folder, command_line(folder, "inspector") as run:
        out.replace(folder, doors.PLACEHOLDER)
        sample_record(folder, run.clock, bugs=6)
        run("keep", "--tool", "small", given=_SMALL.encode())
        run("keep", "--tool", "long", given=text("log", 200_000).encode())
        with page(folder) as asked:
            _look(out, asked)


def _look(out: Recorder, asked: Page) -> None:
    see = _Looked(out, asked)
    listed = see("sessions", "/api/sessions")
    for name, query in {"few": {"count": "1"}, "next": {"from": "1"}, "odd": {"count": "x"}}.items():
        see(f"sessions-{name}", "/api/sessions", query)
    for info in listed["sessions"]:
        see.session(info["name"], f"/api/sessions/{info['name']}")
    see("policies", "/api/policies")
    see("absent", "/api/sessions/none")


class _Looked:
    """Records what the page is answered."""

    def __init__(self, out: Recorder, asked: Page) -> None:
        self._out, self._asked = out, asked

    def __call__(self, name: str, path: str, query: Any = None, given: Any = None) -> Any:
        found = self._asked(path, query, given)
        self._out.add(f"inspector/{name}", [path, query, found])
        return found

    def session(self, name: str, base: str) -> None:
        """Everything about one session."""
        self(f"{name}/session", base)
        for at, query in enumerate(({}, {"from": "3", "count": "2"}, {"from": "9999"}, {"count": "0"}, {"from": "-1"})):
            self(f"{name}/steps-{at}", f"{base}/steps", query)
            self(f"{name}/results-{at}", f"{base}/results", query)
        for at, words in enumerate(("harbour", "ERROR crane", "", "nowhere-at-all")):
            self(f"{name}/search-{at}", f"{base}/search", {"query": words, "most": "3"})
        results = self._asked(f"{base}/results")["results"]
        for at, result in enumerate(results[:6]):
            self._result(f"{name}/result-{at}", f"{base}/results/{result['trace_id']}")
        for at, step in enumerate(self._asked(f"{base}/steps")["steps"][:3]):
            for part in ("", "/response"):
                place = f"{base}/requests/{step['id']}{part}"
                self(f"{name}/request-{at}{part.replace('/', '-')}", place)
                self(f"{name}/request-{at}{part.replace('/', '-')}-part", place, {"from": "10", "count": "50"})
        self(f"{name}/verify", f"{base}/verify", given={})
        for policy in ("auto", "truncation", "everything", "none"):
            self(f"{name}/play-{policy}", f"{base}/play", given={"policy": policy})
        for act in ("pin", "undo"):
            self(f"{name}/{act}", f"{base}/results/{results[0]['trace_id']}/{act}", given={})
        self(f"{name}/absent", f"{base}/results/none")

    def _result(self, name: str, place: str) -> None:
        self(name, place)
        for part, query in enumerate(({}, {"from": "5", "count": "3"}, {"from": "99999"}, {"count": "x"})):
            self(f"{name}-lines-{part}", f"{place}/lines", query)
        for part, query in enumerate(({"text": "e"}, {"text": "ERROR", "from": "10"}, {"text": ""})):
            self(f"{name}-find-{part}", f"{place}/find", query)


GROUPS: dict[str, list[Callable[[Recorder], None]]] = {
    "cli": [reading, writing],
    "cli-options": [options],
    "cli-logs": [importing],
    "cli-files": [copying, connecting],
    "inspector": [looking],
}
