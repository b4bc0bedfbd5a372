"""A session router as a proxy uses it, with checks of every request that goes to the provider.

Owns: the checks that hold for any client: each call has its result, and no result is stored twice.
"""

import json
from typing import Any

from keepwhole import MemoryStore, Session
from keepwhole.config import Settings
from keepwhole.exchange.exchange import Exchange
from keepwhole.exchange.router import SessionRouter
from keepwhole.policies.settings import CAREFUL
from keepwhole.store.protocol import Store, result_of
from keepwhole.wire.dialects import DEFAULT, decode_message, dialect_of
from tests.wire.clients import Json, Sent, bare


def long_log(name: str, lines: int = 1_500) -> str:
    """Output of a shell that is cut on arrival."""
    return "".join(f"{name}: line {number} of a long output\n" for number in range(lines))


class CheckedProxy:
    """One process between clients and a provider."""

    def __init__(self, store: Store | None = None, **options: Any) -> None:
        self.store: Store = store or MemoryStore()
        options.setdefault("settings", Settings(home="unused", auto=CAREFUL.replace(max_loss=1_000, start=1_000_000)))
        self.router = SessionRouter(each=True, settles=True, store=self.store, **options)

    def begin(self, sent: Sent) -> Any:
        """Begin the exchange of a client's request."""
        return self.router.begin("POST", sent.path, sent.headers, sent.data)

    def forward(self, sent: Sent) -> bytes:
        """Begin an exchange, and return the bytes that go to the provider."""
        begun = self.begin(sent)
        assert begun is None or isinstance(begun, Exchange)
        if begun is None:
            return sent.data
        body = begun.body
        begun.settle()
        return body

    def send(self, sent: Sent) -> list[Json]:
        """Begin an exchange, and return the messages that go to the provider, without the markers that clients move."""
        body = json.loads(self.forward(sent))
        messages: list[Json] = body.get("messages") or body["input"]
        assert not (dialect_of(messages) or DEFAULT).is_broken(messages)
        return bare(messages)

    def session(self, name: str) -> Session:
        """Open a session of the record, to read from."""
        return Session(name, store=self.store)

    def sessions(self) -> list[str]:
        """The names of the sessions in the record."""
        return [info.name for info in self.store.sessions()]

    def kept_calls(self, session: str) -> list[str]:
        """The call ids of the results that are stored in a session, in order; none of them twice."""
        rows = self.store.rows(session, kind="result")
        found = [call_id for row in rows if (call_id := result_of(row).call_id) is not None]
        assert len(found) == len(set(found)), "a result is stored twice"
        return found

    def count_entries(self) -> int:
        """The number of entries in the record."""
        return sum(len(list(self.store.rows(name))) for name in self.sessions())


def result_texts(messages: list[Json]) -> dict[str, str]:
    """The texts of all results, by call id."""
    return {each.call_id: each.text for message in messages for each in decode_message(message).returned}


def extends(before: list[Json], after: list[Json]) -> bool:
    """Whether a request begins with the messages of an earlier one, unchanged."""
    return after[: len(before)] == before
