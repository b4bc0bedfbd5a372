"""Images, documents and notebooks in results that come by a hook: kept as bytes, read back as what they are."""

import base64
import json
import os
from pathlib import Path
from typing import Any

import pytest

from keepwhole.apps.hooks.run import answer
from keepwhole.canonical.entry import Result
from keepwhole.session import Session
from keepwhole.store.protocol import result_of
from keepwhole.store.sqlite.store import SqliteStore
from tests.apps.hooks.recorded import event, events
from tests.canonical.pictures import pdf, png

PICTURE = png(300, 200, 3)
FIGURE = png(64, 48, 5)
SHOT = png(80, 60, 7)


@pytest.fixture
def store(tmp_path: Path) -> SqliteStore:
    return SqliteStore(str(tmp_path / "home"))


def ask(one: dict[str, Any], client: str = "claude-code") -> Any:
    return answer(client, json.dumps({**one, "cwd": os.getcwd()}).encode())


def results(store: SqliteStore) -> list[Result]:
    (info,) = store.sessions()
    return [result_of(row) for row in store.rows(info.name, kind="result")]


def session(store: SqliteStore) -> Session:
    (info,) = store.sessions()
    return Session(info.name, store=store)


def image_of(block: dict[str, Any]) -> bytes:
    """The image in a result block for Claude."""
    (image,) = [part for part in block["content"] if part["type"] in ("image", "document")]
    return base64.b64decode(image["source"]["data"])


def as_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def codex_image() -> dict[str, Any]:
    return next(one for one in events("codex") if one.get("tool_name") == "view_image")


def opencode_image(data: bytes = PICTURE, kind: str = "image/png") -> dict[str, Any]:
    url = f"data:{kind};base64,{as_base64(data)}"
    attachment = {"type": "file", "mime": kind, "url": url, "id": "prt_1", "sessionID": "ses_1", "messageID": "msg_1"}
    words = {"output": "Image read successfully", "metadata": {"preview": "Image read successfully"}}
    call = {"event": "returned", "session_id": "ses_1", "tool": "read", "call_id": "c1", "args": {"filePath": "/a.png"}}
    return {**call, **words, "attachments": [attachment], "may_read": True}


@pytest.mark.parametrize(
    ("one", "client", "tool"),
    [
        (event("claude-code", "Read", type="image"), "claude-code", "Read"),
        (event("claude-code", "Bash", isImage=True), "claude-code", "Bash"),
        (codex_image(), "codex", "view_image"),
    ],
    ids=["Read", "Bash", "view_image"],
)
def test_an_image_is_kept_as_bytes_and_comes_back_as_an_image(
    one: dict[str, Any], client: str, tool: str, store: SqliteStore
) -> None:
    assert ask(one, client) is None, "the client shows it as it came"
    (result,) = results(store)
    assert (result.tool, result.call_id, result.media_type) == (tool, one["tool_use_id"], "image/png")
    assert (result.width, result.height) == (300, 200)
    with session(store) as reader:
        assert reader.recall_bytes(result.artifact_id) == PICTURE
        assert b"".join(reader.stream(result.trace_id)) == PICTURE
        call = {"type": "tool_use", "id": "x", "name": "get_artifact", "input": {"id": result.artifact_id}}
        block = reader.answer(call)
        assert block is not None
        assert image_of(block) == PICTURE
        assert reader.artifacts() == [], "nothing of it is hidden"


def test_a_document_is_kept_with_its_pages(store: SqliteStore) -> None:
    one = event("claude-code", "Read", type="pdf")
    assert ask(one) is None
    (result,) = results(store)
    assert (result.media_type, result.pages) == ("application/pdf", 1)
    with session(store) as reader:
        assert reader.recall_bytes(result.trace_id) == base64.b64decode(one["tool_response"]["file"]["base64"])


def test_a_notebook_is_kept_as_its_cells_and_its_figures(store: SqliteStore) -> None:
    one = event("claude-code", "Read", type="notebook", file=NOTEBOOK["tool_response"]["file"])
    assert ask(one) is None
    figure, cells = results(store)
    assert (figure.media_type, figure.width, figure.height) == ("image/png", 64, 48)
    with session(store) as reader:
        assert reader.recall_bytes(figure.trace_id) == FIGURE
        text = reader.recall(cells.trace_id)
    first = json.loads(text)["file"]["cells"][0]
    assert (first["source"], first["outputs"][0]["text"]) == ("plot()", "hello\n")
    assert first["outputs"][1]["image"]["image_data"].startswith(f"[image/png 64x48, {len(FIGURE)} bytes, digest ")
    assert as_base64(FIGURE) not in text


NOTEBOOK = next(one for one in events("claude-code") if "/a.ipynb" in json.dumps(one.get("tool_input")))


def test_the_images_of_an_mcp_result_are_kept_beside_its_text_and_stay_when_that_is_cut(store: SqliteStore) -> None:
    one = event("claude-code", "mcp__pics__shot")
    assert ask(one) is None
    image, text = results(store)
    assert (image.media_type, image.width, text.media_type) == ("image/png", 80, "text/plain")
    with session(store) as reader:
        assert reader.recall_bytes(image.trace_id) == SHOT
        assert reader.recall(text.trace_id).startswith("a shot\n[Image: source: ")
    long = [{"type": "text", "text": "row\n" * 9_000}, one["tool_response"][1]]
    shown = ask({**one, "tool_use_id": "another", "tool_response": long})["hookSpecificOutput"]["updatedToolOutput"]
    assert [part["type"] for part in shown] == ["text", "image"]
    assert shown[1] == long[1]
    assert len(shown[0]["text"]) < 9_000


@pytest.mark.parametrize(("data", "kind"), [(PICTURE, "image/png"), (pdf(3), "application/pdf")], ids=["png", "pdf"])
def test_attachments_of_opencode_are_kept(data: bytes, kind: str, store: SqliteStore) -> None:
    assert ask(opencode_image(data, kind), "opencode") is None
    attached, text = results(store)
    assert (attached.media_type, attached.pages) == (kind, 3 if kind == "application/pdf" else None)
    with session(store) as reader:
        assert reader.recall_bytes(attached.trace_id) == data
        assert reader.recall(text.trace_id) == "Image read successfully"


def test_a_plugin_of_an_earlier_release_that_only_says_that_there_is_an_image_still_works(store: SqliteStore) -> None:
    assert ask({**opencode_image(), "attachments": True}, "opencode") is None
    assert [result.media_type for result in results(store)] == ["text/plain"]


def test_the_same_image_that_is_heard_of_twice_is_kept_once(store: SqliteStore) -> None:
    one = event("claude-code", "Read", type="image")
    for _ in range(2):
        assert ask(one) is None
    assert len(results(store)) == 1


@pytest.mark.parametrize("broken", ["", "iVBORw0KGgo", "not base64 at all!"])
def test_an_image_that_cannot_be_read_is_kept_as_the_json_it_came_in(broken: str, store: SqliteStore) -> None:
    one = event("claude-code", "Read", type="image")
    response = {"type": "image", "file": {**one["tool_response"]["file"], "base64": broken}}
    assert ask({**one, "tool_response": response}) is None
    (result,) = results(store)
    with session(store) as reader:
        assert json.loads(reader.recall(result.trace_id)) == response


def test_an_image_beside_a_record_that_cannot_be_written_is_left_to_the_client(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("no folder can be here")
    assert ask(event("claude-code", "Read", type="image")) is None
    assert (tmp_path / "home").read_text() == "no folder can be here"
