"""A listener answers pages of its own hosts, and programs, which send no origin; pages of others it refuses."""

import socket
from pathlib import Path
from typing import Any

import pytest

from keepwhole.apps import listener
from keepwhole.apps.listener import Gate, Refusal, parse_address, read_secret, read_token, usage_error_if_taken
from keepwhole.errors import StoreError, UsageError


def _is_admitted(
    host: str, origin: str | None, *, address: str = "127.0.0.1:8787", hosts: tuple[str, ...] = ()
) -> bool:
    gate = Gate(parse_address(address, public=True), None, hosts)
    headers = {"host": host} if origin is None else {"host": host, "origin": origin}
    return not isinstance(gate.admit("/v1/messages", headers), Refusal)


@pytest.mark.parametrize("origin", [None, "http://127.0.0.1:8787", "http://localhost:8787"])
def test_a_page_of_its_own_and_a_program_are_answered(origin: str | None) -> None:
    assert _is_admitted("127.0.0.1:8787", origin)


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "", "http://127.0.0.1:8788"])
def test_a_page_of_another_origin_is_refused(origin: str) -> None:
    assert not _is_admitted("127.0.0.1:8787", origin)


def test_a_host_of_the_settings_is_answered_with_its_pages_and_another_host_is_not() -> None:
    hosts = ("proxy.example",)
    assert _is_admitted("proxy.example", "https://proxy.example", hosts=hosts)
    assert not _is_admitted("other.example", None, hosts=hosts)
    assert not _is_admitted("other.example", None)


def test_on_a_public_address_any_host_is_answered_and_no_page() -> None:
    assert _is_admitted("other.example", None, address="0.0.0.0:8787")
    assert not _is_admitted("other.example", "http://other.example", address="0.0.0.0:8787")


def test_a_token_of_the_environment_has_sixteen_characters_at_least(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_TOKEN", "x" * 16)
    assert read_token(str(tmp_path), "a", "A_TOKEN") == ("x" * 16, "$A_TOKEN")
    monkeypatch.setenv("A_TOKEN", "x" * 15)
    with pytest.raises(UsageError, match="shorter than 16"):
        read_token(str(tmp_path), "a", "A_TOKEN")


def test_a_name_that_is_no_machines_is_refused_with_the_words_of_the_resolver() -> None:
    words = r"cannot listen on nowhere\.example:8787 \(no such name\)"
    with (
        pytest.raises(UsageError, match=words),
        usage_error_if_taken(parse_address("nowhere.example:8787", public=True)),
    ):
        raise socket.gaierror(-2, "no such name")


def test_of_two_processes_that_write_a_secret_at_once_both_read_the_first_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = listener.write_file

    def late(path: str, *given: Any, **more: Any) -> None:
        monkeypatch.setattr(listener, "write_file", write)
        write(path, [b"the first one's secret\n"], 0o600)
        write(path, *given, **more)

    monkeypatch.setattr(listener, "write_file", late)
    path = str(tmp_path / "a.token")
    assert read_secret(path) == "the first one's secret"
    assert read_secret(path) == "the first one's secret"


def test_a_secret_is_made_once_and_is_only_its_owners(tmp_path: Path) -> None:
    path = tmp_path / "sub" / "a.token"
    secret = read_secret(str(path))
    assert len(secret) >= 32
    assert read_secret(str(path)) == secret
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_text("\n")
    assert read_secret(str(path)) not in ("", secret)
    for mode in (0o640, 0o604, 0o610):
        path.chmod(mode)
        with pytest.raises(StoreError, match="only you can read"):
            read_secret(str(path))
    path.chmod(0o600)
    path.write_bytes(b"\xff")
    with pytest.raises(StoreError, match="damaged"):
        read_secret(str(path))
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="cannot be used"):
        read_secret(str(path))


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("8000", ("127.0.0.1", 8000)),
        (":8000", ("127.0.0.1", 8000)),
        ("[::1]:1", ("::1", 1)),
        ("localhost:65535", ("localhost", 65_535)),
        ("localhost:65536", None),
        ("localhost:0", None),
        ("localhost:", None),
        ("localhost:x", None),
        ("localhost:-1", None),
    ],
)
def test_an_address_has_a_port_from_1_to_65535(text: str, address: tuple[str, int] | None) -> None:
    if address is None:
        with pytest.raises(UsageError, match="not an address"):
            parse_address(text)
    else:
        given = parse_address(text)
        assert (given.host, given.port) == address
