"""A client's own file is the old one or the new one, and nobody's edit is lost."""

import fcntl
import os
import stat
from pathlib import Path

import pytest

from keepwhole.apps import client_file
from keepwhole.apps.client_file import (
    ChangedMeanwhile,
    read_file,
    remove_file,
    remove_unfinished,
    replace_file,
    unfinished_copies,
)
from keepwhole.errors import UsageError


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "settings.json"
    path.write_bytes(b"old")
    path.chmod(0o641)
    return path


def test_a_file_that_is_not_there_is_read_as_none(tmp_path: Path) -> None:
    assert read_file(str(tmp_path / "none")) is None
    assert read_file(str(tmp_path / "no" / "folder")) is None


def test_a_new_file_gets_its_folders_and_the_usual_mode(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "settings.json"
    replace_file(str(path), None, b"new")
    assert path.read_bytes() == b"new"
    assert mode_of(path) == 0o644
    assert os.listdir(path.parent) == ["settings.json"]


def test_a_replaced_file_keeps_its_mode_unless_another_is_named(file: Path) -> None:
    replace_file(str(file), b"old", b"new")
    assert (file.read_bytes(), mode_of(file)) == (b"new", 0o641)
    replace_file(str(file), b"new", b"newer", 0o600)
    assert (file.read_bytes(), mode_of(file)) == (b"newer", 0o600)


def test_a_link_stays_a_link_and_its_file_is_replaced(file: Path) -> None:
    link = file.parent / "link.json"
    link.symlink_to(file)
    replace_file(str(link), b"old", b"new")
    assert link.is_symlink()
    assert file.read_bytes() == b"new"


@pytest.mark.parametrize("before", [None, b"other"])
def test_an_edit_of_another_program_stays_and_nothing_is_left_beside_it(file: Path, before: bytes | None) -> None:
    with pytest.raises(ChangedMeanwhile, match=r"settings\.json` was changed by another program .* Try again\."):
        replace_file(str(file), before, b"new")
    assert file.read_bytes() == b"old"
    assert os.listdir(file.parent) == ["settings.json"]
    with pytest.raises(ChangedMeanwhile):
        remove_file(str(file), b"other")
    remove_file(str(file), b"old")
    assert not file.exists()


def test_a_file_with_two_names_is_left_as_it_is(file: Path) -> None:
    os.link(file, file.parent / "same.json")
    with pytest.raises(UsageError, match=r"has 2 names \(hard links\).*Copy it to a file with one name first\."):
        replace_file(str(file), b"old", b"new")
    assert file.read_bytes() == b"old"


@pytest.mark.parametrize("inner", ["", "/settings.json", "/deep/er/settings.json"])
def test_a_link_that_leads_nowhere_is_named_wherever_it_is(tmp_path: Path, inner: str) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "gone")
    for use in (lambda path: read_file(path), lambda path: replace_file(path, None, b"new")):
        with pytest.raises(UsageError, match=f"`{link}` is a link to `{tmp_path / 'gone'}`, which does not exist"):
            use(f"{link}{inner}")
    assert not (tmp_path / "gone").exists()


def test_what_a_killed_process_left_is_removed_and_nothing_else(file: Path) -> None:
    left = [file.parent / f"settings.json.{digit * 16}" for digit in "0f"]
    others = [
        file.parent / f"settings.json.{'0' * 15}",
        file.parent / f"settings.json.{'0' * 17}",
        file.parent / f"settings.json.{'g' * 16}",
        file.parent / f"other.json.{'0' * 16}",
    ]
    for path in (*left, *others):
        path.write_bytes(b"half")
    (file.parent / f"settings.json.{'1' * 16}").mkdir()
    (file.parent / f"settings.json.{'2' * 16}").symlink_to(file)
    assert sorted(unfinished_copies(str(file))) == list(map(str, left))
    assert remove_unfinished(str(file)) == 2
    assert not any(path.exists() for path in left)
    assert all(path.exists() for path in others)
    assert unfinished_copies(str(file.parent / "no" / "settings.json")) == []


def test_what_a_process_is_writing_stays_until_it_ends(file: Path) -> None:
    writing = file.parent / f"settings.json.{'a' * 16}"
    with open(writing, "wb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert remove_unfinished(str(file)) == 0
        assert writing.exists()
    replace_file(str(file), b"old", b"new")
    assert os.listdir(file.parent) == ["settings.json"]


def test_what_is_gone_meanwhile_is_not_counted(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_file, "unfinished_copies", lambda path: [f"{path}.{'0' * 16}"])
    assert remove_unfinished(str(file)) == 0


def test_only_a_regular_file_of_a_bounded_size_is_read(tmp_path: Path) -> None:
    fifo, large = tmp_path / "fifo", tmp_path / "large"
    os.mkfifo(fifo)
    with pytest.raises(OSError, match="regular"):
        read_file(str(fifo))
    large.write_bytes(b"")
    os.truncate(large, 16 * 1_048_576 + 1)
    with pytest.raises(OSError, match=r"large|more than"):
        read_file(str(large))


def test_what_is_written_is_locked_and_durable_before_it_takes_its_place(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    write_all = client_file.write_all

    def write(fd: int, data: memoryview) -> None:
        assert stat.S_IMODE(os.fstat(fd).st_mode) == 0o600
        write_all(fd, data)

    def sync(fd: int) -> None:
        synced.append("file")
        assert [Path(path).read_bytes() for path in unfinished_copies(str(file))] == [b"new"]
        assert file.read_bytes() == b"old"
        assert remove_unfinished(str(file)) == 0

    def sync_folder(folder: str) -> None:
        synced.append(folder)
        assert file.read_bytes() == b"new"

    monkeypatch.setattr(client_file, "write_all", write)
    monkeypatch.setattr(client_file, "sync", sync)
    monkeypatch.setattr(client_file, "sync_folder", sync_folder)
    replace_file(str(file), b"old", b"new")
    assert synced == ["file", str(file.parent)]


def test_no_file_is_left_open(file: Path) -> None:
    (file.parent / f"settings.json.{'0' * 16}").write_bytes(b"half")
    before = os.listdir("/proc/self/fd")
    replace_file(str(file), b"old", b"new")
    assert os.listdir("/proc/self/fd") == before
