"""The proxy as a process: from the settings to a port, and down again without losing a stream.

Owns: start, reload, stop, and the limits that the process sets itself.
Must not know: what is in a request.
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

from keepwhole.apps.listener import Address, Gate, usage_error_if_taken
from keepwhole.apps.proxy.connection import Connections
from keepwhole.apps.proxy.destination import TenantRouter, Tenants, Upstreams
from keepwhole.apps.proxy.proxy import Proxy, Setup
from keepwhole.apps.proxy.telemetry import Reporter
from keepwhole.apps.redaction import redact_logs
from keepwhole.config import Settings
from keepwhole.errors import UsageError
from keepwhole.logs.client_originals import ClientFolders
from keepwhole.metrics import Metrics
from keepwhole.store.protocol import Store

DRAIN_WITHIN = 10.0
"""Seconds that streams get to end when the proxy stops."""
_LET_GO_WITHIN = 0.5
"""Seconds after which the remaining streams are closed; the library takes this time twice."""
_LONGEST_HEADER = 65_536
_SWITCH = 0.0005
"""Seconds after which a worker thread yields to the event loop: streams must not wait for recording."""


class ProxyOptions(NamedTuple):
    """Where a proxy listens, and how it names sessions."""

    address: Address
    token: str | None
    reporters: Sequence[Reporter] = ()
    """Called with each request once it is recorded."""
    session: str | None = None
    """The session of all requests; without it each request names its own."""
    agent: str | None = None
    """The agent's name in the record."""
    client_folders: ClientFolders | None = None
    """The folders in which the clients save what they cut; None where they may run elsewhere."""


def build_setup(
    settings: Settings, store: Store, options: ProxyOptions, port: int, metrics: Metrics | None = None
) -> Setup:
    """Build the parts that depend on the settings; `metrics` of an earlier setup are counted on."""
    tenants = Tenants(settings.home, settings.proxy.tenants, settings.proxy.holdout, store)
    own = {"session": options.session, "agent": options.agent, "client_folders": _client_folders(settings, options)}
    return Setup(
        Gate(options.address.replace(port=port), options.token, settings.proxy.hosts),
        Upstreams(settings.proxy.upstreams),
        TenantRouter(settings, store, tenants, metrics, **own),
    )


def _client_folders(settings: Settings, options: ProxyOptions) -> ClientFolders | None:
    """The folders of clients that may be read; refused where somebody else's client could send a request."""
    if options.client_folders is not None or not settings.proxy.client_files:
        return options.client_folders
    if not options.address.is_loopback:
        raise UsageError("`proxy.client_files` is for clients on this machine: turn it off, or listen on 127.0.0.1.")
    return ClientFolders(os.path.expanduser("~"), os.environ)


@asynccontextmanager
async def start_proxy(settings: Settings, store: Store, options: ProxyOptions) -> AsyncGenerator[tuple[Proxy, int]]:
    """Start a proxy and yield it with its port; on leaving, streams get time to end and everything is recorded."""
    harden_process()
    sys.setswitchinterval(_SWITCH)
    async with _client(settings.proxy.patience) as client:
        proxy = Proxy(build_setup(settings, store, options, options.address.port), client, options.reporters)
        server = Connections(proxy.handle, settings.proxy.max_connections, **_limits())
        runner = web.ServerRunner(server, shutdown_timeout=_LET_GO_WITHIN)
        proxy.on_request, proxy.on_admitted = server.note_request, server.note_client
        await runner.setup()
        try:
            with usage_error_if_taken(options.address):
                await web.TCPSite(runner, options.address.host, options.address.port).start()
            port = runner.addresses[0][1]
            proxy.setup = build_setup(settings, store, options, port)
            yield proxy, port
        finally:
            proxy.is_stopping = True
            for site in list(runner.sites):
                await site.stop()  # no more connections
            await _wait_for_answers(proxy, DRAIN_WITHIN)
            await runner.cleanup()
            await _wait_for_answers(proxy, _LET_GO_WITHIN)  # those that this broke off are recorded too
            await proxy.drain()


async def _wait_for_answers(proxy: Proxy, within: float) -> None:
    """Give answers time to end."""
    until = asyncio.get_running_loop().time() + within
    while proxy.counters.active and asyncio.get_running_loop().time() < until:
        await asyncio.sleep(0.02)


async def wait_until_stopped(reload: Callable[[], None]) -> None:
    """Wait for SIGTERM or SIGINT, of which a second one cancels the task; SIGHUP calls `reload`."""
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


def harden_process() -> None:
    """Keep clients' keys inside the process: no core dumps, no files that others can read, no key in a log."""
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
