"""Recall by path: a read-only file, named in the words of the agent's own tools, there before the notice is."""

import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from keepwhole import MemoryStore, Session, SqliteStore, session
from keepwhole.canonical.media import TEXT
from keepwhole.config import Settings, load
from keepwhole.errors import UsageError
from keepwhole.store.files import ResultFiles
from keepwhole.testing import printed_calls
from keepwhole.wire.media import encoded
from tests.build import numbered_lines
from tests.canonical.pictures import jpeg, pdf, png
from tests.promises import conversations as talk

LONG = numbered_lines(1_000)


def by_path(folder: Path, reader: str = "Read", **more: Any) -> Session:
    settings = Settings(home=str(folder), recall="path", recall_reader=reader, policy="truncation")
    return Session("s", store=SqliteStore(str(folder)), settings=settings, **more)


def read(call: dict[str, Any]) -> str:
    """What a coding agent's own file tool gives."""
    lines = Path(call.get("file_path") or call["path"]).read_text(encoding="utf-8").splitlines(keepends=True)
    first = call.get("offset", 1)
    return "".join(lines[first - 1 : first - 1 + call.get("limit", len(lines))])


@pytest.mark.parametrize("reader", ["Read", "read_file"])
def test_the_notice_names_a_file_with_offset_and_limit_and_it_holds_what_is_missing(
    tmp_path: Path, reader: str
) -> None:
    ours = by_path(tmp_path, reader)
    shown = ours.keep("bash", None, LONG)
    assert "get_artifact" not in shown.content
    (call,) = printed_calls(shown.content)
    assert call.name == reader
    missing = read(call.arguments)
    assert missing in LONG
    assert len(missing) > 1_000
    ours.close()


@pytest.mark.parametrize("text", [LONG, "é" * 30_000, "x" * 30_000 + "\n" + "y" * 30_000, LONG.replace("\n", "\r\n")])
def test_the_command_that_a_shell_notice_prints_gives_what_is_missing(tmp_path: Path, text: str) -> None:
    ours = by_path(tmp_path / "a folder's name", "sed")
    shown = ours.keep("bash", None, text)
    command = (
        shown.content.rsplit(": ", 1)[1] if len(text) < 50_000 else shown.content.split("\n- ")[1].rpartition(" for")[0]
    )
    done = subprocess.run(command, shell=True, capture_output=True, check=True)
    assert done.stdout.decode() in text
    assert len(done.stdout) > 10_000
    ours.close()


def test_the_file_is_read_only_in_a_private_folder_and_is_the_result_byte_for_byte(tmp_path: Path) -> None:
    ours = by_path(tmp_path)
    data = b"caf\xe9 latin-1\n" * 2_000
    shown = ours.keep("bash", None, data)
    path = ours.store.files.path_of("s", str(shown.trace_id))  # type: ignore[attr-defined]
    assert Path(path).read_bytes() == data
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o400
    assert stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode) == 0o700
    assert stat.S_IMODE(os.stat(tmp_path / "results").st_mode) == 0o700
    ours.close()


def test_what_becomes_of_the_file_does_not_touch_the_record(tmp_path: Path) -> None:
    ours = by_path(tmp_path, policy=None)
    shown = ours.keep("bash", None, LONG * 10)
    path = ours.store.files.path_of("s", str(shown.trace_id))  # type: ignore[attr-defined]
    os.chmod(path, 0o600)
    Path(path).write_text("spoiled")
    assert ours.recall(str(shown.trace_id)) == LONG * 10
    (finding,) = ours.verify().findings
    assert path in finding.what
    Path(path).unlink()
    assert ours.verify().whole
    ours.close()


def test_no_file_is_written_for_what_is_shown_whole(tmp_path: Path) -> None:
    ours = by_path(tmp_path)
    ours.keep("bash", None, "short")
    assert not (tmp_path / "results").exists()
    ours.close()


def test_the_files_go_with_the_session(tmp_path: Path) -> None:
    ours = by_path(tmp_path)
    ours.keep("bash", None, LONG)
    other = Session("other", store=ours.store, settings=ours.settings)
    kept = other.keep("bash", None, LONG)
    assert len(list((tmp_path / "results").iterdir())) == 2
    ours.store.purge("s", 0)
    (folder,) = (tmp_path / "results").iterdir()
    assert str(folder) == os.path.dirname(ours.store.files.path_of("other", str(kept.trace_id)))  # type: ignore[attr-defined]
    ours.close()


@pytest.mark.parametrize("policy", ["truncation", "retention", "auto"])
def test_a_conversation_names_files_that_are_there(tmp_path: Path, policy: str) -> None:
    ours = by_path(tmp_path)
    texts = [numbered_lines(2_000) + str(number) for number in range(4)]
    messages: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
    for number, text in enumerate(texts):
        messages += talk.call_messages("openai_chat", [(f"c{number}", "bash", {"n": number})])
        messages += talk.result_messages("openai_chat", [(f"c{number}", text)])
    sent = ours.view(messages, policy=policy)
    calls = [call for _, text in talk.result_texts("openai_chat", sent) for call in printed_calls(text)]
    assert "get_artifact" not in json.dumps(sent)
    assert "get_task_trace" not in json.dumps(sent)
    assert calls
    for call in calls:
        assert any(read(call.arguments) in text for text in texts)
    ours.close()


def test_a_compacted_conversation_names_files_that_are_there(tmp_path: Path) -> None:
    settings = Settings(home=str(tmp_path), recall="path", models={"tiny": {"window": 3_000}})
    ours = Session("s", store=SqliteStore(str(tmp_path)), settings=settings)
    messages: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
    for number in range(40):
        messages += talk.call_messages("openai_chat", [(f"c{number}", "read_file", {"path": f"f{number}"})])
        messages += talk.result_messages("openai_chat", [(f"c{number}", numbered_lines(80) + str(number))])
    sent = ours.projection(messages, model="tiny", policy="auto")
    assert sent.account.compacted > 0
    words = "\n".join(str(message["content"]) for message in sent.messages)
    assert "get_artifact" not in words
    calls = printed_calls(words)
    assert len(calls) > 2, "the list, the first of what is folded, and the newest steps; long paths leave room for few"
    assert all(read(call.arguments) for call in calls)
    ours.close()


def test_where_the_file_cannot_be_written_nothing_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = by_path(tmp_path)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("keepwhole.store.durable.write_all", full)
    shown = ours.keep("bash", None, LONG)
    assert shown.content == LONG
    assert shown.problem is not None
    messages = [
        {"role": "user", "content": "go"},
        *talk.call_messages("openai_chat", [("c1", "bash", {})]),
        *talk.result_messages("openai_chat", [("c1", LONG)]),
    ]
    assert ours.view(messages) == messages
    assert not list((tmp_path / "results").rglob("*.txt*"))
    ours.close()


def test_what_is_selected_names_files_that_are_there(tmp_path: Path) -> None:
    ours = by_path(tmp_path)
    ours.keep("read_file", {"path": "a"}, numbered_lines(50) + "the quokka crossed at 4,417\n" + numbered_lines(50))
    selection = ours.select("where did the quokka cross?", budget=1_000)
    assert selection.tokens <= 1_000
    calls = printed_calls(selection.text)
    assert calls
    assert any("the quokka crossed" in read(call.arguments) for call in calls)
    assert "get_artifact" not in selection.text
    ours.close()


def test_no_tools_are_offered_but_by_tools() -> None:
    assert [len(session(store=MemoryStore(), recall=how).tools("anthropic")) for how in ("tools", "off")] == [3, 0]  # type: ignore[arg-type]


def test_off_names_only_what_a_person_can_run() -> None:
    shown = session(store=MemoryStore(), recall="off").keep("bash", None, LONG)
    assert "get_artifact" not in shown.content
    assert f"keepwhole artifacts show {shown.artifact_id} --lines " in shown.content


def test_a_record_without_a_folder_is_refused_for_recall_by_path() -> None:
    with pytest.raises(UsageError, match="SqliteStore"):
        session(store=MemoryStore(), recall="path")


def test_the_settings_say_how() -> None:
    found = load(environ={"KEEPWHOLE_RECALL": "path", "KEEPWHOLE_RECALL_READER": "sed"})
    assert (found.recall, found.recall_reader) == ("path", "sed")


def test_laying_out_again_leaves_the_file_as_it_is(tmp_path: Path) -> None:
    files = ResultFiles(str(tmp_path / "results"))
    files.lay_out("s", "trace_1", [b"one", b"two"])
    before = os.stat(files.path_of("s", "trace_1")).st_ino
    again = ResultFiles(str(tmp_path / "results"))
    again.lay_out("s", "trace_1", [b"onet", b"wo"])
    assert os.stat(files.path_of("s", "trace_1")).st_ino == before


@pytest.mark.parametrize("changed", [b"", b"one", b"onetwo!", b"oneTWO", b"evil instructions"])
def test_a_file_that_was_changed_is_written_anew_before_a_notice_names_it(tmp_path: Path, changed: bytes) -> None:
    path = Path(ResultFiles(str(tmp_path)).path_of("s", "trace_1"))
    path.parent.mkdir(parents=True)
    path.write_bytes(changed)
    ResultFiles(str(tmp_path)).lay_out("s", "trace_1", iter([b"one", b"two"]))
    assert path.read_bytes() == b"onetwo"


def test_a_link_in_place_of_the_file_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("not of this session")
    files = ResultFiles(str(tmp_path / "results"))
    for _ in range(2):  # known to be there, then not
        files.lay_out("s", "trace_1", [b"the result"])
        path = Path(files.path_of("s", "trace_1"))
        path.unlink()
        path.symlink_to(tmp_path / "secret")
    files.lay_out("s", "trace_1", [b"the result"])
    assert path.read_bytes() == b"the result"
    assert not path.is_symlink()
    assert (tmp_path / "secret").read_text() == "not of this session"


def test_a_link_in_place_of_the_folder_is_neither_written_nor_emptied_through(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "precious.txt").write_text("precious")
    ours = by_path(tmp_path / "record")
    folder = Path(ours.store.files.path_of("s", "x")).parent  # type: ignore[attr-defined]
    folder.parent.mkdir(parents=True)
    folder.symlink_to(elsewhere)
    assert ours.keep("bash", None, LONG).content == LONG
    ours.store.purge("s", 0)
    assert [path.name for path in elsewhere.iterdir()] == ["precious.txt"]
    assert not folder.is_symlink()
    ours.close()


def test_something_that_cannot_be_deleted_does_not_keep_the_other_files(tmp_path: Path) -> None:
    files = ResultFiles(str(tmp_path))
    for number in range(6):
        files.lay_out("s", f"trace_{number}", [b"text"])
    folder = Path(files.path_of("s", "x")).parent
    (folder / "a folder").mkdir()
    files.remove("s")
    assert [path.name for path in folder.iterdir()] == ["a folder"]


@pytest.mark.parametrize("mask", [0o000, 0o077, 0o777])
def test_the_file_has_its_mode_whatever_the_umask(tmp_path: Path, mask: int) -> None:
    files = ResultFiles(str(tmp_path / "results"))
    before = os.umask(mask)
    try:
        files.lay_out("s", "trace_1", [b"text"])
    finally:
        os.umask(before)
    path = files.path_of("s", "trace_1")
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o400
    assert stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode) == 0o700


def test_a_selection_names_a_command_where_the_file_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = by_path(tmp_path)
    ours.keep("bash", None, "the quokka crossed at noon\n")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("keepwhole.store.durable.write_all", full)
    (unit,) = ours.select("quokka").units
    assert "the quokka crossed" in unit.text
    assert "keepwhole artifacts show" in unit.call
    ours.close()


def test_killed_between_the_file_and_the_row_there_is_a_file_without_a_notice_and_purging_takes_it(
    tmp_path: Path,
) -> None:
    code = (
        "import os, signal, sys\n"
        "from keepwhole import SqliteStore\n"
        "from tests.session.test_recall_by_path import LONG, by_path\n"
        "from pathlib import Path\n"
        "SqliteStore.append = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)\n"
        "by_path(Path(sys.argv[1])).keep('bash', None, LONG)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, check=False)
    assert done.returncode == -9
    ours = by_path(tmp_path)
    (file,) = (tmp_path / "results").rglob("*.txt")
    assert file.read_text() == LONG
    assert list(ours.store.rows("s", kind="result")) == []
    assert ours.keep("bash", None, LONG).content != LONG
    ours.store.purge("s", 0)
    assert not list((tmp_path / "results").iterdir())
    ours.close()


def test_the_files_of_an_ephemeral_session_go_when_it_ends(tmp_path: Path) -> None:
    ours = by_path(tmp_path, ephemeral=True)
    ours.keep("bash", None, LONG)
    assert list((tmp_path / "results").rglob("*.txt"))
    ours.end()
    assert not list((tmp_path / "results").rglob("*.txt"))
    ours.close()


def test_the_file_and_its_name_are_on_the_disk_before_a_notice_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    ResultFiles(str(tmp_path / "results")).lay_out("s", "trace_0", [b"text"])
    monkeypatch.setattr("keepwhole.store.durable.sync", lambda _: done.append("file"))
    monkeypatch.setattr("keepwhole.store.durable.sync_folder", lambda _: done.append("folder"))
    monkeypatch.setattr("keepwhole.store.files.sync_folder", lambda _: done.append("folder again"))
    ResultFiles(str(tmp_path / "results")).lay_out("s", "trace_1", [b"text"])
    assert done == ["file", "folder"]
    ResultFiles(str(tmp_path / "results")).lay_out("s", "trace_1", [b"text"])
    assert done == ["file", "folder", "folder again"]


def test_a_file_that_is_written_anew_can_be_read_by_its_owner_alone(tmp_path: Path) -> None:
    files = ResultFiles(str(tmp_path))
    path = Path(files.path_of("s", "trace_1"))
    path.parent.mkdir(parents=True)
    path.write_bytes(b"changed")
    files.lay_out("s", "trace_1", [b"one"])
    assert path.stat().st_mode & 0o777 == 0o400


def test_a_file_counts_as_changed_if_it_has_other_bytes_or_is_no_file(tmp_path: Path) -> None:
    files = ResultFiles(str(tmp_path))
    path = Path(files.path_of("s", "trace_1"))
    assert files.changed_file("s", "trace_1", [b"one"], TEXT, b"{}") is None
    files.lay_out("s", "trace_1", [b"one"])
    assert files.changed_file("s", "trace_1", [b"one"], TEXT, b"{}") is None
    assert files.changed_file("s", "trace_1", [b"two"], TEXT, b"{}") == str(path)
    path.unlink()
    path.symlink_to(tmp_path / "nowhere")
    assert files.changed_file("s", "trace_1", [b"one"], TEXT, b"{}") == str(path)


@pytest.mark.parametrize(("data", "ending"), [(png(640, 480), ".png"), (pdf(2), ".pdf"), (jpeg(900, 800), ".jpg")])
@pytest.mark.parametrize("reader", ["Read", "read", "read_file", "sed"])
def test_an_image_that_is_left_out_is_a_file_that_the_agent_can_open(
    tmp_path: Path, reader: str, data: bytes, ending: str
) -> None:
    settings = Settings(home=str(tmp_path), recall="path", recall_reader=reader, policy="retention")
    store = SqliteStore(str(tmp_path))
    ours = Session("s", store=store, settings=settings)
    kind = "image" if ending != ".pdf" else "document"
    messages: list[Any] = [{"role": "user", "content": "go"}]
    for number in range(12):
        source = {"type": "base64", "media_type": "any/thing", "data": encoded(data + bytes([number]))}
        call = {"type": "tool_use", "id": f"c{number}", "name": "shot", "input": {}}
        result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": [{"type": kind, "source": source}]}
        said = {"type": "text", "text": "next"}
        messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result, said]}]
        sent = ours.view(messages)
    (line,) = sent[2]["content"][0]["content"]
    (path,) = re.findall(rf"/[^\s\"']+\{ending}", line["text"])
    assert Path(path).read_bytes() == data + b"\0"
    assert "cat " not in line["text"]
    assert ours.verify().whole
    Path(path).chmod(0o600)
    Path(path).write_bytes(b"another")
    assert not ours.verify().whole, "a copy that was changed is found"
    row = next(iter(store.rows("s", kind="result")))
    ours.forget(row.trace_id)
    assert not Path(path).exists()
    ours.close()
