"""Conversations that are odd, stores that fail, processes that come in between: what is sent stays whole and valid."""

import json
from typing import Any

import pytest

from keepwhole import MemoryStore, Session
from keepwhole.config import Settings
from keepwhole.errors import NotStored
from keepwhole.policies.auto import Auto
from keepwhole.policies.settings import AutoSettings
from keepwhole.store.protocol import result_of
from keepwhole.wire.dialects import conversation_dialect
from tests.promises import conversations as talk

LONG = "".join(f"line {number} of a long output\n" for number in range(2_000))
DIALECTS = pytest.mark.parametrize("dialect", talk.DIALECTS)
EAGER = Auto(
    AutoSettings(
        start=10,
        keep={},
        keep_steps=1,
        max_loss=1_000,
        clear_at_least=1,
        min_tokens=1,
        recent_steps=0,
        worth=0,
        horizon=1_000,
    )
)
"""Ages whatever it may."""


def step(dialect: str, id: str, text: str, tool: str = "bash") -> list[dict[str, Any]]:
    return [
        *talk.call_messages(dialect, [(id, tool, {"command": f"run {id}"})]),
        *talk.result_messages(dialect, [(id, text)]),
    ]


def results(store: MemoryStore) -> list[str | None]:
    return [result_of(row).call_id for row in store.rows("s", kind="result")]


class Failing(MemoryStore):
    """A store of which single methods fail while they are named."""

    def __init__(self) -> None:
        super().__init__()
        self.broken: set[str] = set()

    def __getattribute__(self, name: str) -> Any:
        broken = super().__getattribute__("__dict__").get("broken", ())
        if name in broken:
            raise NotStored(f"{name} fails")
        return super().__getattribute__(name)


def small(window: int) -> Settings:
    return Settings(home="unused", models={"default": {"window": window}})


# What came from us, and comes back


@DIALECTS
def test_what_the_recall_tool_answers_is_never_cut_again(dialect: str) -> None:
    session = Session("s", store=MemoryStore())
    answer = LONG[:31_000]
    for policy in ("auto", "truncation"):
        messages = [talk.user_message("go", dialect), *step(dialect, "c1", answer, "get_artifact")]
        assert session.view(messages, policy=policy) == messages


@DIALECTS
def test_what_the_recall_tool_answers_is_not_aged_while_it_is_the_newest_step(dialect: str) -> None:
    session = Session("s", store=MemoryStore(), settings=small(20_000))
    messages = [
        talk.user_message("go"),
        *step(dialect, "c0", LONG),
        *step(dialect, "c1", LONG[:31_000], "get_artifact"),
    ]
    for policy in ("auto", EAGER):
        assert talk.result_texts(dialect, session.view(messages, policy=policy))[1] == ("c1", LONG[:31_000])


@DIALECTS
def test_a_kept_view_without_a_call_id_is_known_by_its_digest(dialect: str) -> None:
    store = MemoryStore()
    session = Session("s", store=store)
    shown = session.keep("bash", {}, LONG)
    messages = [talk.user_message("go", dialect), *step(dialect, "c1", shown.content)]
    assert session.view(messages) == messages
    assert results(store) == [None]
    assert talk.result_texts(dialect, session.hydrate(messages)) == [("c1", LONG)]


@pytest.mark.parametrize(
    "output", [b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 400, b"ok \xff\xfe\n", b"text\n" * 9_000, "a\ud800b"]
)
def test_bytes_that_were_kept_and_shown_are_not_kept_again(output: Any) -> None:
    store = MemoryStore()
    session = Session("s", store=store)
    shown = session.keep("bash", {}, output, call_id="c1")
    messages = [talk.user_message("go"), *step("openai_chat", "c1", shown.content)]
    assert session.view(messages) == messages
    assert Session("s", store=store).view(messages) == messages
    assert results(store) == ["c1"]


# Clients that change what they gave


def test_a_cache_marker_that_is_moved_in_place_moves_in_what_is_sent() -> None:
    session = Session("s", store=MemoryStore())
    messages: list[dict[str, Any]] = [talk.user_message("go")]
    for number in range(6):
        messages += step("anthropic", f"c{number}", f"{number} {LONG}")
        for message in messages[1:]:
            message["content"][0].pop("cache_control", None)
        messages[-1]["content"][0]["cache_control"] = {"type": "ephemeral"}
        out = session.view(messages)
        marked = [i for i, message in enumerate(out[1:]) if "cache_control" in message["content"][0]]
        assert marked == [len(out) - 2]


def test_a_result_that_is_added_to_a_message_in_place_is_seen() -> None:
    store = MemoryStore()
    session = Session("s", store=store)
    messages = [
        talk.user_message("go"),
        *talk.call_messages("anthropic", [("c1", "bash", {}), ("c2", "bash", {})]),
        *talk.result_messages("anthropic", [("c1", "one")]),
    ]
    session.view(messages)
    messages[-1]["content"].append({"type": "tool_result", "tool_use_id": "c2", "content": LONG})
    out = session.view(messages)
    assert results(store) == ["c1", "c2"]
    assert len(talk.result_texts("anthropic", out)[1][1]) < 9_000


# Odd input


class Thing:
    """An object of some SDK."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)


def objects(messages: list[dict[str, Any]]) -> list[Any]:
    return [Thing(**message) for message in messages]


def compacting(dialect: str, steps: int = 30) -> list[dict[str, Any]]:
    messages = [talk.user_message("go")]
    for number in range(steps):
        messages += step(dialect, f"c{number}", f"{number} " + "some words here and there\n" * 40, "read_file")
    return messages


@DIALECTS
def test_objects_of_an_sdk_are_compacted_too(dialect: str) -> None:
    messages = compacting(dialect)
    session = Session("s", store=MemoryStore(), settings=small(5_000))
    projection = session.projection(objects(messages), policy="truncation")
    assert projection.account.compacted
    assert len(projection.messages) < len(messages)


@pytest.mark.parametrize(
    "odd", [None, "words", 3, {}, {"role": "tool"}, {"role": ["x"]}, {"type": "function_call"}, [], object()]
)
@DIALECTS
def test_an_odd_message_is_passed_on_wherever_it_stands(dialect: str, odd: Any) -> None:
    messages: list[Any] = compacting(dialect)
    messages.insert(5, odd)
    messages.append(odd)
    for policy in ("auto", "truncation", "rolling", "retention"):
        session = Session("s", store=MemoryStore(), settings=small(5_000))
        session.view(messages, policy=policy)
        assert session.hydrate(messages) == messages
    data = json.dumps({"messages": messages}, default=str).encode()
    Session("s", store=MemoryStore(), settings=small(5_000)).view(data, policy="truncation")


@DIALECTS
def test_broken_pairs_of_an_sdks_objects_are_mended_too(dialect: str) -> None:
    messages = [
        talk.user_message("go", dialect),
        *talk.call_messages(dialect, [("c1", "bash", {})]),
        talk.user_message("well?", dialect),
    ]
    if dialect == "anthropic":
        messages[1]["content"] = [Thing(**block) for block in messages[1]["content"]]
    else:
        messages[1] = Thing(**messages[1])  # type: ignore[call-overload]
    projection = Session("s", store=MemoryStore()).projection(messages)
    assert projection.account.repaired == 1
    assert projection.messages[1] is messages[1]
    assert "No result on record" in str(projection.messages[2:])


def test_two_parts_of_a_result_that_say_the_same_are_one_on_record() -> None:
    store = MemoryStore()
    parts = [{"type": "text", "text": LONG}, {"type": "text", "text": LONG}]
    messages = [talk.user_message("go"), *step("openai_chat", "c1", parts)]  # type: ignore[arg-type]
    out = Session("s", store=store).view(messages)
    assert results(store) == ["c1"]
    assert Session("s", store=store).view(messages) == out


@DIALECTS
def test_a_call_of_several_that_gets_no_result_is_noticed_however_the_conversation_grew(dialect: str) -> None:
    session = Session("s", store=MemoryStore())
    messages = [
        talk.user_message("go", dialect),
        *talk.call_messages(dialect, [("c1", "bash", {}), ("c2", "bash", {})]),
    ]
    session.view(messages)
    messages += [*talk.result_messages(dialect, [("c2", "two")]), talk.user_message("well?", dialect)]
    grown = session.projection(messages)
    assert grown.account.repaired == 1
    assert grown.messages == Session("s", store=MemoryStore()).view(messages)


@DIALECTS
def test_what_is_said_of_a_stray_result_does_not_come_between_calls_and_results_to_come(dialect: str) -> None:
    messages = [
        talk.user_message("go"),
        *step(dialect, "c1", "one"),
        *talk.result_messages(dialect, [("who", "stray")]),
    ]
    messages += talk.call_messages(dialect, [("c2", "bash", {}), ("c3", "bash", {})])
    projection = Session("s", store=MemoryStore()).projection(messages)
    assert projection.account.repaired == 1
    assert not conversation_dialect(dialect).is_broken(projection.messages)


def test_a_generator_is_hydrated() -> None:
    session = Session("s", store=MemoryStore())
    messages = [talk.user_message("go")]
    assert session.hydrate(iter(messages)) == messages  # type: ignore[arg-type]


@pytest.mark.parametrize("field", ["previous_response_id", "conversation"])
def test_a_request_that_continues_another_is_not_mended(field: str) -> None:
    data = json.dumps({field: "r1", "input": talk.result_messages("openai_responses", [("c1", "one")])}).encode()
    assert Session("s", store=MemoryStore()).view(data) == data


def test_items_that_are_named_by_reference_may_be_the_missing_half() -> None:
    messages = [{"type": "item_reference", "id": "fc_1"}, *talk.result_messages("openai_responses", [("c1", "one")])]
    assert Session("s", store=MemoryStore()).view(messages) == messages


# Stores that fail


@pytest.mark.parametrize(
    "method", ["rows", "find", "open", "store_body", "append", "stored", "open_session", "decision", "find_call"]
)
@pytest.mark.parametrize("fresh", [True, False])
def test_a_conversation_goes_on_whatever_of_the_store_fails(method: str, fresh: bool) -> None:
    store = Failing()
    session = Session("s", store=store)
    shown = session.keep("bash", {}, LONG, call_id="c0").content
    messages = [talk.user_message("go"), *step("openai_chat", "c0", shown), *step("openai_chat", "c1", LONG)]
    before = session.view(messages)
    session = Session("s", store=store) if fresh else session
    store.broken = {method}
    more = [*messages, *step("openai_chat", "c2", LONG + "x")]
    out = session.view(more)
    assert len(out) == len(more)
    if not fresh:
        assert out[: len(before)] == before
    store.broken = set()
    after = session.view(more)
    assert after[: len(before)] == before
    assert after[-1] == out[-1], "what was sent in full stays whole"
    assert sorted(results(store)) == ["c0", "c1", "c2"]  # type: ignore[type-var]


def test_a_body_that_is_on_record_is_not_thrown_away_when_reading_fails() -> None:
    store = Failing()
    discarded: list[Any] = []
    store.discard = discarded.append  # type: ignore[method-assign]
    append = store.append

    def then_break(*given: Any, **options: Any) -> Any:
        entries = append(*given, **options)
        store.broken = {"rows"}
        return entries

    store.append = then_break  # type: ignore[method-assign]
    session = Session("s", store=store)
    session.view([talk.user_message("go"), *step("openai_chat", "c1", LONG)])
    assert not discarded


def test_one_result_over_the_quota_does_not_keep_the_others_from_being_stored() -> None:
    store = MemoryStore()
    session = Session("s", store=store, settings=Settings(home="unused", session_quota=100_000))
    messages = [talk.user_message("go"), *step("openai_chat", "huge", "x" * 200_000)]
    assert session.view(messages) == messages
    messages += step("openai_chat", "c1", LONG)
    projection = session.projection(messages)
    assert results(store) == ["c1"]
    assert projection.account.unstored == 1
    assert projection.messages[2] is messages[2]


def test_a_damaged_result_is_kept_again() -> None:
    store = MemoryStore()
    messages = [talk.user_message("go"), *step("openai_chat", "c1", LONG)]
    Session("s", store=store).view(messages)
    rows = store._rows["s"]  # pyright: ignore[reportPrivateUsage]
    rows[0] = rows[0].replace(header=rows[0].header.replace(b"bash", b"dash"))
    session = Session("s", store=store)
    out = session.view(messages)
    artifact = session.projection(messages).edits[0].artifact_id
    assert session.recall(artifact) == LONG
    assert Session("s", store=store).view(messages) == out


# Others at the same session


def test_what_was_purged_by_another_process_is_not_hidden() -> None:
    store = MemoryStore()
    session = Session("s", store=store)
    messages = [talk.user_message("go"), *step("openai_chat", "c1", LONG)]
    session.view(messages)
    store.purge("s", 0)
    (edit,) = session.projection(messages).edits
    assert session.recall(edit.artifact_id) == LONG


def test_a_view_whose_original_was_purged_is_a_result_like_any_other_with_its_notices_marked_as_quoted() -> None:
    store = MemoryStore()
    session = Session("s", store=store)
    shown = session.keep("bash", {}, LONG, call_id="c1").content
    messages = [talk.user_message("go"), *step("openai_chat", "c1", shown)]
    session.view(messages)
    store.purge("s", 0)
    sent = session.view(messages)
    assert sent[-1]["content"].replace("[quoted] ", "") == shown
    assert Session("s", store=store).view(messages) == sent


def test_a_decision_of_another_process_just_before_a_result_is_kept_is_taken_over() -> None:
    store = MemoryStore()
    session, other = Session("s", store=store), Session("s", store=store)
    messages = [talk.user_message("go"), *step("openai_chat", "c1", LONG)]
    (edit,) = session.projection(messages).edits
    append = store.append
    undone: list[Any] = []

    def after_undo(*given: Any, **options: Any) -> Any:
        if not undone:
            undone.append(edit)
            other.undo(edit.artifact_id)
        return append(*given, **options)

    store.append = after_undo  # type: ignore[method-assign]
    out = session.view([*messages, *step("openai_chat", "c2", "short")])
    assert out[2]["content"] == LONG


# Compaction


@DIALECTS
def test_a_newest_step_that_fills_the_window_does_not_bring_a_summary_at_each_call(dialect: str) -> None:
    store = MemoryStore()
    session = Session("s", store=store, settings=small(5_000))
    messages = [*compacting(dialect, 12), *step(dialect, "big", "words and more words\n" * 1_500, "read_file")]
    once = session.view(messages, policy="truncation")
    count = len(list(store.rows("s")))
    assert session.view(messages, policy="truncation") == once
    assert Session("s", store=store, settings=small(5_000)).view(messages, policy="truncation") == once
    assert len(list(store.rows("s"))) == count


def test_a_summary_that_is_undone_no_longer_stands() -> None:
    store = MemoryStore()
    session = Session("s", store=store, settings=small(5_000))
    messages = compacting("openai_chat")
    assert session.projection(messages, policy="truncation").account.compacted
    summary = next(
        result_of(row) for row in store.rows("s", kind="result") if result_of(row).tool == "keepwhole_summary"
    )
    session.undo(summary.artifact_id)
    assert session.view(messages, policy="everything") == messages


def test_a_repeat_does_not_point_into_what_a_summary_stands_for() -> None:
    store = MemoryStore()
    same = "the same words again and again\n" * 60
    messages = [*step("openai_chat", "first", same, "read_file"), *compacting("openai_chat")]
    session = Session("s", store=store, settings=small(5_000))
    assert session.projection(messages, policy="truncation").account.compacted
    more = [*messages, *step("openai_chat", "again", same, "read_file")]
    for each in (Session("s", store=store, settings=small(5_000)), session):
        assert each.view(more)[-1]["content"] == same


def test_what_a_summary_stood_for_may_age_again_after_a_fork() -> None:
    store = MemoryStore()
    session = Session("s", store=store, settings=small(5_000))
    messages = compacting("openai_chat")
    assert session.projection(messages, policy="truncation").account.compacted
    fork = [*messages[:13], talk.user_message("other way")]
    elsewhere = Session("t", store=MemoryStore(), settings=small(5_000))
    elsewhere.view(messages[:13], policy="truncation")
    session.view(fork, policy="truncation")
    assert (
        session.projection(fork, policy=EAGER).account.edited == elsewhere.projection(fork, policy=EAGER).account.edited
    )


def test_a_pointer_to_a_repeat_is_not_given_when_the_step_cap_cuts_what_it_points_to() -> None:
    session = Session("s", store=MemoryStore())
    policy = Auto(AutoSettings(step_cap=20_000))
    given = [("c1", "read_file", {"path": "a"}), ("c2", "read_file", {"path": "a"})]
    messages = [talk.user_message("go"), *talk.call_messages("openai_chat", given)]
    messages += talk.result_messages("openai_chat", [("c1", LONG), ("c2", LONG)])
    out = session.view(messages, policy=policy)
    assert "Same as the earlier result" not in out[3]["content"]


@DIALECTS
def test_feeding_back_what_was_sent_gives_the_same_and_ids_survive(dialect: str) -> None:
    store = MemoryStore()
    session = Session("s", store=store, settings=small(5_000))
    messages: list[Any] = [talk.user_message("go")]
    for number in range(30):
        messages += step(dialect, f"c{number}", f"{number} " + "some words here and there\n" * 40, "read_file")
        messages = session.view(messages, policy="truncation")
        assert session.view(messages, policy="truncation") == messages
    assert session.projection(messages, policy="truncation").account.tokens_sent < 5_000
