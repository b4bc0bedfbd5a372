"""Promises about what is sent of a conversation: valid, prefix-stable, deterministic, nothing hidden unless stored.

A state machine grows a conversation in one of the dialects, restarts the process, goes back and takes another way,
lets the store fail, undoes decisions, and looks at every request that would be sent.
"""

import copy
import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from keepwhole import MemoryStore, Session
from keepwhole.canonical.entry import Entry
from keepwhole.errors import NotStored
from keepwhole.policies.auto import Auto
from keepwhole.policies.auto_settings import AutoSettings
from keepwhole.policies.catalog import policy_named
from keepwhole.store.protocol import Draft, Store
from tests.promises import conversations as talk
from tests.stores import everywhere, made

SMALL = AutoSettings(
    arrival_cap={"shell": 400, "search": 400, "other": 400},
    structured_cap=600,
    outsized=3_000,
    step_cap=2_500,
    start=1_500,
    keep={"shell": 1, "search": 1, "other": 1, "read": 2, "report": 2},
    clear_at_least=200,
    min_tokens=20,
    patience=0.01,
    old_after={"shell": 1, "search": 2, "other": 1, "read": 3, "report": 4},
)
"""`auto` so small that a few steps reach every stage."""
TOOLS = ("read_file", "bash", "grep", "Task", "query")
POLICIES = ("auto", "auto", "auto", "truncation", "retention", "rolling")


class MoodyStore:
    """A store that can be told to fail."""

    def __init__(self, store: Store) -> None:
        self._store, self.fails = store, False

    def append(self, session: str, drafts: Sequence[Draft], **options: Any) -> list[Entry]:
        if self.fails:
            raise NotStored("the disk is full")
        return self._store.append(session, drafts, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


def text_of(seed: int, lines: int) -> str:
    """Output of a tool: sometimes an error, sometimes the same again."""
    words = ("alpha", "beta", "gamma", "delta", "error: no such file", "ok", "value=42", "src/main.py:10")
    return "".join(f"{words[(seed * 7 + line) % len(words)]} {seed}-{line % 5}\n" for line in range(lines)) or "nothing"


class Conversation(RuleBasedStateMachine):
    """One session and what its client would send."""

    def __init__(self, made: Callable[[], Store] = MemoryStore) -> None:
        super().__init__()
        self._made = made

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()

    @initialize(dialect=st.sampled_from(talk.DIALECTS), policy=st.sampled_from(POLICIES))
    def begin(self, dialect: str, policy: str) -> None:
        self.dialect = dialect
        self.policy = Auto(SMALL) if policy == "auto" else policy_named(policy)
        self.store: Any = MoodyStore(self._made())
        self.session = Session("s", store=self.store)
        self.messages: list[dict[str, Any]] = [talk.user_message("What is wrong with src/main.py?")]
        self.sent: list[dict[str, Any]] = []
        self.sent_from: list[dict[str, Any]] = []
        self.decisions = 0
        self.calls = 0

    @rule(words=st.sampled_from(["Go on.", "And value=42?", "Look at src/main.py:10 again"]))
    def user_speaks(self, words: str) -> None:
        self.messages.append(talk.assistant_message("Done so far."))
        self.messages.append(talk.user_message(words))

    @rule(
        tools=st.lists(st.sampled_from(TOOLS), min_size=1, max_size=3),
        seeds=st.integers(0, 4),
        lines=st.sampled_from([0, 1, 5, 40, 200]),
        fails=st.sampled_from([False, False, True]),
    )
    def a_step(self, tools: list[str], seeds: int, lines: int, fails: bool) -> None:
        """Tools are called, return something, and all is sent, mostly with a disk that works."""
        ids = [f"call_{self.calls + number}" for number in range(len(tools))]
        self.calls += len(tools)
        given = [
            (id, tool, {"command": f"run {seeds}", "path": f"f{seeds}"}) for id, tool in zip(ids, tools, strict=True)
        ]
        self.messages += talk.call_messages(self.dialect, given)
        self.messages += talk.result_messages(
            self.dialect, [(id, text_of(seeds + place, lines)) for place, id in enumerate(ids)]
        )
        self.store.fails = fails
        self.send()

    @precondition(lambda self: len(self.messages) > 3)
    @rule(share=st.floats(0.3, 1))
    def another_way(self, share: float) -> None:
        """The client goes back and drops what came after, never between a call and its result."""
        keep = max(1, int(len(self.messages) * share))
        while keep > 1 and not self._is_whole(self.messages[:keep]):
            keep -= 1
        self.messages = self.messages[:keep]

    def _is_whole(self, messages: list[dict[str, Any]]) -> bool:
        results = [id for id, _ in talk.result_texts(self.dialect, messages)]
        return talk.call_ids(self.dialect, messages) == results

    @rule()
    def restart(self) -> None:
        self.session = Session("s", store=self.store)

    @rule()
    def the_disk_works_again(self) -> None:
        self.store.fails = False

    @precondition(lambda self: not self.store.fails and self.decided())
    @rule(which=st.integers(0, 100))
    def undo(self, which: int) -> None:
        rows = self.decided()
        self.session.undo(rows[which % len(rows)])

    def decided(self) -> list[str]:
        return [row.trace_id for row in self.store.rows("s", kind="decision")]

    @rule()
    def send(self) -> None:
        given = copy.deepcopy(self.messages)
        out = self.session.view(given, policy=self.policy)
        assert given == self.messages, "the input was changed"
        assert self.session.view(given, policy=self.policy) == out, "the same is not sent twice the same"
        elsewhere = Session("s", store=self.store).view(copy.deepcopy(given), policy=self.policy)
        assert elsewhere == out, "another process sends something else"
        self.check_valid(out)
        self.check_prefix(out)
        self.check_stored(out)
        self.sent, self.sent_from = out, given
        self.decisions = len(self.decided())

    def check_valid(self, out: list[dict[str, Any]]) -> None:
        assert len(out) == len(self.messages)
        assert talk.call_ids(self.dialect, out) == talk.call_ids(self.dialect, self.messages)
        results = talk.result_texts(self.dialect, out)
        assert [id for id, _ in results] == [id for id, _ in talk.result_texts(self.dialect, self.messages)]
        assert all(text for _, text in results), "a provider refuses an empty result"

    def check_prefix(self, out: list[dict[str, Any]]) -> None:
        """What was sent is sent again, but where a decision was recorded since."""
        changed = set(self.decided()[self.decisions :])
        calls = {
            row.trace_id: self.session.store.find("s", row.trace_id) for row in self.store.rows("s", kind="result")
        }
        edited = {self._call_of(calls[trace]) for trace in changed}
        for before, after, came, comes in zip(self.sent, out, self.sent_from, self.messages, strict=False):
            if came != comes:
                break
            if before != after:
                ids = {id for id, _ in talk.result_texts(self.dialect, [after])}
                assert ids & edited, "a message changed without a decision about it"

    @staticmethod
    def _call_of(row: Any) -> str | None:
        from keepwhole.store.protocol import result_of

        return result_of(row).call_id

    def check_stored(self, out: list[dict[str, Any]]) -> None:
        """Nothing is hidden that cannot be had again."""
        came = dict(talk.result_texts(self.dialect, self.messages))
        for id, text in talk.result_texts(self.dialect, out):
            if text != came[id]:
                assert came[id] in [self.session.recall(row.trace_id) for row in self.store.find_call("s", id)]

    @invariant()
    def every_result_is_on_record_once(self) -> None:
        if not hasattr(self, "store"):
            return
        from keepwhole.store.protocol import result_of

        seen = [(result_of(row).call_id, row.digest) for row in self.store.rows("s", kind="result")]
        assert len(seen) == len(set(seen))


Conversation.TestCase.settings = settings(max_examples=40, stateful_step_count=20, deadline=None)
TestConversation = Conversation.TestCase


@everywhere
def test_the_promises_about_what_is_sent_hold_on_every_back_end(tmp_path: Path, kind: str) -> None:
    number = itertools.count()
    some = settings(max_examples=5, stateful_step_count=15, deadline=None, suppress_health_check=list(HealthCheck))
    run_state_machine_as_test(lambda: Conversation(lambda: made(kind, tmp_path / str(next(number)))), settings=some)


@pytest.mark.parametrize("dialect", talk.DIALECTS)
def test_keep_then_view_then_view_elsewhere_is_one_result_on_record(dialect: str) -> None:
    store = MemoryStore()
    session = Session("s", store=store)
    shown = session.keep("bash", {"command": "make"}, text_of(1, 2_000), call_id="c1")
    messages = [
        talk.user_message("go"),
        *talk.call_messages(dialect, [("c1", "bash", {"command": "make"})]),
        *talk.result_messages(dialect, [("c1", shown.content)]),
    ]
    once = session.view(messages)
    again = Session("s", store=store).view(once)
    assert once == again == messages
    assert len(list(store.rows("s", kind="result"))) == 1
    assert talk.result_texts(dialect, session.hydrate(messages)) == [("c1", text_of(1, 2_000))]
