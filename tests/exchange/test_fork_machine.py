"""Conversations that are copied, go on side by side and are sent by several processes: what was sent of each stays."""

import itertools
import json
import re
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from keepwhole import MemoryStore, Session, config
from keepwhole.exchange.exchange import Exchange
from keepwhole.exchange.router import SessionRouter
from keepwhole.record.journal import origin_of
from tests.apps.proxy.screenshots import text_part
from tests.apps.proxy.several_proxies import EAGER
from tests.upstream.media_parts import MediaKind, media_part
from tests.upstream.spelling import Json

ARTIFACT = re.compile(r"art_\d+_[0-9A-Za-z]{22}")
LENGTHS = (3, 400, 9_000, 60_000)


class Conversation:
    """What one client has."""

    def __init__(self, name: str, messages: list[Json], family: int) -> None:
        self.name, self.messages, self.family = name, messages, family
        self.sent: list[Json] = []
        """What the provider got last of it."""
        self.shown: list[Json] = []
        """The client's messages then."""


class Forks(RuleBasedStateMachine):
    """Clients, each with a conversation, and a process that may be another one at any moment."""

    numbered = False
    """Whether the provider numbers the calls of each conversation."""

    @initialize()
    def start(self) -> None:
        self.store = MemoryStore()
        self.names, self.calls, self.families = itertools.count(), itertools.count(), itertools.count()
        self.all: list[Conversation] = []
        self.forks = 0
        self.restart()
        self.begin()

    @rule()
    def restart(self) -> None:
        own = config.load().replace(mode="on", policy="auto", auto=EAGER.replace(arguments="old"), recall_from="start")
        self.router = SessionRouter(each=True, settles=True, store=self.store, settings=own)

    @rule()
    def begin(self) -> None:
        made = Conversation(f"s{next(self.names)}", [{"role": "user", "content": "go"}], next(self.families))
        self.all.append(made)
        self._send(made)

    @rule(
        which=st.integers(0),
        length=st.sampled_from(LENGTHS),
        word=st.sampled_from("ab"),
        media=st.sampled_from([None, None, "screenshot", "image by URL", "document"]),
        written=st.sampled_from([1, 1, 200]),
    )
    def call(self, which: int, length: int, word: str, media: MediaKind | None, written: int) -> None:
        """The model calls a tool, and the client sends what it returned."""
        at = self._at(which)
        made = sum("tool_calls" in message for message in at.messages)
        call_id = f"call_{made}" if self.numbered else f"call_x{next(self.calls)}"
        function = {"name": "bash", "arguments": json.dumps({"command": f"{word} of a script\n" * written})}
        call = {"id": call_id, "type": "function", "function": function}
        text = "\n".join(f"{word} line {number} of an output" for number in range(length // 20 + 1))
        beside = [] if media is None else [media_part("openai_chat", media, length + ord(word))]
        at.messages += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call_id, "content": [text_part("openai_chat", text), *beside]},
        ]
        self._send(at)

    @rule(which=st.integers(0))
    def say(self, which: int) -> None:
        at = self._at(which)
        at.messages += [{"role": "assistant", "content": "Well."}, {"role": "user", "content": "go on"}]
        self._send(at)

    @rule(which=st.integers(0), wanted=st.integers(0))
    def recall(self, which: int, wanted: int) -> None:
        """The model reads something back, in a round that the client does not see."""
        at = self._at(which)
        found = sorted(set(ARTIFACT.findall(json.dumps(at.sent))))
        if not found or at.messages[-1]["role"] == "assistant":
            return
        exchange = self._begin(at)
        function = {"name": "get_artifact", "arguments": json.dumps({"id": found[wanted % len(found)], "lines": "1-3"})}
        call = {"id": f"call_r{next(self.calls)}", "type": "function", "function": function}
        assert exchange.read_answer(_answer({"content": None, "tool_calls": [call]}, "tool_calls")) is None
        answer = exchange.read_answer(_answer({"content": "I have read it."}, "stop"))
        assert answer is not None
        message = json.loads(answer)["choices"][0]["message"]
        at.messages += [{"role": "assistant", "content": message["content"]}, {"role": "user", "content": "and now?"}]
        self._send(at)

    @rule(which=st.integers(0), back=st.integers(0, 2))
    def fork(self, which: int, back: int) -> None:
        """A copy goes on under another name, from where a user had spoken or a tool returned something."""
        origin = self._at(which)
        ends = [end for end, one in enumerate(origin.messages, 1) if one["role"] != "assistant"]
        copied = json.loads(json.dumps(origin.messages[: ends[max(0, len(ends) - 1 - back)]]))
        made = Conversation(f"s{next(self.names)}", copied, origin.family)
        self.all.append(made)
        exchange = self._send(made)
        if origin_of(self.store, made.name) is not None:
            self.forks += 1
            if not exchange.account.new_decisions:
                assert any(self._is_continued(made, other) for other in self._family(made)), made.sent

    @invariant()
    def the_record_is_whole(self) -> None:
        for info in self.store.sessions():
            assert Session(info.name, store=self.store).verify().whole

    def _at(self, which: int) -> Conversation:
        return self.all[which % len(self.all)]

    def _family(self, made: Conversation) -> list[Conversation]:
        return [other for other in self.all if other is not made and other.family == made.family]

    def _is_continued(self, made: Conversation, other: Conversation) -> bool:
        """Whether what was sent of two conversations is the same as far as they are."""
        shared = sum(
            1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(made.shown, other.shown, strict=False))
        )
        both = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(made.sent, other.sent, strict=False))
        return sum(1 for _ in both) >= shared

    def _send(self, at: Conversation) -> Exchange:
        exchange = self._begin(at)
        sent = json.loads(exchange.body)["messages"]
        if at.sent and not exchange.account.new_decisions:
            assert sent[: len(at.sent)] == at.sent
        at.sent, at.shown = sent, list(at.messages)
        session = Session(at.name, store=self.store)
        for one in set(ARTIFACT.findall(json.dumps(sent))):
            assert session.recall_bytes(one)
        return exchange

    def _begin(self, at: Conversation) -> Exchange:
        tools = [{"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}]
        body = {"model": "gpt-5", "messages": at.messages, "tools": tools}
        headers = {"x-keepwhole-session": at.name}
        exchange = self.router.begin("POST", "/v1/chat/completions", headers, json.dumps(body).encode())
        assert isinstance(exchange, Exchange)
        if exchange.is_unsettled:
            exchange.settle()
        return exchange


class NumberedForks(Forks):
    """The same where calls of all conversations have the same ids."""

    numbered = True


def _answer(message: Json, reason: str) -> bytes:
    choice: Json = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": reason}
    body: dict[str, Any] = {"id": "c", "object": "chat.completion", "model": "gpt-5", "choices": [choice]}
    return json.dumps(body).encode()


_SOME = settings(max_examples=12, stateful_step_count=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def test_what_was_sent_stays_however_conversations_are_copied() -> None:
    run_state_machine_as_test(Forks, settings=_SOME)


def test_what_was_sent_stays_where_calls_are_numbered() -> None:
    run_state_machine_as_test(NumberedForks, settings=_SOME)


@pytest.mark.torture
@pytest.mark.timeout(0)
@pytest.mark.parametrize("machine", [Forks, NumberedForks])
def test_what_was_sent_stays_in_many_conversations(machine: type[Forks]) -> None:
    run_state_machine_as_test(machine, settings=settings(_SOME, max_examples=200))
