"""Kills, colliding keys and wrong types: nothing is cut, lost or raised from inside."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwhole.errors import UsageError
from keepwhole.standalone.contexts import (
    ContextManager,
    MemoryFileSystem,
    RealFileSystem,
    get_tool_description,
    hash_args,
    hash_query,
)
from keepwhole.standalone.contexts import file_system as files
from keepwhole.standalone.contexts.context import plain

KILLED = """
import os, signal, sys
from keepwhole.standalone.contexts import ContextManager
from keepwhole.standalone.contexts import file_system as files

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

def half(fd, data):
    os.write(fd, data[: len(data) // 2])
    die()

setattr(files, sys.argv[2], half if sys.argv[2] == "write_all" else die)
ContextManager(sys.argv[1]).save_context("bash", {"n": 1}, "x" * 100_000)
"""


@pytest.mark.parametrize("at", ["write_all", "sync", "_name_file"])
def test_a_kill_while_saving_leaves_nothing_under_the_final_name(tmp_path: Path, at: str) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), at], capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert not list(tmp_path.glob("*.json"))
    contexts = ContextManager(tmp_path)
    path = contexts.save_context("bash", {"n": 1}, "whole")
    assert [context.result for context in contexts.load_contexts([path])] == ["whole"]
    contexts.clear_context_dir()
    assert list(tmp_path.iterdir()) == []


def test_a_saved_file_is_on_the_disk_before_it_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    for name in ("sync", "_name_file", "sync_folder"):
        act = getattr(files, name)
        monkeypatch.setattr(files, name, lambda *given, act=act, name=name: (done.append(name), act(*given)))
    ContextManager(tmp_path).save_context("bash", {}, "x")
    assert done == ["sync", "_name_file", "sync_folder"]


def test_a_file_system_without_links_overwrites_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def link(*_: Any) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", link)
    contexts = ContextManager(tmp_path)
    paths = [contexts.save_context("bash", {}, n) for n in range(3)]
    assert [context.result for context in contexts.load_contexts(paths)] == [0, 1, 2]
    with pytest.raises(FileExistsError):
        RealFileSystem().write_new(paths[0], b"other")
    assert len(list(tmp_path.iterdir())) == 3


keys = st.one_of(
    st.text(max_size=4), st.integers(), st.booleans(), st.none(), st.floats(allow_nan=False), st.binary(max_size=3)
)


@given(st.dictionaries(keys, st.integers()))
def test_no_value_is_lost_whatever_the_keys_are(value: dict[Any, int]) -> None:
    saved = plain(value)
    assert sorted(saved.values()) == sorted(value.values())
    assert all(saved[key] == each for key, each in value.items() if isinstance(key, str))


def test_keys_with_the_same_text_are_distinguished(tmp_path: Path) -> None:
    path = ContextManager(tmp_path).save_context("t", {1: "a", "1": "b"}, {1: "a", "1": "b", None: 1, "None": 2})
    saved = json.loads(Path(path).read_text())
    assert saved["args"] == {"1": "b", "1 (int)": "a"}
    assert saved["result"] == {"1": "b", "1 (int)": "a", "None": 2, "None (NoneType)": 1}
    assert hash_args({1: "a", "1": "b"}) != hash_args({"1": "b"})


WRONG: list[Any] = [5, b"x", ["x"], {"x"}, object()]


@pytest.mark.parametrize("wrong", WRONG, ids=lambda value: type(value).__name__)
def test_a_wrong_type_is_a_usage_error(wrong: Any) -> None:
    contexts = ContextManager("/contexts", file_system=MemoryFileSystem())
    calls = [
        lambda: contexts.save_context(wrong, {}, "x"),
        lambda: contexts.save_context("t", wrong, "x"),
        lambda: contexts.save_context("t", {}, "x", query_id=wrong),
        lambda: contexts.get_pointers_for_query(wrong),
        lambda: contexts.select_relevant_contexts(wrong),
        lambda: contexts.load_contexts([wrong]),
        lambda: hash_query(wrong),
        lambda: hash_args(wrong),
        lambda: get_tool_description(wrong, {}),
        lambda: get_tool_description("t", wrong),
        lambda: ContextManager(wrong),
    ]
    if wrong != 5:
        calls.append(lambda: contexts.save_context("t", {}, "x", task_id=wrong))
        calls.append(lambda: contexts.get_pointers_for_task(wrong))
        calls.append(lambda: contexts.select_relevant_contexts("q", limit=wrong))
        calls.append(lambda: ContextManager("/contexts", persist_threshold=wrong))
    for call in calls:
        with pytest.raises(UsageError):
            call()
    assert contexts.get_all_pointers() == []


def test_one_path_is_not_taken_for_a_list_of_letters() -> None:
    with pytest.raises(UsageError, match="a list of paths"):
        ContextManager("/contexts", file_system=MemoryFileSystem()).load_contexts("/contexts/x.json")


def test_the_elements_of_a_set_are_saved_in_one_order() -> None:
    script = "from keepwhole.standalone.contexts import hash_args; print(hash_args({'a': {'x', 'y', 'z', 'w'}}))"
    hashes = {
        subprocess.run(
            [sys.executable, "-c", script], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(hashes) == 1
