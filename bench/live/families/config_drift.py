"""One quota in each of many nested documents; the document that differs is the answer."""

import json
import random
from collections import Counter
from collections.abc import Mapping

from bench.live import texts
from bench.live.task import Fact, Returned, Step, Task, Tool, World, prompt_of, unknown

_SERVICES = {"16k": 4, "64k": 9, "200k": 16}
_RECORD = 88
"""Characters of one record, about."""


def make(task_id: str, seed: int, length: str) -> Task:
    """Return the task of a seed."""
    chance = random.Random(f"config_drift {seed} {length}")
    account = texts.code(chance, "acct-", 5).lower()
    names = [f"{name}-api" for name in chance.sample(texts.NAMES, 12)] + [f"job-{number}" for number in range(9)]
    names = names[: _SERVICES[length]]
    usual, odd, other = chance.randrange(100, 500), chance.choice(names), chance.randrange(500, 900)
    quotas = {name: other if name == odd else usual for name in names}
    sizes = texts.shares(texts.chars_of(length), [3.2, *(chance.uniform(0.7, 1.3) for _ in names[1:])])
    documents = {
        name: _document(chance, size, name, account, quotas[name]) for name, size in zip(names, sizes, strict=True)
    }

    def call(tool: str, given: Mapping[str, str]) -> Returned:
        if tool == "describe_service" and given.get("name") in documents:
            return Returned(documents[given["name"]])
        return unknown(tool, given)

    def begin() -> World:
        return call

    def find_odd(values: Mapping[str, str]) -> str:
        by_name = dict(zip(names, (values[f"quota_{at}"] for at in range(len(names))), strict=True))
        rare = Counter(by_name.values()).most_common()[-1][0]
        return next(f"{name}:{quota}" for name, quota in by_name.items() if quota == rare)

    found = rf'"account": "{account}",\s+"region": "[^"]*",\s+"quota": (\d+)'
    words = (
        f"Describe the services {', '.join(names)}, in this order. Each has a quota for the account {account}. All but "
        "one of these quotas are the same. The answer is the service whose quota differs, a colon, and that quota, "
        "as in `birch-api:120`."
    )
    return Task(
        task_id,
        prompt_of(task_id, words),
        (Tool("describe_service", "Return the configuration of a service as JSON.", ("name",)),),
        begin,
        tuple(Step("describe_service", {"name": name}) for name in names),
        {f"quota_{at}": Fact(at, account, found) for at in range(len(names))},
        tuple(f"quota_{at}" for at in range(len(names))),
        find_odd,
        f"{odd}:{other}",
    )


def _document(chance: random.Random, size: int, name: str, account: str, quota: int) -> str:
    count = max(6, size // _RECORD)
    records = [
        {"account": texts.code(chance, "acct-", 5).lower(), "region": region, "quota": chance.randrange(100, 900)}
        for region in chance.choices(texts.NAMES, k=count)
    ]
    records[chance.randrange(count // 3, 2 * count // 3)].update(account=account, quota=quota)
    return json.dumps({"service": name, "version": 3, "limits": records, "owner": chance.choice(texts.NAMES)}, indent=2)
