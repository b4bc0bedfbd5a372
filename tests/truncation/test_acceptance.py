"""The acceptance criteria of the truncation document that this version covers, one test each, by their numbers.

The limits of that document are those of the policy `truncation`.
"""

import asyncio
import base64
import logging
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from keepwhole import MemoryStore, NotFound, Session, SqliteStore, session, trust
from keepwhole.config import RECORD, load
from keepwhole.errors import UsageError
from keepwhole.recall.answer import RecallCall
from keepwhole.recall.get_artifact import read_artifact
from keepwhole.record.kept_result import KeptResult
from keepwhole.store.protocol import result_of
from tests.build import TRUNCATION, in_memory, numbered_lines, printed_call, run_python

TEXT = numbered_lines(1_000)
LARGE = numbered_lines(5_000)
CANARY = "canary-7c1f9e"


def kept(text: str = TEXT, **fields: object) -> tuple[Session, KeptResult]:
    opened = in_memory(settings=TRUNCATION)
    return opened, opened.keep("read_file", {"path": "big.txt"}, text, **fields)  # type: ignore[arg-type]


# Artifact creation


def test_ac_045_an_artifact_is_created_when_the_inline_limit_is_exceeded() -> None:
    _, over = kept("x" * 8_001)
    _, within = kept("x" * 8_000)
    assert over.artifact_id is not None
    assert within.artifact_id is None


def test_ac_046_artifact_ids_are_unique() -> None:
    opened = Session(store=MemoryStore())
    drawn = [opened.keep("t", None, "x" * 8_001).artifact_id for _ in range(200)]
    assert len(set(drawn)) == 200


def test_ac_047_artifact_id_format() -> None:
    shown = Session(store=MemoryStore()).keep("t", None, TEXT)
    found = re.fullmatch(r"art_(\d{10})_[0-9A-Za-z]{22}", str(shown.artifact_id))
    assert found is not None
    assert abs(int(found[1]) - time.time()) < 60


def test_ac_048_the_artifact_stores_the_full_content() -> None:
    opened, shown = kept()
    assert opened.recall(str(shown.artifact_id)) == TEXT


def test_ac_049_the_artifact_has_size_type_and_source() -> None:
    opened, shown = kept()
    row = opened.store.find(opened.id, str(shown.artifact_id))
    assert row is not None
    about = result_of(row)
    assert (about.tool, about.arguments, about.media_type) == ("read_file", '{"path": "big.txt"}', "text/plain")
    assert opened.artifacts()[0].size == len(TEXT.encode())


def test_ac_050_the_result_has_the_reference() -> None:
    _, shown = kept()
    assert shown.artifact_reference is not None
    assert shown.artifact_reference in shown.content


# Artifact storage


def test_ac_051_storage_is_local_to_the_session() -> None:
    store = MemoryStore()
    mine, theirs = Session("mine", store=store), Session("theirs", store=store)
    secret = theirs.keep("t", None, TEXT)
    with pytest.raises(NotFound):
        mine.recall(str(secret.artifact_id))
    assert mine.call_tool("get_artifact", {"id": secret.artifact_id}).is_error
    assert mine.artifacts() == []


def test_ac_052_the_record_lies_where_the_documents_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named, nearest, own = tmp_path / "named", tmp_path / "work" / ".keepwhole", tmp_path / ".keepwhole"
    inner = tmp_path / "work" / "deep" / "inside"
    inner.mkdir(parents=True)
    environ = {"KEEPWHOLE_HOME": str(named)}
    assert load(environ=environ, folder=str(inner)).home == str(named)
    assert load(environ={}, folder=str(inner)).home == str(own)
    nearest.mkdir()
    trust.approve(str(nearest), RECORD)
    assert load(environ={}, folder=str(inner)).home == str(nearest)
    monkeypatch.setenv("KEEPWHOLE_HOME", str(named))
    with session() as opened:
        opened.keep("t", None, LARGE)
    assert (named / "record.db").is_file()
    assert [path for path in (named / "blobs").rglob("*") if path.is_file()]


def test_ac_053_artifacts_are_cleaned_up_when_an_ephemeral_session_ends(tmp_path: Path) -> None:
    with Session("s", store=str(tmp_path), ephemeral=True) as opened:
        shown = opened.keep("t", None, LARGE)
        assert opened.recall(str(shown.artifact_id)) == LARGE
    assert [path for path in (tmp_path / "blobs").rglob("*") if path.is_file()] == []
    store = SqliteStore(str(tmp_path))
    assert store.sessions() == []
    assert [stone.name for stone in store.tombstones()] == ["s"]
    store.close()


def test_ac_054_storage_handles_concurrent_access(tmp_path: Path) -> None:
    opened = Session("s", store=str(tmp_path))
    shown: list[tuple[KeptResult, str]] = []

    def work(worker: int) -> None:
        for number in range(4):
            text = f"{worker}/{number}\n" + LARGE
            shown.append((opened.keep("t", None, text), text))

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(opened.recall(str(view.artifact_id)) == text for view, text in shown)
    assert len(shown) == 20
    assert opened.verify().whole
    opened.close()


@pytest.mark.parametrize(
    "odd", ["../../etc/passwd", "/etc/passwd", "art_../../x", "..\\..\\x", "a\x00b", "~/x", "%2e%2e/"]
)
def test_ac_055_no_id_is_ever_a_path(tmp_path: Path, odd: str) -> None:
    opened = Session("s", store=str(tmp_path / "home"))
    opened.keep("t", None, LARGE)
    with pytest.raises(NotFound):
        opened.recall(odd)
    assert opened.call_tool("get_artifact", {"id": odd}).is_error
    with pytest.raises(UsageError):
        Session(odd, store=str(tmp_path / "home"))
    opened.close()


# Artifact reference


def test_ac_056_the_reference_includes_the_artifact_id() -> None:
    _, shown = kept()
    assert str(shown.artifact_id) in str(shown.artifact_reference)


def test_ac_057_the_reference_includes_a_summary() -> None:
    _, shown = kept()
    assert 'read_file: {"path": "big.txt"}' in str(shown.artifact_reference)


def test_ac_058_the_reference_includes_the_size() -> None:
    _, shown = kept("x" * 2_411_725)
    assert str(shown.artifact_reference).endswith("(2.3 MB)")


def test_ac_059_reference_format() -> None:
    _, shown = kept()
    summary = 'read_file: {"path": "big.txt"}'
    assert shown.artifact_reference == f"[Artifact: {shown.artifact_id}] {summary} ({len(TEXT) / 1024:.1f} KB)"


def test_ac_060_the_summary_has_at_most_100_characters() -> None:
    opened = in_memory()
    shown = opened.keep("t" * 90, {"path": "p" * 500}, TEXT)
    found = re.fullmatch(r"\[Artifact: \S+\] (.*) \(.*\)", str(shown.artifact_reference))
    assert found is not None
    assert 50 < len(found[1]) <= 100


# Artifact retrieval


def test_ac_061_an_artifact_is_retrieved_by_its_id() -> None:
    opened, shown = kept()
    assert opened.call_tool("get_artifact", {"id": shown.artifact_id}).content == TEXT
    assert opened.call_tool("get_artifact", {"artifact_id": shown.artifact_id}).content == TEXT


def test_ac_062_the_full_content_is_returned_at_once_or_page_by_page() -> None:
    opened, shown = kept(LARGE)
    pages: list[str] = []
    arguments = {"id": shown.artifact_id}
    while True:
        answer = opened.call_tool("get_artifact", arguments).content
        page, _, note = answer.rpartition("[lines ")
        pages.append(page)
        if "next:" not in note:
            break
        arguments = printed_call(note)
    assert "".join(pages) == LARGE
    assert b"".join(opened.stream(str(shown.artifact_id))) == LARGE.encode()


def test_ac_063_an_unknown_id_is_answered_with_404_and_what_there_is() -> None:
    opened, shown = kept()
    answer = opened.call_tool("get_artifact", {"id": "art_1699234567_a1b2c3"})
    assert answer.is_error
    assert answer.content.startswith("404")
    assert str(shown.artifact_id) in answer.content


@pytest.mark.parametrize("arguments", [{"lines": "100-200"}, {"start_line": 100, "end_line": 200}])
def test_ac_064_lines_x_to_y_can_be_retrieved(arguments: dict[str, object]) -> None:
    opened, shown = kept()
    expected = "".join(TEXT.splitlines(keepends=True)[99:200])
    assert opened.recall(str(shown.artifact_id), lines="100-200") == expected
    answer = opened.call_tool("get_artifact", {"id": shown.artifact_id, **arguments}).content
    assert answer.startswith(expected)
    assert answer[len(expected) :].startswith("[lines 100-200 of 1,000")


def test_ac_065_retrieval_is_by_tool_call() -> None:
    opened, shown = kept()
    tool, *_ = opened.tools("anthropic")
    assert tool["name"] == "get_artifact"
    block = opened.answer({"type": "tool_use", "id": "c1", "name": tool["name"], "input": {"id": shown.artifact_id}})
    assert block == {"type": "tool_result", "tool_use_id": "c1", "content": TEXT}


# Truncation metadata


def test_ac_066_metadata_has_the_original_size() -> None:
    assert kept("é" * 9_000)[1].metadata.original_size == 9_000


def test_ac_067_metadata_has_the_truncated_size() -> None:
    _, shown = kept()
    assert shown.metadata.truncated_size == len(shown.content) <= 8_000


def test_ac_068_metadata_has_the_strategy_used() -> None:
    assert kept()[1].metadata.strategy_used == "head_tail"
    assert kept("short")[1].metadata.strategy_used == "none"


def test_ac_069_metadata_has_the_artifact_id_if_there_is_one() -> None:
    _, shown = kept()
    assert shown.metadata.artifact_id == shown.artifact_id is not None
    assert kept("short")[1].metadata.artifact_id is None


def test_ac_070_metadata_says_whether_the_result_was_truncated() -> None:
    assert kept()[1].metadata.was_truncated is True
    assert kept("short")[1].metadata.was_truncated is False


# Not functional


def test_nfr_004_artifact_writes_can_be_awaited_and_do_not_block_the_loop(tmp_path: Path) -> None:
    def slow() -> Iterator[str]:
        for _ in range(5):
            time.sleep(0.02)
            yield LARGE

    async def main() -> tuple[KeptResult, int]:
        opened, ticks = Session(store=str(tmp_path)), 0
        keeping = asyncio.create_task(opened.akeep("t", None, slow()))
        while not keeping.done():
            await asyncio.sleep(0.002)
            ticks += 1
        assert await opened.arecall(str((await keeping).artifact_id)) == LARGE * 5
        opened.close()
        return await keeping, ticks

    shown, ticks = asyncio.run(main())
    assert shown.artifact_id is not None
    assert ticks >= 10


FULL_DISK = """
import resource, sys
from keepwhole import Session
session = Session("s", store=sys.argv[1])
first = session.keep("t", None, "x" * 9000)
limit = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, limit[1]))
shown = session.keep("t", None, iter(["y" * 100_000] * 20))
assert shown.content == "y" * 2_000_000, len(shown.content)
assert shown.problem is not None and not shown.metadata.stored
assert session.recall(first.artifact_id) == "x" * 9000
resource.setrlimit(resource.RLIMIT_FSIZE, limit)
again = session.keep("t", None, iter(["y" * 100_000] * 20))
assert again.problem is None and session.recall(again.artifact_id) == "y" * 2_000_000
assert session.verify().whole
print("ok")
"""


def test_nfr_007_a_full_disk_loses_nothing_and_says_so(tmp_path: Path) -> None:
    assert run_python(FULL_DISK, str(tmp_path)).strip() == "ok"


@pytest.mark.parametrize(
    "text", ["👩\u200d👩\u200d👧\u200d👦" * 2_000, "e\u0301" * 6_000, "\ud800" * 9_000, "🇨🇭" * 5_000]
)
def test_nfr_008_unicode_is_preserved(text: str) -> None:
    opened, shown = kept(text)
    assert opened.recall(str(shown.artifact_id)) == text
    shown.content.encode()
    assert shown.cut is not None
    (gap,) = shown.cut.gaps
    assert text[gap.start] not in "\u200d\u0301"


def test_nfr_009_a_planted_link_is_not_followed(tmp_path: Path) -> None:
    opened = Session("s", store=str(tmp_path / "home"))
    shown = opened.keep("t", None, LARGE)
    (blob,) = (path for path in (tmp_path / "home" / "blobs").rglob("*") if path.is_file())
    (tmp_path / "secret").write_text(LARGE)
    blob.unlink()
    blob.symlink_to(tmp_path / "secret")
    answer = opened.call_tool("get_artifact", {"id": shown.artifact_id})
    assert answer.is_error
    assert "line 000001" not in answer.content
    opened.close()


def test_nfr_010_nothing_is_written_outside_the_record(tmp_path: Path) -> None:
    code = """
import os, sys
written = []
def watch(event, args):
    if event == "open" and (args[2] or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
        written.append(str(args[0]))
sys.addaudithook(watch)
from keepwhole import Session
with Session("../x".replace("../", ""), store=sys.argv[1], ephemeral=True) as session:
    session.keep("../../tool", {"path": "/etc/passwd"}, "x" * 100_000, call_id="../../../up")
print("\\n".join(written))
"""
    environ = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": str(tmp_path / "tmp")}
    (tmp_path / "tmp").mkdir()
    command = [sys.executable, "-c", code, str(tmp_path / "home")]
    done = subprocess.run(command, capture_output=True, text=True, env=environ, cwd=tmp_path, check=True)
    inside = re.compile(rf"{re.escape(str(tmp_path / 'home'))}/|\.?[0-9a-f]{{32}}$|[0-9a-f]{{2}}$")
    assert done.stdout.split()
    assert [path for path in done.stdout.split() if not inside.match(path)] == []
    assert [path.name for path in tmp_path.iterdir() if path.name not in ("home", "tmp")] == []
    assert list((tmp_path / "tmp").iterdir()) == []


def test_nfr_011_artifact_ids_are_not_predictable() -> None:
    opened = Session(store=MemoryStore())
    drawn = [str(opened.keep("t", None, "x" * 8_001).artifact_id)[-22:] for _ in range(300)]
    for place in range(22):
        assert len({letters[place] for letters in drawn}) > 40


def test_nfr_012_sensitive_content_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    opened = in_memory()
    opened.keep("t", {"secret": CANARY}, f"{CANARY}\n" * 2_000, call_id=CANARY, question=CANARY, task_id=CANARY)
    opened.keep("t", None, f"{CANARY} <response clipped>")
    opened.keep("t", None, base64.b64encode(CANARY.encode()))
    with pytest.raises(NotFound):
        opened.recall("trace_none")
    opened.call_tool("get_artifact", {"id": CANARY})
    opened.end()
    assert caplog.records
    assert CANARY not in caplog.text


def test_nfr_013_truncation_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    _, shown = kept()
    (line,) = (record.getMessage() for record in caplog.records if record.getMessage().startswith("cut "))
    assert f"trace={shown.trace_id}" in line
    assert "strategy=head_tail" in line
    assert f"chars_shown={len(shown.content)}" in line


def test_nfr_014_artifact_creation_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    opened, shown = kept()
    (line,) = (record.getMessage() for record in caplog.records if record.getMessage().startswith("kept "))
    assert f"session={opened.id} trace={shown.trace_id}" in line
    assert f"bytes={len(TEXT)}" in line


def test_nfr_015_size_metrics_are_available() -> None:
    opened, shown = kept()
    assert opened.metrics.chars_in_total == len(TEXT)
    assert opened.metrics.chars_out_total == len(shown.content)
    assert opened.metrics.bytes_kept_total == len(TEXT.encode())


def test_nfr_016_truncation_rates_can_be_tracked() -> None:
    opened, _ = kept()
    opened.keep("read_file", None, "short")
    assert opened.metrics.truncation_rate == 0.5
    assert opened.metrics.truncations_total == {("read_file", "head_tail"): 1}
    assert "keepwhole_truncation_rate 0.5" in opened.metrics.prometheus()


def test_fr_045_to_070_hold_for_a_result_of_any_kind() -> None:
    """A result that is not text has an id, a reference and metadata too, and no text is made up for it."""
    opened = in_memory()
    picture = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
    shown = opened.keep("draw", None, picture)
    assert shown.artifact_id is not None
    assert "image/png" in shown.content
    assert opened.recall_bytes(shown.artifact_id) == picture
    with opened.open(shown.artifact_id) as reader:
        answer = read_artifact(reader, "image/png", RecallCall(str(shown.artifact_id)), {}, 32_000)
    assert "--raw" in answer.content
