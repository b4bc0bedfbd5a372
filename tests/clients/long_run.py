"""A session of 300 steps by a real client, run once with `mode: off` and once as users have it.

Both sides of Keepwhole are recorded: what the client sent, and what the provider received. `STEPS=20 make clients` runs
shorter ones.
"""

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import NamedTuple, TypeAlias

import pytest

from tests.clients.drive import skip_unless_installed
from tests.clients.edits import is_turn
from tests.clients.plan import Plan, long_plan, short_plan
from tests.clients.recorded import Recorded, recorded
from tests.clients.stage import Stage, stage
from tests.clients.totals import Totals, add_totals
from tests.upstream.prompt_cache import Bill, Breakpoints, Prefixes
from tests.upstream.server import Asked

STEPS = int(os.environ.get("STEPS", "300"))


class LongRun(NamedTuple):
    """One session, as the client, the provider and the record saw it when it had ended."""

    stage: Stage
    till: Breakpoints | Prefixes
    plan: Plan
    sent: list[Asked]
    received: list[Asked]
    bills: list[Bill]
    stdout: str
    receipt: str

    @property
    def cost(self) -> float:
        """In tokens at the price of input."""
        return sum(bill.cost for bill in self.bills)

    @property
    def session(self) -> str:
        """The id by which the client resumes it."""
        return session_of(self.stage.client, self.stdout)

    @property
    def record(self) -> Recorded:
        return recorded(self.stage.home)


Ran: TypeAlias = Callable[[str, str], LongRun]


@contextmanager
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ran]:
    """The long session of a client in a mode, run when it is first asked for; its client can be started again."""
    with ExitStack() as open_stages:

        @cache
        def once(client: str, mode: str) -> LongRun:
            skip_unless_installed(client)
            home = tmp_path_factory.mktemp(f"{client}-{mode}")
            plans: dict[str, Plan] = {
                "main": long_plan(STEPS, home / "work", client != "codex"),
                "sub": short_plan("sub"),
            }
            plans |= {name: short_plan(name) for name in ("more", "forked", "auto", "after")}
            set_up, till = open_stages.enter_context(stage(client, home, plans))
            begun = time.monotonic()
            done = set_up.wrap("main", mode=mode, timeout=900)
            seconds = time.monotonic() - begun
            ended = (set_up.sent, set_up.received, [*till.bills], done.stdout, done.stderr)
            run = LongRun(set_up, till, plans["main"], *ended)
            add_totals(Totals.of(client, mode, run.received, run.bills, set_up.served.refused, seconds))
            return run

        yield once


def session_of(client: str, stdout: str) -> str:
    """The id by which a client resumes a session, from what it printed."""
    if client == "claude":
        return json.loads(stdout)["session_id"]
    first = json.loads(stdout.partition("\n")[0])
    return first["thread_id"] if client == "codex" else first["sessionID"]


def turns(asked: list[Asked]) -> list[Asked]:
    """The requests of conversations, which offer tools."""
    return [one for one in asked if is_turn(one) and one.body.get("tools")]
