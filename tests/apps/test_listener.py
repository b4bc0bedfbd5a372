"""A listener answers pages of its own hosts, and programs, which send no origin; pages of others it refuses."""

import socket
from pathlib import Path

import pytest

from keepwhole.apps.listener import Gate, Refusal, parse_address, read_token, usage_error_if_taken
from keepwhole.errors import UsageError


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
    words = r"cannot listen at nowhere\.example:8787 \(no such name\)"
    with (
        pytest.raises(UsageError, match=words),
        usage_error_if_taken(parse_address("nowhere.example:8787", public=True)),
    ):
        raise socket.gaierror(-2, "no such name")
