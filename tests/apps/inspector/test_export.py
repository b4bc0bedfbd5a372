"""A session as one file: it opens without a server, says what the page says, masks keys, and runs nothing of a tool."""

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from keepwhole.apps.inspector import bundle, export
from keepwhole.apps.inspector.export import ExportRequest
from keepwhole.apps.inspector.services import InspectorServices
from keepwhole.canonical.media import MediaBytes
from keepwhole.errors import UsageError
from keepwhole.session import Session
from tests.apps.inspector.inspector_server import Served
from tests.canonical.pictures import png

EVIL = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked=1'>"
KEY = "sk-ant-api03-AAAABBBBCCCCDDDD"


def test_json_has_the_steps_their_words_and_their_results(services: InspectorServices, played: str) -> None:
    found = json.loads(export.as_json(services, played, ExportRequest(2, 4)))
    assert (found["first"], found["last"], [step["number"] for step in found["steps"]]) == (2, 4, [2, 3, 4])
    assert [step["index"] for step in found["steps"]] == [0, 1, 2]
    story = found["requests"][found["steps"][0]["id"]]["story"]
    assert story["next"]["index"] == 1
    assert found["requests"][found["steps"][2]["id"]]["story"]["next"]["index"] is None, "it is not in the file"
    assert all(each["text"] for each in found["texts"].values())


def test_what_looks_like_a_key_is_masked_unless_it_is_wanted(services: InspectorServices, session: Session) -> None:
    session.keep("env", {"command": f"echo {KEY}"}, f"ANTHROPIC={KEY}\n")
    for make in (export.as_html, export.as_json):
        assert KEY.encode() not in make(services, "s", ExportRequest())
        assert KEY.encode() in make(services, "s", ExportRequest(is_raw=True))


def test_a_key_in_a_document_is_not_in_an_export_either(services: InspectorServices, session: Session) -> None:
    table, picture = f"name,key\nours,{KEY}\n".encode(), png(64, 48, 1, 40)
    session.keep_media("read", {}, [MediaBytes("text/csv", table), MediaBytes("image/png", picture)])
    for make in (export.as_html, export.as_json):
        masked, raw = make(services, "s", ExportRequest()), make(services, "s", ExportRequest(is_raw=True))
        assert b64encode(table) not in masked
        assert b64encode(table) in raw
        assert b64encode(picture) in masked


def test_steps_that_are_not_there_are_refused(services: InspectorServices, session: Session, kept: str) -> None:
    for first, last in ((0, 1), (2, 9)):
        with pytest.raises(UsageError, match="has steps 1 to 1"):
            export.as_html(services, "s", ExportRequest(first, last))


def test_every_form_of_import_and_export_in_the_page_is_understood() -> None:
    made = bundle.page_of({}, "x").decode()
    script = made.split('<script>"use strict";')[1]
    lines = [line for line in script.splitlines() if line.startswith(("import ", "export "))]
    assert lines == []
    assert 'import("' not in script


def test_the_page_gives_a_file_to_save(page: Served, session: Session, kept: str) -> None:
    for form, start in (("html", b"<!doctype html>"), ("json", b"{")):
        answer = page.get(f"/api/sessions/s/export?format={form}")
        assert answer.status == 200
        assert answer.body.startswith(start)
        assert answer.headers["content-disposition"] == f'attachment; filename="keepwhole-s.{form}"'
        assert "sandbox" in answer.headers["content-security-policy"]


@pytest.mark.browser
def test_an_exported_session_is_looked_at_without_a_server(
    browser: Any, services: InspectorServices, played: str, session: Session, tmp_path: Path
) -> None:
    session.keep("bash", {"command": EVIL}, EVIL * 3 + "\n")
    for name in (played, "s"):
        (tmp_path / f"{name}.html").write_bytes(export.as_html(services, name, ExportRequest()))
    said: list[str] = []
    asked: list[str] = []
    tab = browser.new_page(viewport={"width": 1440, "height": 900})
    tab.on("console", lambda message: said.append(message.text))
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto(f"file://{tmp_path}/{played}.html#/session/{played}/step/2")
    tab.wait_for_selector(".step .answer")
    tab.wait_for_selector(".step .result .text")
    tab.get_by_role("link", name="The whole request").click()
    tab.wait_for_selector(".run .message")
    tab.goto(f"file://{tmp_path}/{played}.html#/session/{played}/results")
    tab.locator("table.results a").first.click()
    tab.wait_for_selector(".line-row code")
    tab.goto(f"file://{tmp_path}/s.html")
    tab.wait_for_selector(".step .result .text")
    assert "window.hacked" in tab.locator(".step").inner_text()
    assert tab.evaluate("window.hacked") is None
    assert said == []
    assert {address.partition("#")[0] for address in asked} == {
        f"file://{tmp_path}/{name}.html" for name in (played, "s")
    }
    tab.close()


def test_the_command_writes_a_page_of_some_steps(
    services: InspectorServices, played: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from keepwhole.apps.cli.main import main

    monkeypatch.setenv("KEEPWHOLE_HOME", services.record.settings.home)
    target = tmp_path / "run.html"
    asked = ["sessions", "export", played, "--format", "html", "--steps", "2-3", "-o", str(target)]
    assert main(asked) == 0
    assert target.read_bytes().startswith(b"<!doctype html>")
    assert main([*asked[:-3], "x-y", "-o", str(tmp_path / "other.html")]) == 2
