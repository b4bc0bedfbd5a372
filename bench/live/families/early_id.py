"""An id that is printed once, early, and needed at the end; running the command again does not print it."""

import random
from collections.abc import Mapping

from bench.live import texts
from bench.live.task import Fact, Returned, Step, Task, Tool, World, joined, prompt_of, unknown

_PARTS = {"16k": 8, "64k": 22, "200k": 44}
_OPENING = 2.6
"""How much longer the first result is than the others."""


def make(task_id: str, seed: int, length: str) -> Task:
    """Return the task of a seed."""
    chance = random.Random(f"early_id {seed} {length}")
    incident, token = f"INC-{chance.randrange(1_000, 9_999)}", texts.code(chance, "RT-")
    service, confirmation = texts.code(chance, "svc-", 4).lower(), texts.code(chance, "C-")
    paths = [f"logs/part-{number:02}.log" for number in range(1, _PARTS[length] + 1)]
    guilty = chance.randrange(len(paths) // 2, len(paths))
    sizes = texts.shares(texts.chars_of(length), [_OPENING, *(chance.uniform(0.6, 1.4) for _ in paths)])
    others = [f"INFO vault: release token of INC-{at}: {texts.code(chance, 'RT-')}" for at in range(300, 306)]
    mine = f"INFO vault: release token of {incident}: {token}"
    opened = texts.log(chance, sizes[0], *others[:3], mine, *others[3:])
    files = {
        path: texts.log(chance, size, *([f"INFO verdict: root cause: service {service}"] if at == guilty else []))
        for at, (path, size) in enumerate(zip(paths, sizes[1:], strict=True))
    }
    command = f"incident open {incident}"

    def begin() -> World:
        opened_already: list[bool] = []

        def call(tool: str, given: Mapping[str, str]) -> Returned:
            if tool == "read_file" and given.get("path") in files:
                return Returned(files[given["path"]])
            if tool == "run_command" and given.get("command") == command:
                if opened_already:
                    return Returned(f"{incident} is open already; its token was printed when it was opened.", True)
                opened_already.append(True)
                return Returned(opened)
            if tool == "close_incident":
                is_right = (given.get("token"), given.get("service")) == (token, service)
                return Returned(f"Closed. confirmation: {confirmation}" if is_right else "Refused.", not is_right)
            return unknown(tool, given)

        return call

    words = (
        f"1. Run the command `{command}`, once. It prints a long log; one of its lines has the release token of "
        f"{incident}.\n2. Read {paths[0]} to {paths[-1]}, one after another, all of them. One of them names the "
        "service that is the root cause.\n3. Call `close_incident` with the token and the service. The answer is the "
        "confirmation that it returns."
    )
    reads = [Step("read_file", {"path": path}) for path in paths]
    end = Step("close_incident", {"token": "{token}", "service": "{service}"})
    return Task(
        task_id,
        prompt_of(task_id, words),
        (
            Tool("run_command", "Run a command and return what it prints.", ("command",)),
            Tool("read_file", "Read a file.", ("path",)),
            Tool("close_incident", "Close the incident.", ("token", "service")),
        ),
        begin,
        (Step("run_command", {"command": command}), *reads, end),
        {
            "token": Fact(0, incident, rf"release token of {incident}: (\S+)"),
            "service": Fact(1 + guilty, "root cause", r"root cause: service (\S+)"),
            "confirmation": Fact(len(reads) + 1, "confirmation", r"confirmation: (\S+)"),
        },
        ("confirmation",),
        joined("confirmation"),
        confirmation,
    )
