"""Stored results in MCP's terms: texts, links, and pages by their address."""

import base64
from typing import Any

import pytest

pytest.importorskip("mcp_types", reason="needs the extra `mcp`")

import anyio
from mcp.shared.exceptions import MCPError

from keepwhole.apps.mcp.recall_tools import complete, link_items, read_artifact, recall, shown_items, text_item
from keepwhole.canonical.media import MediaBytes
from keepwhole.session import Session
from tests.build import in_memory
from tests.canonical.pictures import png

NEW, OLD = "2025-06-18", "2025-03-26"
LINES = "".join(f"line {number}\n" for number in range(1, 2_001))


@pytest.fixture
def session() -> Session:
    return in_memory()


def test_a_text_that_json_cannot_carry_gets_marks_for_the_broken_characters() -> None:
    assert text_item("whole \U0001f600") == {"type": "text", "text": "whole \U0001f600"}
    assert text_item("\ud83d\ude00 \ud800!") == {"type": "text", "text": "\U0001f600 \ufffd!"}


def test_a_link_is_given_where_something_was_left_out_and_the_client_knows_links() -> None:
    assert link_items("art_1 x", 7, NEW) == [
        {
            "type": "resource_link",
            "uri": "keepwhole://artifact/art_1%20x",
            "name": "art_1 x",
            "mimeType": "text/plain",
            "size": 7,
        }
    ]
    assert link_items("art_1", 7, OLD) == link_items(None, 7, NEW) == []


def test_what_is_shown_of_a_result_comes_with_the_link_to_all_of_it(session: Session) -> None:
    short, long = session.keep("t", {}, "short"), session.keep("t", {}, LINES)
    assert shown_items(short, NEW) == [{"type": "text", "text": "short"}]
    text, link = shown_items(long, NEW)
    assert text == {"type": "text", "text": long.content}
    assert (link["name"], link["size"]) == (long.artifact_id, len(LINES))
    assert shown_items(long, OLD) == [text]


def test_an_answer_of_a_recall_tool_is_its_text_and_its_image(session: Session) -> None:
    kept = session.keep("t", {}, LINES)

    def ask(name: str, **arguments: Any) -> dict[str, Any]:
        return anyio.run(recall, session, name, arguments)

    answer = ask("get_artifact", id=kept.artifact_id, lines="7-7")
    assert not answer["isError"]
    assert answer["content"][0]["text"].startswith("line 7\n")
    assert ask("get_artifact", id="art_1_none")["isError"]
    (image,) = session.keep_media("see", {}, [MediaBytes("image/png", png(3, 2))])
    words, picture = ask("get_artifact", id=image)["content"]
    assert words["type"] == "text"
    assert (picture["type"], picture["mimeType"]) == ("image", "image/png")


def page(session: Session, uri: str) -> dict[str, Any]:
    (content,) = anyio.run(read_artifact, session, uri)["contents"]
    assert content["uri"] == uri
    return content


def test_a_page_is_read_by_its_address(session: Session) -> None:
    address = f"keepwhole://artifact/{session.keep('t', {}, LINES).artifact_id}"
    whole = page(session, address)
    assert whole["mimeType"] == "text/plain"
    assert whole["text"].startswith("line 1\n")
    assert page(session, f"{address}?lines=7-8")["text"].startswith("line 7\nline 8\n")
    assert page(session, f"{address}?start_char=7&length=6")["text"].startswith("line 2")
    assert page(session, f"{address}?start_line=9&end_line=9")["text"].startswith("line 9\n")
    assert "line 1234" in page(session, f"{address}?pattern=line%201234&context=0")["text"]
    with pytest.raises(MCPError, match="404"):
        page(session, "keepwhole://artifact/art_1_none")


def test_an_image_is_read_as_bytes(session: Session) -> None:
    (image,) = session.keep_media("see", {}, [MediaBytes("image/png", png(3, 2))])
    content = page(session, f"keepwhole://artifact/{image}")
    assert content["mimeType"] == "image/png"
    assert base64.b64decode(content["blob"]) == png(3, 2)


def test_an_answer_is_marked_as_complete_unless_it_says_otherwise() -> None:
    async def handler(_: Any, params: Any) -> dict[str, Any]:
        return params

    answer = complete(handler)
    context: Any = None
    assert anyio.run(answer, context, {"a": 1}) == {"resultType": "complete", "a": 1}
    asked = {"resultType": "input_required"}
    assert anyio.run(answer, context, asked) == asked
