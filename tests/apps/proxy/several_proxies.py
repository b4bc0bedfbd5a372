"""Several proxies over one record, and agents that do not care which of them answers.

Owns: starting them, clients that take turns or ask both at once, and what the record has at the end.
Must not know: what is promised.
"""

import http.client
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from keepwhole import Session, SqliteStore
from keepwhole.canonical.entry import Decision, Result
from keepwhole.config import Settings
from keepwhole.policies.settings import CAREFUL
from keepwhole.store.protocol import Store, entry_of
from tests.apps.proxy.agent import Agent, Outcome
from tests.apps.proxy.proxy_server import Served, proxy
from tests.postgres import fresh_url
from tests.upstream.server import Asked
from tests.upstream.spelling import Dialect, Json

EAGER = CAREFUL.replace(
    keep_steps=1,
    max_loss=1_000,
    start=3_000,
    most=24_000,
    worth=0,
    horizon=10,
    min_tokens=50,
    clear_at_least=300,
)
"""Ages every few steps."""
WAYS = ("a", "b")


class Place(NamedTuple):
    """One record, and how to reach it from another machine."""

    kind: str
    url: str
    folder: Path

    def store(self, machine: str) -> Store:
        if self.kind == "sqlite":
            return SqliteStore(str(self.folder / "record"))
        from keepwhole.store.postgres.store import PostgresStore

        return PostgresStore(self.url, str(self.folder / machine))

    def settings(self, machine: str, **more: Any) -> Settings:
        home = str(self.folder / ("record" if self.kind == "sqlite" else machine))
        return Settings(**{"home": home, "policy": "auto", "auto": EAGER, **more})


def place(kind: str, folder: Path) -> Place:
    """A new, empty record."""
    return Place(kind, fresh_url() if kind == "postgres" else "", folder)


@contextmanager
def proxies(at: Place, upstream: str, ways: Sequence[str] = WAYS, **settings: Any) -> Iterator[dict[str, Served]]:
    """A proxy for each way, each with a store and a home of its own."""
    with ExitStack() as stack:
        found: dict[str, Served] = {}
        for way in ways:
            store = at.store(way)
            stack.callback(store.close)
            own = at.settings(way, **settings)
            found[way] = stack.enter_context(proxy(upstream, store=store, settings=own))
        yield found


class Wandering(Agent):
    """An agent each of whose requests goes to another proxy, as it comes."""

    def __init__(self, dialect: Dialect, urls: dict[str, str], session: str, seed: int) -> None:
        super().__init__(dialect, next(iter(urls.values())), session)
        self._urls, self._chance, self._number = urls, random.Random(seed), 0
        self.between: Callable[[], object] = lambda: None
        """Called before each request."""
        self._open = {way: http.client.HTTPConnection(url.removeprefix("http://")) for way, url in urls.items()}

    def run(self, *given: Any, **more: Any) -> Outcome:
        try:
            return super().run(*given, **more)
        finally:
            for connection in self._open.values():
                connection.close()

    def _sent(self, body: bytes) -> http.client.HTTPResponse:
        self.between()
        self._number += 1
        return self._through(self._chance.choice(sorted(self._urls)), body)

    def _through(self, way: str, body: bytes) -> http.client.HTTPResponse:
        told = {**self._headers, "x-way": way, "x-number": str(self._number)}
        for again in (False, True):
            connection = self._open[way]
            try:
                connection.request("POST", self._wire.path, body, told)
                return connection.getresponse()
            except (http.client.RemoteDisconnected, BrokenPipeError):
                connection.close()
                if again:
                    raise
        raise AssertionError


class Hedging(Wandering):
    """An agent that asks all proxies at the same moment, or nearly, and goes on with the answer of one."""

    def _sent(self, body: bytes) -> http.client.HTTPResponse:
        self._number += 1
        came: dict[str, http.client.HTTPResponse] = {}
        chosen = self._chance.choice(sorted(self._urls))
        pauses = {way: self._chance.choice((0, 0, 0.001, 0.004, 0.01)) for way in self._urls}
        start = threading.Barrier(len(self._urls))

        def ask(way: str) -> None:
            start.wait()
            time.sleep(pauses[way])
            came[way] = self._through(way, body)
            if way != chosen:
                came[way].read()

        threads = [threading.Thread(target=ask, args=(way,)) for way in self._urls]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert came.keys() == self._urls.keys(), "somebody got no answer"
        return came[chosen]


class Sent(NamedTuple):
    """What the provider got for one request of a client, by way: the first round of each."""

    number: int
    by_way: dict[str, bytes]


def sent(asked: Sequence[Asked]) -> list[Sent]:
    """The first round of each request, in the order in which clients asked."""
    found: dict[int, dict[str, bytes]] = {}
    for one in asked:
        found.setdefault(int(one.headers["x-number"]), {}).setdefault(one.headers["x-way"], one.data)
    return [Sent(number, found[number]) for number in sorted(found)]


def messages(data: bytes) -> list[Json]:
    """The messages of a request without their cache markers."""
    body = json.loads(data)
    return [json.loads(json.dumps(one), object_hook=_unmarked) for one in body.get("messages") or body["input"]]


def _unmarked(fields: Json) -> Json:
    return {key: value for key, value in fields.items() if key != "cache_control"}


def changed_prefixes(bodies: Sequence[bytes]) -> list[int]:
    """The requests that do not begin with all that the one before them sent."""
    whole = [messages(body) for body in bodies]
    return [at for at, (before, after) in enumerate(pairwise(whole), 1) if after[: len(before)] != before]


def unlikeness(one: bytes, other: bytes) -> tuple[bytes, bytes]:
    """Where two requests part."""
    at = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return one[max(0, at - 200) : at + 300], other[max(0, at - 200) : at + 300]


def check_record(store: Store) -> Counter[str]:
    """Every session is whole, in one order, each result and each decision once; gives what kinds of entries it has."""
    kinds: Counter[str] = Counter()
    for info in store.sessions():
        entries = [entry_of(row) for row in store.rows(info.name)]
        assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
        assert Session(info.name, store=store).verify().whole
        results = [entry for entry in entries if isinstance(entry.header, Result)]
        calls = Counter((one.header.call_id, one.facts.digest) for one in results if one.header.call_id)  # type: ignore[union-attr]
        assert max(calls.values(), default=1) == 1, "a result is there twice"
        made = Counter((one.header.trace_id, one.header.rule) for one in entries if isinstance(one.header, Decision))
        assert max(made.values(), default=1) == 1, "something was decided twice"
        kinds.update(entry.kind for entry in entries)
        kinds.update(one.header.rule for one in entries if isinstance(one.header, Decision))
    return kinds
