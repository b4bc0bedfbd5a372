"""Transcripts and chat messages for the tests of policies, built step by step."""

import json
from typing import Any

from keepwhole.canonical.media import Media
from keepwhole.canonical.message import Call, MediaPart, Message, ResultText
from keepwhole.models.profiles import DEFAULT
from keepwhole.policies.policy import Choice, Situation
from keepwhole.policies.transcript import Name, Transcript

SITUATION = Situation(DEFAULT)


def transcript(*texts: str, tool: str = "execute_command", named: bool = True) -> Transcript:
    """A conversation with one step for each text."""
    made = Transcript()
    made.extend([Message("user", "go on")])
    for text in texts:
        add_step(made, text, tool, named=named)
    return made


def add_step(
    made: Transcript, text: str, tool: str = "execute_command", arguments: str = "{}", *, named: bool = True
) -> None:
    """One more step: a call and its result."""
    call_id = f"call_{made.steps + 1}"
    made.extend(
        [
            Message("assistant", calls=(Call(call_id, tool, arguments),)),
            Message("tool", returned=(ResultText(call_id, ("content",), text),)),
        ]
    )
    if named:
        made.items[-1].name = Name(f"trace_{call_id}", f"art_{call_id}")


def image_result(call_id: str, number: int) -> ResultText:
    """A screenshot that a call returned; with another number another one."""
    media = Media("image/png", 150_000, bytes([number]) * 32, 1280, 800)
    return ResultText(call_id, ("content", 0), media.description, media=MediaPart(media, "", {"type": "text"}))


def add_image(made: Transcript, number: int) -> None:
    """One more step: a call, and a screenshot that it returned."""
    call_id = f"call_{made.steps + 1}"
    made.extend([Message("assistant", calls=(Call(call_id, "screenshot", "{}"),))])
    made.extend([Message("tool", returned=(image_result(call_id, number),))])
    made.items[-1].name = Name(f"trace_{call_id}", f"art_{call_id}")


def by_number(choices: list[Choice]) -> dict[int, Choice]:
    """The choices by number, as in `decided`."""
    return {choice.number: choice for choice in choices}


def chat(*results: str, tool: str = "execute_command", arguments: dict[int, object] | None = None) -> list[Any]:
    """Messages in the format of OpenAI Chat: one step for each result, numbered from 1."""
    messages: list[Any] = [{"role": "user", "content": "go on"}]
    for number, result in enumerate(results, 1):
        given = json.dumps((arguments or {}).get(number, {}))
        call = {"id": str(number), "type": "function", "function": {"name": tool, "arguments": given}}
        messages += [
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": str(number), "name": tool, "content": result},
        ]
    return messages


def contents(messages: list[Any]) -> list[str]:
    """The contents of tool results, in order."""
    return [message["content"] for message in messages if message["role"] == "tool"]
