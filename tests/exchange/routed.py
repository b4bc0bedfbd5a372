"""A desk as a proxy has one, with the checks that hold for whatever a client sends."""

import json
from typing import Any

from keepwhole import MemoryStore
from keepwhole.exchange.exchange import Exchange
from keepwhole.exchange.router import SessionRouter
from keepwhole.store.protocol import Store, result_of
from keepwhole.wire.dialects import DEFAULT, decode_message, dialect_of
from tests.wire.clients import Json, Sent, bare


def log(name: str, lines: int = 1_500) -> str:
    """Output of a shell that is cut when it arrives."""
    return "".join(f"{name}: line {number} of a long output\n" for number in range(lines))


class Proxy:
    """One process between clients and a provider."""

    def __init__(self, store: Store | None = None, **options: Any) -> None:
        self.store: Store = store or MemoryStore()
        self.desk = SessionRouter(each=True, settles=True, store=self.store, **options)

    def begin(self, sent: Sent) -> Any:
        return self.desk.begin("POST", sent.path, sent.headers, sent.data)

    def passed(self, sent: Sent) -> bytes:
        """The bytes that go to the provider."""
        begun = self.begin(sent)
        assert begun is None or isinstance(begun, Exchange)
        if begun is None:
            return sent.data
        body = begun.body
        begun.settle()
        return body

    def send(self, sent: Sent) -> list[Json]:
        """The messages that go to the provider, all pairs whole, without what clients move."""
        body = json.loads(self.passed(sent))
        messages: list[Json] = body.get("messages") or body["input"]
        assert not (dialect_of(messages) or DEFAULT).is_broken(messages)
        return bare(messages)

    def sessions(self) -> list[str]:
        return [info.name for info in self.store.sessions()]

    def kept(self, session: str) -> list[str]:
        """What is on record of a session, by the ids of calls; nothing is there twice."""
        rows = self.store.rows(session, kind="result")
        found = [call_id for row in rows if (call_id := result_of(row).call_id) is not None]
        assert len(found) == len(set(found)), "a result is kept twice"
        return found

    def entries(self) -> int:
        return sum(len(list(self.store.rows(name))) for name in self.sessions())


def shown(messages: list[Json]) -> dict[str, str]:
    """The texts of all results by their calls."""
    return {each.call_id: each.text for message in messages for each in decode_message(message).returned}


def goes_on(before: list[Json], after: list[Json]) -> bool:
    """Whether what was sent is sent again as it was."""
    return after[: len(before)] == before
