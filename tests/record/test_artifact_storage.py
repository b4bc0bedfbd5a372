"""The storage of the processor over a session: what is left out is in the record, and comes back from there."""

from pathlib import Path

import pytest

import keepwhole
from keepwhole.config import Settings
from keepwhole.errors import NotFound, NotStored, QuotaExceeded
from keepwhole.record.artifact_storage import ArtifactStorage
from keepwhole.standalone.processor import IArtifactStorage, TruncationProcessor
from keepwhole.truncation.strategy import STRATEGIES
from tests.build import TRUNCATION, in_memory, numbered_lines

TEXT = numbered_lines(2_000) + "\ud800\x00 ä\n"


def test_what_the_processor_leaves_out_is_in_the_record_in_another_process_too(tmp_path: Path) -> None:
    settings = Settings(home=str(tmp_path))
    with keepwhole.Session("s", settings=settings) as session:
        storage: IArtifactStorage = ArtifactStorage(session)
        shown = TruncationProcessor(STRATEGIES, storage).process(TEXT, "fetch")
    assert shown.artifact_id is not None
    assert shown.artifact_id in shown.content
    with keepwhole.Session("s", settings=settings) as again:
        assert ArtifactStorage(again).get(shown.artifact_id) == TEXT
        assert ArtifactStorage(again).get(shown.artifact_id, lines=(2, 3)) == "".join(TEXT.splitlines(True)[1:3])
        assert "fetch" in again.call_tool("get_task_trace", {"trace_id": shown.artifact_id}).content
        assert again.verify().whole


def test_an_unknown_id_is_not_found_and_another_session_has_none() -> None:
    session = in_memory()
    artifact_id = ArtifactStorage(session).create(TEXT, "fetch")
    for storage, asked in ((ArtifactStorage(session), "art_1_x"), (ArtifactStorage(in_memory()), artifact_id)):
        with pytest.raises(NotFound):
            storage.get(asked)


def test_where_it_cannot_be_stored_nothing_is_hidden() -> None:
    session = in_memory(settings=Settings(home="unused", session_quota=1_000))
    with pytest.raises((NotStored, QuotaExceeded)):
        TruncationProcessor(STRATEGIES, ArtifactStorage(session)).process(TEXT, "fetch")


@pytest.mark.parametrize("tool", ["fetch", "Bash", "Grep", "read_file"])
def test_the_processor_shows_what_the_policy_truncation_shows(tool: str) -> None:
    kept = in_memory(settings=TRUNCATION).keep(tool, {"query": "line 001234"}, TEXT)
    shown = TruncationProcessor(STRATEGIES, ArtifactStorage(in_memory())).process(
        TEXT, tool, arguments='{"query": "line 001234"}'
    )
    assert shown.body == kept.body
    assert shown.metadata.strategy_used == kept.metadata.strategy_used
