"""Files of others are read up to a size and not beyond it: a client's settings, its file of hooks, our own settings."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from keepwhole import config
from keepwhole.apps.client_file import read_file
from keepwhole.apps.wrap import settings_files
from keepwhole.apps.wrap.settings_files import read_json, read_variables, read_yaml
from keepwhole.errors import ConfigError
from keepwhole.store.regular_file import open_own_below, open_regular, read_regular

MB = 1_048_576


def padded(path: Path, text: str, size: int) -> str:
    path.write_bytes(text.encode() + b"\n" * (size - len(text)))
    return str(path)


def test_settings_of_a_client_over_4_mb_count_as_empty(tmp_path: Path) -> None:
    assert read_json(padded(tmp_path / "settings", '{"a": "b"}', 4 * MB)) == {"a": "b"}
    assert read_json(padded(tmp_path / "settings", '{"a": "b"}', 4 * MB + 1)) == {}


@pytest.mark.parametrize(("read", "text"), [(read_yaml, "a: b"), (read_variables, "a=b")])
def test_the_same_limit_holds_for_every_format(
    tmp_path: Path, read: Callable[[str], object], text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings_files, "_LARGEST", 1_000)  # reading 4 MB of YAML takes seconds
    assert read(padded(tmp_path / "settings", text, 1_000)) == {"a": "b"}
    assert read(padded(tmp_path / "settings", text, 1_001)) == {}


def test_a_clients_file_over_16_mb_is_not_read(tmp_path: Path) -> None:
    assert len(read_file(padded(tmp_path / "hooks.json", "{}", 16 * MB)) or b"") == 16 * MB
    with pytest.raises(OSError, match="more than 16,777,216 bytes"):
        read_file(padded(tmp_path / "hooks.json", "{}", 16 * MB + 1))


def test_a_settings_file_over_1_mb_is_refused(tmp_path: Path) -> None:
    path = padded(tmp_path / "keepwhole.yaml", "mode: shadow", MB)
    assert config.load(path=path).mode == "shadow"
    with pytest.raises(ConfigError, match="larger than a settings file can be"):
        config.load(path=padded(tmp_path / "keepwhole.yaml", "mode: shadow", MB + 1))


@pytest.mark.parametrize("size", [0, 1, 9, 10])
def test_a_file_of_up_to_the_limit_is_read_whole(tmp_path: Path, size: int) -> None:
    (tmp_path / "file").write_bytes(b"x" * size)
    assert read_regular(tmp_path / "file", 10) == b"x" * size


@pytest.mark.parametrize("size", [11, 12, 10_000])
def test_a_file_over_the_limit_is_named_with_the_limit(tmp_path: Path, size: int) -> None:
    (tmp_path / "file").write_bytes(b"x" * size)
    with pytest.raises(OSError, match="it has more than 10 bytes"):
        read_regular(tmp_path / "file", 10)


def test_a_file_that_is_not_read_is_not_left_open(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        with pytest.raises(IsADirectoryError):
            open_regular(tmp_path)
        with pytest.raises(FileNotFoundError):
            open_own_below(str(tmp_path), "gone")
        with pytest.raises(OSError, match="not a regular file of this user"):
            open_own_below(str(tmp_path.parent), tmp_path.name)
    assert len(os.listdir("/proc/self/fd")) == before
