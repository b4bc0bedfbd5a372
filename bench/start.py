"""What a command costs before it does anything: CPU beyond `python -c pass`, the least that any of them can use.

Judged by the CPU of the process and its children; the figure of `run` includes the `true` that it runs.
"""

import json
from collections.abc import Callable
from statistics import median

import keepwhole
from bench import floors
from bench.floors import Floor
from bench.support.row import Row, row_with_floor
from bench.support.setup import KEEPWHOLE, PYTHON, Setup
from bench.support.timing import Run, pipeline, run_interleaved
from bench.texts.large_texts import text_file

_BARE = "python -c pass"
_LINES = 100


def start(setup: Setup) -> list[Row]:
    home = setup.path("start-home")
    source, artifact = _artifact(setup, home)
    commands: dict[str, tuple[tuple[tuple[str, ...], ...], Floor]] = {
        "keepwhole run -- true": (((*KEEPWHOLE, "run", "--", "true"),), floors.START_CPU),
        "keepwhole keep": ((("echo", "x"), (*KEEPWHOLE, "keep", "--tool", "t")), floors.START_CPU),
        "keepwhole artifacts show ID --lines 1-100": ((_show(artifact),), floors.START_CPU),
        "keepwhole hook run claude-code, 100 characters": (_hook(setup, 100), floors.HOOK_CPU),
        "keepwhole hook run claude-code, 25,000 characters": (_hook(setup, 25_000), floors.HOOK_CPU),
        "import keepwhole": (((PYTHON, "-c", "import keepwhole"),), floors.IMPORT_CPU),
    }
    _check(setup, home, source, artifact)
    subjects: dict[str, Callable[[], Run]] = {_BARE: lambda: _run(setup, home, ((PYTHON, "-c", "pass"),))}
    subjects |= {name: lambda given=given: _run(setup, home, given) for name, (given, _) in commands.items()}
    runs = run_interleaved("start", 5 if setup.quick else 21, subjects)
    return [_row(name, runs[name], runs[_BARE], floor) for name, (_, floor) in commands.items()]


def _artifact(setup: Setup, home: str) -> tuple[str, str]:
    source = text_file("ASCII", 20_000_000, setup.folder)
    with keepwhole.session("start", store=home) as session, open(source, "rb") as file:
        return source, session.keep("bench", None, file).artifact_id or ""


def _show(artifact: str) -> tuple[str, ...]:
    return (*KEEPWHOLE, "artifacts", "show", artifact, "--lines", f"1-{_LINES}")


def _hook(setup: Setup, chars: int) -> tuple[tuple[str, ...], ...]:
    """The cost of a client's hook after one result; without a call id each run keeps it again."""
    output = "".join(f"line {number} of an output\n" for number in range(chars))[:chars]
    response = {"stdout": output, "stderr": "", "interrupted": False}
    event = {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_response": response, "session_id": "hook"}
    path = setup.path(f"hook-{chars}.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(event, file)
    return (("cat", path), (*KEEPWHOLE, "hook", "run", "claude-code"))


def _check(setup: Setup, home: str, source: str, artifact: str) -> None:
    """Check that `artifacts show` prints the lines of the file."""
    output = setup.path("shown")
    pipeline(_show(artifact), env=setup.environment(home), folder=setup.folder, output=output)
    with open(source, encoding="utf-8") as file, open(output, encoding="utf-8") as shown:
        lines = "".join(next(file) for _ in range(_LINES))
        if lines not in shown.read():
            raise RuntimeError("`artifacts show` prints other lines than were kept")


def _run(setup: Setup, home: str, commands: tuple[tuple[str, ...], ...]) -> Run:
    return pipeline(*commands, env=setup.environment(home), folder=setup.folder)


def _row(name: str, runs: list[Run], bare: list[Run], floor: Floor) -> Row:
    over = [(run.last.cpu - base.last.cpu) * 1e3 for run, base in zip(runs, bare, strict=True)]
    cpu, base = (median(run.last.cpu for run in of) * 1e3 for of in (runs, bare))
    return row_with_floor(
        f"`{name}`: CPU over the interpreter", f"{cpu:.0f} ms", f"`{_BARE}` {base:.0f} ms", over, floor
    )
