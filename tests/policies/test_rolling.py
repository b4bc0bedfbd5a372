"""Rolling context: old results become a placeholder, long ones are cut, four kinds are spared."""

import copy
import json
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwhole.errors import ConfigError
from keepwhole.models.tokens import estimate
from keepwhole.policies.policy import Policy, shown_text
from keepwhole.policies.rolling import DEFAULTS, Rolling, RollingContext
from keepwhole.policies.transcript import Transcript
from keepwhole.standalone.rolling import (
    Note,
    count_steps,
    roll,
    tag_with_steps,
    truncate_old_tool_outputs,
    truncate_tool_result,
)
from tests.policies.builders import SITUATION, add_image, add_step, by_number, chat, contents, transcript
from tests.promises.texts import texts

OLD = "".join(f"row {number} of a table with words\n" for number in range(40))
"""More than 100 tokens, fewer than 2,000."""
LONG = "".join(f"{number} bottles hang on the wall here\n" for number in range(1_000))
SEVEN = ["first " + OLD, *(f"{name} {OLD}" for name in ("one", "two", "three", "four", "five", "six"))]


def test_results_older_than_the_greatest_age_become_the_placeholder() -> None:
    sent = contents(truncate_old_tool_outputs(chat(*SEVEN), RollingContext(max_age=5)))
    assert sent[0] == "[content truncated - 6 steps ago]"


def test_recent_results_are_whole() -> None:
    assert contents(truncate_old_tool_outputs(chat(*SEVEN)))[1:] == SEVEN[1:]


def test_a_result_exactly_as_old_as_the_greatest_age_is_whole() -> None:
    assert contents(truncate_old_tool_outputs(chat(*SEVEN[:6]))) == SEVEN[:6]


def test_the_defaults_of_rolling_are_those_of_the_document() -> None:
    assert (DEFAULTS.max_age, DEFAULTS.max_tokens_per_output) == (5, 2_000)
    assert DEFAULTS.placeholder == "[content truncated - {age} steps ago]"


@pytest.mark.parametrize(
    ("placeholder", "words"),
    [("gone {age}", "gone 6"), ("gone {N}", "gone 6"), ("gone", "gone"), ("{x} {age}/{N}", "{x} 6/6")],
)
def test_a_custom_placeholder_can_contain_the_age(placeholder: str, words: str) -> None:
    assert contents(truncate_old_tool_outputs(chat(*SEVEN), RollingContext(placeholder=placeholder)))[0] == words


def test_a_step_is_an_assistants_message_with_calls_however_many_it_has() -> None:
    messages = chat("a", "b")
    messages[1]["tool_calls"] *= 3
    messages.append({"role": "assistant", "content": "done"})
    messages.append({"role": "assistant", "content": "done", "tool_calls": []})
    assert count_steps(messages) == 2
    assert count_steps([]) == 0


def test_each_message_is_tagged_with_its_step() -> None:
    messages = [*chat("a", "b"), {"role": "user", "content": "thanks"}]
    tagged = tag_with_steps(messages)
    assert [step for _, step in tagged] == [0, 1, 1, 2, 2, 2]
    assert all(one.message is message for one, message in zip(tagged, messages, strict=True))


def test_truncating_one_result_replaces_its_content_and_nothing_else() -> None:
    message = {"role": "tool", "tool_call_id": "1", "name": "read_file", "content": OLD}
    cut = truncate_tool_result(message, 9, DEFAULTS)
    assert cut == {**message, "content": "[content truncated - 9 steps ago]"}
    assert message["content"] == OLD
    user = {"role": "user", "content": "hello"}
    assert truncate_tool_result(user, 9) is user


def test_the_original_length_and_age_are_kept_beside_the_messages_never_in_them() -> None:
    result = roll(chat(*SEVEN))
    assert result.notes == [Note(at=2, call_id="1", rule="old", original_length=len(SEVEN[0]), truncated_at=6)]
    assert result.messages[2].keys() == {"role", "tool_call_id", "name", "content"}
    assert result.messages == truncate_old_tool_outputs(chat(*SEVEN))


def test_switched_off_it_sends_everything_as_it_is() -> None:
    messages = chat(*SEVEN, LONG)
    sent = truncate_old_tool_outputs(messages, enabled=False)
    assert all(one is other for one, other in zip(sent, messages, strict=True))
    assert sent is not messages
    assert roll(messages, enabled=False).notes == []


def test_what_is_sent_is_a_plain_list_of_plain_messages() -> None:
    sent = truncate_old_tool_outputs(chat(*SEVEN))
    assert type(sent) is list
    assert all(type(message) is dict for message in sent)
    assert json.loads(json.dumps(sent)) == sent


def test_every_call_keeps_its_result() -> None:
    sent = truncate_old_tool_outputs(chat(*SEVEN, *SEVEN))
    called = [call["id"] for message in sent for call in message.get("tool_calls", ())]
    assert called == [message["tool_call_id"] for message in sent if message["role"] == "tool"]


def test_a_young_result_that_is_too_long_is_cut_by_its_tools_strategy() -> None:
    (sent,) = contents(truncate_old_tool_outputs(chat(LONG)))
    assert len(sent) <= 4 * 2_000
    assert sent.startswith("... [Beginning omitted: ")
    assert sent.endswith("999 bottles hang on the wall here\n")
    (read,) = contents(truncate_old_tool_outputs(chat(LONG, tool="read_file")))
    assert read.startswith("0 bottles")
    assert "chars omitted] ..." in read
    assert roll(chat(LONG)).notes == [Note(2, "1", "long", len(LONG), 0)]


def test_outside_a_session_a_cut_names_no_artifact() -> None:
    for tool in ("execute_command", "read_file", "list_items"):
        (sent,) = contents(truncate_old_tool_outputs(chat(LONG, tool=tool)))
        assert "Artifact" not in sent
        assert "get_artifact" not in sent


def test_a_long_table_keeps_its_own_notice() -> None:
    table = "id,name,price\n" + "".join(f"{number},item {number},{number * 3}\n" for number in range(2_000))
    (sent,) = contents(truncate_old_tool_outputs(chat(table, tool="query")))
    assert sent.startswith("id,name,price\n")
    assert " rows / " in sent
    assert "Artifact" not in sent


def test_long_json_is_still_json() -> None:
    (sent,) = contents(truncate_old_tool_outputs(chat(json.dumps([{"id": n, "x": "y" * 30} for n in range(900)]))))
    assert any("items omitted" in str(item) for item in json.loads(sent))


def test_json_of_which_nothing_fits_is_counted_rather_than_broken() -> None:
    text = json.dumps({"k" * 3_000: {"m" * 3_000: "v" * 3_000}})
    (sent,) = contents(truncate_old_tool_outputs(chat(text), RollingContext(max_tokens_per_output=100)))
    assert len(sent) <= 400
    if not sent.startswith("... ["):
        json.loads(sent)


# The four edge cases.


def test_a_result_that_feeds_a_recent_call_is_preserved() -> None:
    listing = OLD + "src/deep/settings_7.py\n" + OLD
    given_to = {7: {"path": "src/deep/settings_7.py"}}
    assert contents(truncate_old_tool_outputs(chat(listing, *SEVEN[1:], arguments=given_to)))[0] == listing
    assert contents(truncate_old_tool_outputs(chat(listing, *SEVEN[1:])))[0].startswith("[content truncated")


def test_of_a_chain_both_ends_are_preserved_while_the_second_is_recent() -> None:
    listing = "src/deep/settings_7.py\n" + OLD
    given_to = {2: {"path": "src/deep/settings_7.py"}}
    whole = contents(truncate_old_tool_outputs(chat(listing, *SEVEN[1:], arguments=given_to)))
    assert whole[:2] == [listing, SEVEN[1]]
    later = contents(truncate_old_tool_outputs(chat(listing, *SEVEN[1:], OLD, arguments=given_to)))
    assert all(sent.startswith("[content truncated") for sent in later[:2])


def test_a_value_that_the_call_itself_named_makes_no_chain() -> None:
    given_to = {1: {"path": "src/deep/settings_7.py"}, 7: {"path": "src/deep/settings_7.py"}}
    messages = chat("src/deep/settings_7.py\n" + OLD, *SEVEN[1:], arguments=given_to)
    assert contents(truncate_old_tool_outputs(messages))[0].startswith("[content truncated")


def test_a_value_that_the_task_named_makes_no_chain() -> None:
    messages = chat("src/deep/settings_7.py\n" + OLD, *SEVEN[1:], arguments={7: {"path": "src/deep/settings_7.py"}})
    messages[0]["content"] = "Repair src/deep/settings_7.py"
    assert contents(truncate_old_tool_outputs(messages))[0].startswith("[content truncated")


@pytest.mark.parametrize("error", ["Error: no such table: invoices", "Process exited with code 1"])
def test_errors_are_preserved_whatever_their_age(error: str) -> None:
    assert contents(truncate_old_tool_outputs(chat(f"{OLD}{error}", *SEVEN, *SEVEN)))[0] == f"{OLD}{error}"


@pytest.mark.parametrize("flag", [{"is_error": True}, {"status": "error"}])
def test_a_result_that_is_flagged_as_an_error_is_preserved(flag: dict[str, Any]) -> None:
    messages = chat(*SEVEN)
    messages[2] |= flag
    assert truncate_old_tool_outputs(messages)[2] is messages[2]


def test_a_huge_error_keeps_what_it_says_and_not_all_of_it() -> None:
    huge = f"{LONG}Error: the disk is full\n{LONG}Process exited with code 1\n"
    for results in ([huge], [huge, *SEVEN]):
        sent = contents(truncate_old_tool_outputs(chat(*results, tool="read_file")))[0]
        assert len(sent) <= 8_000
        assert "Error: the disk is full" in sent
        assert "Process exited with code 1" in sent


def test_results_under_a_hundred_tokens_are_never_touched() -> None:
    just_under, just_over = "x" * 396, "x" * 397
    sent = contents(truncate_old_tool_outputs(chat(just_under, just_over, *SEVEN)))
    assert sent[0] == just_under
    assert sent[1] == "[content truncated - 7 steps ago]"
    tight = RollingContext(max_tokens_per_output=1)
    assert contents(truncate_old_tool_outputs(chat(just_under), tight)) == [just_under]


def test_what_the_user_quotes_is_preserved() -> None:
    messages = chat(*SEVEN)
    messages.insert(5, {"role": "user", "content": "You saw 'first row 0 of a table': what about it?"})
    assert contents(truncate_old_tool_outputs(messages))[0] == SEVEN[0]


def test_what_the_user_said_before_the_result_is_no_quote_of_it() -> None:
    messages = chat(*SEVEN)
    messages[0]["content"] = "I expect 'first row 0 of a table'."
    messages.append({"role": "user", "content": "go on"})
    assert contents(truncate_old_tool_outputs(messages))[0].startswith("[content truncated")


def test_what_the_user_said_in_a_later_turn_before_the_result_is_no_quote_of_it_either() -> None:
    quote = {"role": "user", "content": "Now I expect 'first row 0 of a table'."}
    messages = [*chat("ready"), quote, *chat(*SEVEN)[1:], {"role": "user", "content": "go on"}]
    assert contents(truncate_old_tool_outputs(messages))[1].startswith("[content truncated")
    assert contents(truncate_old_tool_outputs([*messages, quote]))[1] == SEVEN[0], "said after it, it is one"


def test_a_long_result_that_is_quoted_is_cut_round_the_quote() -> None:
    quote = "The treasure lies under the old oak by the river."
    text = "\n\n".join([*(f"Paragraph {n} says little of use." for n in range(500)), quote] + ["The end."] * 900)
    messages = [*chat(text, *SEVEN, tool="read_file"), {"role": "user", "content": f"So: {quote}"}]
    sent = contents(truncate_old_tool_outputs(messages))[0]
    assert len(sent) <= 8_000
    assert quote in sent


# Other spellings.


def anthropic(*results: str, **block: Any) -> list[Any]:
    messages: list[Any] = [{"role": "user", "content": "go on"}]
    for number, result in enumerate(results):
        call = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": "ls"}}
        text = [{"type": "image", "source": {}}, {"type": "text", "text": result}] if number % 2 else result
        given_back = {"type": "tool_result", "tool_use_id": f"t{number}", "content": text, **block}
        messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [given_back]}]
    return messages


def test_blocks_of_the_type_tool_result_age_too() -> None:
    messages = anthropic(*SEVEN, *SEVEN)
    sent = truncate_old_tool_outputs(messages)
    assert count_steps(messages) == 14
    assert sent[2]["content"][0]["content"] == "[content truncated - 13 steps ago]"
    assert sent[4]["content"][0]["content"][1]["text"] == "[content truncated - 12 steps ago]"
    assert sent[4]["content"][0]["content"][0] is messages[4]["content"][0]["content"][0]
    assert sent[2]["content"][0]["tool_use_id"] == "t0"
    assert sent[-1] is messages[-1]


def test_a_block_that_is_flagged_as_an_error_is_preserved() -> None:
    messages = anthropic(*SEVEN, is_error=True)
    assert truncate_old_tool_outputs(messages) == messages


def test_words_of_the_user_beside_results_are_left_alone_and_may_quote() -> None:
    messages = anthropic(*SEVEN)
    messages[6]["content"].append({"type": "text", "text": "You saw 'first row 0 of a table': what about it?"})
    assert truncate_old_tool_outputs(messages) == messages


def test_a_clients_own_objects_are_read_and_never_changed() -> None:
    messages = chat(*SEVEN)
    for at, message in enumerate(messages):
        if message["role"] == "assistant":
            function = SimpleNamespace(name="execute_command", arguments='{"command": "ls"}')
            call = SimpleNamespace(id=message["tool_calls"][0]["id"], function=function)
            messages[at] = SimpleNamespace(role="assistant", content=None, tool_calls=[call])
    messages.append(SimpleNamespace(role="tool", content=OLD, tool_call_id="7"))
    sent = truncate_old_tool_outputs(messages)
    assert count_steps(messages) == 7
    assert sent[2]["content"].startswith("[content truncated")
    assert [one is other for one, other in zip(sent, messages, strict=True)].count(False) == 1


def test_unknown_messages_are_left_alone() -> None:
    odd: list[Any] = [
        {},
        {"role": "tool"},
        {"role": "tool", "content": None},
        {"role": "tool", "content": ["text", {"type": "image"}]},
        {"role": "user", "content": ["text", {"type": "tool_result"}]},
        {"role": "assistant", "tool_calls": [{"id": "1"}]},
        {"role": "assistant", "tool_calls": [{"function": {"arguments": {"when": {1, 2}.__class__}}}]},
        {"type": "function_call_output", "output": OLD},
    ]
    messages = [*odd, *chat(*SEVEN[1:])]
    assert all(one is other for one, other in zip(truncate_old_tool_outputs(messages), messages, strict=True))


@pytest.mark.parametrize("wrong", [{"max_age": -1}, {"max_tokens_per_output": 0}])
def test_settings_that_cannot_hold_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        RollingContext(**wrong)


outputs = st.lists(texts | st.sampled_from([OLD, LONG, "ok", "Error: no\n" + OLD]), max_size=9)
configs = st.builds(RollingContext, st.integers(0, 4), st.sampled_from([1, 100, 150, 2_000]))


@given(outputs, configs)
def test_any_messages_are_untouched_shared_where_unchanged_and_never_longer(
    results: list[str], config: RollingContext
) -> None:
    messages = chat(*results)
    before = copy.deepcopy(messages)
    sent, notes = roll(messages, config)
    assert messages == before
    changed = {note.at for note in notes}
    for at, (old, new) in enumerate(zip(messages, sent, strict=True)):
        assert (new is old) == (at not in changed)
        assert len(str(new["content"])) <= len(str(old["content"]))
        assert new.keys() == old.keys()
        if at in changed:
            assert len(new["content"]) <= 4 * max(100, config.max_tokens_per_output)


@given(st.lists(st.sampled_from([OLD, LONG, "ok", "Error: no\n" + OLD]), max_size=9), configs)
def test_what_was_rolled_stays_as_it_is_when_rolled_again(results: list[str], config: RollingContext) -> None:
    sent = truncate_old_tool_outputs(chat(*results), config)
    assert all(one is other for one, other in zip(truncate_old_tool_outputs(sent, config), sent, strict=True))


# As a policy of a session.


def decided_by_steps(policy: Rolling, results: list[str]) -> list[list[str]]:
    """What is sent after each step, with choices kept from step to step."""
    made, decided, sent = transcript(), {}, list[list[str]]()
    for result in results:
        add_step(made, result)
        decided |= by_number(policy.arrive(made, made.items[-1:], decided))
        decided |= by_number(policy.age(made, decided, SITUATION))
        sent.append([shown_text(item, decided.get(item.number)) for item in made.items])
    return sent


def test_as_a_policy_the_age_in_the_placeholder_is_the_one_at_which_it_was_chosen() -> None:
    policy: Policy = Rolling()
    assert policy.name == "rolling"
    sent = decided_by_steps(Rolling(), [*SEVEN, *SEVEN])
    assert {step[0] for step in sent[6:]} == {"[content truncated - 6 steps ago]"}


def test_as_a_policy_a_long_result_is_cut_on_arrival_and_says_how_to_get_the_rest() -> None:
    made = transcript(LONG)
    (choice,) = Rolling().arrive(made, made.items, {})
    assert (choice.rule, choice.strategy) == ("long", "tail")
    sent = shown_text(made.items[0], choice)
    assert len(sent) <= 8_000
    assert choice.tokens == estimate(sent)
    assert 'get_artifact(id="art_call_1")' in sent
    assert choice.cut.covers(len(LONG))
    assert Rolling().arrive(made, made.items, {0: choice}) == []


def test_as_a_policy_a_cut_result_becomes_the_placeholder_when_it_is_old() -> None:
    sent = decided_by_steps(Rolling(), [LONG, *SEVEN])
    assert len({step[0] for step in sent[:6]}) == 1
    assert sent[6][0] == "[content truncated - 6 steps ago]"


def test_as_a_policy_a_long_result_that_is_spared_keeps_its_first_cut() -> None:
    sent = decided_by_steps(Rolling(), [LONG + "Error: no more bottles\n", *SEVEN])
    assert len({step[0] for step in sent}) == 1


def test_a_pinned_result_is_never_touched() -> None:
    made = transcript(LONG, *SEVEN)
    made.items[0].pinned = True
    assert Rolling().arrive(made, made.items[:1], {}) == []
    assert 0 not in by_number(Rolling().age(made, {}, SITUATION))


def test_a_result_without_its_call_ages_all_the_same() -> None:
    made = transcript(*SEVEN)
    made.items[0].call = None
    assert by_number(Rolling().age(made, {}, SITUATION))[0].rule == "old"


def test_a_placeholder_that_is_no_shorter_is_not_used() -> None:
    policy = Rolling(RollingContext(placeholder="x" * 5_000))
    assert policy.age(transcript(*SEVEN), {}, SITUATION) == []


@given(outputs, configs)
def test_as_a_policy_what_was_sent_once_changes_at_most_once(results: list[str], config: RollingContext) -> None:
    sent = decided_by_steps(Rolling(config), results)
    for number in range(len(results)):
        seen = [step[number] for step in sent[number:]]
        assert sum(one != other for one, other in pairwise(seen)) <= 1


@given(outputs)
def test_as_a_policy_all_before_the_oldest_change_is_sent_again_unchanged(results: list[str]) -> None:
    made, decided = Transcript(), {}
    policy = Rolling(RollingContext(max_age=1))
    for result in results:
        add_step(made, result)
        before = {item.number: shown_text(item, decided.get(item.number)) for item in made.items}
        new = by_number(policy.age(made, decided, SITUATION))
        decided |= new
        for item in made.items:
            assert item.number in new or shown_text(item, decided.get(item.number)) == before[item.number]


def test_an_image_becomes_the_placeholder_when_it_is_old_and_is_never_cut() -> None:
    made = transcript()
    for number in range(8):
        add_image(made, number)
    policy = Rolling(RollingContext(max_age=5, max_tokens_per_output=100))
    assert policy.arrive(made, made.items, {}) == []
    decided = by_number(policy.age(made, {}, SITUATION))
    assert [shown_text(made.items[number], choice) for number, choice in decided.items()] == [
        "[content truncated - 7 steps ago]",
        "[content truncated - 6 steps ago]",
    ]
