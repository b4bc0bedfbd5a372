"""The same image twice, in one result or in two calls of one step: nothing is lost, mixed up or counted wrongly."""

import json
from typing import Any, cast

import pytest

from keepwhole import MemoryStore, Session
from keepwhole.config import Settings
from keepwhole.policies.settings import ImageSettings
from keepwhole.store.protocol import result_of
from tests.apps.proxy.screenshots import picture_part, screenshot, step_messages, text_part
from tests.promises.test_media import DIALECTS, EAGER, request, sent_messages
from tests.promises.test_scaled_images import photo
from tests.upstream.complaint import complaint
from tests.upstream.media_parts import media_part, without_wishes
from tests.upstream.pictures import pictures_in
from tests.upstream.spelling import Dialect, Json

CALM = Settings(home="unused")
TOKENS = 46 * 29
"""Of a screenshot of 1280x800 pixels."""


def opened(settings: Settings = CALM, store: MemoryStore | None = None) -> Session:
    return Session("s", store=store or MemoryStore(), settings=settings)


def twice(dialect: Dialect, seed: int = 1, call_id: str = "c0") -> list[Json]:
    """A call that returns the same image twice, with words before each."""
    image = picture_part(dialect, screenshot(seed))
    parts = [text_part(dialect, "Before:"), image, text_part(dialect, "After:"), image]
    return step_messages(dialect, call_id, "look", {"call": call_id}, parts)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_image_twice_in_one_result_is_stored_once_and_sent_and_counted_twice(dialect: Dialect) -> None:
    messages = [{"role": "user", "content": "Look."}, *twice(dialect)]
    session = opened()
    projection = session.projection(request(dialect, messages), model="claude-sonnet-5")
    images = [row for row in session.store.rows("s", kind="result") if result_of(row).media_type == "image/png"]
    assert [session.recall_bytes(row.trace_id) for row in images] == [screenshot(1)]
    account, sent = projection.account, sent_messages(projection.messages)
    assert complaint(json.loads(projection.messages)) == ""
    assert account.unstored == 0
    assert len(list(pictures_in(sent))) == 2, "a pointer would be about both, since they are one result on record"
    assert 2 * TOKENS <= account.tokens_sent == account.tokens_whole < 2 * TOKENS + 200
    assert without_wishes(session.hydrate(cast("Any", sent))) == without_wishes(messages)
    again = opened(store=cast("MemoryStore", session.store))
    assert again.view(request(dialect, messages)) == projection.messages


@pytest.mark.parametrize("dialect", DIALECTS)
def test_both_are_sent_smaller_and_come_back_whole(dialect: Dialect) -> None:
    image = picture_part(dialect, photo(1))
    messages = [{"role": "user", "content": "Look."}, *step_messages(dialect, "c0", "look", {}, [image, image])]
    session = opened(CALM.replace(images=ImageSettings(max_edge=160)))
    sent = sent_messages(session.view(request(dialect, messages)))
    one, other = (data for _, data in pictures_in(sent))
    assert one == other
    assert len(one) < len(photo(1))
    assert without_wishes(session.hydrate(cast("Any", sent))) == without_wishes(messages)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_identical_images_age_and_come_back_in_their_places(dialect: Dialect) -> None:
    session, messages = opened(EAGER), list[Json]([{"role": "user", "content": "Look."}])
    for number in range(6):
        messages += twice(dialect, number // 2, f"c{number}")
        body = session.view(request(dialect, messages))
        assert complaint(json.loads(body)) == ""
        assert without_wishes(session.hydrate(cast("Any", sent_messages(body)))) == without_wishes(messages)
    kept = [result_of(row) for row in session.store.rows("s", kind="result")]
    images = {(one.call_id, session.recall_bytes(one.trace_id)) for one in kept if one.media_type == "image/png"}
    assert images == {(f"c{number}", screenshot(number // 2)) for number in range(6)}
    assert not session.verify().findings


SCREENS = {
    "bytes": lambda number: {"image_url": picture_part("openai_responses", screenshot(number))["image_url"]},
    "photos": lambda number: {"image_url": media_part("openai_responses", "jpeg", number)["image_url"]},
    "URLs": lambda number: {"image_url": f"https://pictures.test/{number}/1280x800.png"},
    "files": lambda number: {"file_id": f"file_{number}", "detail": "original"},
}


def computer_steps(kind: str, count: int) -> list[list[Json]]:
    """The items of each step of a loop in which OpenAI's own tool returns a screen."""
    return [
        [
            {"type": "computer_call", "call_id": f"c{number}", "action": {"type": "wait"}, "status": "completed"},
            {
                "type": "computer_call_output",
                "call_id": f"c{number}",
                "output": {"type": "computer_screenshot", **SCREENS[kind](number)},
            },
        ]
        for number in range(count)
    ]


@pytest.mark.parametrize("kind", SCREENS)
def test_a_screenshot_of_a_computer_call_gives_way_to_an_image_of_the_words(kind: str) -> None:
    """Its `output` must be an image, and the model answers with places in it: no line and no smaller image."""
    settings = EAGER.replace(images=ImageSettings(max_edge=100))
    session, items = opened(settings), list[Json]([{"role": "user", "content": "Book."}])
    for step in computer_steps(kind, 10):
        items += step
        projection = session.projection(request("openai_responses", items))
        sent = sent_messages(cast("bytes", projection.messages))
        assert complaint(json.loads(cast("bytes", projection.messages))) == ""
        assert sent[-1] == items[-1]
        assert session.hydrate(cast("Any", sent)) == items
    pairs = zip(sent[2::2], items[2::2], strict=True)
    assert sum(one["output"] != own["output"] for one, own in pairs) >= 5
    assert projection.account.tokens_sent < projection.account.tokens_whole
    assert session.projection(request("openai_responses", items)).messages == projection.messages


def test_what_was_drawn_is_no_new_result_where_it_is_sent_again() -> None:
    session, items = opened(EAGER), list[Json]([{"role": "user", "content": "Book."}])
    for step in computer_steps("bytes", 12):
        items = cast("list[Json]", session.view(cast("Any", [*items, *step]), model="m"))
    rows = list(session.store.rows("s", kind="result"))
    assert [session.recall_bytes(row.trace_id) for row in rows] == [screenshot(number) for number in range(12)]
    assert cast("Any", items)[2]["output"]["image_url"] != SCREENS["bytes"](0)["image_url"]
    assert not session.verify().findings


def test_an_id_that_was_misread_in_an_image_is_found() -> None:
    session = opened(EAGER)
    items = [{"role": "user", "content": "Book."}, *(item for step in computer_steps("bytes", 10) for item in step)]
    session.view(request("openai_responses", items))
    session.view(request("openai_responses", [*items, *computer_steps("bytes", 11)[-1]]))
    hidden = session.artifacts()[0]
    misread = hidden.artifact_id[:15] + hidden.artifact_id[15:].swapcase().replace("0", "O").replace("1", "l")
    assert misread != hidden.artifact_id
    answer = session.call_tool("get_artifact", {"id": misread})
    assert not answer.is_error
    assert answer.media is not None
    assert session.call_tool("get_artifact", {"id": "art_1700000000_" + 22 * "x"}).is_error
