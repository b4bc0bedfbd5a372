"""The file of pins: what is pinned when a server is first seen, what counts as changed or new, and what accepts it."""

import fcntl
import json
import stat
import threading
from pathlib import Path
from typing import Any

import pytest

from keepwhole.apps.mcp.pins import Pins, digest, pin_key

SERVER = "files@1f"


@pytest.fixture
def pins(tmp_path: Path) -> Pins:
    return Pins(str(tmp_path / "record"))


def saved(tmp_path: Path) -> dict[str, Any]:
    return json.loads((tmp_path / "record" / "mcp-pins.json").read_text())


def test_what_is_first_seen_is_pinned_and_then_nothing_differs(pins: Pins, tmp_path: Path) -> None:
    assert pins.compare(SERVER, "tool", {"echo": 1}) == {}
    assert saved(tmp_path) == {
        SERVER: {"complete list of tool": {"pinned": ""}, "tool echo": {"pinned": digest(1)}},
    }
    assert stat.S_IMODE((tmp_path / "record" / "mcp-pins.json").stat().st_mode) == 0o600
    before = (tmp_path / "record" / "mcp-pins.json").stat().st_mtime_ns
    assert pins.compare(SERVER, "tool", {"echo": 1}) == {}
    assert (tmp_path / "record" / "mcp-pins.json").stat().st_mtime_ns == before


def test_a_change_is_told_until_it_is_undone_or_accepted(pins: Pins, tmp_path: Path) -> None:
    pins.compare(SERVER, "tool", {"echo": 1, "add": 1})
    for _ in range(2):
        assert pins.compare(SERVER, "tool", {"echo": 2, "add": 1}) == {"echo": "changed"}
    assert saved(tmp_path)[SERVER]["tool echo"] == {"pinned": digest(1), "seen": digest(2)}
    assert pins.compare(SERVER, "tool", {"echo": 1}) == {}
    assert saved(tmp_path)[SERVER]["tool echo"] == {"pinned": digest(1)}
    assert pins.compare(SERVER, "tool", {"echo": 3}) == {"echo": "changed"}
    assert pins.accept() == [("files", "tool echo")]
    assert pins.accept() == []
    assert pins.compare(SERVER, "tool", {"echo": 3}) == {}
    assert pins.compare(SERVER, "tool", {"echo": 1}) == {"echo": "changed"}


def test_what_appears_after_a_list_was_complete_is_new(pins: Pins, tmp_path: Path) -> None:
    pins.compare(SERVER, "tool", {"echo": 1})
    for _ in range(2):
        assert pins.compare(SERVER, "tool", {"echo": 1, "add": 1}) == {"add": "new"}
    assert saved(tmp_path)[SERVER]["tool add"] == {"seen": digest(1)}
    assert pins.compare(SERVER, "tool", {"add": 2}) == {"add": "new"}
    assert pins.accept("other") == []
    assert pins.accept("files") == [("files", "tool add")]
    assert pins.compare(SERVER, "tool", {"echo": 1, "add": 2}) == {}


def test_a_list_is_pinned_page_by_page_until_the_last_one(pins: Pins, tmp_path: Path) -> None:
    assert pins.compare(SERVER, "tool", {"a": 1}, is_last_page=False) == {}
    assert pins.compare(SERVER, "tool", {"b": 1}, is_last_page=False) == {}
    assert "complete list of tool" not in saved(tmp_path)[SERVER]
    assert pins.compare(SERVER, "tool", {"c": 1}) == {}
    assert pins.compare(SERVER, "tool", {"d": 1}, is_last_page=False) == {"d": "new"}
    assert pins.compare(SERVER, "tool", {"a": 1}, is_last_page=False) == {}


def test_a_complete_list_of_nothing_is_remembered(pins: Pins) -> None:
    assert pins.compare(SERVER, "tool", {}) == {}
    assert pins.compare(SERVER, "tool", {"a": 1}) == {"a": "new"}


def test_servers_and_kinds_have_pins_of_their_own(pins: Pins) -> None:
    pins.compare(SERVER, "tool", {"a": 1})
    assert pins.compare("files@2e", "tool", {"a": 2}) == {}
    assert pins.compare(SERVER, "prompt", {"a": 2}) == {}
    assert pins.compare(SERVER, "instructions", {"": "x"}) == {}
    assert pins.compare(SERVER, "instructions", {"": "y"}) == {"": "changed"}
    assert pins.compare("files@2e", "tool", {"a": 3}) == {"a": "changed"}
    assert sorted(pins.accept("files")) == [("files", "instructions"), ("files", "tool a")]


def test_several_gateways_write_one_after_the_other(pins: Pins, tmp_path: Path) -> None:
    pins.compare(SERVER, "tool", {"a": 1})
    with (tmp_path / "record" / "mcp-pins.json.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        other = threading.Thread(target=pins.accept)
        other.start()
        other.join(0.05)
        assert other.is_alive()
    other.join()


def test_a_thing_is_named_by_its_kind_and_name() -> None:
    assert pin_key("tool", "echo") == "tool echo"
    assert pin_key("instructions", "") == "instructions"


def test_one_meaning_has_one_hash() -> None:
    assert digest({"a": 1, "b": [2]}) == digest({"b": [2], "a": 1}) != digest({"a": 1, "b": [3]})
    assert len(digest("\ud800")) == 64


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        '{"a": 1}',
        '{"a": {"b": 1}}',
        '{"a": {"b": {"pinned": 1}}}',
        '{"a": {"b": {"pinned": "x"}}, "c": []}',
        "[" * 100_000,
    ],
)
def test_a_file_of_another_form_is_refused_and_left_as_it_is(pins: Pins, tmp_path: Path, content: str) -> None:
    (tmp_path / "record").mkdir()
    path = tmp_path / "record" / "mcp-pins.json"
    path.write_text(content)
    for act in (lambda: pins.compare(SERVER, "tool", {"a": 1}), pins.accept):
        with pytest.raises(ValueError, match=r"not a file of pins|nested too deep|Expecting value"):
            act()
    assert path.read_text() == content
    path.write_text('{"files@1f": {"tool a": {"seen": "x"}}}')
    assert pins.accept() == [("files", "tool a")]
