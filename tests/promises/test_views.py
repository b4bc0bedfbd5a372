"""Promises about the requests that `view` makes of a conversation.

Valid: every call has its result. Prefix-stable: a message that was sent is sent again unchanged, until a recorded
decision changes it. Deterministic: any process sends the same. Lossless: nothing is hidden that is not stored.

The examples show one promise each. The state machine after them grows a conversation in one of the dialects, restarts
the process, goes back and takes another way, lets the store fail, undoes decisions, and checks all promises at every
request.
"""

import base64
import copy
import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

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
from keepwhole.config import Settings
from keepwhole.errors import NotStored
from keepwhole.policies.auto import Auto
from keepwhole.policies.catalog import known_policies, policy_named
from keepwhole.policies.settings import AutoSettings
from keepwhole.store.protocol import Draft, Store, result_of
from tests.apps.proxy.screenshots import text_part
from tests.build import numbered_lines
from tests.promises import conversations as talk
from tests.stores import everywhere, made
from tests.upstream.media_parts import KINDS, MediaKind, kinds_in, media_part
from tests.upstream.pictures import links_in, pictures_in
from tests.upstream.spelling import Dialect

SMALL = AutoSettings(
    max_loss=1_000,
    keep_steps=1,
    arrival_least={"shell": 400, "search": 400, "other": 400},
    outsized=3_000,
    step_cap=2_500,
    start=1_500,
    keep={"shell": 1, "search": 1, "other": 1, "read": 2, "report": 2},
    clear_at_least=200,
    min_tokens=20,
    worth=0,
    horizon=1_000,
)
"""`auto` so small that a few steps reach every stage."""
TOOLS = ("read_file", "bash", "grep", "Task", "query")
POLICIES = ("auto", "auto", "auto", "truncation", "retention", "rolling")


class FailingStore:
    """A store whose appends fail while `fails` is set."""

    def __init__(self, store: Store) -> None:
        self._store, self.fails = store, False

    def append(self, session: str, drafts: Sequence[Draft], **options: Any) -> list[Entry]:
        if self.fails:
            raise NotStored("the disk is full")
        return self._store.append(session, drafts, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


def tool_output(seed: int, lines: int) -> str:
    """Output of a tool; some seeds give errors, and the same seed gives the same text."""
    words = ("alpha", "beta", "gamma", "delta", "error: no such file", "ok", "value=42", "src/main.py:10")
    return "".join(f"{words[(seed * 7 + line) % len(words)]} {seed}-{line % 5}\n" for line in range(lines)) or "nothing"


# One promise each


LONG = numbered_lines(1_000)
"""More than is shown of a shell's output."""


def step(number: int, text: str = LONG) -> list[dict[str, Any]]:
    """A call of a shell with its result, in OpenAI's spelling."""
    return [
        *talk.call_messages("openai_chat", [(f"c{number}", "bash", {"command": f"run {number}"})]),
        *talk.result_messages("openai_chat", [(f"c{number}", f"{number}\n{text}")]),
    ]


def shown(messages: list[dict[str, Any]]) -> dict[str, str]:
    """The text of every result, by call id."""
    return dict(talk.result_texts("openai_chat", messages))


@pytest.mark.parametrize("dialect", talk.DIALECTS)
def test_a_long_result_is_cut_and_every_call_keeps_its_result(dialect: str) -> None:
    messages = [
        talk.user_message("go", dialect),
        *talk.call_messages(dialect, [("c1", "bash", {}), ("c2", "bash", {})]),
        *talk.result_messages(dialect, [("c1", LONG), ("c2", "short")]),
    ]
    sent = Session("s", store=MemoryStore()).view(messages)
    (first, long), (second, short) = talk.result_texts(dialect, sent)
    assert (first, second, short) == ("c1", "c2", "short")
    assert len(long) <= 8_000 < len(LONG)
    assert talk.call_ids(dialect, sent) == ["c1", "c2"]


def test_what_was_sent_is_sent_again_unchanged() -> None:
    session, messages = Session("s", store=MemoryStore()), [talk.user_message("go")]
    sent: list[dict[str, Any]] = []
    for number in range(5):
        messages += step(number)
        before, sent = sent, session.view(messages)
        assert sent[: len(before)] == before
    assert all(len(text) <= 8_000 for text in shown(sent).values())


def test_a_result_that_was_sent_changes_only_with_a_recorded_decision() -> None:
    store = MemoryStore()
    session, messages = Session("s", store=store), [talk.user_message("go")]
    changes = 0
    before: dict[str, str] = {}
    for number in range(20):
        messages += step(number, numbered_lines(16))
        decided = len(list(store.rows("s", kind="decision")))
        after = shown(session.view(messages, policy=Auto(SMALL)))
        changed = [call_id for call_id, text in before.items() if after[call_id] != text]
        new = [row.trace_id for row in store.rows("s", kind="decision")][decided:]
        assert set(changed) <= {result_of(row).call_id for row in store.rows("s", kind="result") if row.trace_id in new}
        changes, before = changes + len(changed), after
    assert changes > 0, "nothing aged"


@pytest.mark.parametrize("policy", known_policies())
def test_what_any_policy_hides_is_on_record(policy: str) -> None:
    store, messages = MemoryStore(), [talk.user_message("go")]
    session = Session("s", store=store, settings=Settings(home="unused", models={"small": {"window": 20_000}}))
    for number in range(12):
        messages += step(number)
        sent = session.view(messages, model="small", policy=policy)
    whole = dict(talk.result_texts("openai_chat", messages))
    if policy != "everything":
        assert dict(talk.result_texts("openai_chat", sent)) != whole, "nothing is hidden"
    rows = list(store.rows("s", kind="result"))
    on_record = {result_of(row).call_id: session.recall(str(row.trace_id)) for row in rows}
    assert {call: text for call, text in on_record.items() if call in whole} == whole


def test_another_session_over_the_same_record_sends_the_same() -> None:
    store = MemoryStore()
    messages = [talk.user_message("go"), *step(1), *step(2)]
    sent = Session("s", store=store).view(messages)
    assert Session("s", store=store).view(messages) == sent


def test_nothing_is_hidden_while_it_cannot_be_stored() -> None:
    store = FailingStore(MemoryStore())
    session, messages = Session("s", store=cast("Store", store)), [talk.user_message("go"), *step(1)]
    store.fails = True
    assert session.view(messages) == messages
    store.fails = False
    assert session.view(messages) == messages, "what was sent in full stays whole, so that the prefix is the same"
    messages += step(2)
    first, second = shown(session.view(messages)).values()
    assert len(first) > 8_000 >= len(second), "what comes once it can be stored is cut"


def test_a_conversation_that_goes_back_and_another_way_sends_its_beginning_unchanged() -> None:
    session = Session("s", store=MemoryStore())
    beginning = [talk.user_message("go"), *step(1)]
    one = session.view([*beginning, *step(2)])
    other = session.view([*beginning, *step(3)])
    assert one[:3] == other[:3]
    assert len(list(session.store.rows("s", kind="result"))) == 3, "each result is stored once"


def test_a_result_whose_decision_is_undone_is_whole_from_then_on() -> None:
    session, messages = Session("s", store=MemoryStore()), [talk.user_message("go"), *step(1)]
    assert shown(session.view(messages))["c1"] != f"1\n{LONG}"
    (row,) = session.store.rows("s", kind="decision")
    session.undo(row.trace_id)
    for number in range(2, 6):
        assert shown(session.view(messages))["c1"] == f"1\n{LONG}"
        messages += step(number, "short")


# All of them at once


class Conversation(RuleBasedStateMachine):
    """One session and the messages that its client sends."""

    def __init__(self, made: Callable[[], Store] = MemoryStore) -> None:
        super().__init__()
        self._made = made

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()

    @initialize(dialect=st.sampled_from(talk.DIALECTS), policy=st.sampled_from(POLICIES))
    def begin(self, dialect: Dialect, policy: str) -> None:
        self.dialect = dialect
        self.policy = Auto(SMALL) if policy == "auto" else policy_named(policy)
        self.store: Any = FailingStore(self._made())
        self.session = Session("s", store=self.store)
        self.messages: list[dict[str, Any]] = [talk.user_message("What is wrong with src/main.py?", dialect)]
        self.sent: list[dict[str, Any]] = []
        self.sent_from: list[dict[str, Any]] = []
        self.decisions = 0
        self.calls = 0

    @rule(words=st.sampled_from(["Go on.", "And value=42?", "Look at src/main.py:10 again"]))
    def user_speaks(self, words: str) -> None:
        self.messages.append(talk.assistant_message("Done so far.", self.dialect))
        self.messages.append(talk.user_message(words, self.dialect))

    @rule(
        tools=st.lists(st.sampled_from(TOOLS), min_size=1, max_size=3),
        seeds=st.integers(0, 4),
        lines=st.sampled_from([0, 1, 5, 40, 200]),
        media=st.sampled_from([None, None, *KINDS]),
        fails=st.sampled_from([False, False, True]),
    )
    def a_step(self, tools: list[str], seeds: int, lines: int, media: MediaKind | None, fails: bool) -> None:
        """Tools are called, return something, and all is sent, mostly with a disk that works."""
        ids = [f"call_{self.calls + number}" for number in range(len(tools))]
        self.calls += len(tools)
        given = [
            (id, tool, {"command": f"run {seeds}", "path": f"f{seeds}"}) for id, tool in zip(ids, tools, strict=True)
        ]
        self.messages += talk.call_messages(self.dialect, given)
        self.messages += talk.result_messages(
            self.dialect, [(id, self.content(seeds + place, lines, media)) for place, id in enumerate(ids)]
        )
        self.store.fails = fails
        self.send()

    def content(self, seed: int, lines: int, media: MediaKind | None) -> str | list[dict[str, Any]]:
        """What a tool returns: a text, or a text beside an image or a document."""
        if media not in kinds_in(self.dialect):
            return tool_output(seed, lines)
        return [text_part(self.dialect, tool_output(seed, lines)), media_part(self.dialect, media, seed)]

    @precondition(lambda self: len(self.messages) > 3)
    @rule(share=st.floats(0.3, 1))
    def go_back(self, share: float) -> None:
        """The client goes back and drops the messages after that point, never between a call and its result."""
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
        """A message that was sent is sent again unchanged, unless a decision about it was recorded since."""
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
        return result_of(row).call_id

    def check_stored(self, out: list[dict[str, Any]]) -> None:
        """Every text, image or document that is not shown in full can be recalled."""
        came = dict(talk.result_texts(self.dialect, self.messages))
        for id, shown in talk.result_texts(self.dialect, out):
            if shown != came[id]:
                kept = [self.session.recall_bytes(row.trace_id) for row in self.store.find_call("s", id)]
                assert all(body in kept for body in bodies_of(came[id]))

    @invariant()
    def every_result_is_stored_once(self) -> None:
        if not hasattr(self, "store"):
            return
        seen = [(result_of(row).call_id, row.digest) for row in self.store.rows("s", kind="result")]
        assert len(seen) == len(set(seen))


Conversation.TestCase.settings = settings(max_examples=40, stateful_step_count=20, deadline=None)
TestConversation = Conversation.TestCase


def bodies_of(content: str | list[dict[str, Any]]) -> list[bytes]:
    """What the record has of a result: its text, and the bytes of images and documents or where these are."""
    if isinstance(content, str):
        return [content.encode()]
    texts = [part["text"].encode() for part in content if "text" in part]
    return texts + [base64.b64decode(data) for _, data in pictures_in(content)] + [*map(str.encode, links_in(content))]


@everywhere
def test_the_promises_about_what_is_sent_hold_on_every_back_end(tmp_path: Path, kind: str) -> None:
    number = itertools.count()
    some = settings(max_examples=5, stateful_step_count=15, deadline=None, suppress_health_check=list(HealthCheck))
    run_state_machine_as_test(lambda: Conversation(lambda: made(kind, tmp_path / str(next(number)))), settings=some)


@pytest.mark.parametrize("dialect", talk.DIALECTS)
def test_keep_then_view_then_view_elsewhere_is_one_result_on_record(dialect: str) -> None:
    store = MemoryStore()
    session = Session("s", store=store)
    shown = session.keep("bash", {"command": "make"}, tool_output(1, 2_000), call_id="c1")
    messages = [
        talk.user_message("go", dialect),
        *talk.call_messages(dialect, [("c1", "bash", {"command": "make"})]),
        *talk.result_messages(dialect, [("c1", shown.content)]),
    ]
    once = session.view(messages)
    again = Session("s", store=store).view(once)
    assert once == again == messages
    assert len(list(store.rows("s", kind="result"))) == 1
    assert talk.result_texts(dialect, session.hydrate(messages)) == [("c1", tool_output(1, 2_000))]
