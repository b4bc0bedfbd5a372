"""Images and documents in clients' logs: imported as results, byte for byte, once."""

import base64
from collections.abc import Callable
from pathlib import Path

import pytest

from keepwhole.store.protocol import body_of, result_of
from keepwhole.store.sqlite.store import SqliteStore
from tests.apps.cli.cli import Cli
from tests.canonical.pictures import pdf, png
from tests.logs.log_files import (
    ClaudeCode,
    codex,
    gemini_cli,
    item,
    opencode_database,
    rollout,
    text,
    tool_part,
    use,
    written,
)

PICTURE, PAGES = png(300, 200, 3), pdf(2)


def as_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def in_claude_code(folder: Path) -> Path:
    log = ClaudeCode()
    log.user("look")
    log.assistant("m1", use("c1", file_path="a.png"))
    image = {"type": "base64", "media_type": "image/png", "data": as_base64(PICTURE)}
    pages = {"type": "base64", "media_type": "application/pdf", "data": as_base64(PAGES)}
    log.result("c1", [text("here"), {"type": "image", "source": image}, {"type": "document", "source": pages}])
    return written(folder / "S.jsonl", log.lines)


def in_codex(folder: Path) -> Path:
    image = {"type": "input_image", "image_url": f"data:image/png;base64,{as_base64(PICTURE)}", "detail": "original"}
    pages = {"type": "input_file", "file_data": f"data:application/pdf;base64,{as_base64(PAGES)}"}
    output = [{"type": "input_text", "text": "here"}, image, pages]
    more = item("function_call", call_id="c9", name="view_image", arguments="{}")
    lines = rollout(*((line["type"], line["payload"]) for line in codex()), more)
    lines += rollout(item("function_call_output", call_id="c9", output=output))
    return written(folder / "rollout-1.jsonl", lines)


def in_opencode(folder: Path) -> Path:
    kinds = (("image/png", PICTURE), ("application/pdf", PAGES))
    urls = [(kind, f"data:{kind};base64,{as_base64(data)}") for kind, data in kinds]
    attached = [{"type": "file", "mime": kind, "url": url} for kind, url in urls]
    parts = [tool_part("c1", "here", attachments=attached)]
    return opencode_database(folder / "opencode.db", {"s": [({"role": "assistant"}, parts)]})


def in_gemini_cli(folder: Path, *, inside: bool = False) -> Path:
    kinds = (("image/png", PICTURE), ("application/pdf", PAGES))
    parts = [{"inlineData": {"mimeType": kind, "data": as_base64(data)}} for kind, data in kinds]
    returned = {"id": "g9", "name": "read_file", "response": {"output": "here"}}
    returned |= {"parts": parts} if inside else {}
    result = [{"functionResponse": returned}, *([] if inside else parts)]
    call = {"id": "g9", "name": "read_file", "args": {}, "result": result}
    lines = [*gemini_cli(), {"id": "9", "type": "gemini", "content": "", "toolCalls": [call]}]
    return written(folder / "session-1.jsonl", [*lines, {"id": "10", "type": "user", "content": result}])


def in_newer_gemini_cli(folder: Path) -> Path:
    return in_gemini_cli(folder, inside=True)


@pytest.mark.parametrize("make", [in_claude_code, in_codex, in_opencode, in_gemini_cli, in_newer_gemini_cli])
def test_images_in_the_log_of_a_client_are_imported_as_they_were_once(
    make: Callable[[Path], Path], tmp_path: Path
) -> None:
    cli = Cli(tmp_path)
    log = make(tmp_path)
    (imported,) = cli.json("import", log.name)["sessions"]
    assert cli.json("import", log.name)["added"] == 0
    store = SqliteStore(str(tmp_path / "home"))
    rows = [row for row in store.rows(imported["session"], kind="result") if result_of(row).media_type != "text/plain"]
    assert [(result_of(row).media_type, result_of(row).width, result_of(row).pages) for row in rows] == [
        ("image/png", 300, None),
        ("application/pdf", None, 2),
    ]
    for row, data in zip(rows, (PICTURE, PAGES), strict=True):
        with store.open(body_of(row)) as reader:
            assert reader.read() == data
    shown = cli("artifacts", "show", result_of(rows[0]).artifact_id, "--raw", "--session", imported["session"])
    assert shown.stdout == PICTURE
    store.close()
