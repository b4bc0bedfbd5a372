"""When the arguments of a call may be shown otherwise: never, always, or after the user's next turn."""

import json
from types import SimpleNamespace
from typing import Any

import pytest

from keepwhole.conversation.cut_arguments import when_changed
from keepwhole.policies.transcript import Transcript
from keepwhole.wire.dialects import decode_message

LONG = json.dumps({"content": "x" * 900})


def conversation(arguments: str, *before: dict[str, Any]) -> tuple[Transcript, list[Any]]:
    call = {"type": "tool_use", "id": "c", "name": "work", "input": json.loads(arguments)}
    messages = [
        {"role": "assistant", "content": [*before, call]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "done"}]},
    ]
    transcript = Transcript()
    transcript.extend([decode_message(message) for message in messages])
    return transcript, messages


@pytest.mark.parametrize(
    ("arguments", "before", "when"),
    [
        (LONG, [], "always"),
        (LONG, [{"type": "thinking", "thinking": "hm", "signature": "s"}], "after the turn"),
        ('{"content": "short"}', [], "never"),
    ],
)
def test_arguments_may_change_unless_they_are_short_or_signed(arguments: str, before: list[Any], when: str) -> None:
    transcript, messages = conversation(arguments, *before)
    assert when_changed(transcript.items[0], None, transcript, messages) == when


def test_arguments_that_are_not_those_on_record_never_change() -> None:
    transcript, messages = conversation(LONG)
    (item,) = transcript.items
    for recorded, when in ((item.call.arguments if item.call else "", "always"), ('{"content": "other"}', "never")):
        known: Any = SimpleNamespace(result=SimpleNamespace(arguments=recorded))
        assert when_changed(item, known, transcript, messages) == when


def test_a_result_without_a_call_has_no_arguments_to_change() -> None:
    _, messages = conversation(LONG)
    alone = Transcript()
    alone.extend([decode_message(messages[1])])
    assert when_changed(alone.items[0], None, alone, messages[1:]) == "never"
