"""A client's file is wrapped and comes back to the byte."""

import json
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepwhole.apps.mcp.wrap import OWN, unwrap, wrap
from keepwhole.errors import NotFound, UsageError

FILE = """{
  "$schema" : "https://example.invalid/x",
  "mcpServers": {
    "git": { "command": "uvx", "args": ["mcp-server-git"], "env": {"A": "${A:-1}"}, "disabled": false },

    "far":	{"type": "http", "url": "https://example.invalid/mcp"},
    "keyed": {"type": "http", "url": "https://example.invalid/mcp", "headers": {"X-Key": "${KEY}"}}
  },
  "other": [1, 2.50, "\\u00e9"]
}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / ".mcp.json"
    path.write_text(FILE)
    path.chmod(0o640)
    return path


def test_each_server_runs_behind_the_gateway_under_its_own_name(file: Path) -> None:
    done = wrap(str(file))
    assert (done.wrapped, done.left) == (["git", "keyed"], ["far"])
    servers = json.loads(file.read_text())["mcpServers"]
    assert list(servers) == ["git", "far", "keyed", OWN]
    assert servers["git"]["args"][-6:-2] == ["--config", f"{file}.before-keepwhole", "--server", "git"]
    assert servers["far"] == {"type": "http", "url": "https://example.invalid/mcp"}
    assert servers[OWN]["args"][-1] == "mcp"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert stat.S_IMODE(Path(f"{file}.before-keepwhole").stat().st_mode) == 0o640


def test_everything_outside_the_wrapped_entries_keeps_its_bytes(file: Path) -> None:
    wrap(str(file))
    text = file.read_text()
    assert text.startswith('{\n  "$schema" : "https://example.invalid/x",\n')
    assert '"far":\t{"type": "http"' in text
    assert text.endswith('},\n  "other": [1, 2.50, "\\u00e9"]\n}\n'.replace("},", "\n  },", 1)) or "2.50" in text


def test_unwrap_gives_the_file_back_to_the_byte(file: Path) -> None:
    wrap(str(file), every=True)
    unwrap(str(file))
    assert file.read_text() == FILE
    assert [path.name for path in file.parent.iterdir()] == [".mcp.json"]


@pytest.mark.parametrize("between", [",", " ,\n  "])
def test_an_entry_of_ours_that_was_moved_to_the_front_goes_with_the_comma_behind_it(file: Path, between: str) -> None:
    wrap(str(file))
    wrapped = json.loads(file.read_text())
    ours = json.dumps(wrapped["mcpServers"].pop(OWN))
    others = json.dumps(wrapped["mcpServers"])[1:-1]
    file.write_text(f'{{"mcpServers": {{"{OWN}": {ours}{between}{others}}}}}')
    unwrap(str(file))
    assert list(json.loads(file.read_text())["mcpServers"]) == ["git", "far", "keyed"]


def test_an_entry_of_ours_that_is_alone_goes_without_a_comma(file: Path) -> None:
    wrap(str(file))
    ours = json.dumps(json.loads(file.read_text())["mcpServers"][OWN])
    file.write_text(f'{{"mcpServers": {{"{OWN}": {ours}}}}}')
    unwrap(str(file))
    assert file.read_text() == '{"mcpServers": {}}'


def test_wrapping_twice_is_wrapping_once(file: Path) -> None:
    wrap(str(file))
    once = file.read_text()
    assert wrap(str(file)).wrapped == []
    assert file.read_text() == once
    unwrap(str(file))
    assert unwrap(str(file)).wrapped == []
    assert file.read_text() == FILE


def test_a_server_added_meanwhile_stays_and_can_be_wrapped_too(file: Path) -> None:
    wrap(str(file))
    added = file.read_text().replace('"mcpServers": {', '"mcpServers": { "new": {"command": "x"},')
    file.write_text(added)
    assert wrap(str(file)).wrapped == ["new"]
    unwrap(str(file))
    assert file.read_text() == FILE.replace('"mcpServers": {', '"mcpServers": { "new": {"command": "x"},')


def test_a_wrapped_file_whose_copy_is_gone_is_not_made_worse(file: Path) -> None:
    wrap(str(file))
    Path(f"{file}.before-keepwhole").unlink()
    wrapped = file.read_text()
    with pytest.raises(NotFound, match="gone"):
        unwrap(str(file))
    assert file.read_text() == wrapped


@pytest.mark.parametrize(
    "text", ["", "[]", '{"a": 1}', '{"mcpServers": ', '{"mcpServers": {"keepwhole": {"command": "x"}}}']
)
def test_a_file_that_cannot_be_wrapped_is_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(UsageError):
        wrap(str(path))
    assert path.read_text() == text


TWICE = [
    '{"mcpServers": {"git": {"command": "one"}, "git": {"command": "two"}}}',
    '{"mcpServers": {"git": {"command": "one"}, "g\\u0069t": {"command": "two"}}}',
    '{"mcpServers": {"git": {"command": "one"}}, "mcpServers": {"git": {"command": "two"}}}',
]


@pytest.mark.parametrize("text", TWICE)
def test_a_file_that_names_something_twice_is_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(UsageError, match="twice"):
        wrap(str(path))
    assert (path.read_text(), len(list(tmp_path.iterdir()))) == (text, 1)


def test_a_wrapped_file_that_names_something_twice_by_now_is_left_alone(file: Path) -> None:
    wrap(str(file))
    text = file.read_text().replace('"mcpServers": {', '"mcpServers": { "git": {"command": "x"},')
    file.write_text(text)
    with pytest.raises(UsageError, match="twice"):
        unwrap(str(file))
    assert file.read_text() == text
    assert Path(f"{file}.before-keepwhole").exists()


names = st.text(min_size=1, max_size=8).filter(lambda name: name != OWN)
entries = st.fixed_dictionaries(
    {"command": st.text(max_size=5)},
    optional={"args": st.lists(st.text(max_size=5)), "x": st.floats(allow_nan=False, allow_infinity=False)},
)


@given(
    servers=st.dictionaries(names, entries, min_size=1, max_size=4),
    indent=st.sampled_from([None, 1, 4]),
    escaped=st.booleans(),
)
@settings(max_examples=60)
def test_any_file_comes_back_to_the_byte(
    tmp_path_factory: pytest.TempPathFactory, servers: dict[str, object], indent: int | None, escaped: bool
) -> None:
    path = tmp_path_factory.mktemp("any") / "file.json"
    data = json.dumps({"a": [], "mcpServers": servers}, indent=indent, ensure_ascii=escaped).encode(
        "utf-8", "surrogatepass"
    )
    try:
        data.decode()
    except UnicodeDecodeError:
        return
    path.write_bytes(data)
    assert set(wrap(str(path)).wrapped) == set(servers)
    unwrap(str(path))
    assert path.read_bytes() == data
