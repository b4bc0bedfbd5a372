"""A summary takes the place of old messages only once it is on record, by whichever process."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from keepwhole import MemoryStore, Session
from keepwhole.canonical.entry import Entry, Result
from keepwhole.conversation.summary import TOOL
from keepwhole.errors import NotStored
from keepwhole.policies.account import Account
from keepwhole.store.protocol import Draft, result_of
from tests.conversation.test_view_trouble import compacting, small, step
from tests.promises.conversations import user_message

WINDOW = 5_000
LINES = "some words here and there\n" * 40


class BeforeSummary(MemoryStore):
    """A store in which something happens just before a summary is recorded."""

    first: Callable[[], object] | None = None

    def append(self, session: str, drafts: Sequence[Draft], **more: Any) -> list[Entry]:
        first = self.first
        if first is not None and any(isinstance(one.header, Result) and one.header.tool == TOOL for one in drafts):
            self.first = None
            first()
        return super().append(session, drafts, **more)


def session_of(store: MemoryStore, **more: Any) -> Session:
    return Session("s", store=store, settings=small(WINDOW), **more)


def summaries(store: MemoryStore) -> list[Result]:
    return [result for row in store.rows("s", kind="result") if (result := result_of(row)).tool == TOOL]


def refuse() -> None:
    raise NotStored("the disk is full")


def counts(account: Account) -> tuple[bool, int]:
    """Whether messages are left out, and how many decisions are new."""
    return account.compacted > 0, account.new_decisions


def test_a_summary_is_one_new_decision() -> None:
    store = MemoryStore()
    with session_of(store) as session:
        made = session.projection(compacting("openai_chat"), policy="truncation")
        assert counts(made.account) == (True, 1)
        assert len(made.messages) < 61
        again = session.projection(compacting("openai_chat"), policy="truncation")
    assert counts(again.account) == (True, 0)
    assert again.messages == made.messages
    assert len(summaries(store)) == 1


def test_where_a_summary_cannot_be_recorded_no_message_is_left_out() -> None:
    store = BeforeSummary()
    messages = compacting("openai_chat")
    with session_of(store) as session:
        store.first = refuse
        refused = session.projection(messages, policy="truncation")
        assert counts(refused.account) == (False, 0)
        assert refused.messages == messages
        assert not summaries(store)
        assert counts(session.projection(messages, policy="truncation").account) == (True, 1)


def test_a_summary_that_another_process_was_first_to_record_is_sent() -> None:
    store, messages = BeforeSummary(), compacting("openai_chat")
    shown: list[Any] = []
    with session_of(store) as one, session_of(store) as other:
        store.first = lambda: shown.append(other.projection(messages, policy="truncation"))
        late = one.projection(messages, policy="truncation")
    (first,) = shown
    assert late.messages == first.messages
    assert counts(late.account) == counts(first.account) == (True, 1)
    assert len(summaries(store)) == 1


def test_where_another_process_was_first_with_something_else_the_next_request_summarizes() -> None:
    store, messages = BeforeSummary(), compacting("openai_chat")
    with session_of(store) as one, session_of(store) as other:
        store.first = lambda: other.keep("bash", {}, "a result of another process")
        late = one.projection(messages, policy="truncation")
        assert counts(late.account) == (False, 0)
        assert late.messages == messages
        assert counts(one.projection(messages, policy="truncation").account) == (True, 1)


def test_where_the_record_cannot_be_read_after_another_process_was_first_no_message_is_left_out() -> None:
    messages = compacting("openai_chat")

    class Unreadable(BeforeSummary):
        is_broken = False

        def rows(self, *given: Any, **more: Any) -> Any:
            if self.is_broken:
                raise NotStored("the record cannot be read")
            return super().rows(*given, **more)

    store = Unreadable()
    with session_of(store) as one, session_of(store) as other:

        def record_and_break() -> None:
            other.projection(messages, policy="truncation")
            store.is_broken = True

        store.first = record_and_break
        late = one.projection(messages, policy="truncation")
        assert counts(late.account) == (False, 0)
        assert late.messages == messages
        store.is_broken = False
        assert counts(one.projection(messages, policy="truncation").account)[0]


def test_an_asynchronous_summarizer_is_used_unless_the_loop_of_the_thread_is_busy() -> None:
    async def summarize(*_: Any) -> str:
        return "The summarizer was here."

    def sent() -> str:
        with session_of(MemoryStore(), summarizer=summarize) as session:
            made = session.projection(compacting("openai_chat"), policy="truncation")
        assert made.account.compacted
        return str(made.messages)

    async def sent_in_a_loop() -> str:
        return sent()

    assert "The summarizer was here." in sent()
    assert "The summarizer was here." not in asyncio.run(sent_in_a_loop())


@pytest.mark.parametrize("broken", [b'"prefix"', b'"messages"', b'"kept"'])
def test_a_summary_whose_entry_cannot_be_understood_leaves_nothing_out(broken: bytes) -> None:
    store, messages = MemoryStore(), compacting("openai_chat")
    with session_of(store) as session:
        assert session.projection(messages, policy="truncation").account.compacted
    rows = store._rows["s"]  # pyright: ignore[reportPrivateUsage]
    for at, row in enumerate(rows):
        rows[at] = row.replace(header=row.header.replace(broken.replace(b'"', b'\\"'), b'\\"odd\\"'))
    with session_of(store) as session:
        assert session.view(messages, policy="everything") == messages


def test_a_branch_that_parts_before_the_end_of_a_summary_is_sent_whole() -> None:
    with session_of(MemoryStore()) as session:
        messages = compacting("openai_chat")
        assert session.projection(messages, policy="truncation").account.compacted
        for length in (2, 8):
            other = [
                *messages[: length - 1],
                user_message("Something else."),
                *step("openai_chat", "x", LINES, "other"),
            ]
            assert session.view(other, policy="everything") == other
        assert session.projection(messages, policy="everything").account.compacted
