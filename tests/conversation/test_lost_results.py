"""A result that is on record is never lost because a client lost it: dropped, emptied, `null`, or cleared."""

import copy
import json
import random
from typing import Any, cast

import pytest

from keepwhole import MemoryStore, Session
from keepwhole.canonical.entry import Result
from keepwhole.store.protocol import entry_of, result_of
from keepwhole.wire.pairs import NO_RESULT
from tests.promises.conversations import DIALECTS, call_messages, list_name, result_messages, result_texts, user_message

Json = dict[str, Any]
BLANK: list[Any] = ["dropped", None, "", [], " \n", "null", "undefined", "None", [{"type": "text", "text": ""}]]
MARKS = [
    "[Old tool result content cleared]",
    "[cleared]",
    "[cleared to save context]",
    "<MASKED>",
    "[[NOTE] This file read has been removed to save space in the context window. Refer to the latest file read.]",
    "Old environment output: (120 lines omitted)",
    "(no content)",
    "<removed to save tokens>",
    "[Tool result no longer available]",
    "Previous tool output was compacted. Run the tool again if you need it.",
]
every_dialect = pytest.mark.parametrize("dialect", DIALECTS)
every_loss = pytest.mark.parametrize("loss", BLANK, ids=repr)


def text_of(name: str, size: int = 9_000) -> str:
    return "".join(f"{name}: line {number} of a tool's output\n" for number in range(size // 30))


def conversation(dialect: str, *steps: tuple[str, ...]) -> list[Json]:
    """One step for each group of calls, whose texts are long."""
    messages = [user_message("go", dialect)]
    for calls in steps:
        messages += call_messages(dialect, [(name, "bash", {"command": f"make {name}"}) for name in calls])
        messages += result_messages(dialect, [(name, text_of(name)) for name in calls])
    return messages


def lose(messages: list[Json], call_id: str, loss: Any) -> list[Json]:
    """The messages without the result of a call, or with something else in its place."""
    found: list[Json] = []
    for message in copy.deepcopy(messages):
        content = message.get("content")
        given = cast("list[Json]", content) if isinstance(content, list) else []
        if "parts" in message:
            found += _lost_part(message, call_id, loss)
        elif any("toolResult" in block for block in given):
            found += _lost_converse(message, call_id, loss)
        elif any(block.get("tool_use_id") == call_id for block in given):
            kept = [_lost(block, "content", loss) for block in given if block.get("tool_use_id") == call_id]
            others = [block for block in given if block.get("tool_use_id") != call_id]
            blocks = others if loss == "dropped" else [*kept, *others]
            found += [{**message, "content": blocks}] if blocks else []
        elif call_id in (message.get("tool_call_id"), message.get("call_id")) and "name" not in message:
            key = "output" if "output" in message else "content"
            found += [] if loss == "dropped" else ([_lost(message, key, loss)] if key in message else [message])
        else:
            found.append(message)
    return found


def _lost_part(message: Json, call_id: str, loss: Any) -> list[Json]:
    """A message of Gemini without the result of a call; nothing where that was all of it."""
    parts: list[Json] = []
    for part in message["parts"]:
        if part.get("functionResponse", {}).get("id") != call_id:
            parts.append(part)
        elif loss != "dropped":
            parts.append({"functionResponse": {**part["functionResponse"], "response": {"output": loss}}})
    return [{**message, "parts": parts}] if parts else []


def _lost_converse(message: Json, call_id: str, loss: Any) -> list[Json]:
    """A message of Converse without the result of a call; nothing where that was all of it."""
    blocks: list[Json] = []
    for block in message["content"]:
        if block.get("toolResult", {}).get("toolUseId") != call_id:
            blocks.append(block)
        elif loss != "dropped":
            parts = [{"text": loss}] if isinstance(loss, str) else []
            blocks.append({"toolResult": {**block["toolResult"], "content": parts}})
    return [{**message, "content": blocks}] if blocks else []


def _lost(message: Json, key: str, loss: Any) -> Json:
    return {**message, key: loss}


def results_on_record(session: Session) -> list[str | None]:
    headers = (entry_of(row).header for row in session.store.rows(session.id))
    return [header.call_id for header in headers if isinstance(header, Result)]


@every_loss
@every_dialect
def test_what_a_client_lost_is_hydrated_and_sent_as_it_was_sent_before(dialect: str, loss: Any) -> None:
    session = Session(store=MemoryStore())
    messages = conversation(dialect, ("c1",), ("c2",), ("c3",))
    before = session.view(messages)
    for call_id in ("c1", "c2", "c3"):
        lost = lose(messages, call_id, loss)
        assert lost != messages
        assert session.hydrate(lost) == messages
        assert session.view(lost) == before
    assert results_on_record(session) == ["c1", "c2", "c3"]


@every_loss
@every_dialect
def test_the_same_for_requests_as_bytes_and_in_another_process(dialect: str, loss: Any) -> None:
    store = MemoryStore()
    messages = conversation(dialect, ("c1", "c2"), ("c3",))
    key = list_name(dialect)
    before = json.loads(Session("s", store=store).view(json.dumps({"model": "m", key: messages}).encode()))
    lost = json.dumps({"model": "m", key: lose(messages, "c1", loss)}).encode()
    assert json.loads(Session("s", store=store).view(lost)) == before
    assert len(results_on_record(Session("s", store=store))) == 3


@every_dialect
def test_lost_results_go_on_being_restored_as_the_conversation_grows(dialect: str) -> None:
    session = Session(store=MemoryStore())
    messages = conversation(dialect, ("c1", "c2"), ("c3",))
    before = session.view(messages)
    longer = conversation(dialect, ("c1", "c2"), ("c3",), ("c4",))
    after = session.view(lose(lose(longer, "c2", "dropped"), "c3", None))
    assert after[: len(before)] == before
    assert after == session.view(longer)
    assert NO_RESULT not in json.dumps(after)


@every_dialect
def test_a_missing_result_is_put_back_once_another_process_has_recorded_it(dialect: str) -> None:
    store = MemoryStore()
    session = Session("s", store=store)
    messages = conversation(dialect, ("c1",), ("c2",), ("c3",))
    without = lose(messages, "c1", "dropped")
    for _ in range(2):
        assert NO_RESULT in json.dumps(session.view(without))
    Session("s", store=store).keep("bash", {"command": "make c1"}, text_of("c1", 900), call_id="c1")
    assert result_texts(dialect, session.view(without))[0] == ("c1", text_of("c1", 900))


@pytest.mark.parametrize("seed", range(4))
@every_dialect
def test_a_process_that_saw_the_conversation_grow_sends_what_a_new_one_sends(dialect: str, seed: int) -> None:
    draw, store = random.Random(f"{dialect} {seed}"), MemoryStore()
    session = Session("s", store=store)
    steps: list[tuple[str, ...]] = []
    lost: dict[str, Any] = {}
    for number in range(25):
        if steps and draw.random() < 0.2:  # a fork; what comes then has the ids of what was there
            del steps[draw.randrange(len(steps)) :]
        steps.append(tuple(f"c{len(steps)}_{at}" for at in range(draw.choice((1, 1, 2)))))
        every = [call_id for step in steps for call_id in step]
        if draw.random() < 0.5:
            lost[draw.choice(every)] = draw.choice(("dropped", ""))
        elif lost and draw.random() < 0.5:
            lost.pop(draw.choice(list(lost)))
        messages = conversation(dialect, *steps)
        for call_id, loss in lost.items():
            messages = lose(messages, call_id, loss) if call_id in every else messages
        anew = Session("s", store=store)
        assert session.view(messages, policy="everything") == anew.view(messages, policy="everything"), number


@every_dialect
def test_a_result_that_is_empty_from_the_beginning_stays_empty(dialect: str) -> None:
    session = Session(store=MemoryStore())
    messages = [user_message("go", dialect), *call_messages(dialect, [("c1", "bash", {"command": "true"})])]
    messages += result_messages(dialect, [("c1", "")])
    for _ in range(2):
        assert result_texts(dialect, session.view(messages)) == [("c1", "")]
        assert session.hydrate(messages) == messages
    messages += [
        *call_messages(dialect, [("c2", "bash", {"command": "rm x"})]),
        *result_messages(dialect, [("c2", "")]),
    ]
    assert result_texts(dialect, session.view(messages)) == [("c1", ""), ("c2", "")]


@every_dialect
def test_an_empty_result_of_another_call_with_the_same_id_stays_empty(dialect: str) -> None:
    session = Session(store=MemoryStore())
    session.view(conversation(dialect, ("call_0",)))
    other = [user_message("on", dialect), *call_messages(dialect, [("call_0", "bash", {"command": "rm x"})])]
    other += result_messages(dialect, [("call_0", "")])
    assert result_texts(dialect, session.view(other)) == [("call_0", "")]
    both = [*conversation(dialect, ("call_0",)), *other]
    assert result_texts(dialect, session.view(both))[1] == ("call_0", "")
    session = Session(store=MemoryStore())
    session.view(conversation(dialect, ("call_0",)))
    again = [*conversation(dialect, ("call_0",)), *lose(conversation(dialect, ("call_0",)), "call_0", "")]
    assert result_texts(dialect, session.view(again))[1] == ("call_0", ""), "which of two equal calls is not known"


@every_dialect
def test_a_call_that_never_had_a_result_is_still_reported(dialect: str) -> None:
    session = Session(store=MemoryStore())
    messages = lose(conversation(dialect, ("c1", "c2"), ("c3",)), "c2", "dropped")
    assert NO_RESULT in json.dumps(session.view(messages))


def test_a_result_that_was_kept_before_it_was_appended_is_there_after_a_crash() -> None:
    session = Session(store=MemoryStore())
    messages = conversation("openai_chat", ("c1",))
    kept = session.keep(messages[1]["tool_calls"][0], messages[2]["content"])
    assert session.hydrate(messages[:2]) == messages
    assert session.view(messages[:2])[2]["content"] == kept.content


def test_all_texts_of_a_result_come_back() -> None:
    session = Session(store=MemoryStore())
    messages = conversation("anthropic", ("c1",), ("c2",))
    parts = [{"type": "text", "text": text_of("a")}, {"type": "text", "text": text_of("b")}]
    messages[2]["content"][0]["content"] = parts
    before = session.view(messages)
    assert session.view(lose(messages, "c1", [])) == before
    assert session.hydrate(lose(messages, "c1", "dropped")) == messages


@pytest.mark.parametrize("mark", MARKS)
@every_dialect
def test_what_a_client_cleared_is_hydrated_and_sent_as_the_client_sends_it(dialect: str, mark: str) -> None:
    session = Session(store=MemoryStore())
    messages = conversation(dialect, ("c1",), ("c2",))
    before = dict(result_texts(dialect, session.view(messages)))
    cleared = lose(messages, "c1", mark)
    assert session.hydrate(cleared) == messages
    assert dict(result_texts(dialect, session.view(cleared))) == {**before, "c1": mark}
    assert results_on_record(session) == ["c1", "c2"]


@pytest.mark.parametrize(
    "text", ["(3 files deleted)", "<x not available>", "Output of rm: removed a.txt", "a\n[truncated]"]
)
@every_dialect
def test_a_result_that_reads_like_a_mark_is_kept_where_a_server_numbers_its_calls_anew(dialect: str, text: str) -> None:
    store = MemoryStore()
    messages = conversation(dialect, ("call_0",))
    Session("s", store=store).view(messages)
    messages += call_messages(dialect, [("call_0", "bash", {"command": "rm a.txt"})])
    messages += result_messages(dialect, [("call_0", text)])
    sent = Session("s", store=store).view(messages)
    assert result_texts(dialect, sent)[1] == ("call_0", text)
    kept = [result_of(row) for row in store.rows("s", kind="result")]
    assert [Session("s", store=store).recall(one.trace_id) for one in kept] == [text_of("call_0"), text]


@pytest.mark.parametrize(
    "left", [{}, {"command": "[cleared]"}, {"command": "make [truncated]"}, {"command": None}], ids=str
)
@every_dialect
def test_a_mark_is_no_second_result_where_the_client_cleared_the_arguments_too(dialect: str, left: Json) -> None:
    store = MemoryStore()
    Session("s", store=store).view(conversation(dialect, ("c1",), ("c2",)))
    messages = [user_message("go", dialect), *call_messages(dialect, [("c1", "bash", left)])]
    messages += result_messages(dialect, [("c1", MARKS[0])])
    session = Session("s", store=store)
    assert session.view(messages) == messages
    assert results_on_record(session) == ["c1", "c2"]


@every_loss
@every_dialect
def test_shadow_sends_what_came_and_stores_no_second_result(dialect: str, loss: Any) -> None:
    session = Session(store=MemoryStore())
    messages = conversation(dialect, ("c1",), ("c2",))
    session.projection(messages, mode="shadow")
    lost = lose(messages, "c1", loss)
    assert session.projection(lost, mode="shadow").messages == lost
    assert results_on_record(session) == ["c1", "c2"]


@pytest.mark.parametrize("dialect", ["anthropic", "gemini", "converse"])
def test_results_of_one_turn_in_messages_of_their_own_are_not_lost(dialect: str) -> None:
    """Providers read several messages of the user in a row as one."""
    messages = conversation(dialect, ("c1", "c2", "c3"), ("c4",))
    field = "parts" if dialect == "gemini" else "content"
    results = messages[2]
    apart = [*messages[:2], *({**results, field: [each]} for each in results[field]), *messages[3:]]
    for of_request in (apart, without_ids(apart)) if dialect == "gemini" else (apart,):
        store = MemoryStore()
        sent = [Session("s", store=store).view(of_request) for _ in range(2)]
        assert sent[0] == sent[1], "what was sent once is sent again"
        assert [len(message[field]) for message in sent[0]] == [len(message[field]) for message in apart]
        assert Session("s", store=store).hydrate(sent[0]) == of_request
        cleared = copy.deepcopy(of_request)
        del cleared[3]
        found = Session("s", store=store).hydrate(cleared)
        assert sum(len(message[field]) for message in found) == sum(len(message[field]) for message in apart)


def without_ids(messages: list[Json]) -> list[Json]:
    """The messages of Gemini as its older models write calls."""
    return json.loads(json.dumps(messages), object_hook=lambda one: {key: one[key] for key in one if key != "id"})


@pytest.mark.parametrize("loss", BLANK[1:], ids=repr)  # Gemini refuses a step that lacks one of its results
def test_a_lost_result_of_a_call_without_an_id_is_not_stored_again(loss: Any) -> None:
    session = Session(store=MemoryStore())
    messages = conversation("gemini", ("c1",), ("c2",), ("c3",))
    before = session.view(without_ids(messages))
    lost = without_ids(lose(messages, "c2", loss))
    assert session.view(lost) == before
    assert session.hydrate(lost) == without_ids(messages)
    assert len(results_on_record(session)) == 3
