"""Logs of what was sent to a provider, in its own dialect, in the wrappings that people have them in."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.logs.log_files import (
    USUAL,
    anthropic_messages,
    chat_messages,
    read,
    response_items,
    shape,
    the_run,
    told,
    written,
)

DIALECTS = {
    "openai-chat": ("messages", chat_messages()),
    "anthropic": ("messages", anthropic_messages()),
    "openai-responses": ("input", response_items()),
}
every_dialect = pytest.mark.parametrize("name", DIALECTS)


def answer(name: str, message: dict[str, Any], id: str = "r") -> dict[str, Any]:
    """The provider's answer that has this message."""
    if name == "openai-chat":
        return {"id": id, "object": "chat.completion", "model": "m", "choices": [{"index": 0, "message": message}]}
    if name == "anthropic":
        return {"id": id, "type": "message", "role": "assistant", "model": "m", "content": message["content"]}
    return {"id": id, "object": "response", "model": "m", "output": [message]}


@every_dialect
def test_requests_that_repeat_what_was_said_are_one_run(name: str, tmp_path: Path) -> None:
    key, messages = DIALECTS[name]
    lines = [{"model": "m", key: messages[:end]} for end in range(1, len(messages) + 1)]
    run = the_run(written(tmp_path / "log.jsonl", lines))
    assert told(run) == USUAL
    assert (run.source, run.id, run.task, run.meta["model"]) == (name, "log:1", "mark-prompt", "m")


@every_dialect
def test_an_answer_in_the_log_belongs_to_the_run(name: str, tmp_path: Path) -> None:
    key, messages = DIALECTS[name]
    pair = {"request": {"model": "m", key: messages[:-1]}, "response": answer(name, messages[-1])}
    run = the_run(written(tmp_path / "log.jsonl", [{"timestamp": "2030-01-01T00:00:00Z", **pair}]))
    assert told(run) == USUAL
    assert set(run.times) == {1_893_456_000.0}


@every_dialect
def test_a_document_of_messages_and_a_message_a_line_are_one_run(name: str, tmp_path: Path) -> None:
    _, messages = DIALECTS[name]
    assert told(the_run(written(tmp_path / "run.json", [json.dumps(messages, indent=1)]))) == USUAL
    assert told(the_run(written(tmp_path / "run.jsonl", messages))) == USUAL


@every_dialect
def test_a_list_of_requests_is_read_one_by_one(name: str, tmp_path: Path) -> None:
    key, messages = DIALECTS[name]
    other = [{"role": "user", "content": "another"}]
    document = [{"model": "m", key: messages, "system": "s"}, 5, {"model": "m", key: other, "system": "t"}]
    runs, unread = read(written(tmp_path / "runs.json", [json.dumps(document, indent=1)]))
    assert [run.messages[-1].said for run in runs] == ["mark-answer", "another"]
    assert [(one.why, one.count) for one in unread] == [("neither a request nor a message", 1)]


def test_agents_side_by_side_are_kept_apart(tmp_path: Path) -> None:
    ways = [[{"role": "user", "content": f"task {n}"}, *chat_messages()[1:]] for n in (1, 2)]
    lines = [{"model": "m", "messages": way[:end]} for end in (1, 4, 5) for way in ways]
    runs, _ = read(written(tmp_path / "log.jsonl", lines))
    assert [(run.task, len(run.messages)) for run in runs] == [("task 1", 5), ("task 2", 5)]


def test_a_batch_and_a_body_that_is_text_are_unwrapped(tmp_path: Path) -> None:
    body = {"model": "m", "messages": chat_messages()}
    batch = {"custom_id": "1", "method": "POST", "url": "/v1/chat/completions", "body": body}
    assert told(the_run(written(tmp_path / "batch.jsonl", [batch]))) == USUAL
    assert told(the_run(written(tmp_path / "proxy.jsonl", [{"request": json.dumps(body)}]))) == USUAL


def test_a_request_that_names_the_answer_before_it_goes_on_from_there(tmp_path: Path) -> None:
    items = [one for one in response_items() if one["type"] != "reasoning"]
    first = {"request": {"model": "m", "input": "mark-prompt"}, "response": {"id": "r1", "output": items[1:4]}}
    then = {"model": "m", "previous_response_id": "r1", "instructions": "again", "input": items[4:6]}
    lines = [first, {"request": then, "response": {"id": "r2", "output": items[6:]}}]
    assert told(the_run(written(tmp_path / "log.jsonl", lines))) == USUAL


def test_what_the_system_was_told_comes_first(tmp_path: Path) -> None:
    request = {"model": "m", "system": [{"type": "text", "text": "be good"}], "messages": anthropic_messages()}
    assert shape(the_run(written(tmp_path / "a.jsonl", [request])))[0] == ("system", "be good", [], [])
    request = {"model": "m", "instructions": "be good", "input": response_items()}
    assert shape(the_run(written(tmp_path / "r.jsonl", [request])))[0] == ("system", "be good", [], [])


def test_a_moved_cache_mark_makes_no_other_run(tmp_path: Path) -> None:
    prompt = {"type": "text", "text": "mark-prompt", "cache_control": {"type": "ephemeral"}}
    marked = [{"role": "user", "content": [prompt]}]
    lines = [{"system": "s", "messages": marked}, {"system": "s", "messages": anthropic_messages()}]
    assert [row[1] for row in shape(the_run(written(tmp_path / "a.jsonl", lines)))][:2] == ["s", "mark-prompt"]


def test_more_than_eight_conversations_side_by_side_are_given_the_oldest_first(tmp_path: Path) -> None:
    ways = [[{"role": "user", "content": f"task {n}"}, *chat_messages()[1:]] for n in range(10)]
    lines = [{"model": "m", "messages": way[:end]} for end in (1, 4) for way in ways]
    runs, _ = read(written(tmp_path / "log.jsonl", lines))
    lengths = [(run.task, len(run.messages)) for run in runs]
    assert sorted(lengths) == sorted([(f"task {n}", length) for n in range(10) for length in (1, 4)])
    eight = [{"model": "m", "messages": way[:end]} for end in (1, 4) for way in ways[:8]]
    runs, _ = read(written(tmp_path / "eight.jsonl", eight))
    assert [(run.task, len(run.messages)) for run in runs] == [(f"task {n}", 4) for n in range(8)]


@pytest.mark.parametrize("response", ["{no json", '{"output": [', 7, None])
def test_a_response_that_is_no_object_is_none(response: object, tmp_path: Path) -> None:
    body = {"model": "m", "messages": chat_messages()}
    line = {"request": body, "response": {"status": 200, "body": response}}
    assert told(the_run(written(tmp_path / "log.jsonl", [line]))) == USUAL
