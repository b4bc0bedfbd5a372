"""How results have been used: what is unsaid, when they were referred to, called again or written over."""

from hypothesis import given
from hypothesis import strategies as st

from keepwhole.canonical.message import Call, Message, ResultText
from keepwhole.policies.transcript import Transcript
from keepwhole.policies.uses import ResultUse, written_files


def called(number: int, arguments: str, text: str, tool: str = "tool") -> list[Message]:
    return [
        Message("assistant", calls=(Call(f"c{number}", tool, arguments),)),
        Message("tool", returned=(ResultText(f"c{number}", ("content",), text),)),
    ]


def uses(*messages: Message) -> list[ResultUse]:
    made = Transcript()
    made.extend(messages)
    return made.uses.of


def test_names_of_a_result_are_unsaid_until_somebody_writes_them() -> None:
    came = called(0, "{}", "order_17 of cust_9 is open since 2024, says nobody")
    assert uses(*came)[0].unsaid == 3
    (use,) = uses(*came, Message("assistant", "so order_17"))
    assert (use.unsaid, use.referred) == (2, 2)
    (use,) = uses(*came, Message("user", "and cust_9?"), Message("assistant", "hm"))
    assert (use.unsaid, use.referred) == (2, 1)


def test_what_was_said_before_a_result_came_is_not_unsaid_in_it() -> None:
    assert uses(Message("user", "look at order_17"), *called(0, '{"id": "cust_9"}', "order_17 cust_9"))[0].unsaid == 0


def test_a_newer_result_takes_over_the_names_it_repeats() -> None:
    old, new = uses(*called(0, "{}", "order_17 cust_9"), *called(1, "{}", "order_17 item_4"))
    assert (old.unsaid, new.unsaid) == (1, 2)
    messages = [*called(0, "{}", "order_17 cust_9"), *called(1, "{}", "order_17 item_4")]
    old, new = uses(*messages, Message("assistant", "order_17"))
    assert (old.referred, new.referred) == (1, 3)


def test_a_name_that_is_said_again_refers_again() -> None:
    came = called(0, "{}", "order_17")
    again = [Message("assistant", "order_17"), Message("assistant", "well"), Message("assistant", "order_17")]
    (use,) = uses(*came, *again)
    assert (use.unsaid, use.referred) == (0, 4)


def test_whatever_changes_a_result_or_takes_the_change_back_is_told_once() -> None:
    read = '{"path": "src/app.py"}'
    changes = [
        [Message("assistant", "so order_17")],
        called(9, read, "again"),
        called(9, '{"file_path": "src/app.py", "old_string": "one old line of it", "new_string": "a new one"}', "done"),
    ]
    for messages in changes:
        made = Transcript()
        made.extend(called(0, read, "order_17 cust_9"))
        assert (made.uses.take_changed(), made.uses.take_changed()) == ({0}, set())
        made.extend(messages)
        assert 0 in made.uses.take_changed()
        facts = made.uses
        assert facts.take_back(2)
        assert (facts.take_changed(), facts.take_changed()) == ({0}, set())


def test_the_newest_eight_messages_can_be_taken_back_and_no_more() -> None:
    for length, can in ((12, True), (11, True), (4, True), (3, False)):
        made = Transcript()
        made.extend([Message("assistant", f"word_{number}") for number in range(12)])
        facts = made.uses
        assert facts.take_back(length) is can
        assert facts.messages == (length if can else 12)


def test_the_same_call_again_makes_the_earlier_result_obsolete() -> None:
    first, second, other = uses(
        *called(0, '{"path": "a/b.py"}', "one"), *called(1, '{"path": "a/b.py"}', "two"), *called(2, "{}", "three")
    )
    assert (first.again, second.again, other.again) == (True, False, False)


def test_a_file_that_is_written_to_is_written_in_what_was_read_before_and_not_after() -> None:
    read = '{"path": "/home/src/app.py"}'
    edit = '{"path": "src/app.py", "old": "return the first of them", "new": "return all of them"}'
    before, _, after = uses(*called(0, read, "x"), *called(1, edit, "done"), *called(2, read, "y"))
    assert (before.written, after.written) == (True, False)


def test_patches_name_the_files_they_write_and_reading_a_range_writes_nothing() -> None:
    patch = '{"input": "*** Begin Patch\\n*** Update File: src/app.py\\n@@\\n-old\\n+new\\n*** Add File: b/c.md\\n+x"}'
    assert written_files(Call("c", "apply_patch", patch)) == ["src/app.py", "b/c.md"]
    assert written_files(Call("c", "Read", '{"path": "src/app.py", "offset": 100, "limit": 50}')) == []
    assert written_files(Call("c", "bash", '{"command": "sed -n 1,200p src/app.py | head -40 and more"}')) == []


def test_twenty_characters_of_text_beside_a_name_are_what_is_written() -> None:
    for text, written in (("x" * 19, []), ("x" * 20, ["src/app.py"])):
        assert written_files(Call("c", "tool", f'{{"path": "src/app.py", "text": "{text}"}}')) == written


def test_arguments_of_a_thousand_characters_name_a_file_and_longer_ones_do_not() -> None:
    for length, is_named in ((1_000, True), (1_001, False)):
        arguments = f'{{"path": "src/app.py{";" * (length - 10)}", "text": "{"x" * 40}"}}'
        assert bool(written_files(Call("c", "tool", arguments))) is is_named


texts = st.lists(st.sampled_from(["order_17", "cust_9", "a/b.py", "plain", "x1y2z3"]), max_size=4).map(" ".join)
messages = st.lists(
    st.one_of(
        st.builds(lambda said: [Message("user", said)], texts),
        st.builds(lambda said: [Message("assistant", said)], texts),
        st.builds(
            lambda number, given, text: called(number, f'{{"q": "{given}"}}', text), st.integers(0, 9), texts, texts
        ),
    ),
    max_size=12,
)


@given(messages)
def test_the_facts_are_the_same_however_the_messages_were_added(steps: list[list[Message]]) -> None:
    flat = [message for step in steps for message in step]
    made = Transcript()
    for message in flat:
        made.extend([message])
        _ = made.uses
    once = uses(*flat)
    assert [vars_of(use) for use in made.uses.of] == [vars_of(use) for use in once]
    assert all(use.unsaid >= 0 for use in once)


@given(messages, st.lists(st.tuples(st.integers(0, 12), messages), max_size=3))
def test_messages_that_were_taken_back_leave_nothing_behind(
    steps: list[list[Message]], changes: list[tuple[int, list[list[Message]]]]
) -> None:
    made = Transcript()
    for back, more in [(0, steps), *changes]:
        _ = made.uses
        made.cut_back(len(made.messages) - back)
        made.extend(message for step in more for message in step)
    assert [vars_of(use) for use in made.uses.of] == [vars_of(use) for use in uses(*made.messages)]


@given(messages, st.integers(0, 12), messages)
def test_what_is_known_from_a_result_on_is_what_is_known_of_it_among_all(
    steps: list[list[Message]], start: int, more: list[list[Message]]
) -> None:
    made = Transcript()
    for step in steps:
        made.extend(step)
    for after in ([], more):
        for message in (message for step in after for message in step):
            made.extend([message])
            made.uses_from(start)
        all_of_them = uses(*made.messages)
        found = made.uses_from(start).of
        assert [vars_of(use) for use in found[start:]] == [vars_of(use) for use in all_of_them[start:]]
    assert [vars_of(use) for use in made.uses.of] == [vars_of(use) for use in all_of_them]


def test_what_the_newest_messages_changed_is_taken_back_without_counting_all_again() -> None:
    made = Transcript()
    made.extend([*called(0, "{}", "order_17 cust_9"), *called(1, "{}", "order_17 item_4")])
    before = made.uses
    made.cut_back(3)
    assert made.uses is before
    assert [use.unsaid for use in made.uses.of] == [2]


def vars_of(use: ResultUse) -> list[object]:
    return [getattr(use, name) for name in use.__slots__]
