"""The proxy as a process: from the settings to a port, and down again without losing a stream.

Owns: start, reload, stop, and what the process allows itself.
Must not know: what a request is.
"""

import asyncio
import os
import resource
import signal
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import aiohttp
from aiohttp import web

from keepwhole.apps.listener import Address, listened_at
from keepwhole.apps.proxy.gate import Gate
from keepwhole.apps.proxy.proxy import Proxy, Setup
from keepwhole.apps.proxy.request_reader import Connections
from keepwhole.apps.proxy.tenant_router import Desks
from keepwhole.apps.proxy.tenants import Tenants
from keepwhole.apps.proxy.turn import Turn
from keepwhole.apps.proxy.upstreams import Upstreams
from keepwhole.apps.redaction import redact_logs
from keepwhole.config import Settings
from keepwhole.metrics import Metrics
from keepwhole.store.protocol import Store

DRAIN_WITHIN = 10.0
"""Seconds that streams get to end when the proxy stops."""
_LET_GO_WITHIN = 0.5
"""Seconds until those that have not ended by then are let go; the library takes this time twice."""
_LONGEST_HEADER = 65_536
_SWITCH = 0.0005
"""Seconds after which a worker thread lets the loop go on: streams must not wait for what is put on record."""


class Wanted(NamedTuple):
    """Where and how to listen."""

    address: Address
    token: str | None
    told: Sequence[Callable[[Turn], None]] = ()
    """Who is told of each request, once it is on record."""
    session: str | None = None
    """The session of all requests; else each has the one that it names."""
    agent: str | None = None
    """What sessions go by on record."""


def setup_of(settings: Settings, store: Store, wanted: Wanted, port: int, metrics: Metrics | None = None) -> Setup:
    """What the settings say, for a listener at this port; `metrics` are counted on where there were some before."""
    tenants = Tenants(settings.home, settings.proxy.tenants, settings.proxy.holdout, store)
    return Setup(
        Gate(wanted.address.replace(port=port), wanted.token, settings.proxy.hosts),
        Upstreams(settings.proxy.upstreams),
        Desks(settings, store, tenants, metrics, session=wanted.session, agent=wanted.agent),
    )


@asynccontextmanager
async def listening(settings: Settings, store: Store, wanted: Wanted) -> AsyncGenerator[tuple[Proxy, int]]:
    """A proxy that listens, and its port; on leaving, streams get time to end and everything is put on record."""
    private()
    sys.setswitchinterval(_SWITCH)
    async with _client(settings.proxy.patience) as client:
        proxy = Proxy(setup_of(settings, store, wanted, wanted.address.port), client, wanted.told)
        server = Connections(proxy.handle, settings.proxy.max_connections, **_limits())
        runner = web.ServerRunner(server, shutdown_timeout=_LET_GO_WITHIN)
        proxy.spoke = server.spoke
        await runner.setup()
        try:
            with listened_at(wanted.address):
                await web.TCPSite(runner, wanted.address.host, wanted.address.port).start()
            port = runner.addresses[0][1]
            proxy.setup = setup_of(settings, store, wanted, port)
            yield proxy, port
        finally:
            await _drained(runner, proxy)
            await runner.cleanup()
            await proxy.drain()


async def _drained(runner: web.ServerRunner, proxy: Proxy) -> None:
    """Let nobody new in, and give streams time to end."""
    for site in list(runner.sites):
        await site.stop()
    until = asyncio.get_running_loop().time() + DRAIN_WITHIN
    while proxy.counters.active and asyncio.get_running_loop().time() < until:
        await asyncio.sleep(0.02)


async def until_stopped(reload: Callable[[], None]) -> None:
    """Wait for SIGTERM or SIGINT, after which a second one waits for nothing; SIGHUP reads the settings again."""
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()
    task = asyncio.current_task()

    def stop() -> None:
        if stopped.is_set() and task is not None:
            task.cancel()
        stopped.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    loop.add_signal_handler(signal.SIGHUP, reload)
    await stopped.wait()


def private() -> None:
    """Leave nothing of a client's key behind: no core dumps, no files that others read, no key in a log."""
    redact_logs()
    os.umask(0o077)
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def _client(patience: int) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        auto_decompress=False,
        connector=aiohttp.TCPConnector(limit=0),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=30, sock_read=patience),
        max_field_size=_LONGEST_HEADER,
        trust_env=False,
    )


def _limits() -> dict[str, Any]:
    return {
        "max_line_size": 16_384,
        "max_field_size": _LONGEST_HEADER,
        "keepalive_timeout": 75.0,
        "access_log": None,
    }
