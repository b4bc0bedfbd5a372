"""Real clients at a proxy that stays: it is killed in the middle of their work, and serves two of them at once."""

import threading
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.clients.edits import differences, take_apart
from tests.clients.long_run import turns
from tests.clients.plan import LARGE, Plan, ReadBack, listing, short_plan
from tests.clients.player import DONE
from tests.clients.recorded import recorded
from tests.clients.stage import Stage, stage
from tests.clients.standing_proxy import StandingProxy, standing_proxy
from tests.clients.test_wrap import said

pytestmark = pytest.mark.clients
KILLS = (4, 9)
"""Requests in whose middle the proxy is killed."""


def rounds(name: str) -> Plan:
    """Large outputs that are read back, by the recall tools of the proxy."""
    made: Plan = []
    for number in range(4):
        made += [[listing(f"{name} {number}", LARGE)], [ReadBack()], *short_plan(f"{name}{number}", 1)[2:]]
    return made


def run_at(proxy: StandingProxy, set_up: Stage, plan: str) -> str:
    """Run a client once, by the relay and the proxy; return what it printed."""
    return set_up.start(plan, port=set_up.between.port, base=f"/{proxy.port}").run(set_up.home, timeout=300).stdout


def assert_nothing_changed(set_up: Stage) -> None:
    """Assert that every request repeats the one before, hidden rounds and all."""
    for before, after in pairwise(turns(set_up.received)):
        assert said(after.body)[: len(said(before.body))] == said(before.body)


def test_a_proxy_that_is_killed_and_started_again_changes_nothing_of_what_was_sent(tmp_path: Path) -> None:
    with (
        stage("claude", tmp_path / "home", {"work": rounds("work")}) as (set_up, _),
        standing_proxy(tmp_path / "proxy", anthropic=set_up.served.url) as proxy,
    ):
        killed: list[int] = []

        def interfere(body: dict[str, Any]) -> None:
            """The provider has the request and the proxy does not live to see the answer."""
            if len(turns(set_up.received)) in KILLS and len(killed) < len(KILLS):
                killed.append(len(killed))
                proxy.kill()
                threading.Timer(0.5, proxy.start).start()

        set_up.player.before = interfere
        assert DONE.format("work") in run_at(proxy, set_up, "work")
        assert len(killed) == len(KILLS)
        assert set_up.served.refused == []
        assert any(take_apart(asked).recalls for asked in turns(set_up.received)), "nothing was recalled"
        assert differences(set_up.sent, set_up.received) == []
        assert_nothing_changed(set_up)
    kept = recorded(tmp_path / "proxy").outputs
    assert [
        listing(f"work {number}", LARGE).prints.rstrip() in kept[f"toolu_work_{3 * number}_0"] for number in range(4)
    ] == [True] * 4


def test_two_clients_at_once_at_one_proxy_do_not_meet(tmp_path: Path) -> None:
    with (
        stage("claude", tmp_path / "claude", {"left": rounds("left")}) as (left, _),
        stage("codex", tmp_path / "codex", {"right": rounds("right")}) as (right, _),
        standing_proxy(tmp_path / "proxy", anthropic=left.served.url, openai=right.served.url + "/v1") as proxy,
    ):
        printed: dict[str, str] = {}

        def work(set_up: Stage, plan: str) -> None:
            printed[plan] = run_at(proxy, set_up, plan)

        workers = [threading.Thread(target=work, args=given) for given in ((left, "left"), (right, "right"))]
        for one in workers:
            one.start()
        for one in workers:
            one.join()
        for set_up, plan in ((left, "left"), (right, "right")):
            assert DONE.format(plan) in printed.get(plan, "")
            assert set_up.served.refused == []
            assert differences(set_up.sent, set_up.received) == []
            assert_nothing_changed(set_up)
    names = recorded(tmp_path / "proxy").outputs
    assert {name.split("_")[1] for name in names if name.startswith("toolu_")} == {"left", "right"}
