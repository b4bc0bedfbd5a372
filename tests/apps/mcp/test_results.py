"""What the gateway passes on of images, where the setting `images.max_edge` asks for smaller ones."""

import asyncio
import base64
from typing import Any

import pytest

pytest.importorskip("PIL", reason="needs the extra `images`")

from keepwhole.apps.mcp.results import Kept
from keepwhole.canonical.media import image_size
from keepwhole.config import Settings
from keepwhole.policies.settings import ImageSettings
from keepwhole.session import Session
from keepwhole.store.protocol import result_of
from keepwhole.testing import MemoryStore
from tests.canonical.pictures import png

SHOT = png(640, 400, weight=20_000)
SETTINGS = Settings(home="unused", images=ImageSettings(max_edge=320))


class FullDisk(MemoryStore):
    """A store that has no room."""

    def append(self, *_: Any, **__: Any) -> Any:
        from keepwhole.errors import NotStored

        raise NotStored("no room")


def passed_on(session: Session, *items: dict[str, Any]) -> list[Any]:
    result = Kept(session, "screenshot", {}, "2025-06-18").within_budget({"content": list(items)})
    return asyncio.run(result)["content"]


def image(data: bytes) -> dict[str, Any]:
    return {"type": "image", "mimeType": "image/png", "data": base64.b64encode(data).decode(), "_meta": {"n": 1}}


def test_a_large_image_is_passed_on_smaller_and_kept_as_it_came() -> None:
    session = Session("s", store=MemoryStore(), settings=SETTINGS)
    words, smaller, small = passed_on(session, {"type": "text", "text": "a page"}, image(SHOT), image(png(30, 20)))
    assert words["text"] == "a page"
    assert image_size(base64.b64decode(smaller["data"])) == (320, 200)
    assert {**smaller, "data": ""} == {**image(SHOT), "data": ""}
    assert small == image(png(30, 20))
    kept = [result_of(row) for row in session.store.rows("s", kind="result")]
    assert SHOT in [session.recall_bytes(result.trace_id) for result in kept]


def test_an_image_that_could_not_be_stored_is_passed_on_as_it_came() -> None:
    session = Session("s", store=FullDisk(), settings=SETTINGS)
    assert passed_on(session, image(SHOT)) == [image(SHOT)]
