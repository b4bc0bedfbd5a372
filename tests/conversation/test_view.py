"""`view`, `projection`, `hydrate`, `undo`: what they give back, and what they say of it."""

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest

from keepwhole import MemoryStore, Session
from keepwhole.config import Settings
from keepwhole.errors import NotFound, NotStored, UsageError
from keepwhole.policies.settings import CAREFUL
from keepwhole.store.protocol import result_of
from keepwhole.wire.dialects import conversation_dialect
from tests.promises import conversations as talk

LONG = "".join(f"line {number} of a long output\n" for number in range(2_000))
DIALECTS = pytest.mark.parametrize("dialect", talk.DIALECTS)
LIMIT = 8_000


def step(dialect: str, id: str, text: str, tool: str = "bash") -> list[dict[str, Any]]:
    return [
        *talk.call_messages(dialect, [(id, tool, {"command": f"run {id}"})]),
        *talk.result_messages(dialect, [(id, text)]),
    ]


def conversation(dialect: str, *texts: str, tool: str = "bash") -> list[dict[str, Any]]:
    messages = [talk.user_message("What is wrong?", dialect)]
    for number, text in enumerate(texts):
        messages += step(dialect, f"c{number}", text, tool)
    return messages


def request(dialect: str, messages: list[dict[str, Any]], **fields: Any) -> bytes:
    key = talk.list_name(dialect)
    return json.dumps({"model": "tiny", key: messages, **fields}, indent=1).encode()


def messages_of(data: bytes) -> list[dict[str, Any]]:
    parsed = json.loads(data)
    return parsed.get("messages") or parsed.get("contents") or parsed["input"]


def session(store: MemoryStore | None = None, window: int | None = None, **settings: Any) -> Session:
    models = {"default": {"window": window}} if window else {}
    return Session("s", store=store or MemoryStore(), settings=Settings(home="unused", models=models, **settings))


# In and out


@DIALECTS
def test_a_list_comes_back_as_a_list_with_the_long_result_cut_and_the_rest_shared(dialect: str) -> None:
    messages = conversation(dialect, "short", LONG)
    given = copy.deepcopy(messages)
    out = session().view(messages)
    assert messages == given
    assert [mine is theirs for mine, theirs in zip(out, messages, strict=True)] == [True] * (len(messages) - 1) + [
        False
    ]
    ((_, short), (_, cut)) = talk.result_texts(dialect, out)
    assert short == "short"
    assert len(cut) <= LIMIT


@DIALECTS
def test_bytes_come_back_as_bytes_that_differ_only_inside_the_cut_result(dialect: str) -> None:
    data = request(dialect, conversation(dialect, "short", LONG), temperature=0.5)
    out = session().view(data)
    cut = talk.result_texts(dialect, messages_of(out))[1][1]
    assert out == data.replace(json.dumps(LONG).encode(), json.dumps(cut).encode())
    assert len(cut) <= LIMIT


@DIALECTS
def test_a_list_and_a_request_show_the_same(dialect: str) -> None:
    store, messages = MemoryStore(), conversation(dialect, LONG)
    assert messages_of(session(store).view(request(dialect, messages))) == session(store).view(messages)


@pytest.mark.parametrize("data", [b"", b"[]", b"no json", b'{"input": "hi"}', b'{"messages": []}', b"\xff"])
def test_a_request_that_is_not_understood_or_says_nothing_passes_as_it_is(data: bytes) -> None:
    assert session().view(data) == data


@pytest.mark.parametrize("given", [(), iter(()), []])
def test_nothing_comes_back_as_nothing(given: Any) -> None:
    assert session().view(given) == []


@pytest.mark.parametrize("given", [None, "words", {"messages": []}, 3])
def test_what_is_no_list_of_messages_is_refused(given: Any) -> None:
    with pytest.raises(UsageError, match="list of messages"):
        session().view(given)


def test_a_tuple_and_a_generator_are_taken_as_a_list() -> None:
    messages = conversation("openai_chat", LONG)
    one = session()
    assert one.view(tuple(messages)) == one.view(iter(messages)) == one.view(messages)


# Modes and figures


@DIALECTS
def test_off_gives_back_the_same_object_and_records_nothing(dialect: str) -> None:
    store, messages = MemoryStore(), conversation(dialect, LONG)
    off = session(store).projection(messages, mode="off")
    assert off.messages is messages
    assert list(store.rows("s")) == []


@DIALECTS
def test_shadow_sends_everything_says_what_it_would_save_and_decides_nothing(dialect: str) -> None:
    store, messages = MemoryStore(), conversation(dialect, LONG)
    shadow = session(store).projection(messages, mode="shadow")
    assert shadow.messages == messages
    assert shadow.account.tokens_saved > 0
    assert [edit.rule for edit in shadow.edits] == ["arrival"]
    assert [row.kind for row in store.rows("s")] == ["result"]


def test_a_mode_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UsageError, match="off, shadow, on"):
        session().projection([], mode="maybe")  # type: ignore[arg-type]


def test_the_account_counts_results_edits_and_tokens() -> None:
    one, messages = session(window=200_000), conversation("anthropic", "short", LONG)
    account = one.projection(messages).account
    assert (account.policy, account.mode, account.window) == ("auto", "on", 200_000)
    assert (account.results, account.edited, account.new_results, account.unstored) == (2, 1, 2, 0)
    assert account.tokens_whole > account.tokens_sent > 0
    again = one.projection(messages).account
    assert again == account.replace(new_results=0)


def test_an_edit_says_where_why_and_how_to_undo_it() -> None:
    (edit,) = session().projection(conversation("anthropic", LONG)).edits
    assert (edit.index, edit.path, edit.tool, edit.rule) == (2, ("content", 0, "content"), "bash", "arrival")
    assert edit.undo == f"keepwhole undo {edit.artifact_id}"


# The same again


@DIALECTS
def test_what_was_sent_is_sent_again_by_another_session_under_another_policy(dialect: str) -> None:
    store, messages = MemoryStore(), conversation(dialect, LONG, "short", LONG + "more")
    sent = session(store).view(messages)
    for policy in ("auto", "truncation", "everything"):
        assert session(store).view(copy.deepcopy(messages), policy=policy) == sent


@DIALECTS
def test_a_conversation_that_goes_on_keeps_its_beginning(dialect: str) -> None:
    one = session()
    messages: list[dict[str, Any]] = conversation(dialect)
    before: list[dict[str, Any]] = []
    for number in range(8):
        messages += step(dialect, f"n{number}", f"{number}{LONG}")
        out = one.view(copy.deepcopy(messages))
        assert out[: len(before)] == before
        before = out


def test_sub_agents_that_share_a_session_and_call_ids_are_not_mixed_up() -> None:
    store = MemoryStore()
    one = session(store)
    left, right = conversation("openai_chat"), conversation("openai_chat")
    for number in range(5):
        left += step("openai_chat", f"c{number}", f"{LONG} left {number}")
        right += step("openai_chat", f"c{number}", f"{LONG} right {number}")
        assert "left" in one.view(left)[-1]["content"]
        assert "right" in one.view(right)[-1]["content"]
    assert one.hydrate(one.view(left)) == left
    assert one.hydrate(one.view(right)) == right
    assert len(list(store.rows("s", kind="result"))) == 10


# Hydrate and undo


@DIALECTS
def test_hydrating_what_was_sent_gives_what_came(dialect: str) -> None:
    store, messages = MemoryStore(), conversation(dialect, "short", LONG, "\ud800" + LONG)
    out = session(store).view(messages)
    assert out != messages
    assert session(store).hydrate(out) == messages


@DIALECTS
def test_undo_shows_a_result_whole_from_then_on_everywhere(dialect: str) -> None:
    store, messages = MemoryStore(), conversation(dialect, LONG)
    one, two = session(store), session(store)
    (edit,) = one.projection(messages).edits
    cut = two.view(messages)
    assert cut != messages
    assert one.undo(edit.artifact_id) > 0
    assert one.undo(edit.trace_id) > 0
    for each in (one, two, session(store)):
        assert each.view(messages) == each.view(cut) == messages
        assert each.projection(messages).account.edited == 0
    assert len(list(store.rows("s", kind="decision"))) == 2


EAGER = CAREFUL.replace(start=4_000, worth=0, horizon=1_000, keep_steps=1, max_loss=1_000)


def test_a_pinned_result_stays_whole_when_everything_else_ages() -> None:
    store, messages = MemoryStore(), conversation("anthropic", *(f"{n} {LONG[:6_000]}" for n in range(8)), tool="fetch")
    tight = Settings(home="unused", policy="auto", auto=EAGER)
    first = Session("s", store=store, settings=tight)
    first.view(messages[:3])
    (pinned,) = store.find_call("s", "c0")
    assert first.pin(pinned.trace_id) > 1_000
    sent = talk.result_texts("anthropic", first.view(messages))
    came = talk.result_texts("anthropic", messages)
    assert sent[0] == came[0]
    assert sent[1] != came[1]
    assert all(edit.trace_id != pinned.trace_id for edit in first.projection(messages).edits)


def test_a_result_that_somebody_cut_before_is_kept_whole_and_marked() -> None:
    store = MemoryStore()
    cut = "the beginning\n... [150 lines / 12,340 chars omitted] ...\nthe end\n"
    Session("s", store=store).view(conversation("openai_chat", cut))
    (row,) = store.find_call("s", "c0")
    assert result_of(row).flags == ("truncation_marker", "legacy_truncated")
    assert Session("s", store=store).recall(row.trace_id) == cut


def test_the_call_that_a_retention_notice_prints_is_answered() -> None:
    ours = Session("s", store=MemoryStore())
    sent = ours.view(conversation("openai_chat", LONG[:5_000], "two", "three"), policy="retention")
    printed = re.search(r'get_task_trace\(traceId="(\w+)"\)', talk.result_texts("openai_chat", sent)[0][1])
    assert printed is not None
    call = {"id": "c9", "function": {"name": "get_task_trace", "arguments": json.dumps({"traceId": printed[1]})}}
    answer = ours.answer(call)
    assert answer is not None
    assert answer["content"].startswith("[Call: ")
    assert answer["content"].endswith(f"\n{LONG[:5_000]}")


def test_half_a_surrogate_pair_made_showable_is_known_again_from_the_disk(tmp_path: Path) -> None:
    broken = "ab\ud800cd\n" * 20
    first = Session("s", store=str(tmp_path))
    first.keep("bash", None, broken, call_id="c0")
    first.close()
    later = Session("s", store=str(tmp_path))
    later.view(conversation("openai_chat", broken.replace("\ud800", "\ufffd")))
    assert len(list(later.store.rows("s", kind="result"))) == 1
    later.close()


def test_undo_of_what_is_not_on_record_says_so() -> None:
    with pytest.raises(NotFound, match="art_none"):
        session().undo("art_none")


# Trouble


def test_what_could_not_be_stored_is_sent_whole_and_counted_until_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    store, messages = MemoryStore(), conversation("openai_chat", LONG, LONG)
    one = session(store)

    def fails(*_: Any, **__: Any) -> Any:
        raise NotStored("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(store, "append", fails)
        for _ in range(2):
            refused = one.projection(messages)
            assert refused.messages == messages
            assert (refused.account.unstored, refused.account.edited) == (2, 0)
    stored = one.projection(messages)
    assert (stored.account.unstored, stored.account.new_results) == (0, 2)
    assert stored.messages == messages, "what was sent in full stays whole"


def test_shadow_says_nothing_of_what_could_not_be_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    store, messages = MemoryStore(), conversation("openai_chat", LONG)

    def fails(*_: Any, **__: Any) -> Any:
        raise NotStored("the disk is full")

    monkeypatch.setattr(store, "append", fails)
    shadow = session(store).projection(messages, mode="shadow")
    assert (shadow.messages, shadow.edits, shadow.account.unstored) == (messages, (), 1)


def test_a_request_in_which_a_name_stands_twice_is_not_said_to_be_edited() -> None:
    data = request("openai_chat", conversation("openai_chat", LONG))
    data = data.replace(b'"tool_call_id": "c0"', b'"content": "other", "tool_call_id": "c0"')
    one = session()
    for _ in range(2):
        projection = one.projection(data)
        assert projection.messages == data
        assert (projection.edits, projection.account.skipped, projection.account.tokens_saved) == ((), 1, 0)


@DIALECTS
def test_broken_pairs_are_mended_in_what_is_sent_and_counted(dialect: str) -> None:
    messages = conversation(dialect, "one")
    messages += [*talk.call_messages(dialect, [("lost", "bash", {})]), talk.user_message("go on", dialect)]
    for given in (messages, request(dialect, messages)):
        mended = session().projection(given)
        out = messages_of(mended.messages) if isinstance(given, bytes) else mended.messages
        assert mended.account.repaired == 1
        assert conversation_dialect(dialect).is_broken(messages)
        assert not conversation_dialect(dialect).is_broken(out)


@DIALECTS
def test_calls_that_wait_for_their_results_are_left_alone(dialect: str) -> None:
    messages = [*conversation(dialect, "one"), *talk.call_messages(dialect, [("soon", "bash", {})])]
    projection = session().projection(messages)
    assert (projection.messages, projection.account.repaired) == (messages, 0)


# A window that is nearly full


def long_work(dialect: str, steps: int = 120) -> list[dict[str, Any]]:
    texts = [f"{number} " + "some words here and there\n" * 40 for number in range(steps)]
    return conversation(dialect, *texts, tool="read_file")


@DIALECTS
@pytest.mark.parametrize("policy", ["auto", "truncation"])
def test_a_full_window_is_compacted_with_whole_pairs_and_every_result_can_be_fetched(dialect: str, policy: str) -> None:
    messages = long_work(dialect)
    one = session(window=4_000)
    projection = one.projection(messages, policy=policy)
    out = projection.messages
    assert projection.account.compacted > 0
    assert projection.account.tokens_sent < 4_000
    assert out[0]["role"] == "user"
    assert not conversation_dialect(dialect).is_broken(out)
    assert talk.call_ids(dialect, out) == [id for id, _ in talk.result_texts(dialect, out)]
    for id, text in talk.result_texts(dialect, messages):
        (row,) = one.store.find_call("s", id)
        answer = one.call_tool("get_artifact", {"id": result_of(row).artifact_id})
        assert text.splitlines()[-1] in answer.content


@pytest.mark.parametrize("share", [0.88, 0.92])
def test_a_conversation_is_compacted_from_nine_tenths_of_the_window_on(share: float) -> None:
    messages = long_work("openai_chat", steps=40)
    tokens = session(window=10_000_000).projection(messages, policy="truncation").account.tokens_sent
    projection = session(window=int(tokens / share)).projection(messages, policy="truncation")
    assert (projection.account.compacted > 0) == (share > 0.9)


@DIALECTS
def test_a_compacted_conversation_is_the_same_in_another_process_and_as_a_request(dialect: str) -> None:
    store, messages = MemoryStore(), long_work(dialect)
    sent = session(store, window=4_000).view(messages)
    entries = len(list(store.rows("s")))
    again = session(store, window=4_000)
    assert again.view(copy.deepcopy(messages)) == sent == messages_of(again.view(request(dialect, messages)))
    more = [*messages, *step(dialect, "next", "short")]
    assert again.view(more)[: len(sent)] == sent
    assert len(list(store.rows("s"))) == entries + 1


def test_a_pair_that_breaks_after_compaction_is_mended_too() -> None:
    messages = [*long_work("anthropic"), *talk.call_messages("anthropic", [("lost", "bash", {})])]
    messages.append(talk.user_message("go on"))
    projection = session(window=4_000).projection(messages)
    assert projection.account.compacted
    assert projection.account.repaired == 1
    assert not conversation_dialect("anthropic").is_broken(projection.messages)


def test_the_policy_everything_compacts_nothing() -> None:
    messages = long_work("openai_chat")
    projection = session(window=4_000).projection(messages, policy="everything")
    assert (projection.messages, projection.account.compacted) == (messages, 0)


def test_nothing_is_compacted_that_is_not_on_record(monkeypatch: pytest.MonkeyPatch) -> None:
    store, messages = MemoryStore(), long_work("openai_chat")

    def fails(*_: Any, **__: Any) -> Any:
        raise NotStored("the disk is full")

    monkeypatch.setattr(store, "append", fails)
    assert session(store, window=4_000).view(messages) == messages


@DIALECTS
def test_going_back_to_where_a_summary_ends_is_a_conversation_too(dialect: str) -> None:
    one, messages = session(window=4_000), long_work(dialect)
    one.view(messages)
    for length in range(len(messages), 0, -1):
        out = one.view(messages[:length])
        spoken = conversation_dialect(dialect)
        assert not spoken.is_broken(out) or spoken.is_broken(messages[:length])
        assert out[0]["role"] == "user"
