"""Broken pairs are mended in the view, said so, and counted; what is whole is not touched."""

import copy
import json
import timeit
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwhole.errors import UsageError
from keepwhole.wire.content import Wire
from keepwhole.wire.dialects import conversation_dialect
from keepwhole.wire.pairs import NO_RESULT, Repairs
from tests.wire.conversations import DIALECTS, Made, Turn, complaints, spelled, turns
from tests.wire.in_blocks import respelled

every_dialect = pytest.mark.parametrize("dialect", DIALECTS)


def is_broken(messages: Sequence[Wire], dialect: str) -> bool:
    return conversation_dialect(dialect).is_broken(messages)


def repair(messages: Sequence[Wire], dialect: str) -> tuple[Sequence[Wire], Repairs]:
    return conversation_dialect(dialect).repair(messages)


@given(turns(), st.sampled_from(DIALECTS))
def test_a_whole_conversation_comes_back_as_the_same_object(conversation: list[Turn], dialect: str) -> None:
    messages, _ = spelled(conversation, dialect)
    assert complaints(messages, dialect) == []
    mended, counts = repair(messages, dialect)
    assert mended is messages
    assert counts.total == 0


@given(turns(broken=True), st.sampled_from(DIALECTS))
def test_after_repair_every_call_has_its_result_and_every_result_its_call(
    conversation: list[Turn], dialect: str
) -> None:
    messages, _ = spelled(conversation, dialect)
    mended, counts = repair(messages, dialect)
    assert complaints(list(mended), dialect) == []  # type: ignore[arg-type]
    assert is_broken(messages, dialect) == bool(complaints(messages, dialect)) == bool(counts.total)
    assert repair(mended, dialect) == (mended, (0, 0, 0))


@given(turns(broken=True), st.sampled_from(DIALECTS))
def test_repair_changes_nothing_in_place_and_shares_what_it_leaves(conversation: list[Turn], dialect: str) -> None:
    messages, _ = spelled(conversation, dialect)
    before = copy.deepcopy(messages)
    mended, _ = repair(messages, dialect)
    assert messages == before
    for message in mended:
        if message in messages:
            assert any(message is one for one in messages)


@given(turns(broken=True), st.sampled_from(DIALECTS))
def test_no_text_of_a_result_goes_missing_in_a_repair(conversation: list[Turn], dialect: str) -> None:
    messages, _ = spelled(conversation, dialect)
    sent = json.dumps(repair(messages, dialect)[0])
    for turn in conversation:
        for made in turn.calls if turn.kind == "step" else ():
            assert made.results == 0 or json.dumps(made.text)[1:-1] in sent


@given(turns(broken=True), st.sampled_from(DIALECTS))
def test_calls_that_end_a_conversation_stay_as_they_are(conversation: list[Turn], dialect: str) -> None:
    messages, _ = spelled(conversation, dialect)
    mended, _ = repair(messages, dialect)
    if conversation[-1].kind == "pending":
        assert mended[-1] is messages[-1]
        assert NO_RESULT not in json.dumps(mended[-1])


@every_dialect
def test_a_call_without_a_result_gets_a_notice_that_says_so(dialect: str) -> None:
    messages = BROKEN[dialect]["no result"]
    mended, counts = repair(messages, dialect)
    assert counts == (1, 0, 0)
    assert complaints(list(mended), dialect) == []  # type: ignore[arg-type]
    assert json.dumps(mended).count("No result on record for this call") == 1


@every_dialect
def test_a_result_without_a_call_becomes_text_that_is_said_not_to_be_the_users(dialect: str) -> None:
    mended, counts = repair(BROKEN[dialect]["no call"], dialect)
    assert counts == (0, 1, 0)
    (note,) = [message for message in mended if "is not in this conversation" in json.dumps(message)]
    assert note["role"] == "user"
    assert "not the user's" in json.dumps(note)
    assert "the stray text" in json.dumps(note)


@every_dialect
def test_a_result_that_came_twice_is_shown_once_and_a_different_one_is_quoted(dialect: str) -> None:
    mended, counts = repair(BROKEN[dialect]["twice"], dialect)
    assert counts == (0, 0, 2)
    sent = json.dumps(mended)
    assert sent.count("first answer") == 1
    assert sent.count("other answer") == 1
    assert "word for word" in sent


def test_an_image_in_a_stray_result_stays_an_image() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
    stray = {"type": "tool_result", "tool_use_id": "gone", "content": [image, {"type": "tool_reference", "name": "x"}]}
    mended, _ = repair([{"role": "user", "content": [stray]}], "anthropic")
    assert image in mended[0]["content"]
    assert "tool_reference" in mended[0]["content"][-1]["text"]


def test_a_result_that_comes_after_the_user_spoke_again_has_no_call_in_chat() -> None:
    late = [CHAT_CALL, {"role": "user", "content": "and?"}, {"role": "tool", "tool_call_id": "a", "content": "late"}]
    mended, counts = repair(late, "openai_chat")
    assert counts == (1, 1, 0)
    assert complaints(list(mended), "openai_chat") == []  # type: ignore[arg-type]
    assert "late" in mended[-1]["content"]


def test_a_call_whose_id_is_used_again_is_mended_before_the_second_call() -> None:
    call = {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "a", "output": "x"}
    mended, counts = repair([call, call, output], "openai_responses")
    assert [item["type"] for item in mended] == [*["function_call", "function_call_output"] * 2]
    assert counts == (1, 0, 0)


@pytest.mark.parametrize("odd", [[{}], ["text"], [{"role": "tool"}], [{"role": "user", "content": ["x"]}], []])
@every_dialect
def test_what_cannot_be_understood_is_left_as_it_is(odd: list[Any], dialect: str) -> None:
    assert repair(odd, dialect)[0] is odd


def test_a_dialect_without_conversations_is_refused_with_those_that_have_them() -> None:
    with pytest.raises(UsageError, match="`anthropic`"):
        repair([], "mcp")


@every_dialect
def test_looking_for_broken_pairs_costs_next_to_nothing(dialect: str) -> None:
    steps = [Turn("step", "s", (Made(f"c{number}", "r"),)) for number in range(500)]
    messages, _ = spelled([Turn("user", "go"), *steps], dialect)
    seconds = min(timeit.repeat(lambda: is_broken(messages, dialect), number=5, repeat=20)) / 5
    assert seconds / len(messages) < 1.2e-6  # 0.3 µs on a quiet machine; a shared one is several times slower


CHAT_CALL = {"role": "assistant", "content": None, "tool_calls": [{"id": "a", "type": "function", "function": {}}]}
_ANTHROPIC_CALL = {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]}
_ITEM_CALL = {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}


def _chat(call_id: str, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def _block(call_id: str, text: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": text}


def _item(call_id: str, text: str) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": text}


_TEXTS = ("first answer", "first answer", "other answer")
_SAID = {"role": "user", "content": [{"type": "text", "text": "go on"}]}
BROKEN: dict[str, dict[str, list[dict[str, Any]]]] = {
    "openai_chat": {
        "no result": [CHAT_CALL, {"role": "user", "content": "go on"}],
        "no call": [{"role": "user", "content": "hi"}, _chat("z", "the stray text")],
        "twice": [CHAT_CALL, *(_chat("a", text) for text in _TEXTS)],
    },
    "anthropic": {
        "no result": [_ANTHROPIC_CALL, _SAID],
        "no call": [{"role": "user", "content": [_block("z", "the stray text")]}],
        "twice": [_ANTHROPIC_CALL, {"role": "user", "content": [_block("a", text) for text in _TEXTS]}],
    },
    "openai_responses": {
        "no result": [_ITEM_CALL, {"type": "message", **_SAID}],
        "no call": [{"type": "message", "role": "user", "content": "hi"}, _item("z", "the stray text")],
        "twice": [_ITEM_CALL, *(_item("a", text) for text in _TEXTS)],
    },
}
BROKEN |= {
    dialect: {
        kind: [respelled(message, dialect) for message in messages] for kind, messages in BROKEN["anthropic"].items()
    }
    for dialect in ("converse", "gemini")
}
