"""A transcript knows steps, turns and calls, and can be cut back to any earlier point as if nothing had followed."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from keepwhole.canonical.message import Call, Message, ResultText
from keepwhole.models.tokens import estimate
from keepwhole.policies.transcript import Transcript
from tests.policies.builders import add_image

IDS = st.sampled_from(["a", "b", "c"])
TEXTS = st.text(max_size=12)
CALLS = st.builds(Call, IDS, st.sampled_from(["Read", "Bash", "Edit"]), st.sampled_from(["{}", '{"command": "ls"}']))
NOTHING = st.none()
RETURNED = st.builds(
    ResultText, IDS, st.just(("content",)), TEXTS, st.booleans(), NOTHING, spell=NOTHING, only_image=NOTHING
)
MESSAGES = st.builds(
    Message,
    st.sampled_from(["system", "user", "assistant", "tool", "other"]),
    TEXTS,
    st.lists(CALLS, max_size=3).map(tuple),
    st.lists(RETURNED, max_size=3).map(tuple),
    st.integers(0, 5),
    st.booleans(),
)


def transcript(*messages: Message) -> Transcript:
    made = Transcript()
    made.extend(messages)
    return made


def asks(call_id: str, tool: str = "Bash", arguments: str = "{}", said: str = "") -> Message:
    return Message("assistant", said, (Call(call_id, tool, arguments),))


def answers(call_id: str, text: str = "done") -> Message:
    return Message("tool", returned=(ResultText(call_id, ("content",), text),))


def state(made: Transcript) -> dict[str, Any]:
    """The whole state of a transcript, private fields included."""
    items = [{name: getattr(item, name) for name in item.__slots__} for item in made.items]
    uses = [[getattr(use, name) for name in use.__slots__] for use in made.uses.of]
    return {**vars(made), "items": items, "order of calls": list(made.calls), "_uses": uses}


def test_an_assistants_message_is_a_turn_and_one_with_calls_is_a_step() -> None:
    made = transcript(Message("user", "go"), asks("1"), answers("1"), Message("assistant", "so"), asks("2"))
    assert (made.turns, made.steps) == (3, 2)


def test_a_result_knows_its_call_kind_message_step_and_turn() -> None:
    made = transcript(Message("assistant", "hm"), asks("1", "Read"), answers("1", "text"))
    (item,) = made.items
    assert (item.number, item.index, item.step, item.turn, item.kind) == (0, 2, 1, 2, "read")
    assert item.call == Call("1", "Read", "{}")
    assert item.text == "text"


def test_results_of_one_step_share_it() -> None:
    both = Message("assistant", calls=(Call("1", "Read", "{}"), Call("2", "Grep", "{}")))
    made = transcript(both, answers("1"), answers("2"), asks("3"), answers("3"))
    assert [item.step for item in made.items] == [1, 1, 2]


def test_a_result_without_a_call_is_kept_with_no_kind_of_its_own() -> None:
    (item,) = transcript(answers("lost")).items
    assert item.call is None
    assert item.kind == "other"


def test_an_id_used_again_names_the_newer_call() -> None:
    made = transcript(asks("1", "Read"), answers("1"), asks("1", "Grep"), answers("1"))
    assert [item.kind for item in made.items] == ["read", "search"]


def test_results_of_a_pinned_message_are_pinned() -> None:
    pinned = Message("tool", returned=(ResultText("1", ("content",), "x"),), pinned=True)
    assert [item.pinned for item in transcript(asks("1"), pinned, asks("2"), answers("2")).items] == [True, False]


def test_tokens_are_those_of_words_arguments_results_and_what_is_no_text() -> None:
    said, arguments, text = "Look at this file.", '{"path": "src/main.py"}', "def main() -> None: ..."
    made = transcript(Message("user", said, other=7), asks("1", "Read", arguments), answers("1", text))
    assert made.tokens == estimate(said) + 7 + estimate(arguments) + estimate(text)


def test_cutting_back_to_a_call_id_that_was_used_before_restores_the_earlier_call() -> None:
    made = transcript(asks("1", "Read"), asks("1", "Grep"))
    made.cut_back(1)
    made.extend([answers("1")])
    assert made.items[0].kind == "read"


def test_cutting_back_to_more_than_there_is_changes_nothing() -> None:
    made = transcript(asks("1"), answers("1"))
    before = state(made)
    made.cut_back(2)
    made.cut_back(9)
    assert state(made) == before


def test_cutting_back_below_nothing_leaves_nothing() -> None:
    made = transcript(asks("1"), answers("1"))
    made.cut_back(-1)
    assert state(made) == state(Transcript())


@given(st.lists(MESSAGES, max_size=8), st.lists(MESSAGES, max_size=4), st.integers(0, 8))
def test_after_a_cut_back_nothing_is_left_of_what_followed(
    messages: list[Message], other_way: list[Message], at: int
) -> None:
    made = transcript(*messages)
    made.cut_back(at)
    assert state(made) == state(transcript(*messages[:at]))
    made.extend(other_way)
    assert state(made) == state(transcript(*messages[:at], *other_way))


@given(st.lists(MESSAGES, max_size=8), st.lists(st.integers(0, 8), max_size=4))
def test_cutting_back_in_pieces_is_cutting_back_once(messages: list[Message], cuts: list[int]) -> None:
    made = transcript(*messages)
    for at in cuts:
        made.cut_back(at)
    assert state(made) == state(transcript(*messages[: min([*cuts, len(messages)])]))


@given(st.lists(MESSAGES, max_size=8))
def test_items_are_numbered_in_order_and_lie_in_their_messages(messages: list[Message]) -> None:
    made = transcript(*messages)
    assert [item.number for item in made.items] == list(range(len(made.items)))
    assert [item.returned for item in made.items] == [one for message in messages for one in message.returned]
    assert all(item.returned in messages[item.index].returned for item in made.items)


def test_a_result_whose_call_is_not_known_stands_for_itself() -> None:
    made = Transcript()
    made.extend([Message("tool", returned=(ResultText("lost", ("content",), "text"),))])
    (item,) = made.items
    assert made.same_call(item) == [item]
    assert made.index_of_call(item) == item.index == 0


def test_the_calls_of_one_tool_with_the_same_arguments_are_the_same_call() -> None:
    made = Transcript()
    for number, (tool, arguments) in enumerate([("a", "{}"), ("a", '{"x": 1}'), ("b", "{}"), ("a", "{}")]):
        calls = (Call(f"c{number}", tool, arguments),)
        results = (ResultText(f"c{number}", ("content",), "text"),)
        made.extend([Message("assistant", calls=calls), Message("tool", returned=results)])
    assert [item.number for item in made.same_call(made.items[0])] == [0, 3]
    assert [made.index_of_call(item) for item in made.items] == [0, 2, 4, 6]


def test_the_size_of_an_image_is_that_of_its_bytes() -> None:
    made = Transcript()
    add_image(made, 1)
    assert made.items[0].size == 150_000


def test_a_step_begins_with_the_message_that_makes_its_calls() -> None:
    made = transcript(Message("user", "go"), Message("user", "on"), asks("a"), answers("a"), asks("b"), answers("b"))
    assert [made.start_of_step(number) for number in (0, 1, 2, 3)] == [2, 4, 6, 6]
    assert [made.start_of_step(number) for number in (-1, -2, -3)] == [4, 2, 0]
