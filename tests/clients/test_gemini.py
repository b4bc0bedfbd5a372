"""Gemini CLI at a provider directly and under `keepwhole wrap`: the same end, from smaller requests that are valid."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.clients.drive import Start
from tests.clients.test_agents import LISTING, read_back
from tests.clients.test_wrap import ENVIRON, record, wrap
from tests.clients.upstream import Script, results, upstream
from tests.upstream.gemini_rules import gemini_complaint

pytestmark = pytest.mark.clients
SCRIPT: Script = [(LISTING.format(0),), (read_back,), (LISTING.format(1), "echo beside"), ("echo end",)]
_SETTINGS = {"security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": False}}
_WORDS = ["-m", "gemini-2.5-pro", "--approval-mode", "yolo", "--output-format", "json", "-p", "look around"]


def start(home: Path, port: int) -> Start:
    """The client in a home with its settings, at a provider on this port."""
    (home / ".gemini").mkdir(parents=True)
    (home / ".gemini/settings.json").write_text(json.dumps(_SETTINGS))
    address = {"GOOGLE_GEMINI_BASE_URL": f"http://127.0.0.1:{port}", "GEMINI_API_KEY": "fake"}
    return Start(["gemini", *_WORDS], {**ENVIRON, **address, "GEMINI_CLI_TRUST_WORKSPACE": "true"})


def run(home: Path, log: list[Any], *before: str) -> tuple[str, str]:
    """What the client printed at its end, and on its error stream."""
    with upstream(SCRIPT, log) as port:
        done = start(home, port).run(home, before)
    return done.stdout, done.stderr


def test_gemini_cli_under_wrap_ends_as_without_it(tmp_path: Path) -> None:
    plain, viewed = list[Any](), list[Any]()
    said, _ = run(tmp_path / "plain", plain)
    wrapped, receipt = run(tmp_path / "viewed", viewed, *wrap())
    assert "All done." in said
    assert "All done." in wrapped
    turns = [body for body in viewed if "tools" in body]
    assert [gemini_complaint(body) for body in turns] == [""] * len(turns)
    for before, after in pairwise(turns):
        assert after["contents"][: len(before["contents"])] == before["contents"], "what was sent is sent again"
    whole, shown = results(plain[-1]["contents"]), results(turns[-1]["contents"])
    assert len(shown[0]) < 0.5 * len(whole[0])
    left_out = set(whole[0].splitlines()) - set(shown[0].splitlines())
    assert len(left_out & set(shown[1].splitlines())) > 100, "what was left out was read back"
    (kept,) = record(tmp_path / "viewed").values()
    assert any("listing 0 line 000700 of many" in text and "line 000001 of many" in text for text in kept)
    assert "read back once" in receipt
