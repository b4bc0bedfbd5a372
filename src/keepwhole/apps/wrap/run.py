"""One run of a client behind a proxy of its own, from the command line to the exit code.

Owns: the order of the steps, and that nothing is left behind but the record.
Must not know: how a client is started (`launch`), what a receipt says.
"""

import asyncio
import logging
import os
import secrets
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

from keepwhole import config, trust
from keepwhole.apps.kept_words import recall_folder
from keepwhole.apps.listener import Address
from keepwhole.apps.proxy.server import ProxyOptions, start_proxy
from keepwhole.apps.proxy.telemetry import Reporter
from keepwhole.apps.request_figures import profiles_with
from keepwhole.apps.wrap.child import Child, InheritedState, leave_signals_to_the_child
from keepwhole.apps.wrap.clients import other_upstreams, unusual_addresses
from keepwhole.apps.wrap.launch import ADDRESSES, Client, ClientCommand, Launch, prepared
from keepwhole.apps.wrap.receipt import Meter, WarningCounter, receipt
from keepwhole.config import Settings
from keepwhole.errors import StoreError, UsageError
from keepwhole.logs.client_originals import ClientFolders
from keepwhole.store.memory import MemoryStore
from keepwhole.store.protocol import ReportsTrouble, Store

_HOST = "127.0.0.1"
_BY_PATH = ("recall", "recall_reader")


class RunEnd(NamedTuple):
    """The exit code and the receipt of a run."""

    code: int
    receipt: list[str]


def run(
    argv: Sequence[str],
    client: Client,
    settings: Settings,
    session: str | None = None,
    reporters: Sequence[Reporter] = (),
    say: Callable[[str], None] = lambda line: None,
) -> RunEnd:
    """Run a command as this kind of client, and wait until it has ended; `say` is called with where requests go."""
    inherited = InheritedState.now()
    command = ClientCommand(argv, dict(os.environ), recall_folder(settings.home))
    _refuse_unapproved(client, command)
    launch = client.launch(command)
    settings = settings_for(client, settings, launch)
    for name, url in other_upstreams(settings.proxy.upstreams).items():
        say(f"keepwhole: {name} requests, and the key in them, go to {url}")
    settings, store = _open_record(settings, say)
    meter = Meter(since=int(time.time() * 1000))

    folders = ClientFolders(os.path.expanduser("~"), command.environ)
    options = ProxyOptions(
        Address(_HOST, 0), secrets.token_urlsafe(24), (meter.add, *reporters), session, client.name, folders
    )
    leave_signals_to_the_child()
    with _count_warnings() as trouble, ExitStack() as during_run:

        def start(base: str) -> Child:
            return Child(*during_run.enter_context(prepared(launch, command, base)), inherited)

        code = asyncio.run(_run_behind_proxy(settings, store, options, start))
        tally = meter.tally(store, settings)
    store.close()
    tally = tally._replace(trouble={**tally.trouble, **trouble.counts})
    return RunEnd(code, receipt(tally, profiles_with(settings.models), argv[0]))


def _open_record(settings: Settings, say: Callable[[str], None]) -> tuple[Settings, Store]:
    """The record; where nothing can be stored in it, settings and a store with which requests are sent unchanged."""
    try:
        store = config.open_record(settings)
        reason = store.trouble() if isinstance(store, ReportsTrouble) else None
    except StoreError as error:
        reason = str(error)
    else:
        if reason is None:
            return settings, store
        store.close()
    say(f"keepwhole: nothing of this run is recorded, and requests are sent unchanged: {reason}")
    return settings.replace(mode="off"), MemoryStore()


def _refuse_unapproved(client: Client, command: ClientCommand) -> None:
    """Refuse to start where a file that came with the folder decides where requests go, and nobody approved it."""
    for path, addresses in unusual_addresses(client, command, os.getcwd()):
        if not trust.is_approved(path, {ADDRESSES: addresses}):
            where = ", ".join(addresses.values())
            raise UsageError(
                f"{ascii(path)[1:-1]} sends requests, and the key in them, to {ascii(where)[1:-1]}. If that is right, "
                "approve it with `keepwhole trust`."
            )


def settings_for(client: Client, settings: Settings, launch: Launch) -> Settings:
    """The settings of a run; how results are read back depends on the client, unless the user has set it."""
    proxy = settings.proxy.replace(tenants="one", upstreams={**settings.proxy.upstreams, **launch.upstreams})
    own = {} if any(key in settings.sources for key in _BY_PATH) else {"recall": client.recall}
    return settings.replace(proxy=proxy, **own, **({"recall_reader": client.reader} if own else {}))


async def _run_behind_proxy(
    settings: Settings, store: Store, options: ProxyOptions, start: Callable[[str], Child]
) -> int:
    async with start_proxy(settings, store, options) as (_, port):
        child = start(options.address.replace(port=port).base_url(options.token))
        with ThreadPoolExecutor(1) as waiting:  # the default threads belong to requests
            return await asyncio.get_running_loop().run_in_executor(waiting, child.wait)


@contextmanager
def _count_warnings() -> Generator[WarningCounter]:
    """Count Keepwhole's warnings instead of printing them."""
    log, counting = logging.getLogger("keepwhole"), WarningCounter()
    before, log.propagate = log.propagate, False
    log.addHandler(counting)
    try:
        yield counting
    finally:
        log.removeHandler(counting)
        log.propagate = before
