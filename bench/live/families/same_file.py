"""One file read again after every edit: only the newest reading tells what the next edit needs."""

import random
from collections.abc import Mapping

from bench.live import texts
from bench.live.task import Fact, Returned, Step, Task, Tool, World, joined, prompt_of, unknown

_EDITS = {"16k": 4, "64k": 9, "200k": 16}
_PATH = "src/settlement.py"


def make(task_id: str, seed: int, length: str) -> Task:
    """Return the task of a seed."""
    chance = random.Random(f"same_file {seed} {length}")
    edits = _EDITS[length]
    marks = [texts.code(chance, "", 10) for _ in range(edits + 1)]
    size = texts.chars_of(length) // (edits + 1)
    text = texts.source(chance, size, "# revision 0 seal REVISION-0")
    added = [f"LIMIT_{number} = {chance.randrange(10**6)}" for number in range(1, edits + 1)]

    def begin() -> World:
        done: list[str] = []

        def call(tool: str, given: Mapping[str, str]) -> Returned:
            number = len(done)
            if given.get("path") != _PATH:
                return unknown(tool, given)
            if tool == "read_file":
                seal = f"# revision {number} seal {marks[number]}"
                lines = "".join(f"{line}\n" for line in done)
                return Returned(text.replace("# revision 0 seal REVISION-0", seal) + lines)
            if tool == "edit_file" and given.get("seal") == marks[number] and number < edits:
                done.append(given.get("line", ""))
                return Returned(f"Added a line. {_PATH} is now revision {number + 1}.")
            return Returned("Refused: the seal is not that of the newest revision.", is_error=True)

        return call

    words = (
        f"{_PATH} has a comment `revision N seal X` somewhere in the middle, and X changes with every edit.\n"
        f"For each of these lines, in order: read {_PATH}, then call `edit_file` with the seal of the revision that "
        "you have just read, to add the line.\n" + "\n".join(f"    {line}" for line in added) + "\n"
        "After the last edit read the file once more. The answer is its last seal."
    )
    steps: list[Step] = []
    for number, line in enumerate(added):
        steps.append(Step("read_file", {"path": _PATH}))
        steps.append(Step("edit_file", {"path": _PATH, "seal": f"{{seal_{number}}}", "line": line}))
    steps.append(Step("read_file", {"path": _PATH}))
    facts = {f"seal_{number}": Fact(2 * number, _PATH, rf"revision {number} seal (\w+)") for number in range(edits + 1)}
    return Task(
        task_id,
        prompt_of(task_id, words),
        (
            Tool("read_file", "Read a file.", ("path",)),
            Tool("edit_file", "Add a line to a file; `seal` is that of its newest revision.", ("path", "seal", "line")),
        ),
        begin,
        tuple(steps),
        facts,
        (f"seal_{edits}",),
        joined(f"seal_{edits}"),
        marks[edits],
    )
