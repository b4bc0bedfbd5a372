"""One run of an agent behind a proxy of its own, from the command line to the exit code.

Owns: the order of things, and that nothing is left behind but the record.
Must not know: how an agent is pointed (`agents`), what a receipt says.
"""

import asyncio
import logging
import os
import secrets
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import NamedTuple

from keepwhole.apps.listener import Address
from keepwhole.apps.proxy.server import ProxyOptions, start_proxy
from keepwhole.apps.proxy.telemetry import Reporter
from keepwhole.apps.wrap.agents import Agent
from keepwhole.apps.wrap.child import Child, Inherited, leave_signals_to_the_child
from keepwhole.apps.wrap.launch import Pointing, Run
from keepwhole.apps.wrap.receipt import Meter, Trouble, receipt, results_in
from keepwhole.config import Settings
from keepwhole.models.profiles import profile_for
from keepwhole.store.factory import open_store
from keepwhole.store.protocol import Store

_HOST = "127.0.0.1"
_BY_PATH = ("recall", "recall_reader")


class Ended(NamedTuple):
    """How a run ended."""

    code: int
    receipt: list[str]


def run(
    argv: Sequence[str],
    agent: Agent,
    settings: Settings,
    session: str | None = None,
    reporters: Sequence[Reporter] = (),
) -> Ended:
    """Run a command as this kind of agent, and wait until it has ended."""
    inherited = Inherited.now()
    asked = Run(argv, dict(os.environ), results_in(settings.home))
    pointing = agent.pointed(asked)
    settings = settings_for(agent, settings, pointing)
    store = open_store(settings.store, settings.home, blobs=settings.blobs, inline_body=settings.inline_body)
    meter = Meter(since=int(time.time() * 1000))

    def start(base: str) -> Child:
        return Child(*pointing.command(asked, base), inherited)

    options = ProxyOptions(Address(_HOST, 0), secrets.token_urlsafe(24), (meter.add, *reporters), session, agent.name)
    leave_signals_to_the_child()
    with _troubles() as trouble:
        code = asyncio.run(_behind_a_proxy(settings, store, options, start))
        tally = meter.tally(store, settings)
    store.close()
    tally = tally._replace(trouble={**tally.trouble, **trouble.counts})
    return Ended(code, receipt(tally, lambda model: profile_for(model, settings.models), argv[0]))


def settings_for(agent: Agent, settings: Settings, pointing: Pointing) -> Settings:
    """The settings of a run; how results are read back is the agent's, unless the user said something else."""
    proxy = settings.proxy.replace(tenants="one", upstreams={**settings.proxy.upstreams, **pointing.upstreams})
    own = {} if any(key in settings.sources for key in _BY_PATH) else {"recall": agent.recall}
    return settings.replace(proxy=proxy, **own, **({"recall_reader": agent.reader} if own else {}))


async def _behind_a_proxy(
    settings: Settings, store: Store, options: ProxyOptions, start: Callable[[str], Child]
) -> int:
    async with start_proxy(settings, store, options) as (_, port):
        child = start(options.address.replace(port=port).base_url(options.token))
        with ThreadPoolExecutor(1) as waiting:  # the threads that there are belong to requests
            return await asyncio.get_running_loop().run_in_executor(waiting, child.wait)


@contextmanager
def _troubles() -> Generator[Trouble]:
    """Our warnings, counted instead of printed."""
    log, counting = logging.getLogger("keepwhole"), Trouble()
    before, log.propagate = log.propagate, False
    log.addHandler(counting)
    try:
        yield counting
    finally:
        log.removeHandler(counting)
        log.propagate = before
