"""A rule in the third result that decides what is right at step 40."""

import random
from collections.abc import Mapping

from bench.live import texts
from bench.live.task import Fact, Returned, Step, Task, Tool, World, joined, prompt_of, unknown

_CHAPTERS = 5
_DECIDES_AT = 40
_HANDBOOK = {"16k": 0.5, "64k": 0.4, "200k": 0.4}
"""Share of the handbook in all that is read."""


def make(task_id: str, seed: int, length: str) -> Task:
    """Return the task of a seed."""
    chance = random.Random(f"early_rule {seed} {length}")
    classes = [f"K{number}" for number in chance.sample(range(10, 99), 24)]
    depots = {name: texts.code(chance, "DPT-", 4) for name in classes}
    asked, order, confirmation = (
        chance.choice(classes[6:18]),
        chance.randrange(50_000, 99_999),
        texts.code(chance, "S-"),
    )
    total = texts.chars_of(length)
    handbook = _handbook(chance, int(total * _HANDBOOK[length]), depots)
    numbers = [str(order - number) for number in range(_DECIDES_AT - _CHAPTERS - 1, -1, -1)]
    sizes = texts.shares(int(total * (1 - _HANDBOOK[length])), [chance.uniform(0.6, 1.4) for _ in numbers])
    orders = {
        number: f"order {number} is of class {asked if number == str(order) else chance.choice(classes)}\n"
        + texts.prose(chance, size)
        for number, size in zip(numbers, sizes, strict=True)
    }

    def call(tool: str, given: Mapping[str, str]) -> Returned:
        if tool == "fetch_page" and given.get("name") in handbook:
            return Returned(handbook[given["name"]])
        if tool == "get_order" and given.get("number") in orders:
            return Returned(orders[given["number"]])
        if tool == "book_shipment":
            is_right = (given.get("order"), given.get("depot")) == (str(order), depots[asked])
            return Returned(f"Booked. confirmation: {confirmation}" if is_right else "Refused.", not is_right)
        return unknown(tool, given)

    def begin() -> World:
        return call

    words = (
        f"1. Fetch the pages {', '.join(handbook)} of the handbook, in this order, once each. One of them says from "
        "which depot orders of each class ship.\n"
        f"2. Get the orders {numbers[0]} to {numbers[-1]}, one after another, all of them.\n"
        f"3. Call `book_shipment` for order {order} with the depot of its class. The answer is the confirmation."
    )
    steps = [Step("fetch_page", {"name": name}) for name in handbook]
    steps += [Step("get_order", {"number": number}) for number in numbers]
    steps.append(Step("book_shipment", {"order": str(order), "depot": "{depot}"}))
    return Task(
        task_id,
        prompt_of(task_id, words),
        (
            Tool("fetch_page", "Fetch a page of the handbook.", ("name",)),
            Tool("get_order", "Get an order.", ("number",)),
            Tool("book_shipment", "Book the shipment of an order from a depot.", ("order", "depot")),
        ),
        begin,
        tuple(steps),
        {
            "depot": Fact(2, f"class {asked}", rf"class {asked} ship from depot (\S+),"),
            "confirmation": Fact(len(steps) - 1, "confirmation", r"confirmation: (\S+)"),
        },
        ("confirmation",),
        joined("confirmation"),
        confirmation,
    )


def _handbook(chance: random.Random, size: int, depots: Mapping[str, str]) -> dict[str, str]:
    """Return the pages of the handbook; the third, which is the longest, has the rules."""
    rules = [f"Orders of class {name} ship from depot {depot}, whatever they weigh." for name, depot in depots.items()]
    sizes = texts.shares(size, [1, 1, 4, 1, 1])
    return {
        f"page-{number}": texts.prose(chance, room, *(rules if number == 3 else []))
        for number, room in enumerate(sizes, 1)
    }
