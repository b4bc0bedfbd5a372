"""Codes that only images show: those of the first, a middle and the last page are needed at the end."""

import random
from collections.abc import Mapping

from bench.live import texts
from bench.live.picture import draw_code
from bench.live.task import CHARS_PER_TOKEN, Fact, Returned, Step, Task, Tool, World, joined, prompt_of, unknown

_PAGES = {"16k": 9, "64k": 20, "200k": 40}
_SIZES = {"16k": (560, 420), "64k": (840, 616), "200k": (1120, 840)}


def make(task_id: str, seed: int, length: str) -> Task:
    """Return the task of a seed."""
    chance = random.Random(f"pictures {seed} {length}")
    names = [f"page-{number:02}" for number in range(1, _PAGES[length] + 1)]
    codes = {name: str(chance.randrange(100_000, 999_999)) for name in names}
    width, height = _SIZES[length]
    tokens = width * height // 784
    room = texts.chars_of(length) - int(tokens * CHARS_PER_TOKEN) * len(names)
    sizes = texts.shares(room, [chance.uniform(0.6, 1.4) for _ in names])
    dumps = {name: f"Shown: {name}\n{texts.prose(chance, size)}" for name, size in zip(names, sizes, strict=True)}
    images = {name: draw_code(codes[name], name, width, height) for name in names}

    def call(tool: str, given: Mapping[str, str]) -> Returned:
        name = given.get("page", "")
        return (
            Returned(dumps[name], image=images[name]) if tool == "look_at" and name in images else unknown(tool, given)
        )

    def begin() -> World:
        return call

    places = (0, chance.randrange(2, len(names) - 3), len(names) - 1)
    facts = {f"code_{at}": Fact(at, names[at], rf"{names[at]} shows (\d+)", is_pictured=True) for at in places}
    wanted = ", ".join(names[at] for at in places)
    asks = (
        f"Look at {names[0]} to {names[-1]}, one after another, all of them. Each shows a number as an image. "
        f"The answer is the numbers of {wanted}, in this order, joined by `-`."
    )
    return Task(
        task_id,
        prompt_of(task_id, asks),
        (Tool("look_at", "Look at a page: its text and an image of it.", ("page",)),),
        begin,
        tuple(Step("look_at", {"page": name}) for name in names),
        facts,
        tuple(facts),
        joined(*facts),
        "-".join(codes[names[at]] for at in places),
    )
