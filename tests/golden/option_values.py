"""Scenarios of the command line's options: each option of the commands that read, in and out of its range."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.golden import doors
from tests.golden.app_doors import SAMPLE, CommandLine, command_line, options_of, sample_record
from tests.golden.recorder import Recorder
from tests.golden.texts import text

_NUMBERS = ("-1", "0", "1", "2", "3", "7", "x", "1.5", "99999999999")
_VALUES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("limit", "budget", "from_end", "context", "since", "exit_code"), _NUMBERS),
    "lines": ("1", "2-", "-3", "0", "x", "5-2", "1,000-", "1-3"),
    "chars": ("0-1", "5-", "-4", "x", "9-2", "999999-"),
    "session": ("none", "", "a/b", "../x", "sample", SAMPLE, "*"),
    "config": ("absent.yaml", "bad.yaml", "empty.yaml", "odd.yaml", "."),
    "model": ("gpt-5", "claude-sonnet-4-5", "odd"),
    "strategy": ("head", "rows", "none", ""),
    "policy": ("auto", "none", ""),
    "question": ("customs", ""),
    "pattern": ("harbour", "(", ""),
    "path": ("$.a", "$[0]", "x["),
    "arguments": ('{"a": 1}', "[]", "x", "{}"),
    "part": ("arguments", "result", "x"),
    "tool": ("bash", "", "a b\n"),
    "call_id": ("c1", ""),
    "task": ("tide", ""),
    "query_id": ("q1", ""),
}
_LEFT_OUT = ("json", "compare")
"""Tried with every command, and one that prints how long it took."""
_OWN_FILES = {
    "bad.yaml": "mode: sideways\nunknown: 1\n",
    "empty.yaml": "",
    "odd.yaml": "[1, 2",
    "messages.json": json.dumps([{"role": "user", "content": "hi"}]),
    "broken.json": "{",
    "list.json": "[1]",
    "none.json": "[]",
}


def values(out: Recorder) -> None:
    """Every option with values of its own, alone and for programs."""
    with doors.folder() as folder:
        out.replace(folder, doors.PLACEHOLDER)
        with command_line(folder, "cli-values") as run:
            sample_record(folder, run.clock, bugs=2)
            work = Path(folder, "work")
            (work / "log").write_text(text("log", 5_000), encoding="utf-8")
            for name, content in _OWN_FILES.items():
                (work / name).write_text(content, encoding="utf-8")
            for words in _commands(run):
                out.add(f"cli-values/{'_'.join(words)}", [run(*each) for each in _tried(words)])


def _commands(run: CommandLine) -> list[tuple[str, ...]]:
    artifact = run.json("artifacts", "list", "--session", SAMPLE)[0]["artifact_id"]
    return [
        *(("sessions", each) for each in ("list", "show", "verify")),
        *(("artifacts", "list"), ("artifacts", "show", artifact), ("artifacts", "search", "harbour")),
        *(("trace", "show", artifact), ("show", artifact), ("search", "tide"), ("report",), ("status",), ("sent",)),
        *(("explain",), ("explain", SAMPLE, "1"), ("explain", SAMPLE, "x"), ("explain", SAMPLE, "0")),
        *(("cut", "log"), ("keep",), ("config", "check"), ("store", "migrate")),
        *(("view", name) for name in ("messages.json", "broken.json", "list.json", "none.json", "absent")),
        *(("import", name) for name in ("messages.json", "broken.json", "absent", ".")),
        *(("sessions", "import", name) for name in ("messages.json", "broken.json", "absent")),
        *(
            ("forget",),
            ("forget", "none"),
            ("undo", "none"),
            ("sessions", "purge", "none"),
            ("sessions", "nothing"),
            ("x",),
        ),
    ]


def _tried(words: tuple[str, ...]) -> list[tuple[str, ...]]:
    found = [words, (*words, "--json")]
    try:
        options = options_of(words[0])
    except (KeyError, SystemExit):
        return found
    for path, *about in options:
        if tuple(path) != words[: len(path)] or len(about) < 3 or not about[1] or about[0] in _LEFT_OUT:
            continue
        name, flags, action = about[0], about[1], about[2]
        given = [(flags[0],)] if action == "_StoreTrueAction" else [(flags[0], each) for each in _VALUES.get(name, ())]
        found += [(*words, *each) for each in given]
    return found


GROUPS: dict[str, list[Callable[[Recorder], Any]]] = {"cli-values": [values]}
