"""An ephemeral session is held by a lock on a file, which the last holder takes away."""

import os
from pathlib import Path

import pytest

from keepwhole.errors import NotStored
from keepwhole.store.sqlite.session_locks import SessionLocks


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def descriptors() -> int:
    """How many files this process has open."""
    return len(os.listdir("/proc/self/fd"))


def test_a_session_is_held_until_its_last_holder_releases_it(tmp_path: Path) -> None:
    one, other, observer = (SessionLocks(str(tmp_path)) for _ in range(3))
    assert not observer.is_held(7)
    one.hold("s", 7)
    other.hold("s", 7)
    assert files(tmp_path) == ["session-7.lock"]
    assert observer.is_held(7)
    assert not observer.is_held(8)
    one.release("s")
    assert observer.is_held(7)
    assert files(tmp_path) == ["session-7.lock"]
    other.release("s")
    assert not observer.is_held(7)
    assert files(tmp_path) == []


def test_holding_twice_and_releasing_what_is_not_held_is_harmless(tmp_path: Path) -> None:
    before = descriptors()
    locks = SessionLocks(str(tmp_path))
    locks.release("s")
    locks.hold("s", 1)
    locks.hold("s", 1)
    assert descriptors() == before + 1
    os.unlink(tmp_path / "session-1.lock")  # by somebody who cleans up
    locks.release("s")
    locks.release("s")
    assert descriptors() == before


def test_closing_releases_all_sessions(tmp_path: Path) -> None:
    before = descriptors()
    locks = SessionLocks(str(tmp_path))
    for number in range(3):
        locks.hold(f"s{number}", number)
    assert [locks.is_held(number) for number in range(4)] == [True, True, True, False]
    locks.close()
    assert (files(tmp_path), descriptors()) == ([], before)


def test_a_forked_child_forgets_the_locks_of_its_parent_and_leaves_the_files(tmp_path: Path) -> None:
    before = descriptors()
    locks = SessionLocks(str(tmp_path))
    locks.hold("s", 1)
    locks.leave()
    assert descriptors() == before
    locks.close()
    assert files(tmp_path) == ["session-1.lock"]
    locks.hold("s", 1)
    assert locks.is_held(1)


def test_only_the_user_may_read_the_file_and_no_link_is_followed(tmp_path: Path) -> None:
    locks = SessionLocks(str(tmp_path))
    locks.hold("s", 1)
    assert os.stat(tmp_path / "session-1.lock").st_mode & 0o777 == 0o600
    (tmp_path / "session-2.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(NotStored, match=r"cannot be held open .* See `keepwhole doctor`"):
        locks.hold("other", 2)
    assert not (tmp_path / "elsewhere").exists()
