"""Two accounts reconciled over many tables: one row of each table counts, and all tables are needed at the end."""

import random
from collections.abc import Mapping

from bench.live import texts
from bench.live.task import Fact, Returned, Step, Task, Tool, World, prompt_of, unknown

_MONTHS = {"16k": 2, "64k": 5, "200k": 8}


def make(task_id: str, seed: int, length: str) -> Task:
    """Return the task of a seed."""
    chance = random.Random(f"reconciliation {seed} {length}")
    accounts = [f"A{number}" for number in chance.sample(range(10_000, 99_999), 2)]
    tables = [f"{side}-{month:02}" for month in range(1, _MONTHS[length] + 1) for side in ("ledger", "bank")]
    # The first table is always longer than what is shown of structured data on arrival.
    sizes = texts.shares(texts.chars_of(length), [3.4, *(chance.uniform(0.7, 1.3) for _ in tables[1:])])
    amounts = {(table, account): chance.randrange(100, 99_999) for table in tables for account in accounts}
    exports = {
        table: _export(chance, size, {account: amounts[table, account] for account in accounts})
        for table, size in zip(tables, sizes, strict=True)
    }

    def call(tool: str, given: Mapping[str, str]) -> Returned:
        if tool == "export_table" and given.get("name") in exports:
            return Returned(exports[given["name"]])
        return unknown(tool, given)

    def begin() -> World:
        return call

    def difference(values: Mapping[str, str]) -> str:
        signed = ((1 if name.startswith("ledger") else -1) * int(value) for name, value in values.items())
        return str(sum(signed))

    facts = {
        f"{table}_{account}".replace("-", "_"): Fact(at, account, rf"^(?:\d+: )?{account},[^,\n]*,[^,\n]*,(\d+)$")
        for at, table in enumerate(tables)
        for account in accounts
    }
    words = (
        f"Export the tables {', '.join(tables)}, in this order. Each has one row for each account, with the amount in "
        f"cents in the last column. For the accounts {' and '.join(accounts)} together: sum the amounts in all ledger "
        "tables, and subtract the sum of the amounts in all bank tables. The answer is the difference in cents, as a "
        "whole number, with a minus sign if it is negative."
    )
    right = {name: str(amount) for name, amount in zip(facts, amounts.values(), strict=True)}
    return Task(
        task_id,
        prompt_of(task_id, words),
        (Tool("export_table", "Export a table as CSV.", ("name",)),),
        begin,
        tuple(Step("export_table", {"name": table}) for table in tables),
        facts,
        tuple(facts),
        difference,
        difference(right),
    )


def _export(chance: random.Random, size: int, amounts: Mapping[str, int]) -> str:
    rows = [
        f"A{number},2026-{chance.randrange(1, 13):02}-{chance.randrange(1, 29):02},{texts.code(chance, 'REF', 5)},"
        f"{chance.randrange(100, 99_999)}"
        for number in chance.sample(range(100_000, 999_999), max(8, size // 32))
    ]
    planted = [f"{account},2026-06-15,{texts.code(chance, 'REF', 5)},{amount}" for account, amount in amounts.items()]
    return "account,date,reference,cents\n" + texts.plant(chance, rows, planted)
