"""How much of a result and of its view the page gets."""

import json
from typing import Any

import pytest

from keepwhole.apps.inspector import export, results
from keepwhole.apps.inspector.export import ExportRequest
from keepwhole.apps.inspector.services import InspectorServices
from keepwhole.errors import StoreError
from keepwhole.session import Session
from tests.build import numbered_lines


def described(services: InspectorServices, any_id: str) -> Any:
    return results.describe_result(services.record, "s", any_id, {})


def parts(services: InspectorServices, any_id: str) -> list[Any]:
    return list(described(services, any_id)["shown"]["segments"])


def test_a_view_of_more_characters_than_the_page_shows_is_cut_within_a_part(
    services: InspectorServices, kept: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = parts(services, kept)
    sizes = [len(part["text"] or "") for part in whole]
    monkeypatch.setattr(results, "_SHOWN", sum(sizes))
    assert parts(services, kept) == whole
    assert not any(part.get("more") for part in whole)
    monkeypatch.setattr(results, "_SHOWN", sizes[0] - 1)
    first, notice = parts(services, kept)
    assert first == {**whole[0], "text": whole[0]["text"][:-1], "more": True}
    assert (notice["part"], notice["chars"]) == ("notice", 0)


def test_a_view_of_more_parts_than_the_page_shows_ends_with_a_notice(
    services: InspectorServices, kept: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = parts(services, kept)
    assert len(whole) > 3
    for most in (1, 3):
        monkeypatch.setattr(results, "_SEGMENTS", most)
        *shown, notice = parts(services, kept)
        assert shown == whole[:most]
        assert notice["part"] == "notice"
    monkeypatch.setattr(results, "_SEGMENTS", len(whole))
    assert parts(services, kept) == whole


def test_of_the_original_beside_a_view_gaps_are_shown_by_their_beginnings(
    services: InspectorServices, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = numbered_lines(5_000)
    artifact = session.keep("execute_command", {"command": "make"}, text).artifact_id
    assert artifact is not None
    original = described(services, artifact)["canonical"]["segments"]
    (gap,) = (part for part in original if part["part"] == "gap" and part["chars"] > 6_000)
    assert (len(gap["text"]), gap["more"]) == (6_000, True)
    monkeypatch.setattr(results, "_ORIGINAL", 100)
    (first,) = described(services, artifact)["canonical"]["segments"]
    assert (first["text"], first["more"]) == (text[:100], True)


def test_the_beginning_of_a_result_is_whole_lines_or_not_and_says_whether_there_is_more(
    services: InspectorServices, session: Session
) -> None:
    for size in (16_384, 16_385):
        trace = session.keep("t", {"n": size}, "x" * size).trace_id
        canonical = described(services, trace)["canonical"]
        assert (len(canonical["text"]), canonical["more"]) == (16_384, size > 16_384)


def test_a_result_that_cannot_be_read_is_told_in_an_export_with_its_reason(
    services: InspectorServices, session: Session, kept: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = session.keep("t", None, "another result").trace_id
    trace = session.keep("t", {"n": 1}, "a third one").trace_id
    describe = results.describe_result

    def broken(record: Any, name: str, any_id: str, query: Any) -> Any:
        if any_id == trace:
            raise StoreError("The disk is gone.")
        return describe(record, name, any_id, query)

    monkeypatch.setattr(results, "describe_result", broken)
    found = json.loads(export.as_json(services, "s", ExportRequest()))["texts"]
    assert found[trace] == {"text": "", "is_all": False, "error": "The disk is gone."}
    assert found[other] == {"text": "another result", "is_all": True}
