"""A standing proxy reads no file of a client, unless the settings say that all clients run here."""

from pathlib import Path

import pytest

from keepwhole import MemoryStore
from keepwhole.apps.listener import Address
from keepwhole.apps.proxy.server import ProxyOptions, build_setup
from keepwhole.config import Settings
from keepwhole.errors import UsageError
from keepwhole.exchange.exchange import Exchange
from keepwhole.proxy_settings import ProxySettings
from keepwhole.store.protocol import body_of
from tests.exchange.client_files import LONG, Claude, conversation, request


def recorded(host: str, **proxy: bool) -> int:
    """The bytes on record of a result that a client cut from a file in the user's home."""
    settings = Settings(home="unused", proxy=ProxySettings(tenants="one", **proxy))
    store = MemoryStore()
    setup = build_setup(settings, store, ProxyOptions(Address(host, 0), "token"), 1)
    client = Claude(Path.home())
    client.save("b1", LONG)
    body = request(client.tool, conversation(client.tool, ("c1", client.cut("b1", LONG))))
    exchange = setup.router.begin("POST", "/v1/messages", client.headers, body)
    assert isinstance(exchange, Exchange)
    exchange.settle()
    (row,) = [row for info in store.sessions() for row in store.rows(info.name, kind="result")]
    return body_of(row).facts.size


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))


def test_files_are_read_only_where_the_settings_say_so() -> None:
    assert recorded("127.0.0.1") < 3_000
    assert recorded("127.0.0.1", client_files=True) == len(LONG)


def test_an_address_that_others_reach_is_refused() -> None:
    with pytest.raises(UsageError, match="clients on this machine"):
        recorded("0.0.0.0", client_files=True)
