"""A tool that fails at first: its long error has the ticket with which it is tried again."""

import random
from collections.abc import Mapping

from bench.live import texts
from bench.live.task import Fact, Returned, Step, Task, Tool, World, joined, prompt_of, unknown

_PAGES = {"16k": 3, "64k": 7, "200k": 14}


def make(task_id: str, seed: int, length: str) -> Task:
    """Return the task of a seed."""
    chance = random.Random(f"flaky_tool {seed} {length}")
    names = [f"report-{number}" for number in range(1, _PAGES[length] + 1)]
    tickets = {name: texts.code(chance, "TK-") for name in names}
    codes = {name: texts.code(chance, "", 4) for name in names}
    sizes = texts.shares(texts.chars_of(length), [1.6, 1.0] * len(names))
    failures = {name: _failure(chance, size, name, tickets[name]) for name, size in zip(names, sizes[::2], strict=True)}
    pages = {
        name: texts.prose(chance, size, f"The code of {name} is {codes[name]}.")
        for name, size in zip(names, sizes[1::2], strict=True)
    }

    def call(tool: str, given: Mapping[str, str]) -> Returned:
        name = given.get("name", "")
        if tool != "fetch_report" or name not in pages:
            return unknown(tool, given)
        return Returned(pages[name]) if given.get("ticket") == tickets[name] else Returned(failures[name], True)

    def begin() -> World:
        return call

    words = (
        f"Fetch {', '.join(names)}, in this order. Without a ticket (`ticket` is `none`) the tool fails, and its long "
        "error has, in one line, the ticket of this report with which to try again. Each report has a code. The answer "
        "is all codes in this order, joined by `-`."
    )
    steps: list[Step] = []
    facts: dict[str, Fact] = {}
    for number, name in enumerate(names):
        steps.append(Step("fetch_report", {"name": name, "ticket": "none"}))
        steps.append(Step("fetch_report", {"name": name, "ticket": f"{{ticket_{number}}}"}))
        facts[f"ticket_{number}"] = Fact(2 * number, name, rf"ticket of {name}: (\S+)")
        facts[f"code_{number}"] = Fact(2 * number + 1, name, rf"code of {name} is (\w+)\.")
    needed = tuple(f"code_{number}" for number in range(len(names)))
    return Task(
        task_id,
        prompt_of(task_id, words),
        (Tool("fetch_report", "Fetch a report; `ticket` is `none` the first time.", ("name", "ticket")),),
        begin,
        tuple(steps),
        facts,
        needed,
        joined(*needed),
        "-".join(codes.values()),
    )


def _failure(chance: random.Random, size: int, name: str, ticket: str) -> str:
    begin = f"Error: fetching {name} failed\nTraceback (most recent call last):\n"
    return begin + texts.log(chance, size, f"INFO retry: ticket of {name}: {ticket}") + "TimeoutError: no answer\n"
