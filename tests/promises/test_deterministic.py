"""Deterministic: same record, same policy, same bytes, on any machine, after any restart or upgrade."""

import json
import os
import random
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepwhole import MemoryStore, Session, SqliteStore
from keepwhole.canonical import utf8
from keepwhole.config import Settings
from keepwhole.models import tokens
from keepwhole.store.verify import verify
from keepwhole.transfer.archive import import_session
from keepwhole.truncation.configuration import ToolOverride, TruncationConfiguration
from tests.build import fixed_clock, numbered_lines, seeded
from tests.promises import conversations as talk
from tests.promises.languages import WRITERS
from tests.promises.recorded_outputs import NAMES, keep_all, read_output

RECORDED = Path(__file__).parent / "recorded.jsonl"
PINNED_HEAD = "8d3c928f1a548e1bc356704cb2e1da7076511b4c243727c26df6e203f0fd9d05"


def pieces(data: bytes, size: int) -> Iterator[bytes]:
    return (data[start : start + size] for start in range(0, len(data), size))


def test_two_stores_of_different_kinds_hold_and_show_the_same(tmp_path: Path) -> None:
    one, shown = keep_all(MemoryStore())
    two, again = keep_all(SqliteStore(str(tmp_path)))
    assert shown == again
    assert one.verify() == two.verify()
    two.store.close()


CHILD = """
import hashlib, sys
from keepwhole import SqliteStore
from tests.promises.recorded_outputs import keep_all
session, shown = keep_all(SqliteStore(sys.argv[1]))
print(session.verify().head)
for view in shown:
    print(view.trace_id, view.artifact_id, hashlib.sha256(view.content.encode()).hexdigest())
"""


def test_processes_in_different_places_hold_and_show_the_same(tmp_path: Path) -> None:
    printed = []
    ascii_only = "C" if sys.prefix.isascii() else "C.UTF-8"  # Python reads no other path of an environment
    for number, (seed, zone, language) in enumerate((("1", "UTC", ascii_only), ("2", "Asia/Tokyo", "C.UTF-8"))):
        place = {"PYTHONHASHSEED": seed, "TZ": zone, "LC_ALL": language, "KEEPWHOLE_HOME": str(tmp_path)}
        command = [sys.executable, "-c", CHILD, str(tmp_path / str(number))]
        done = subprocess.run(command, env={**os.environ, **place}, capture_output=True, text=True, check=True)
        printed.append(done.stdout)
    assert printed[0] == printed[1]
    assert len(printed[0].splitlines()) == len(NAMES) + 1


def test_how_the_bytes_came_in_chunks_changes_nothing() -> None:
    heads = set()
    for size in (1_000, 65_536, 100_003):
        session = Session("s", store=MemoryStore(), clock=fixed_clock, random=seeded())
        for name in NAMES:
            session.keep(name, None, pieces(read_output(name), size))
        heads.add(session.verify().head)
    assert len(heads) == 1


def test_the_speed_extra_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with_it = keep_all(MemoryStore())[0]
    with_it.keep("large", None, numbered_lines(100_000))
    monkeypatch.setattr(utf8, "_zilla", [None])
    without = keep_all(MemoryStore())[0]
    without.keep("large", None, numbered_lines(100_000))
    assert with_it.verify().head == without.verify().head


def _sent_in_a_small_window() -> list[str]:
    """What is sent of a conversation in Polish that is too long for its window, request by request."""
    settings = Settings(home="unused", models={"m": {"window": 30_000}})
    session = Session("s", store=MemoryStore(), settings=settings, clock=fixed_clock, random=seeded())
    messages, sent = [talk.user_message("zacznij")], list[str]()
    for number in range(12):
        text = WRITERS["Polish"](random.Random(number), 12_000)
        messages += talk.call_messages("openai_chat", [(f"c{number}", "read_file", {"path": f"{number}.txt"})])
        messages += talk.result_messages("openai_chat", [(f"c{number}", text)])
        sent.append(json.dumps(session.view(messages, model="m")))
    return sent


def test_a_vocabulary_that_is_installed_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another machine with the same record may not have it (decision 29)."""
    monkeypatch.setitem(sys.modules, "splintr", None)
    without = _sent_in_a_small_window()
    assert any("art_" in each for each in without), "nothing was decided by a count"
    module = types.ModuleType("splintr")
    monkeypatch.setattr(module, "Tokenizer", _OneToken, raising=False)
    monkeypatch.setitem(sys.modules, "splintr", module)
    count = tokens.exact_counter()
    assert count is not None
    assert count("a text of many words") == 1, "another count than the estimate"
    assert _sent_in_a_small_window() == without


class _OneToken:
    """A vocabulary in which every text is one token."""

    @staticmethod
    def from_pretrained(_: str) -> "_OneToken":
        return _OneToken()

    def encode(self, text: str) -> list[str]:
        return [text]


OTHER_SETTINGS = [
    TruncationConfiguration(),
    TruncationConfiguration(inline_limit=256),
    TruncationConfiguration(inline_limit=1_000_000, artifact_threshold=1_000_000),
    TruncationConfiguration(default_strategy="head", preview_limit=500, head_ratio=0.1),
    TruncationConfiguration(overrides=dict.fromkeys(NAMES, ToolOverride(inline_limit=300))),
]


@pytest.mark.parametrize("policy", OTHER_SETTINGS)
def test_what_was_shown_once_is_shown_again_though_the_settings_changed(policy: TruncationConfiguration) -> None:
    store = MemoryStore()
    _, shown = keep_all(store)
    later = Session("s", store=store, policy=policy)
    for view in shown:
        again = later.shown(str(view.trace_id))
        assert again.content == view.content
        assert again.metadata == view.metadata
        assert (again.artifact_id, again.artifact_reference) == (view.artifact_id, view.artifact_reference)
        arrived = later.keep("other", None, read_output(NAMES[shown.index(view)]), call_id=view.call_id)
        assert arrived.content == view.content


def test_what_was_shown_once_has_the_same_body_without_notices() -> None:
    store = MemoryStore()
    session, shown = keep_all(store)
    for view in shown:
        assert session.shown(str(view.trace_id)).body == view.body


def test_what_was_shown_once_is_shown_again_in_another_process(tmp_path: Path) -> None:
    session, shown = keep_all(SqliteStore(str(tmp_path)))
    session.store.close()
    code = "import sys\nfrom keepwhole import Session\nsession = Session('s', store=sys.argv[1])\n"
    code += "for trace in sys.argv[2:]:\n    sys.stdout.write(session.shown(trace).content)\n"
    traces = [str(view.trace_id) for view in shown]
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path), *traces], capture_output=True, check=True)
    assert done.stdout.decode() == "".join(view.content for view in shown)


@settings(max_examples=30)
@given(st.binary(max_size=300), st.integers(256, 2_000), st.integers(256, 2_000))
def test_any_view_is_rendered_again_the_same_under_any_other_limit(raw: bytes, before: int, after: int) -> None:
    atoms = ("word ", "\n", "é", "😀", "\ud800", "line of text\n", "x" * 40)
    text = "".join(atoms[byte % len(atoms)] for byte in raw)
    store = MemoryStore()
    view = Session("s", store=store, policy=TruncationConfiguration(inline_limit=before)).keep("t", None, text)
    later = Session("s", store=store, policy=TruncationConfiguration(inline_limit=after, default_strategy="head"))
    assert later.shown(str(view.trace_id)).content == view.content


def test_a_record_of_an_earlier_version_verifies_and_shows_what_it_showed() -> None:
    store = MemoryStore()
    import_session(store, RECORDED.read_bytes().splitlines(keepends=True))
    proof = verify(store, "recorded")
    assert proof.findings == ()
    assert proof.entries > 10
    assert proof.head == PINNED_HEAD
