"""What a scripted model does with a real client, step by step, in words that every client's tools can carry out.

Owns: the moves, what each must print, and the long session's plan. Must not know: how a provider or a client spells.
"""

from pathlib import Path
from typing import NamedTuple, TypeAlias

_LINE = "{} line {:06d} of the output"
LINGER = "sleep 0.5"
"""For the end of a command with a long output: on a busy machine Qwen Code and opencode lose what they have not read
when it ends."""


class Shell(NamedTuple):
    """A command for the shell."""

    command: str
    prints: str = ""
    """What it prints, where that is known."""


class ReadFile(NamedTuple):
    path: str
    prints: str = ""


class WriteFile(NamedTuple):
    path: str
    text: str
    prints: str = ""


class EditFile(NamedTuple):
    path: str
    old: str
    new: str
    prints: str = ""


class Delegate(NamedTuple):
    """A sub-agent that follows another plan."""

    plan: str
    prints: str = ""


class ReadBack(NamedTuple):
    """What the newest notice says to call or to type."""

    prints: str = ""


Move: TypeAlias = Shell | ReadFile | WriteFile | EditFile | Delegate | ReadBack
Plan: TypeAlias = list[list[Move]]
"""The moves of each step; those of one step are called in parallel."""
SMALL, MEDIUM, LARGE, HUGE = 4, 150, 740, 8_820
"""Lines of 34 characters or more: 150 B, 6 KB, just under 30 KB, which no client cuts, and 293 KB, which all do."""


def listing(name: str, count: int) -> Shell:
    """A command that prints so many lines."""
    command = f"seq -f '{name} line %06g of the output' 1 {count}"
    return Shell(command, "".join(_LINE.format(name, number) + "\n" for number in range(1, count + 1)))


def long_plan(steps: int, work: Path, can_delegate: bool = True) -> Plan:
    """A session of so many steps: fifty kinds of them, over and over, of which the second repeats the first."""
    made = [_step(number, work, steps) for number in range(steps)]
    if can_delegate and steps > 12:
        made[11] = [Delegate("sub")]
    return made


def short_plan(name: str, steps: int = 3) -> Plan:
    """Small outputs, and a large one that is read back."""
    made: Plan = [[listing(f"{name} {number}", SMALL)] for number in range(steps)]
    return [[listing(f"{name} large", LARGE)], [ReadBack()], *made]


def _step(number: int, work: Path, steps: int) -> list[Move]:
    place, round_ = number % 50, number // 50
    path = str(work / f"part_{round_}.txt")
    text = "".join(f"round {round_}, text {line} of a file\n" for line in range(60))
    huge = 60 if steps > 60 else 14
    if number in (huge, huge + 120):
        huge_output = listing(f"huge {number}", HUGE)
        return [huge_output._replace(command=f"{huge_output.command}; {LINGER}")]
    if number in (huge + 1, huge + 121):
        return [ReadBack()]
    if round_ % 2 and place in (12, 13):
        return [listing(f"small {number}", SMALL)]
    moves: dict[int, list[Move]] = {
        2: [listing(f"medium {round_}", MEDIUM)],
        4: [WriteFile(path, text)],
        5: [ReadFile(path)],
        6: [EditFile(path, f"round {round_}, text 7 of", f"round {round_}, TEXT seven of")],
        7: [listing(f"parallel {round_} {one}", SMALL) for one in range(4)],
        8: [Shell(f"cat no-such-file-{round_}"), ReadFile(str(work / f"missing_{round_}.txt"))],
        9: [Shell(f"echo failed {round_}; exit 3")],
        12: [listing(f"large {round_}", LARGE)],
        13: [ReadBack()],
        16: [listing(f"medium {round_}", MEDIUM)],
        17: [ReadFile(path)],
        20: [
            Shell(f"printf 'caf\\303\\251 \\342\\202\\254 \\360\\237\\231\\202 {round_}\\n'", f"café € 🙂 {round_}\n")
        ],
        25: [listing(f"parallel {round_} medium {one}", MEDIUM if round_ % 2 else SMALL) for one in range(2)],
        30: [listing("always the same", MEDIUM)],
    }
    return moves.get(place) or [listing(f"small {number}", SMALL)]
