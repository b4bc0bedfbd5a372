"""A task: what an agent is asked, the tools it has, the right answer, and the plan by which an oracle gets there.

Owns: the parts of a task, and when it is solved. Must not know: models, requests, arms.

Theory of operation. A family makes a task from a seed and a length. An agent gets `prompt` and `tools`; each run calls
`begin` once and gets its own world, in which tools may remember what was called. The answer is checked by code. The
plan is for oracles only: a list of calls, in which `{name}` stands for a fact that an earlier result told.

    plan     run_command("incident open INC-4471")   →  a log of 13,000 characters, in it
                                                        "release token of INC-4471: RT-5PXQ2"
             read_file("logs/part-01.log") …
             close_incident(token="{token}", …)      →  "confirmation: C-77120"
    facts    token: told by step 0, found by the pattern `release token of INC-4471: (\\S+)`
    answer   C-77120
"""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

LENGTHS = {"16k": 16_000, "64k": 64_000, "200k": 200_000}
"""Tokens that the results of a task take together, about."""
CHARS_PER_TOKEN = 3.3
_ANSWER = re.compile(r"ANSWER:\s*(\S+)")


class Tool(NamedTuple):
    """A tool as it is described to a model; all parameters are required strings."""

    name: str
    description: str
    parameters: tuple[str, ...]


class Returned(NamedTuple):
    """What a tool returns."""

    text: str
    is_error: bool = False
    image: bytes | None = None
    """A PNG."""


World = Callable[[str, Mapping[str, str]], Returned]
"""Runs a tool with its arguments."""


class Fact(NamedTuple):
    """Something that a result tells and that is needed later."""

    step: int
    """The step of the plan whose result tells it."""
    sought: str
    """The words that a reader looks for."""
    pattern: str
    """Finds the value in a text: its one group."""
    is_pictured: bool = False
    """Whether an image tells it, and no text."""

    def read(self, text: str) -> str | None:
        """Return the value that a text tells; None where it tells none."""
        found = re.search(self.pattern, text, re.M)
        return found[1] if found else None


class Step(NamedTuple):
    """One call of the plan."""

    tool: str
    arguments: Mapping[str, str]

    def needs(self, facts: Mapping[str, Fact]) -> list[str]:
        """Return the names of the facts that go into the arguments."""
        return [name for name in facts if any(f"{{{name}}}" in given for given in self.arguments.values())]

    def filled(self, values: Mapping[str, str]) -> dict[str, str]:
        """Return the arguments with the values of facts in them."""
        return {key: given.format_map(values) for key, given in self.arguments.items()}


class Task(NamedTuple):
    """One task of a family."""

    id: str
    """`family-seed-length`; the prompt begins with it."""
    prompt: str
    tools: tuple[Tool, ...]
    begin: Callable[[], World]
    plan: tuple[Step, ...]
    facts: Mapping[str, Fact]
    needed: tuple[str, ...]
    """The facts that the answer is made of."""
    answer: Callable[[Mapping[str, str]], str]
    """Makes the answer from the values of these facts."""
    expected: str

    def is_solved(self, text: str) -> bool:
        """Return whether the last answer in a text is right."""
        found = _ANSWER.findall(text)
        return bool(found) and found[-1].strip("`*.\"'") == self.expected


def prompt_of(task_id: str, words: str) -> str:
    """Return the prompt of a task: its id, what to do, and how to answer."""
    end = "When you are done, reply with one line: `ANSWER: ` and the answer, nothing else."
    return f"Task {task_id}.\n\n{words}\n\n{end}"


def joined(*names: str) -> Callable[[Mapping[str, str]], str]:
    """Return what makes an answer of the values of these facts, joined by dashes.

    >>> joined("a", "b")({"a": "17", "b": "4"})
    '17-4'
    """

    def answer(values: Mapping[str, str]) -> str:
        return "-".join(values[name] for name in names)

    return answer


def unknown(tool: str, arguments: Mapping[str, str]) -> Returned:
    """Return the error for a call that names something that does not exist."""
    given = ", ".join(f"{key}={value!r}" for key, value in arguments.items())
    return Returned(f"Error: {tool}({given}): there is no such thing. Use the names in the task.", is_error=True)
