"""What is read once and stays is not looked through by the garbage collector again and again."""

import gc
from collections.abc import Iterator
from typing import Any

import pytest

from keepwhole import MemoryStore, Session
from keepwhole.collector import without_collection


@pytest.fixture
def looks() -> Iterator[list[int]]:
    """The generations that the collector has looked through."""
    found: list[int] = []

    def note(phase: str, about: dict[str, int]) -> None:
        if phase == "start":
            found.append(about["generation"])

    gc.callbacks.append(note)
    yield found
    gc.callbacks.remove(note)


def test_a_first_view_of_many_messages_is_made_without_a_look(looks: list[int]) -> None:
    messages: list[Any] = [{"role": "user", "content": "go on"}]
    for number in range(600):
        call = {"id": f"c{number}", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": f"{number} is the number\n" * 50})
    store = MemoryStore()
    Session("s", store=store).view(messages)
    anew = Session("s", store=store)
    looks.clear()
    anew.view(messages)
    assert len(looks) <= 2
    assert gc.isenabled()


def test_the_collector_is_as_it_was_afterwards_also_after_an_error() -> None:
    with pytest.raises(ValueError, match="no"):
        fail()
    assert gc.isenabled()
    gc.disable()
    with without_collection():
        pass
    assert not gc.isenabled()
    gc.enable()


def fail() -> None:
    with without_collection():
        assert not gc.isenabled()
        raise ValueError("no")


def test_what_a_program_has_frozen_stays_frozen() -> None:
    gc.freeze()
    try:
        before = gc.get_freeze_count()
        with without_collection(counts_as_old=True):
            pass
        assert gc.get_freeze_count() >= before - 1_000
    finally:
        gc.unfreeze()
