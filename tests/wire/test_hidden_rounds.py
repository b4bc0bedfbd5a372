"""Hidden rounds are put back where they belong, once, or not at all."""

from typing import Any

from keepwhole.wire.dialects import ANTHROPIC, OPENAI_RESPONSES
from keepwhole.wire.hidden_rounds import Round, key_of, put_back

USER = {"role": "user", "content": "go"}
CALL = {"type": "tool_use", "id": "o1", "name": "get_artifact", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "o1", "content": "found"}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def key(shown: list[Any], before: Any = USER) -> str:
    return key_of(ANTHROPIC, ANTHROPIC.shown_messages(shown), before)


def a_round(words: str = "Done.", before: Any = USER) -> Round:
    said = [
        {"role": "assistant", "content": [CALL]},
        {"role": "user", "content": [RESULT]},
        {"role": "assistant", "content": [text(words)]},
    ]
    return Round(key([text(words)], before), said)


def rounds(*found: Round) -> dict[str, list[Round]]:
    known: dict[str, list[Round]] = {}
    for one in found:
        known.setdefault(one.key, []).append(one)
    return known


def test_an_answer_is_known_by_its_words_however_they_are_spelled() -> None:
    for content in ("Done.", " Done. ", [text("Do"), text("ne.")], [{**text("Done."), "citations": None}]):
        sent = [USER, {"role": "assistant", "content": content}, USER]
        assert put_back(ANTHROPIC, sent, rounds(a_round())) == [USER, *a_round().said, USER]


def test_the_same_words_after_another_question_are_another_answer() -> None:
    sent = [{"role": "user", "content": "something else"}, {"role": "assistant", "content": "Done."}, USER]
    assert put_back(ANTHROPIC, sent, rounds(a_round())) == sent


def test_a_round_is_put_back_once_and_each_in_its_turn() -> None:
    sent = [USER, {"role": "assistant", "content": "Done."}] * 3
    assert len(put_back(ANTHROPIC, sent, rounds(a_round()))) == len(sent) + 2
    assert len(put_back(ANTHROPIC, sent, rounds(a_round(), a_round()))) == len(sent) + 4


def test_a_cache_marker_of_the_client_stays() -> None:
    marked = {**text("Done."), "cache_control": {"type": "ephemeral"}}
    out = put_back(ANTHROPIC, [USER, {"role": "assistant", "content": [marked]}, USER], rounds(a_round()))
    assert out[3]["content"] == [marked]


def test_a_result_of_ours_goes_with_those_of_the_client() -> None:
    own = {"type": "tool_use", "id": "c1", "name": "work", "input": {}}
    known = Round(
        key([own]),
        [{"role": "assistant", "content": [CALL, own]}],
        [RESULT],
    )
    answer = {"type": "tool_result", "tool_use_id": "c1", "content": "ok"}
    shown = {"role": "assistant", "content": [own]}
    out = put_back(ANTHROPIC, [USER, shown, {"role": "user", "content": [answer]}], rounds(known))
    assert out == [USER, {"role": "assistant", "content": [CALL, own]}, {"role": "user", "content": [RESULT, answer]}]
    assert put_back(ANTHROPIC, [USER, shown], rounds(known)) == [USER, shown], "nothing can follow what comes last"


def test_nothing_known_nothing_changed() -> None:
    sent = [USER, {"role": "assistant", "content": [text("Hm."), {"odd": 1}, "x"]}, 3, None]
    assert put_back(ANTHROPIC, sent, {}) == sent
    assert put_back(OPENAI_RESPONSES, sent, {}) == sent
