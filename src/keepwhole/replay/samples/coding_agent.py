"""A made-up session: an agent fixes the software of a harbor."""

import random
from typing import Any, TypeAlias

from keepwhole.replay.samples.session import NOUNS, PARTS, VERBS, Client, SampleSession, SampleTurn


class _Project:
    """A source tree: every file has the same text whenever it is read."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self.paths = [f"harbour/{part}/{noun}s.py" for part in PARTS for noun in NOUNS[:6]]
        self._files: dict[str, list[str]] = {}

    def lines(self, path: str) -> list[str]:
        """Return the lines of a file."""
        if path not in self._files:
            self._files[path] = self._make_lines(path)
        return self._files[path]

    def _make_lines(self, path: str) -> list[str]:
        chance, part = self._chance, path.split("/")[1]
        lines = [f'"""What the harbour knows of {part}s."""', "", "from harbour.core import Fault, Store", ""]
        for _ in range(chance.randrange(18, 34)):
            name = f"{chance.choice(VERBS)}_{part}_{chance.choice(NOUNS)}_{chance.randrange(10, 99)}"
            limit, code = chance.randrange(10, 900), f"H{chance.randrange(1000, 9999)}"
            lines += [
                f"def {name}(store: Store, {part}_id: str, hours: int = {chance.randrange(2, 96)}) -> int:",
                f'    """{name.replace("_", " ").capitalize()}, or say why not."""',
                f'    row = store.one("{part}", {part}_id)',
                f"    if row is None or row.length > {limit}:",
                f'        raise Fault("{code}", {part}_id)',
                f"    return row.length * hours - {chance.randrange(1, 60)}",
                "",
            ]
        return lines

    def read_numbered(self, path: str) -> str:
        """Return a file as an agent's tool shows it."""
        return "\n".join(f"{number:6d}\t{line}" for number, line in enumerate(self.lines(path), 1))

    def function(self, path: str) -> tuple[str, int]:
        """Return one of its functions: its name and the number of its first line."""
        heads = [at for at, line in enumerate(self.lines(path)) if line.startswith("def ")]
        at = self._chance.choice(heads)
        return self.lines(path)[at].split("(")[0][4:], at + 1

    def pick_fault(self, path: str) -> str:
        """Return one of the lines that raise."""
        return self._chance.choice([line.strip() for line in self.lines(path) if "raise Fault" in line])

    def search_output(self, name: str, path: str, line: int) -> str:
        """Return the output of a search for a name: its callers, and much else."""
        chance = self._chance
        hits = [f"{path}:{line}:def {name}(store: Store,"]
        for _ in range(chance.randrange(20, 50)):
            other = chance.choice(self.paths)
            number = chance.randrange(5, 200)
            hits.append(f"{other}:{number}:    total += {name}(store, row.id, hours={chance.randrange(90)})")
        return "\n".join(sorted(hits))

    def test_output(self, test: str, name: str, want: int) -> str:
        """Return the output of a test run with one failure somewhere in the middle."""
        chance = self._chance
        lines = [f"{self._other_test()}_{at:03d} PASSED" for at in range(chance.randrange(90, 200))]
        lines.insert(0, " test session starts ".center(79, "="))
        lines.insert(chance.randrange(30, 80), f"{test} FAILED")
        path, _, case = test.partition("::")
        lines += [
            f" {case} ".center(79, "_"),
            f'>       assert {name}(store, "B-{chance.randrange(10_000, 99_999)}", hours=6) == {want}',
            f"E       AssertionError: assert {want - chance.randrange(1, 9)} == {want}",
            f"{path}:{chance.randrange(12, 90)}: AssertionError",
            f" 1 failed, {len(lines) - 2} passed in {chance.randrange(900, 4000) / 100}s ".center(79, "="),
        ]
        return "\n".join(lines)

    def _other_test(self) -> str:
        part, noun, verb = (self._chance.choice(words) for words in (PARTS, NOUNS, VERBS))
        return f"tests/{part}/test_{noun}s.py::test_{verb}"


Called: TypeAlias = tuple[str, dict[str, Any]]
"""A tool and its arguments."""


class _Claude:
    """How Claude Code calls its tools."""

    def run(self, command: str) -> Called:
        return "Bash", {"command": command}

    def read(self, path: str) -> Called:
        return "Read", {"file_path": f"/srv/harbour/{path}"}

    def find(self, name: str) -> Called:
        return "Grep", {"pattern": name, "output_mode": "content"}

    def edit(self, path: str, old: str, new: str) -> Called:
        return "Edit", {"file_path": f"/srv/harbour/{path}", "old_string": old, "new_string": new}


class _Codex(_Claude):
    """How Codex calls its tools: everything is a command."""

    def run(self, command: str) -> Called:
        return "exec_command", {"cmd": command, "workdir": "/srv/harbour"}

    def read(self, path: str) -> Called:
        return self.run(f"cat -n {path}")

    def find(self, name: str) -> Called:
        return self.run(f"rg -n {name}")

    def edit(self, path: str, old: str, new: str) -> Called:
        return self.run(f"apply_patch <<'EOF'\n*** Update File: {path}\n-{old}\n+{new}\nEOF")


def coding_session(seed: int, client: Client, bugs: int) -> SampleSession:
    """Return the session of an agent that fixes one failing test after the other."""
    chance = random.Random(seed)
    project = _Project(chance)
    words = _Codex() if client == "codex" else _Claude()
    listing = "\n".join(f"{path}  {chance.randrange(2_000, 30_000)}" for path in project.paths)
    turns = [
        SampleTurn("user", "The nightly tests fail. Fix them one after the other, and say at the end what was wrong."),
        _call_turn(words.run("git ls-files --stage | head -100"), listing, "Let me look at the tree first."),
    ]
    told: list[str] = []
    read: list[str] = []
    for bug in range(bugs):
        read.append(chance.choice(project.paths))
        turns += _fix_test(project, words, chance, read[-1], told)
        if bug > 5 and bug % 2:
            turns.append(_from_memory(project, words, read[bug - chance.randrange(3, 6)]))
        if bug % 4 == 3:  # something read long ago is needed again
            turns.append(_call_turn(words.read(project.paths[bug]), project.read_numbered(project.paths[bug])))
            turns.append(
                _call_turn(words.run("make lint"), f"make: *** [lint] Error 2 (E{seed}{bug:03d})", is_error=True)
            )
    turns.append(SampleTurn("assistant", "All tests pass. What was wrong:\n" + "\n".join(told)))
    return SampleSession(f"sample-{client}-{seed}", client, turns)


def _fix_test(project: _Project, words: _Claude, chance: random.Random, path: str, told: list[str]) -> list[SampleTurn]:
    """Return the turns that fix one failing test: run, search, read, edit, run again."""
    name, line = project.function(path)
    want = chance.randrange(100, 9_000)
    test = f"tests/{path.split('/')[1]}/test_{name}.py::test_{name}_{want}"
    limit = project.lines(path)[line + 2].strip()
    told.append(f"- {test}: {path}:{line}, `{limit}`")
    turns = [
        _call_turn(words.run("pytest -x -q"), project.test_output(test, name, want), "Next failure."),
        _call_turn(words.find(name), project.search_output(name, path, line)),
        _call_turn(words.read(path), project.read_numbered(path), f"The function is at {path}:{line}."),
        _call_turn(words.edit(path, limit, limit.replace(">", ">=")), f"The file {path} has been updated."),
        _call_turn(words.run(f"pytest -q {test}"), f".\n1 passed in {chance.randrange(10, 90) / 100}s"),
    ]
    if chance.random() < 0.4:  # the agent reads again what it changed
        turns.insert(4, _call_turn(words.read(path), project.read_numbered(path)))
    return turns


def _from_memory(project: _Project, words: _Claude, path: str) -> SampleTurn:
    """Return an edit of a file that was read long ago and is not read again."""
    fault = project.pick_fault(path)
    said = f"The same mistake is in {path.split('/')[1]}, as I saw before."
    return _call_turn(
        words.edit(path, fault, fault.replace("Fault(", "Refusal(")), f"The file {path} has been updated.", said
    )


def _call_turn(call: Called, result: str, said: str = "", is_error: bool = False) -> SampleTurn:
    return SampleTurn("assistant", said, *call, result, is_error)
