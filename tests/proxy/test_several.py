"""Several proxies over one record: whichever answers, the provider gets the same bytes, and the record has it once."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.proxy.agent_model import Model
from tests.proxy.several import (
    WAYS,
    Hedging,
    Wandering,
    changed_prefixes,
    check_record,
    place,
    proxies,
    sent,
)
from tests.upstream.billing import TILLS, Clock
from tests.upstream.server import Upstream, upstream
from tests.upstream.spelling import Dialect

every_place = pytest.mark.parametrize("kind", ["sqlite", "postgres"])
SESSIONS, STEPS = 40, 25
WINDOW = 40_000


@contextmanager
def provider(dialect: Dialect, steps: int) -> Iterator[Upstream]:
    with upstream(Model(steps), TILLS[dialect](Clock(), window=2_000_000)) as served:
        yield served
    assert served.failed == []
    assert served.refused == []


def models(dialect: Dialect) -> dict[str, dict[str, int]]:
    return {"claude-sonnet-5" if dialect == "anthropic" else "gpt-5": {"window": WINDOW}}


def race(dialect: Dialect, kind: str, folder: Path, steps: int, seed: int) -> None:
    """One conversation, every request of which goes to both proxies at once."""
    at = place(kind, folder)
    with (
        provider(dialect, steps) as served,
        proxies(at, served.url, models=models(dialect)) as found,
    ):
        agent = Hedging(dialect, {way: one.url for way, one in found.items()}, "work", seed)
        agent.run()
        for one in found.values():
            one.rest()
        store = at.store("reader")
        kinds = check_record(store)
        store.close()
    asked = sent(served.asked)
    assert all(one.by_way.keys() == set(WAYS) for one in asked)
    unlike = [one.number for one in asked if len(set(one.by_way.values())) > 1]
    assert unlike == []
    assert kinds["aged"] > 3, kinds
    bodies = [one.by_way["a"] for one in asked]
    changed = changed_prefixes(bodies)
    told = [at for at, headers in enumerate(agent.headers) if "x-holdfast-decisions" in headers]
    assert set(changed) <= set(told), "what was sent before changed, and nobody decided so"


@every_place
@pytest.mark.parametrize("dialect", TILLS)
def test_one_request_at_two_proxies_at_once_is_one_request(tmp_path: Path, dialect: Dialect, kind: str) -> None:
    race(dialect, kind, tmp_path, 20, 1)
