"""Scenarios of exchanges in Gemini and in Converse: hidden rounds, a restart, refusals, and answers that are broken.

The client's messages are those of `tests.promises.conversations`; a client takes from an answer the words that it said
and the calls that it made, which is what hidden rounds are put back by.
"""

import json
from collections.abc import Callable
from typing import Any

from tests.golden import doors
from tests.golden.conversations import Step, steps
from tests.golden.exchanges import Scenario, recalls, refuses, says
from tests.golden.recorder import Recorder
from tests.golden.setups import settings
from tests.promises import conversations as talk
from tests.promises.entry_points import PATHS
from tests.upstream.bedrock import framed
from tests.upstream.complaint import complaint
from tests.upstream.spelling import SPELLINGS, Part, Text, Tool

DIALECTS = ("gemini", "converse")
_STREAMED = {"gemini": PATHS["gemini"].replace(":g", ":streamG"), "converse": PATHS["converse"] + "-stream"}
_TOOLS = ("read_file", "bash", "grep", "query", "web_fetch", "Task")
_BUSY = b'{"message": "busy", "error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}}'


class Client:
    """A client of one dialect that sends its conversation and answers the calls of its own tools."""

    def __init__(self, out: Recorder, name: str, dialect: str, router: Any, *, streams: bool) -> None:
        self.out, self.name, self.router, self.dialect, self.streams = out, name, router, dialect, streams
        self.path = (_STREAMED if streams else PATHS)[dialect]
        self.messages = [talk.user_message("Find out what is wrong.", dialect)]
        self._sent = self._answers = 0
        self._figures: list[Any] = []

    def body(self) -> bytes:
        """The next request."""
        fields = {talk.list_name(self.dialect): self.messages, **talk.tools_fields(self.dialect, _TOOLS)}
        return _json(fields)

    def begin(self) -> Any:
        """Its exchange."""
        return doors.begin(self.router, self.path, {doors.SESSION_HEADER: "golden"}, self.body())

    def send(self, script: Callable[[str, int], list[Part] | int]) -> None:
        """Send it, and record what goes out and what comes back."""
        self._sent += 1
        begun = self.begin()
        sent: list[bytes] = []
        got = None
        while got is None:
            assert complaint(json.loads(begun.body), self.dialect) == ""  # type: ignore[arg-type]
            sent.append(begun.body)
            doors.settle(begun)
            came = script(begun.body.decode(), len(sent) - 1)
            self._answers += 1
            status, said = (came, []) if isinstance(came, int) else (200, came)
            data = _BUSY if status != 200 else written(self.dialect, said, self._answers, self.streams)
            got = doors.answer_round(begun, data, in_pieces(data, 501) if self.streams else None, status)
        self.out.add(f"{self.name}/{self._sent:02d}-sent", sent)
        self.out.add(f"{self.name}/{self._sent:02d}-got", got)
        self._figures.append(doors.figures(begun))

    def take(self, step: Step) -> None:
        """The calls of a step and their results."""
        self.messages += talk.call_messages(self.dialect, [(call.id, call.tool, call.arguments) for call in step.calls])
        results = talk.result_messages(self.dialect, [(call.id, call.text) for call in step.calls])
        if self.dialect == "gemini":
            for part, call in zip(results[0]["parts"], step.calls, strict=True):
                part["functionResponse"]["name"] = call.tool
        self.messages += results

    def end(self, store: Any) -> None:
        """Record what is on record, and what every exchange said of itself."""
        self.out.add(f"{self.name}/figures", self._figures)
        self.out.add(f"{self.name}/record", doors.record(store))


def written(dialect: str, said: list[Part], number: int, streams: bool) -> bytes:
    """An answer as its provider writes it."""
    spelling = SPELLINGS[dialect]  # type: ignore[index]
    if not streams:
        return _json(spelling.whole(said, number, None))
    events = spelling.events(said, number, None)
    return b"".join(framed(events, in_chunks=False) if dialect == "converse" else events)


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


def in_pieces(data: bytes, size: int) -> list[bytes]:
    """The bytes as they may come."""
    return [data[at : at + size] for at in range(0, len(data), size)]


def agents(dialect: str, streams: bool, given: str) -> Scenario:
    """An agent at work: hidden rounds, calls of ours beside its own, a restart, refusals."""

    def scenario(out: Recorder) -> None:
        name = f"exchange/{dialect}-{'stream' if streams else 'whole'}-{given}"
        clock, store = doors.Clock(), doors.memory_store()
        opened = {"clock": clock, "store": store, "settings": settings(given), "settles": True, "each": True}
        client = Client(out, name, dialect, doors.open_desk(seed=f"{name}/1", **opened), streams=streams)
        for number, step in enumerate(steps(f"exchange/{given}", 8)):
            calls: list[Part] = [Tool(call.tool, call.arguments, call.id) for call in step.calls]
            beside: list[Part] | None = calls if number % 3 == 2 else None
            client.send(recalls(number % 3, [Text("I will look."), *calls], beside))
            client.take(step)
            clock.tick(3)
            if number == 3:
                client.router = doors.open_desk(seed=f"{name}/2", **opened)
        client.send(refuses(503))
        client.send(refuses(500, 1))
        client.send(recalls(14, [Text("Enough.")]))
        client.messages += [talk.assistant_message("Enough.", dialect), talk.user_message("Thanks.", dialect)]
        client.send(says(Text("Bye.")))
        client.end(store)
        again = doors.open_session("golden", store=store, settings=settings(given), clock=clock, seed=name)
        out.add(f"{name}/again", doors.sent_again(again))

    return scenario


def broken(out: Recorder) -> None:
    """Answers that are cut short, are no JSON, or have events that nobody knows."""
    for dialect in DIALECTS:
        name = f"exchange/broken-{dialect}"
        clock, store = doors.Clock(), doors.memory_store()
        router = doors.open_desk(clock=clock, store=store, seed=name, settings=settings("truncation"), session="s")
        clients = {streams: Client(out, name, dialect, router, streams=streams) for streams in (True, False)}
        for client in clients.values():
            for step in steps(f"broken/{dialect}", 3):
                client.take(step)
        parts: list[Part] = [Text("Let me look."), Tool("search_artifacts", {"query": "customs"})]
        whole, stream = (written(dialect, parts, 1, streams) for streams in (False, True))
        damaged = bytearray(stream)
        damaged[len(stream) // 2] ^= 1
        for label, data, streams in (
            ("cut-stream", stream[: len(stream) * 2 // 3], True),
            ("damaged", bytes(damaged), True),
            ("no-frames", b"event: news\ndata: {}\n\n", True),
            ("empty", b"", True),
            ("cut-whole", whole[: len(whole) // 2], False),
            ("no-json", b"<html>bad gateway</html>", False),
            ("list", b"[]", False),
        ):
            for size in (7, 4_000):
                begun = clients[streams].begin()
                got = doors.answer_round(begun, data, in_pieces(data, size) if streams else None)
                out.add(f"{name}/{label}-{size}", [got, begun.body, doors.figures(begun)])
        out.add(f"{name}/record", doors.record(store))


GROUPS: dict[str, list[Scenario]] = {
    "exchange-other": [
        *(
            agents(dialect, streams, one)
            for dialect in DIALECTS
            for streams in (False, True)
            for one in ("truncation", "eager")
        ),
        broken,
    ],
}
