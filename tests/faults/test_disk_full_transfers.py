"""The disk is full during a backup or a restore: earlier files stay, the error says what to do, and it can go on."""

import os
from pathlib import Path

import pytest

from keepwhole import Session, SqliteStore
from keepwhole.store.protocol import result_of
from keepwhole.store.verify import verify
from tests.apps.cli.cli import Cli
from tests.torture import mounts

BODIES = {f"s{number}": os.urandom(1_500_000) for number in range(3)}


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """A record with more in it than the small disk has room for."""
    cli = Cli(tmp_path)
    store = SqliteStore(cli.environ["KEEPWHOLE_HOME"])
    for name, body in BODIES.items():
        Session(name, store=store).keep("bash", None, body)
    store.close()
    return cli


@pytest.mark.root
def test_a_backup_that_does_not_fit_leaves_the_earlier_one_and_says_what_to_do(cli: Cli, tmp_path: Path) -> None:
    with mounts.tmpfs(str(tmp_path / "disk"), "size=3m,mode=700") as disk:
        file = Path(disk.path) / "backup"
        empty = Cli(tmp_path / "empty")
        empty.folder.mkdir()
        empty.said("store", "backup", str(file))
        before = file.read_bytes()
        done = cli("store", "backup", str(file))
        assert done.returncode == 4
        assert b"No space left on device" in done.stderr
        assert b"Free some space, or name a file on another disk." in done.stderr
        assert b"may write to" not in done.stderr
        assert [path.name for path in Path(disk.path).iterdir()] == ["backup"]
        assert file.read_bytes() == before


@pytest.mark.root
def test_a_restore_that_does_not_fit_says_so_and_goes_on_once_there_is_room(cli: Cli, tmp_path: Path) -> None:
    file, home = str(tmp_path / "backup"), cli.environ["KEEPWHOLE_HOME"]
    cli.said("store", "backup", file)
    with mounts.tmpfs(str(tmp_path / "disk"), "size=3m,mode=700") as disk:
        into = str(Path(disk.path) / "record")
        done = cli("store", "restore", file, "--into", into)
        assert done.returncode == 4
        assert b"(No space left on device)" in done.stderr
        assert b"run this again" in done.stderr
        assert b"shown in full" not in done.stderr, "nobody is shown anything here"
        disk.remount("size=64m")
        cli.said("store", "restore", file, "--into", into)
        restored, source = SqliteStore(into), SqliteStore(home)
        for name, body in BODIES.items():
            assert verify(restored, name).head == verify(source, name).head
            (result,) = map(result_of, restored.rows(name, kind="result"))
            assert Session(name, store=restored).recall_bytes(result.trace_id) == body
        restored.close()
        source.close()
