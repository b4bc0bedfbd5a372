"""What a client's hook reports, as values: results, their images, and where a conversation begins or is compacted."""

import base64
from typing import Any

import pytest

from keepwhole.apps.hooks.payload import Boundary, boundary, mapping, read_blocks, text, tool_return, untried_return
from tests.canonical.pictures import png

IMAGE = {"type": "image", "data": base64.b64encode(png(3, 2)).decode(), "mimeType": "image/png"}


@pytest.mark.parametrize(
    ("value", "object_", "words"),
    [({"a": 1}, {"a": 1}, None), ([1], {}, None), (None, {}, None), ("", {}, None), ("x", {}, "x"), (7, {}, None)],
)
def test_what_a_client_sends_is_taken_only_where_it_has_the_right_type(
    value: object, object_: object, words: str | None
) -> None:
    assert mapping(value) == object_
    assert text(value) == words


def test_the_fields_of_a_result_are_read_by_the_names_that_two_clients_use() -> None:
    event: dict[str, Any] = {"tool_name": "Bash", "tool_input": {"a": 1}, "tool_use_id": "c1", "agent_id": "sub"}
    whole = tool_return(event, "out", is_error=True)
    assert whole[:4] == ("Bash", {"a": 1}, "c1", "out")
    assert (whole.agent, whole.is_error, whole.exit_code, whole.replace) == ("sub", True, None, None)
    assert (whole.unchanged, whole.reads_back, whole.numbered, whole.media) == (False, False, False, ())
    bare = tool_return({"tool_use_id": "", "agent_id": 7}, "")
    assert bare[:4] == ("", None, None, "")
    assert (bare.agent, bare.is_error) == (None, False)


@pytest.mark.parametrize(
    ("blocks", "words", "others"),
    [
        ([], "", []),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "a\nb", []),
        ([{"type": "text", "text": ""}, {"type": "text", "text": "b"}], "\nb", []),
        ([{"type": "text", "text": "a"}, IMAGE], "a", [IMAGE]),
    ],
)
def test_blocks_are_texts_and_images(blocks: list[object], words: str, others: list[object]) -> None:
    found = read_blocks(blocks)
    assert found is not None
    assert (found.text, found.others) == (words, others)
    assert [part.facts.media_type for part in found.media] == ["image/png"] * len(others)
    assert [part.body() for part in found.media] == [png(3, 2)] * len(others)


@pytest.mark.parametrize(
    "blocks",
    [
        None,
        "text",
        {"type": "text", "text": "a"},
        [{"type": "text", "text": 7}],
        [{"type": "other", "text": "a"}],
        [IMAGE, {"type": "resource_link", "uri": "file:///x"}],
        ["text"],
    ],
)
def test_blocks_of_any_other_kind_are_not_read(blocks: object) -> None:
    assert read_blocks(blocks) is None


def test_a_result_of_an_unknown_shape_is_kept_as_text_and_its_images_as_bytes() -> None:
    event = {"tool_name": "look"}
    assert untried_return(event, "as it is", is_error=True).output == "as it is"
    assert untried_return(event, "as it is", is_error=True).is_error
    whole = untried_return(event, {"café": [1]}, exit_code=3)
    assert (whole.tool, whole.output, whole.exit_code, whole.media) == ("look", '{"café": [1]}', 3, ())
    seen = untried_return(event, [{"type": "text", "text": "a"}, IMAGE])
    assert [part.body() for part in seen.media] == [png(3, 2)]
    assert IMAGE["data"] not in seen.output
    assert '"text": "a"' in seen.output


@pytest.mark.parametrize(
    ("event", "details", "is_told"),
    [
        ({"hook_event_name": "PreCompact", "trigger": "auto"}, {"trigger": "auto"}, False),
        ({"hook_event_name": "PreCompact"}, {"trigger": None}, False),
        ({"hook_event_name": "SessionStart", "source": "resume"}, {"source": "resume"}, True),
        ({"hook_event_name": "SessionStart", "source": "compact"}, {"source": "compact"}, True),
        ({"hook_event_name": "SessionStart", "source": "startup"}, {"source": "startup"}, False),
        ({"hook_event_name": "SessionStart"}, {"source": None}, False),
    ],
)
def test_the_model_is_told_where_a_conversation_goes_on(
    event: dict[str, Any], details: dict[str, Any], is_told: bool
) -> None:
    found = boundary(event)
    assert found is not None
    assert (found.event, found.details, found.tell is not None) == (event["hook_event_name"], details, is_told)
    if found.tell is not None:
        told = {"hookEventName": "SessionStart", "additionalContext": "words"}
        assert found.tell("words") == {"hookSpecificOutput": told}


@pytest.mark.parametrize("event", [{}, {"hook_event_name": "PostToolUse"}, {"hook_event_name": None}])
def test_any_other_event_is_no_boundary(event: dict[str, Any]) -> None:
    assert boundary(event) is None
    assert Boundary("x", {}).tell is None
