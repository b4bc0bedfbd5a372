"""A made-up piece of work: files, tools over them, and a plan whose steps need what earlier results told.

Owns: what tools return, byte for byte the same in every run, and what each step of the plan does.
Must not know: dialects, requests, or what a model is shown.
"""

import hashlib
import json
import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

FILES = 40
_WORDS = tuple(
    [
        "parse",
        "render",
        "socket",
        "buffer",
        "index",
        "cursor",
        "token",
        "window",
        "budget",
        "record",
        "ledger",
        "branch",
        "policy",
        "splice",
        "header",
        "stream",
        "chunk",
        "notice",
        "digest",
        "anchor",
        "marker",
        "retry",
        "commit",
        "replay",
        "oracle",
        "result",
        "session",
        "frame",
        "queue",
        "worker",
    ]
)


class Move(NamedTuple):
    """One call of a tool."""

    tool: str
    arguments: dict[str, Any]
    needs: str = ""
    """The token whose value goes into the arguments, once it is known."""

    def made(self, value: str) -> dict[str, Any]:
        """The arguments with the value in them."""
        return {key: word.replace("VALUE", value) for key, word in self.arguments.items()}


class World:
    """The files as they are now, and the tools."""

    def __init__(self) -> None:
        self.files = {path_of(number): _source(number) for number in range(FILES)}
        self._tools: dict[str, Callable[[dict[str, Any]], tuple[str, bool]]] = {
            "read_file": self._read_file,
            "bash": lambda given: _output(given["command"]),
            "grep": lambda given: (self._grep(given["pattern"]), False),
            "query": lambda given: (_table(given["table"]), False),
            "edit_file": self._edit_file,
        }

    def call(self, tool: str, arguments: dict[str, Any]) -> tuple[str, bool]:
        """What a tool returns, and whether it failed."""
        return self._tools[tool](arguments)

    def digest(self) -> str:
        """What all files hold, in short."""
        return hashlib.sha256(json.dumps(self.files, sort_keys=True).encode()).hexdigest()

    def _read_file(self, given: dict[str, Any]) -> tuple[str, bool]:
        path = given["path"]
        if path.startswith("/"):  # a file that a notice names
            lines = Path(path).read_text().splitlines(keepends=True)
        elif path in self.files:
            lines = self.files[path].splitlines(keepends=True)
        else:
            return f"Error: no such file: {path}", True
        first = int(given.get("offset", 1)) - 1
        return "".join(lines[first : first + int(given.get("limit", len(lines)))]), False

    def _grep(self, pattern: str) -> str:
        found = [
            f"{path}:{number}:{line}"
            for path, text in self.files.items()
            for number, line in enumerate(text.splitlines(), 1)
            if pattern in line
        ]
        return "\n".join(found[:120]) + f"\n{len(found)} matches for {pattern}, token {pattern}: {_value(pattern)}\n"

    def _edit_file(self, given: dict[str, Any]) -> tuple[str, bool]:
        text = self.files[given["path"]]
        self.files[given["path"]] = f"{text}{given['add']}\n"
        return f"Edited {given['path']}: 1 line added.", False


def path_of(number: int) -> str:
    """A file's name."""
    return f"src/{_WORDS[number % len(_WORDS)]}_{number:02}.py"


def plan(steps: int) -> list[list[Move]]:
    """What each step does: reads, commands, searches, tables, repeats, and edits that need an earlier result."""
    made: list[list[Move]] = []
    told: list[str] = []
    for number in range(steps):
        chance = random.Random(f"step {number}")
        old = told[: max(1, len(told) // 3)]
        moves = (
            [_edit(chance, old if number % 18 == 17 else told)] if number % 6 == 5 else [_look(chance, number, made)]
        )
        if number % 11 == 4:
            moves.append(_look(chance, number + 10_000, []))
        told += [token for move in moves if (token := token_of(move))]
        made.append(moves)
    return made


def token_of(move: Move) -> str:
    """The name of what the result of a call tells; none for edits."""
    return "" if move.tool == "edit_file" else str(next(iter(move.arguments.values())))


def _look(chance: random.Random, number: int, made: list[list[Move]]) -> Move:
    """A call that tells something; some calls are made again."""
    kind = chance.choices(("read_file", "bash", "grep", "query", "again"), (30, 40, 8, 10, 12))[0]
    if kind == "again" and len(made) > 5:
        earlier = [move for moves in made[-30:] for move in moves if move.tool != "edit_file"]
        return chance.choice(earlier)
    if kind == "read_file":
        return Move("read_file", {"path": path_of(chance.randrange(FILES))})
    if kind == "grep":
        return Move("grep", {"pattern": chance.choice(_WORDS)})
    if kind == "query":
        return Move("query", {"table": f"table_{number}"})
    return Move("bash", {"command": f"make check-{number}"})


def _edit(chance: random.Random, told: list[str]) -> Move:
    """A line added to a file, with a value that one of the results before told: often a recent one, at times an old."""
    reach = chance.choice((1, 3, 6, 30, 90, 200))
    token = chance.choice(told[-reach:])
    return Move("edit_file", {"path": path_of(chance.randrange(FILES)), "add": f"# {token} is VALUE"}, token)


def _value(token: str) -> str:
    """What the work says of a token, which nobody can guess."""
    return hashlib.sha256(f"value of {token}".encode()).hexdigest()[:12]


@cache
def _source(number: int) -> str:
    """A file of 2 to 20 KB that tells its token somewhere in the middle."""
    chance = random.Random(f"file {number}")
    lines = [_line(chance, at) for at in range(chance.choice((30, 60, 60, 120, 240)))]
    lines.insert(len(lines) // 2, f"# token {path_of(number)}: {_value(path_of(number))}")
    return "\n".join(lines) + "\n"


def _line(chance: random.Random, at: int) -> str:
    first, second, third = chance.choices(_WORDS, k=3)
    return (
        f"    {first}_{at} = {second}({third}, {chance.randrange(9_999)})  # {chance.choice(_WORDS)}"
        if at % 8
        else f"def {first}_{second}_{at}({third}):"
    )


@cache
def _output(command: str) -> tuple[str, bool]:
    """What a command prints: 0.5 to 40 KB of a log that tells its token, and fails at times."""
    chance = random.Random(command)
    lines = [
        f"[{at:05}] {' '.join(chance.choices(_WORDS, k=2))}: {chance.randrange(10**6)} ok in {chance.random():.3f}s"
        for at in range(chance.choice((10, 20, 40, 80, 80, 160, 400, 900)))
    ]
    lines.insert(2 * len(lines) // 3, f"token {command}: {_value(command)}")
    is_error = chance.random() < 0.12
    if is_error:
        lines += ["Traceback (most recent call last):", f'  File "{chance.choice(_WORDS)}.py", line 7, in run']
        lines += [f"ValueError: {chance.choice(_WORDS)} is not {chance.choice(_WORDS)}", "make: *** [check] Error 1"]
    return "\n".join(lines) + "\n", is_error


@cache
def _table(table: str) -> str:
    """Records as JSON, one of which tells the token."""
    chance = random.Random(table)
    rows: list[dict[str, Any]] = [
        {"id": at, "name": chance.choice(_WORDS), "size": chance.randrange(10**6), "tags": chance.choices(_WORDS, k=3)}
        for at in range(chance.choice((10, 30, 60, 120)))
    ]
    rows[2 * len(rows) // 3]["name"] = f"token {table}: {_value(table)}"
    return json.dumps({"table": table, "rows": rows}, indent=1)
