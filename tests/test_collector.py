"""What is read once and stays is not looked through by the garbage collector again and again."""

import gc
import os
import threading
import weakref
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


def conversation(steps: int) -> list[Any]:
    messages: list[Any] = [{"role": "user", "content": "go on"}]
    for number in range(steps):
        call = {"id": f"c{number}", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": f"{number} is the number\n" * 50})
    return messages


def test_a_first_view_of_many_messages_is_made_without_a_look(looks: list[int]) -> None:
    messages = conversation(600)
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


class Held:
    """Something in a cycle, which only the collector frees."""

    def __init__(self) -> None:
        self.itself = self


def test_what_is_read_and_dropped_again_and_again_is_freed_after_a_while() -> None:
    """A process that serves more conversations than it remembers reads one after the other from its beginning."""
    dropped: list[weakref.ref[Held]] = []
    for _ in range(60):
        with without_collection(counts_as_old=True):
            held = Held()
            dropped.append(weakref.ref(held))
            read = [[each] for each in range(20_000)]
            del held, read[:1_000]
        del read
        for _ in range(20):
            beside = [[each] for each in range(1_000)]
            del beside
    assert sum(one() is not None for one in dropped) < 40


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_child_that_is_forked_meanwhile_has_its_collector() -> None:
    inside, done = threading.Event(), threading.Event()

    def read() -> None:
        with without_collection():
            inside.set()
            done.wait()

    reader = threading.Thread(target=read)
    reader.start()
    inside.wait()
    child = os.fork()
    if not child:
        os._exit(0 if gc.isenabled() else 1)
    done.set()
    reader.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert gc.isenabled()
