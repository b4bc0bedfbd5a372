"""Several proxies over one record: whichever answers, the provider gets the same bytes, and the record has it once."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from holdfast.store.protocol import Store, entry_of
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
    unlikeness,
)
from tests.upstream.billing import TILLS, Clock
from tests.upstream.server import Upstream, upstream
from tests.upstream.spelling import Dialect

SESSIONS, STEPS = 40, 25
WINDOW = 40_000
ARTIFACT = re.compile(r"art_\d+_[0-9A-Za-z]+")


class Run(NamedTuple):
    """What one conversation came to."""

    answer: str
    asked: list[str]
    """What the provider got, but for the ids that are drawn."""
    entries: list[tuple[object, ...]]
    """What is on record, but for times and ids."""


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
    assert unlike == [], [unlikeness(*one.by_way.values()) for one in asked if one.number in unlike]
    assert kinds["aged"] > 3, kinds
    bodies = [one.by_way["a"] for one in asked]
    changed = changed_prefixes(bodies)
    told = [at for at, headers in enumerate(agent.headers) if "x-holdfast-decisions" in headers]
    unsaid = sorted(set(changed) - set(told))
    assert not unsaid, [unlikeness(bodies[at - 1], bodies[at]) for at in unsaid]


@pytest.mark.parametrize(("dialect", "kind"), [*zip(TILLS, ("postgres", "sqlite", "postgres"), strict=True)])
def test_one_request_at_two_proxies_at_once_is_one_request(tmp_path: Path, dialect: Dialect, kind: str) -> None:
    race(dialect, kind, tmp_path, 14, 1)


@pytest.mark.torture
@pytest.mark.parametrize("seed", range(SESSIONS))
def test_a_thousand_races_have_one_order_and_equal_bytes(tmp_path: Path, seed: int) -> None:
    kind = "sqlite" if seed % 4 == 3 else "postgres"
    race(list(TILLS)[seed % 3], kind, tmp_path, STEPS, seed)


def entries_but_for_chance(store: Store, session: str) -> list[tuple[object, ...]]:
    """The entries of a session without what is drawn or timed: ids by where they were first used."""
    names: dict[str, str] = {}
    found: list[tuple[object, ...]] = []
    for row in store.rows(session):
        entry = entry_of(row)
        name = names.setdefault(entry.header.trace_id, f"#{len(names)}")
        own = {
            key: value
            for key, value in entry.header.as_dict().items()
            if key not in ("at", "trace_id", "artifact_id", "first_ms", "total_ms", "base", "same", "digest", "size")
            and key != "shown_digest"
        }
        found.append((entry.kind, name, *sorted(own.items(), key=str)))
    return found


def run_through(dialect: Dialect, kind: str, folder: Path, ways: tuple[str, ...]) -> Run:
    """One conversation, each request of which goes to one of these proxies."""
    at = place(kind, folder)
    with provider(dialect, 24) as served, proxies(at, served.url, ways, models=models(dialect)) as found:
        agent = Wandering(dialect, {way: one.url for way, one in found.items()}, "work", 5)
        agent.between = lambda: [one.rest() for one in found.values()]
        outcome = agent.run()
        for one in found.values():
            one.rest()
        store = at.store("reader")
        check_record(store)
        (info,) = store.sessions()
        entries = entries_but_for_chance(store, info.name)
        store.close()
    return Run(outcome.answer, [ARTIFACT.sub("art_0_", asked.data.decode()) for asked in served.asked], entries)


@pytest.mark.parametrize(("dialect", "kind"), [*zip(TILLS, ("postgres", "sqlite", "postgres"), strict=True)])
def test_a_conversation_through_two_proxies_is_what_it_is_through_one(
    tmp_path: Path, dialect: Dialect, kind: str
) -> None:
    alone = run_through(dialect, kind, tmp_path / "alone", ("a",))
    both = run_through(dialect, kind, tmp_path / "both", WAYS)
    assert both.answer == alone.answer
    assert len(both.asked) == len(alone.asked)
    unlike = [at for at, pair in enumerate(zip(alone.asked, both.asked, strict=True)) if pair[0] != pair[1]]
    assert unlike == [], unlikeness(alone.asked[unlike[0]].encode(), both.asked[unlike[0]].encode())
    assert both.entries == alone.entries
