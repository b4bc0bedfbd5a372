"""With `images.max_edge` a large image is sent smaller, in every dialect: the original is kept, and every request of
every process sends the same bytes."""

import base64
import json
import random
from contextlib import closing
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any, cast

import pytest
from PIL import Image

from keepwhole import Session, SqliteStore
from keepwhole.canonical.media import MediaBytes
from keepwhole.config import Settings
from keepwhole.conversation import scaled_images
from keepwhole.policies.settings import CAREFUL, ImageSettings
from keepwhole.store.protocol import Store, decision_of, result_of
from tests.apps.proxy.screenshots import picture_part, step_messages, text_part
from tests.promises.conversations import user_message
from tests.promises.test_media import DIALECTS, EAGER, request, sent_messages
from tests.upstream.complaint import complaint
from tests.upstream.media_parts import without_wishes
from tests.upstream.pictures import pictures_in
from tests.upstream.spelling import Dialect, Json

EDGE = 160
PATIENT = Settings(home="unused", auto=CAREFUL, images=ImageSettings(max_edge=EDGE))
HASTY = EAGER.replace(auto=EAGER.auto.replace(start=300, min_tokens=60), images=ImageSettings(max_edge=2 * EDGE))


@cache
def photo(seed: int, width: int = 640) -> bytes:
    """An image of noise, so large that it is stored in a file, and so is the smaller one."""
    out = BytesIO()
    size = width, width * 5 // 8
    Image.frombytes("RGB", size, random.Random(seed).randbytes(3 * size[0] * size[1])).save(out, "PNG")
    return out.getvalue()


def opened(store: Store, settings: Settings = PATIENT) -> Session:
    return Session("s", store=store, settings=settings)


def conversation(dialect: Dialect, *pictures: bytes) -> list[Json]:
    messages: list[Json] = [user_message("Look.", dialect)]
    for number, data in enumerate(pictures):
        parts = [text_part(dialect, f"Look {number}."), picture_part(dialect, data)]
        messages += step_messages(dialect, f"c{number}", "look", {"at": number}, parts)
    return messages


def images_in(body: bytes) -> list[bytes]:
    return [base64.b64decode(data, validate=True) for _, data in pictures_in(sent_messages(body))]


def size_of(data: bytes) -> tuple[int, int]:
    with Image.open(BytesIO(data)) as image:
        image.load()
        return image.size


@pytest.mark.parametrize("dialect", DIALECTS)
def test_only_the_bytes_of_the_large_image_change_and_its_original_is_kept(dialect: Dialect, tmp_path: Path) -> None:
    large, small = photo(1), photo(2, EDGE)
    body = request(dialect, conversation(dialect, large, small))
    with closing(SqliteStore(str(tmp_path))) as store:
        session = opened(store)
        projection = session.projection(body)
        sent = projection.messages
        smaller, same = images_in(sent)
        assert (size_of(smaller), same) == ((160, 100), small)
        assert len(smaller) < len(large)
        assert sent.replace(base64.b64encode(smaller), base64.b64encode(large)) == body
        assert complaint(json.loads(sent), dialect) == ""
        (edit,) = projection.edits
        assert (edit.rule, edit.tokens_after, edit.tokens_before) == ("scaled", 6 * 4, 23 * 15)
        account = projection.account
        assert account.tokens_whole - account.tokens_sent == 23 * 15 - 6 * 4
        assert (account.hides, account.unstored) == (False, 0)
        assert session.recall_bytes(edit.artifact_id) == large
        assert session.verify().findings == ()
        longer = session.view(request(dialect, conversation(dialect, large, small, photo(3))))
        assert longer.startswith(sent.partition(b'], "tool')[0])


@pytest.mark.parametrize("dialect", DIALECTS)
def test_another_process_with_another_pillow_sends_the_same_bytes(
    dialect: Dialect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = request(dialect, conversation(dialect, photo(1)))
    with closing(SqliteStore(str(tmp_path))) as store:
        sent = opened(store).view(body)
    monkeypatch.setattr(scaled_images, "scaled_down", lambda data, edge: photo(9, edge))
    scaled_images._smaller.cache_clear()
    with closing(SqliteStore(str(tmp_path))) as store:
        assert opened(store).view(body) == sent
        assert opened(store, Settings(home="unused")).view(body) == sent, "the setting is for new images"
        (row,) = store.rows("s", kind="decision")
        assert row.inline is None, "it is as large as bodies in files are"
        assert decision_of(row).rule == "scaled"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_messages_with_the_smaller_image_are_known_again_and_made_whole(dialect: Dialect, tmp_path: Path) -> None:
    messages = conversation(dialect, photo(1), photo(2))
    with closing(SqliteStore(str(tmp_path))) as store:
        session = opened(store)
        shown = session.view(cast("list[Any]", messages))
        assert shown != messages
        assert session.hydrate(shown) == messages
        again = opened(store)
        assert again.view(shown) == shown
        assert len(list(store.rows("s", kind="result"))) == 4, "nothing is stored twice"
        assert again.hydrate(shown) == messages


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_smaller_image_ages_like_any_other_and_is_read_back_whole(dialect: Dialect, tmp_path: Path) -> None:
    pictures = [photo(seed) for seed in range(7)]
    with closing(SqliteStore(str(tmp_path))) as store:
        session = opened(store, HASTY)
        bodies = [
            session.view(request(dialect, conversation(dialect, *pictures[: count + 1])))
            for count in range(len(pictures))
        ]
        for body in bodies:
            assert complaint(json.loads(body), dialect) == ""
            assert all(max(size_of(data)) == 2 * EDGE for data in images_in(body))
        first = json.dumps(sent_messages(bodies[-1])[2])
        assert "image/png 640x400" in first, "the line tells what is read back"
        kept = [result_of(row) for row in store.rows("s", kind="result")]
        images = [session.recall_bytes(one.trace_id) for one in kept if one.media_type == "image/png"]
        assert images == pictures
        whole = session.hydrate(cast("Any", sent_messages(bodies[-1])))
        assert without_wishes(whole) == without_wishes(conversation(dialect, *pictures))
        assert session.verify().findings == ()


def test_what_a_hook_has_kept_before_is_sent_smaller_too(tmp_path: Path) -> None:
    body = request("anthropic", conversation("anthropic", photo(1)))
    with closing(SqliteStore(str(tmp_path))) as store:
        opened(store).keep_media("look", {"at": 0}, [MediaBytes("image/png", photo(1))], call_id="c0")
        sent = opened(store).view(body)
        assert [max(size_of(data)) for data in images_in(sent)] == [EDGE]
        assert opened(store).view(body) == sent


def test_an_image_that_is_asked_for_whole_is_sent_as_it_came_from_then_on(tmp_path: Path) -> None:
    body = request("anthropic", conversation("anthropic", photo(1)))
    with closing(SqliteStore(str(tmp_path))) as store:
        session = opened(store)
        (edit,) = session.projection(body).edits
        session.undo(edit.artifact_id)
        assert session.view(body) == body == opened(store).view(body)


def test_the_same_large_image_again_is_a_pointer_to_the_first(tmp_path: Path) -> None:
    body = request("anthropic", conversation("anthropic", photo(1), photo(1)))
    with closing(SqliteStore(str(tmp_path))) as store:
        session = opened(store)
        assert [edit.rule for edit in session.projection(body).edits] == ["scaled", "repeat"]
        assert len(images_in(session.view(body))) == 1


def test_counting_and_shadow_change_and_decide_nothing(tmp_path: Path) -> None:
    body = request("anthropic", conversation("anthropic", photo(1)))
    with closing(SqliteStore(str(tmp_path))) as store:
        counted = opened(store).view(body, recorded=False)
        assert [max(size_of(data)) for data in images_in(counted)] == [EDGE]
        assert opened(store, PATIENT.replace(mode="shadow")).view(body) == body
        assert not list(store.rows("s", kind="decision"))


def test_a_large_image_is_sent_as_it_came_while_nothing_can_be_stored(tmp_path: Path) -> None:
    body = request("anthropic", conversation("anthropic", photo(1)))
    with closing(SqliteStore(str(tmp_path))) as store:
        session = opened(store, PATIENT.replace(session_quota=100_000))
        assert session.view(body) == body
        assert session.projection(body).account.unstored > 0
