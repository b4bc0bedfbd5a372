"""Images, documents and text in one result, in every dialect: lossless, valid, prefix-stable, the same every time."""

import base64
import json
import random
from typing import Any, TypeAlias, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepwhole import MemoryStore, Session
from keepwhole.config import Settings
from keepwhole.policies.settings import CAREFUL
from keepwhole.store.protocol import result_of
from tests.apps.proxy.screenshots import step_messages, text_part
from tests.promises.conversations import user_message
from tests.upstream.complaint import complaint
from tests.upstream.media_parts import KINDS, MediaKind, kinds_in, make_media, media_part, without_wishes
from tests.upstream.pictures import pictures_in
from tests.upstream.spelling import Dialect, Json

DIALECTS: tuple[Dialect, ...] = ("anthropic", "openai_chat", "openai_responses", "converse")
EAGER = Settings(
    home="unused",
    auto=CAREFUL.replace(start=1_000, keep_steps=1, clear_at_least=1, worth=0, horizon=1_000, max_loss=1_000.0),
)
"""Settings with which something ages at nearly every step."""
Drawn: TypeAlias = str | tuple[MediaKind, int]
"""A text, or an image or a document by its kind and seed."""
PART = st.one_of(
    st.text("ab\n", min_size=1, max_size=40),
    st.tuples(st.sampled_from([kind for kind in KINDS if kind != "document by URL"]), st.integers(0, 9)),
)
STEPS = st.lists(st.lists(PART, min_size=1, max_size=3), min_size=2, max_size=12)


def in_kinds_of(dialect: Dialect, steps: list[list[Drawn]]) -> list[list[Drawn]]:
    """The steps with an icon in place of a kind that a dialect does not have, and for Converse, where two documents may
    not have one name, with a document at most once."""
    known = set(kinds_in(dialect))
    seen: set[Drawn] = set()

    def fitting(part: Drawn) -> Drawn:
        is_again = dialect == "converse" and part[0] == "document" and part in seen
        seen.add(part)
        return part if isinstance(part, str) or (part[0] in known and not is_again) else ("icon", part[1])

    return [[fitting(part) for part in parts] for parts in steps]


def spelled(dialect: Dialect, part: Drawn) -> Json:
    return text_part(dialect, part) if isinstance(part, str) else media_part(dialect, *part)


def request(dialect: Dialect, messages: list[Json]) -> bytes:
    about = {"name": "look", "description": "d"}
    tools = [{"type": "function", "function": about}] if dialect == "openai_chat" else [{"type": "function", **about}]
    key = "input" if dialect == "openai_responses" else "messages"
    own: Json = {"model": "m", key: messages, "tools": tools}
    if dialect == "converse":
        spec = {"toolSpec": {**about, "inputSchema": {"json": {"type": "object"}}}}
        own = {"messages": messages, "toolConfig": {"tools": [spec]}}
    return json.dumps(own, ensure_ascii=False).encode()


def sent_messages(body: bytes) -> list[Json]:
    fields = json.loads(body)
    return cast("list[Json]", fields.get("messages", fields.get("input")))


def views(dialect: Dialect, steps: list[list[Drawn]]) -> tuple[Session, list[Json], list[bytes]]:
    """All requests of a conversation, as they are sent."""
    session = Session(
        "s", store=MemoryStore(), settings=EAGER, random=random.Random(7).randbytes, clock=lambda: 1_700_000_000.0
    )
    messages: list[Json] = [user_message("Look.", dialect)]
    bodies: list[bytes] = []
    for number, parts in enumerate(steps):
        own = [spelled(dialect, part) for part in parts]
        messages += step_messages(dialect, f"c{number}", "look", {"at": number}, own)
        bodies.append(session.view(request(dialect, messages)))
    return session, messages, bodies


@pytest.mark.parametrize("dialect", DIALECTS)
@given(steps=STEPS)
@settings(max_examples=25)
def test_every_image_is_kept_and_every_request_is_valid(dialect: Dialect, steps: list[list[Drawn]]) -> None:
    steps = in_kinds_of(dialect, steps)
    session, messages, bodies = views(dialect, steps)
    kept = [result_of(row) for row in session.store.rows("s", kind="result")]
    stored = {(result.call_id, session.recall_bytes(result.trace_id)) for result in kept}
    returned = {
        (f"c{number}", part.encode() if isinstance(part, str) else make_media(*part).body)
        for number, parts in enumerate(steps)
        for part in parts
    }
    assert stored == returned
    for body in bodies:
        assert complaint(json.loads(body), dialect) == ""
    assert not session.verify().findings
    assert without_wishes(session.hydrate(cast("Any", sent_messages(bodies[-1])))) == without_wishes(messages)


@pytest.mark.parametrize("dialect", DIALECTS)
@given(steps=STEPS)
@settings(max_examples=15)
def test_the_same_conversation_is_sent_the_same_and_what_is_shown_is_as_it_came(
    dialect: Dialect, steps: list[list[Drawn]]
) -> None:
    steps = in_kinds_of(dialect, steps)
    _, messages, bodies = views(dialect, steps)
    assert views(dialect, steps)[2] == bodies
    own = {data for _, data in pictures_in(messages)}
    for body in bodies:
        assert {data for _, data in pictures_in(sent_messages(body))} <= own


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_image_that_is_left_out_is_shown_again_where_the_api_allows_it(dialect: Dialect) -> None:
    session, _, bodies = views(dialect, [[("screenshot", seed)] for seed in range(12)])
    first = json.dumps(sent_messages(bodies[-1])[2])
    artifact = first[first.index("art_") :].partition("]")[0]
    assert "image/png 1280x800" in first
    call: Json = {"type": "tool_use", "id": "x", "name": "get_artifact", "input": {"id": artifact}}
    if dialect == "converse":
        call = {"toolUse": {"toolUseId": "x", "name": "get_artifact", "input": {"id": artifact}}}
    elif dialect != "anthropic":
        function = {"name": "get_artifact", "arguments": json.dumps({"id": artifact})}
        is_chat = dialect == "openai_chat"
        call = (
            {"type": "function", "id": "x", "function": function}
            if is_chat
            else {"type": "function_call", "call_id": "x", **function}
        )
    block = session.answer(call)
    shown = [base64.b64decode(data) for _, data in pictures_in([block])]
    assert shown == ([] if dialect == "openai_chat" else [make_media("screenshot", 0).body])
    assert "image/png" in json.dumps(block)


def test_broken_base64_passes_through_untouched() -> None:
    session = Session("s", store=MemoryStore(), settings=EAGER)
    part = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo$" * 900}}
    messages = step_messages("anthropic", "c", "look", {}, [part])
    body = request("anthropic", [{"role": "user", "content": "Look."}, *messages])
    projection = session.projection(body)
    assert projection.messages == body
    assert projection.account.results == 0
    assert projection.account.tokens_whole >= 1_500
