"""The names of saved contexts: what the call is about, the tool, a hash; safe whatever the arguments are."""

import re
from pathlib import Path
from typing import Any

import pytest

from keepwhole.standalone.contexts import ContextManager, hash_args


@pytest.mark.parametrize(
    ("args", "subject"),
    [
        ({"ticker": "AAPL", "period": "quarterly"}, "AAPL"),
        ({"symbol": "BRK.B"}, "BRK.B"),
        ({"path": "/home/me/src/app.py"}, "app.py"),
        ({"file_path": "C:\\work\\notes.txt"}, "notes.txt"),
        ({"path": "docs/"}, "docs"),
        ({"url": "https://user:secret@example.org:8080/a/b?token=x"}, "example.org"),
        ({"query": "How did it go?"}, "How_did_it_go"),
        ({"pattern": "parse_config", "path": "src"}, "src"),
        ({"query": "x" * 500}, "x" * 40),
    ],
)
def test_a_file_begins_with_what_the_call_is_about(tmp_path: Path, args: dict[str, Any], subject: str) -> None:
    path = ContextManager(tmp_path).save_context("some_tool", args, "result")
    assert Path(path).name == f"{subject}_some_tool_{hash_args(args)}.json"


@pytest.mark.parametrize(
    "args", [{}, None, {"limit": 5}, {"query": ""}, {"path": "/"}, {"url": "http://[bad"}, {"ticker": 7}]
)
def test_a_call_about_nothing_is_named_after_its_tool(tmp_path: Path, args: dict[str, Any] | None) -> None:
    path = ContextManager(tmp_path).save_context("some_tool", args, "result")
    assert re.fullmatch(r"some_tool_[0-9a-f]{12}\.json", Path(path).name)


HOSTILE = (
    "../../etc/passwd",
    "..",
    "...",
    "a/../../b",
    "\x00",
    "~",
    "-rf",
    "\ud800",
    "漢字",
    "a\nb",
    "/" * 9_999,
    "CON",
)


@pytest.mark.parametrize("key", ["ticker", "symbol", "path", "file", "url", "query", "pattern"])
@pytest.mark.parametrize("value", HOSTILE, ids=ascii)
def test_no_argument_leads_out_of_the_folder(tmp_path: Path, key: str, value: str) -> None:
    folder = tmp_path / "contexts"
    with ContextManager(folder) as contexts:
        path = Path(contexts.save_context("t" * 200, {key: value}, "result"))
        assert path.parent == folder
        assert list(folder.iterdir()) == [path]
        assert len(path.name) < 200
        assert not path.name.startswith((".", "-", "~"))
        assert contexts.load_contexts([str(path)])[0].result == "result"
    assert list(folder.iterdir()) == []
