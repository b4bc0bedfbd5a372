"""Rolling context over plain chat messages, without a session: old results become a placeholder, long ones are cut.

Owns: counting steps, and writing what the policy `rolling` chooses back into copies of the messages.
Must not know: sessions, whether rolling is switched on.
"""

from collections.abc import Sequence
from typing import NamedTuple

from keepwhole.models.profiles import DEFAULT
from keepwhole.policies.policy import Situation, shown
from keepwhole.policies.rolling import DEFAULTS, Rolling, RollingContext
from keepwhole.standalone.chat import ChatMessage, calls_tools, decoded, transcript_of, with_text


class TaggedMessage(NamedTuple):
    """A message and the step it belongs to."""

    message: ChatMessage
    step: int


class Note(NamedTuple):
    """What happened to one result: kept beside the messages, never in them."""

    at: int
    """Which message it lies in."""
    call_id: str
    rule: str
    """`old` where it became the placeholder, `long` where it was cut."""
    original_length: int
    truncated_at: int
    """How many steps old it was."""


class RollingResult(NamedTuple):
    """Messages ready to send, and what was done to them."""

    messages: list[ChatMessage]
    notes: list[Note]


def count_steps(messages: Sequence[ChatMessage]) -> int:
    """How many of the messages are an assistant's with tool calls."""
    return sum(map(calls_tools, messages))


def tag_with_steps(messages: Sequence[ChatMessage]) -> list[TaggedMessage]:
    """Each message with its step, from 1; what stands before the first call belongs to step 0."""
    tagged: list[TaggedMessage] = []
    step = 0
    for message in messages:
        step += calls_tools(message)
        tagged.append(TaggedMessage(message, step))
    return tagged


def truncate_tool_result(
    message: ChatMessage,
    age: int,
    config: RollingContext = DEFAULTS,
) -> ChatMessage:
    """A copy of a message with the placeholder in place of every result in it; all else is shared."""
    for returned in decoded(message).returned:
        message = with_text(message, returned.path, config.words(age))
    return message


def truncate_old_tool_outputs(
    messages: Sequence[ChatMessage],
    config: RollingContext = DEFAULTS,
    *,
    enabled: bool = True,
) -> list[ChatMessage]:
    """The messages to send: old results as placeholders, long ones cut; the messages given stay as they are."""
    return roll(messages, config, enabled=enabled).messages


def roll(
    messages: Sequence[ChatMessage],
    config: RollingContext = DEFAULTS,
    *,
    enabled: bool = True,
) -> RollingResult:
    """The messages to send, as `truncate_old_tool_outputs` gives them, with a note for each that differs."""
    sent, notes = list(messages), list[Note]()
    if not enabled:
        return RollingResult(sent, notes)
    transcript = transcript_of(messages)
    for choice in Rolling(config).age(transcript, {}, Situation(DEFAULT)):
        item = transcript.items[choice.number]
        sent[item.index] = with_text(sent[item.index], item.returned.path, shown(item, choice))
        age = transcript.steps - item.step
        notes.append(Note(item.index, item.returned.call_id, choice.rule, len(item.text), age))
    return RollingResult(sent, notes)
