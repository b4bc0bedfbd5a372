"""`ContextManager`, item by item of its specification: options, saves, pointers, loads, clears."""

import asyncio
import json
import logging
import os
import re
import resource
import stat
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from keepwhole.errors import NotStored, UsageError
from keepwhole.standalone.contexts import (
    ContextManager,
    ContextManagerOptions,
    ContextPointer,
    MemoryFileSystem,
    StoredContext,
    hash_args,
)

NOON = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)


@pytest.fixture
def files() -> MemoryFileSystem:
    return MemoryFileSystem()


@pytest.fixture
def contexts(files: MemoryFileSystem) -> ContextManager:
    return ContextManager("/contexts", file_system=files, clock=lambda: NOON)


class TestConstructor:
    def test_with_default_options_it_uses_the_agents_context_folder_in_the_home(self) -> None:
        contexts = ContextManager()
        assert contexts.context_dir == os.path.expanduser("~/.agent/context")
        assert contexts.persist_threshold == 32 * 1024
        assert not Path(contexts.context_dir).exists()

    def test_it_accepts_a_custom_folder_as_text_or_path(self, tmp_path: Path) -> None:
        assert ContextManager(tmp_path).context_dir == ContextManager(str(tmp_path)).context_dir == str(tmp_path)

    def test_it_accepts_a_custom_threshold(self) -> None:
        assert ContextManager(persist_threshold=10).persist_threshold == 10
        with pytest.raises(UsageError):
            ContextManager(persist_threshold=-1)

    @pytest.mark.parametrize("threshold", [-1, float("nan")])
    def test_a_threshold_that_is_no_number_of_bytes_is_refused(self, threshold: float) -> None:
        with pytest.raises(UsageError, match="number of bytes"):
            ContextManager("/any", persist_threshold=threshold)  # type: ignore[arg-type]

    def test_it_accepts_a_file_system_of_ones_own(self, files: MemoryFileSystem) -> None:
        path = ContextManager("/c", file_system=files).save_context("t", {}, 1)
        assert list(files.files) == [path]

    def test_it_accepts_a_debug_callback_and_tells_it_what_happens(self, files: MemoryFileSystem) -> None:
        heard: list[tuple[str, object]] = []
        contexts = ContextManager("/c", file_system=files, on_debug=lambda *said: heard.append(said))  # type: ignore[arg-type]
        contexts.save_context("t", {}, 1)
        contexts.load_contexts(["/c/none.json"])
        contexts.clear()
        said = [message for message, _ in heard]
        assert said == ["context saved", "context skipped", "pointers cleared", "context folder cleared"]

    def test_a_debug_callback_that_raises_breaks_nothing(
        self, files: MemoryFileSystem, caplog: pytest.LogCaptureFixture
    ) -> None:
        def angry(message: str, data: object) -> None:
            raise ValueError(message)

        assert ContextManager("/c", file_system=files, on_debug=angry).save_context("t", {}, 1)
        assert "on_debug raised" in caplog.text

    def test_it_accepts_all_options_in_one_value(self, files: MemoryFileSystem) -> None:
        options = ContextManagerOptions(context_dir="/c", persist_threshold=5, file_system=files)
        contexts = ContextManager(options)
        assert (contexts.context_dir, contexts.persist_threshold) == ("/c", 5)
        assert contexts.save_context("t", {}, 1) in files.files


class TestSaveContext:
    def test_it_creates_the_folder_where_it_is_missing(self, tmp_path: Path) -> None:
        path = Path(ContextManager(tmp_path / "deep" / "down").save_context("t", {}, 1))
        assert path.is_file()
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert stat.S_IMODE(path.stat().st_mode) == 0o600

    def test_the_name_is_unique_and_made_of_tool_and_arguments(self, contexts: ContextManager) -> None:
        args = {"ticker": "AAPL"}
        first = contexts.save_context("get_financials", args, 1)
        other = contexts.save_context("get_financials", {"ticker": "MSFT"}, 1)
        assert os.path.basename(first) == f"AAPL_get_financials_{hash_args(args)}.json"
        assert first != other

    def test_a_repeat_gets_a_number_and_nothing_is_overwritten(
        self, contexts: ContextManager, files: MemoryFileSystem
    ) -> None:
        paths = [contexts.save_context("t", {"a": 1}, result) for result in ("first", "second", "third")]
        assert [re.sub(r".*_[0-9a-f]{12}", "", path) for path in paths] == [".json", "-2.json", "-3.json"]
        again = ContextManager("/contexts", file_system=files)
        paths.append(again.save_context("t", {"a": 1}, "fourth"))
        assert [context.result for context in again.load_contexts(paths)] == ["first", "second", "third", "fourth"]

    def test_it_writes_valid_json_with_all_fields(self, contexts: ContextManager, files: MemoryFileSystem) -> None:
        path = contexts.save_context("read_file", {"path": "a.py"}, {"lines": [1, 2]}, task_id=7, query_id="q1")
        assert json.loads(files.read(path)) == {
            "tool_name": "read_file",
            "tool_description": "read_file: path a.py",
            "args": {"path": "a.py"},
            "timestamp": "2026-03-04T12:00:00Z",
            "task_id": 7,
            "query_id": "q1",
            "result": {"lines": [1, 2]},
        }
        assert b"\n  " in files.read(path)  # people can read it

    def test_it_creates_a_pointer_with_the_right_path(self, contexts: ContextManager) -> None:
        path = contexts.save_context("read_file", {"path": "a.py"}, "text", 7, "q1")
        name = os.path.basename(path)
        expected = ContextPointer(path, name, "read_file", "read_file: path a.py", {"path": "a.py"}, 7, "q1")
        assert contexts.get_all_pointers() == [expected]

    @pytest.mark.parametrize(
        "args",
        [
            {"q": 'quote " back \\ slash / and \n line'},
            {"q": "\x00\x1b[2J"},
            {"ключ": "значение", "鍵": "値", "🔑": "🗝"},
            {"half": "\ud800"},
            {"nested": {"list": [1, None, True, 2.5]}},
        ],
    )
    def test_special_characters_in_arguments_come_back_as_they_were(
        self, contexts: ContextManager, args: dict[str, Any]
    ) -> None:
        (loaded,) = contexts.load_contexts([contexts.save_context("t", args, args)])
        assert loaded.args == loaded.result == args
        assert contexts.get_all_pointers()[0].args == args

    def test_it_returns_the_path_for_reference(self, contexts: ContextManager) -> None:
        path = contexts.save_context("t", None, "text")
        assert contexts.load_contexts([path])[0].result == "text"

    def test_what_cannot_be_written_is_reported_and_no_pointer_is_left(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        contexts = ContextManager(tmp_path / "file" / "folder")
        with pytest.raises(NotStored, match="context_dir"):
            contexts.save_context("t", {}, 1)
        assert contexts.get_all_pointers() == []

    def test_a_file_that_cannot_be_written_whole_is_removed_again(self, tmp_path: Path) -> None:
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        contexts = ContextManager(tmp_path)
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
        try:
            with pytest.raises(NotStored):
                contexts.save_context("t", {}, "x" * 100_000)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert list(tmp_path.iterdir()) == []


class TestGetAllPointers:
    def test_it_returns_all_stored_pointers_in_order(self, contexts: ContextManager) -> None:
        paths = [contexts.save_context("t", {"n": n}, n) for n in range(5)]
        assert [pointer.filepath for pointer in contexts.get_all_pointers()] == paths

    def test_it_returns_an_empty_list_without_contexts(self, contexts: ContextManager) -> None:
        assert contexts.get_all_pointers() == []

    def test_it_returns_copies_not_references(self, contexts: ContextManager) -> None:
        args = {"list": [1]}
        contexts.save_context("t", args, 1)
        args["list"].append(2)
        pointers = contexts.get_all_pointers()
        pointers[0].args["list"].append(3)
        pointers.clear()
        assert contexts.get_all_pointers()[0].args == {"list": [1]}


class TestGetPointersForQueryAndTask:
    @pytest.fixture
    def saved(self, contexts: ContextManager) -> ContextManager:
        contexts.save_context("a", {}, 1, task_id=1, query_id="q1")
        contexts.save_context("b", {}, 1, task_id=2, query_id="q1")
        contexts.save_context("c", {}, 1, task_id=1, query_id="q2")
        contexts.save_context("d", {}, 1)
        return contexts

    def test_it_returns_the_pointers_of_a_query(self, saved: ContextManager) -> None:
        assert [pointer.tool_name for pointer in saved.get_pointers_for_query("q1")] == ["a", "b"]

    def test_it_returns_the_pointers_of_a_task(self, saved: ContextManager) -> None:
        assert [pointer.tool_name for pointer in saved.get_pointers_for_task(1)] == ["a", "c"]

    def test_it_returns_an_empty_list_for_a_query_or_task_that_does_not_exist(self, saved: ContextManager) -> None:
        assert saved.get_pointers_for_query("q9") == saved.get_pointers_for_task(9) == []

    def test_what_has_no_query_or_task_belongs_to_none(self, saved: ContextManager) -> None:
        assert [pointer.tool_name for pointer in saved.get_pointers_for_query(None)] == ["d"]
        assert [pointer.tool_name for pointer in saved.get_pointers_for_task(None)] == ["d"]

    def test_they_are_copies_too(self, saved: ContextManager) -> None:
        saved.get_pointers_for_task(1)[0].args["new"] = 1
        assert saved.get_pointers_for_task(1)[0].args == {}


class TestLoadContexts:
    def test_it_loads_a_single_file(self, contexts: ContextManager) -> None:
        path = contexts.save_context("t", {"a": 1}, [1, 2], 3, "q")
        assert contexts.load_contexts([path]) == [
            StoredContext("t", "t: a 1", {"a": 1}, "2026-03-04T12:00:00Z", 3, "q", [1, 2])
        ]

    def test_it_loads_several_files_in_the_order_asked_for(self, contexts: ContextManager) -> None:
        paths = [contexts.save_context("t", {"n": n}, n) for n in range(3)]
        assert [context.result for context in contexts.load_contexts(reversed(paths))] == [2, 1, 0]

    def test_it_skips_files_that_do_not_exist_with_a_warning(
        self, contexts: ContextManager, caplog: pytest.LogCaptureFixture
    ) -> None:
        path = contexts.save_context("t", {}, 1)
        with caplog.at_level(logging.WARNING):
            assert len(contexts.load_contexts(["/contexts/gone_000000000000.json", path])) == 1
        assert "gone_000000000000.json" in caplog.text

    @pytest.mark.parametrize(
        "data",
        [
            b"", b"{", b"[]", b"null", b"\xff\xfe", b"{}", b'{"result": 1}', b"[" * 100_000,
            b'{"tool_name": 1, "tool_description": "", "args": {}, "timestamp": "", "result": 1}',
        ],
        ids=repr,
    )  # fmt: skip
    def test_it_skips_malformed_files_with_a_warning(
        self, contexts: ContextManager, files: MemoryFileSystem, data: bytes, caplog: pytest.LogCaptureFixture
    ) -> None:
        path = contexts.save_context("t", {}, 1)
        files.files["/contexts/bad_000000000000.json"] = data
        assert len(contexts.load_contexts(["/contexts/bad_000000000000.json", path])) == 1
        assert "there is no context in it" in caplog.text

    def test_it_reads_files_that_spell_their_keys_in_camel_case(
        self, contexts: ContextManager, files: MemoryFileSystem
    ) -> None:
        own = {"toolName": "t", "toolDescription": "d", "args": {}, "timestamp": "now", "taskId": 1, "result": [1]}
        files.files["/contexts/x.json"] = json.dumps(own).encode()
        assert contexts.load_contexts(["/contexts/x.json"]) == [StoredContext("t", "d", {}, "now", 1, None, [1])]

    def test_it_reads_nothing_outside_its_folder(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        secret = tmp_path / "secret.json"
        other = ContextManager(tmp_path / "other")
        secret.write_bytes(Path(other.save_context("t", {}, "secret")).read_bytes())
        contexts = ContextManager(tmp_path / "own")
        contexts.save_context("t", {}, 1)
        (tmp_path / "own" / "link.json").symlink_to(secret)
        asked = [str(secret), str(tmp_path / "own" / ".." / "secret.json"), str(tmp_path / "own" / "link.json")]
        assert contexts.load_contexts(asked) == []
        assert caplog.text.count("skipped") == 3

    def test_what_is_loaded_can_be_changed_without_changing_what_is_kept(self, contexts: ContextManager) -> None:
        path = contexts.save_context("t", {}, [1])
        contexts.load_contexts([path])[0].result.append(2)
        assert contexts.load_contexts([path])[0].result == [1]


class TestMemory:
    def test_small_results_stay_in_memory_and_large_ones_never(
        self, contexts: ContextManager, files: MemoryFileSystem
    ) -> None:
        small = contexts.save_context("t", {"n": 1}, "x" * 32_767)
        large = contexts.save_context("t", {"n": 2}, "x" * 32_768)
        assert {small, large} == set(files.files)
        files.files.clear()
        assert len(contexts.load_contexts([small])) == 1
        assert contexts.load_contexts([large]) == []

    def test_what_stays_in_memory_is_bounded(self, files: MemoryFileSystem) -> None:
        contexts = ContextManager("/c", file_system=files, persist_threshold=100)
        paths = [contexts.save_context("t", {"n": n}, "x" * 90) for n in range(1_000)]
        files.files.clear()
        assert contexts.load_contexts(paths[:1]) == []
        assert len(contexts.load_contexts(paths[-100:])) == 100


class TestClear:
    def test_clear_pointers_empties_the_list_and_leaves_the_files(
        self, contexts: ContextManager, files: MemoryFileSystem
    ) -> None:
        contexts.save_context("t", {}, 1)
        contexts.clear_pointers()
        assert contexts.get_all_pointers() == []
        assert len(files.files) == 1

    def test_clear_context_dir_removes_all_saved_files(self, contexts: ContextManager, files: MemoryFileSystem) -> None:
        contexts.save_context("t", {}, 1)
        ContextManager("/contexts", file_system=files).save_context("../odd tool", {}, 1)
        contexts.clear_context_dir()
        assert files.files == {}
        assert len(contexts.get_all_pointers()) == 1

    def test_a_name_that_is_used_again_never_returns_the_earlier_result(self, contexts: ContextManager) -> None:
        contexts.save_context("t", {"a": 1}, "small and old")
        contexts.clear_context_dir()
        path = contexts.save_context("t", {"a": 1}, "large and new " * 10_000)
        assert contexts.load_contexts([path])[0].result == "large and new " * 10_000

    def test_clearing_the_folder_again_and_again_leaves_the_memory_its_room(self, files: MemoryFileSystem) -> None:
        contexts = ContextManager("/any", file_system=files, persist_threshold=100)
        for _ in range(2_000):
            contexts.save_context("t", None, "x" * 90)
            contexts.clear_context_dir()
        path = contexts.save_context("t", None, "last")
        files.files.clear()
        assert contexts.load_contexts([path])[0].result == "last"

    def test_clear_does_both(self, contexts: ContextManager, files: MemoryFileSystem) -> None:
        contexts.save_context("t", {}, 1)
        contexts.clear()
        assert (contexts.get_all_pointers(), files.files) == ([], {})
        assert contexts.save_context("t", {}, 1).endswith("_44136fa355b3.json")

    def test_clearing_where_there_is_nothing_is_no_harm(self, tmp_path: Path) -> None:
        ContextManager(tmp_path / "none").clear()

    def test_files_of_others_and_folders_are_left_alone(self, tmp_path: Path) -> None:
        (tmp_path / "package.json").write_text("{}")
        (tmp_path / "folder_000000000000.json").mkdir()
        with ContextManager(tmp_path) as contexts:
            contexts.save_context("t", {}, 1)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["folder_000000000000.json", "package.json"]


class TestTogether:
    def test_save_then_load_keeps_every_bit_of_data(self, tmp_path: Path) -> None:
        contexts = ContextManager(tmp_path, persist_threshold=0)
        result = {"rows": [{"n": n, "text": "naïve ☕ " * n} for n in range(300)], "none": None}
        (loaded,) = contexts.load_contexts([contexts.save_context("query", {"sql": "select 1"}, result, 1, "q")])
        assert loaded.result == result

    def test_save_several_then_filter_by_query(self, tmp_path: Path) -> None:
        contexts = ContextManager(tmp_path)
        for n in range(10):
            contexts.save_context("t", {"n": n}, n, query_id=f"q{n % 2}")
        found = contexts.load_contexts([pointer.filepath for pointer in contexts.get_pointers_for_query("q1")])
        assert [context.result for context in found] == [1, 3, 5, 7, 9]

    def test_a_context_survives_later_saves(self, tmp_path: Path) -> None:
        contexts = ContextManager(tmp_path)
        first = contexts.save_context("t", {}, "first")
        for _ in range(20):
            contexts.save_context("t", {}, "later")
        assert ContextManager(tmp_path).load_contexts([first])[0].result == "first"

    def test_clear_context_dir_removes_files_from_the_real_file_system(self, tmp_path: Path) -> None:
        contexts = ContextManager(tmp_path)
        contexts.save_context("t", {}, 1)
        contexts.clear_context_dir()
        assert list(tmp_path.iterdir()) == []


class TestEdgeCases:
    @pytest.mark.parametrize("result", ["", None, [], {}, 0, False])
    def test_an_empty_result_is_a_result(self, contexts: ContextManager, result: object) -> None:
        assert contexts.load_contexts([contexts.save_context("t", {}, result)])[0].result == result

    def test_a_very_large_result_is_written_to_its_file(self, tmp_path: Path) -> None:
        contexts = ContextManager(tmp_path)
        path = contexts.save_context("t", {}, "line\n" * 2_000_000)
        assert os.path.getsize(path) > 10_000_000
        assert contexts.load_contexts([path])[0].result == "line\n" * 2_000_000

    @pytest.mark.parametrize(
        "tool", ["../../etc/passwd", "", ".hidden", "a b/c\\d:e", "工具", "x" * 500, "nul\x00", "-rf", "\ud800"]
    )
    def test_a_hostile_tool_name_stays_inside_the_folder(self, tmp_path: Path, tool: str) -> None:
        contexts = ContextManager(tmp_path / "c")
        path = contexts.save_context(tool, {}, "kept")
        assert os.path.dirname(path) == str(tmp_path / "c")
        assert not os.path.basename(path).startswith(".")
        assert contexts.load_contexts([path])[0].tool_name == tool
        contexts.clear()
        assert list((tmp_path / "c").iterdir()) == []

    def test_a_pipe_in_the_folder_is_skipped_and_not_waited_for(self, tmp_path: Path) -> None:
        contexts = ContextManager(tmp_path)
        os.mkfifo(tmp_path / "t_000000000000.json")
        assert contexts.load_contexts([str(tmp_path / "t_000000000000.json")]) == []

    def test_a_number_of_thousands_of_digits_is_saved(self, contexts: ContextManager) -> None:
        path = contexts.save_context("t", {"n": 10**5_000}, [10**5_000, 7])
        (found,) = contexts.load_contexts([path])
        assert int(found.result[0], 16) == 10**5_000
        assert found.result[1] == 7

    def test_unicode_in_results_is_readable_in_the_file(self, tmp_path: Path) -> None:
        text = "Größe 证书 🗝 مرحبا"
        assert text in Path(ContextManager(tmp_path).save_context("t", {}, text)).read_text(encoding="utf-8")

    def test_what_is_no_json_is_saved_as_text(self, contexts: ContextManager) -> None:
        endless: list[Any] = []
        endless.append(endless)
        result = {1: b"text", "bytes": b"\xff", "set": {3}, "nan": float("nan"), "odd": NOON, "endless": endless}
        loaded = contexts.load_contexts([contexts.save_context("t", {}, result)])[0].result
        assert {key: loaded[key] for key in ("1", "bytes", "set", "nan")} == {
            "1": "text", "bytes": "base64:/w==", "set": [3], "nan": "nan",
        }  # fmt: skip
        assert loaded["odd"] == str(NOON)

    def test_concurrent_saves_of_the_same_call_each_get_a_file(self, tmp_path: Path) -> None:
        managers = [ContextManager(tmp_path) for _ in range(4)]

        def save(contexts: ContextManager) -> None:
            for n in range(25):
                contexts.save_context("t", {}, n)

        threads = [threading.Thread(target=save, args=(contexts,)) for contexts in managers for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(list(tmp_path.iterdir())) == 200
        assert sum(len(contexts.get_all_pointers()) for contexts in managers) == 200
        for contexts in managers:
            paths = [pointer.filepath for pointer in contexts.get_all_pointers()]
            assert len(set(paths)) == len(contexts.load_contexts(paths)) == 50


def test_every_call_that_waits_has_an_async_twin(tmp_path: Path) -> None:
    async def work() -> None:
        contexts = ContextManager(tmp_path)
        path = await contexts.asave_context("read_file", {"path": "a.py"}, "text", query_id="q")
        assert await contexts.aselect_relevant_contexts("what is in a.py?") == [path]
        assert (await contexts.aload_contexts([path]))[0].result == "text"
        await contexts.aclear_context_dir()
        assert len(contexts.get_all_pointers()) == 1
        await contexts.aclear()
        assert contexts.get_all_pointers() == list(tmp_path.iterdir()) == []

    asyncio.run(work())


def test_the_loop_goes_on_while_many_saves_run(tmp_path: Path) -> None:
    async def work() -> list[str]:
        contexts = ContextManager(tmp_path)
        return await asyncio.gather(*(contexts.asave_context("t", {}, n) for n in range(40)))

    assert len(set(asyncio.run(work()))) == 40
