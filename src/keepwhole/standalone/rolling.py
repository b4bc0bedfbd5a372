"""Rolling context over plain chat messages, without a session: old results become a placeholder, long ones are cut.

Owns: counting steps, and writing what the policy `rolling` chooses back into copies of the messages.
Must not know: sessions, whether rolling is switched on.
"""

from collections.abc import Sequence
from typing import NamedTuple

from keepwhole.models.profiles import DEFAULT
from keepwhole.policies.policy import Situation, shown_text
from keepwhole.policies.rolling import DEFAULTS, Rolling, RollingContext
from keepwhole.standalone.chat import ChatMessage, calls_tools, decoded, transcript_of, with_text


class TaggedMessage(NamedTuple):
    """A message and the step it belongs to."""

    message: ChatMessage
    step: int


class Note(NamedTuple):
    """What was done to one result; returned beside the messages, never inside them."""

    at: int
    """The index of its message."""
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
    """Return how many of the messages are an assistant's with tool calls."""
    return sum(map(calls_tools, messages))


def tag_with_steps(messages: Sequence[ChatMessage]) -> list[TaggedMessage]:
    """Return each message with its step, from 1; messages before the first call belong to step 0."""
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
    """Return a copy of a message with the placeholder in place of every result; the rest is shared."""
    for returned in decoded(message).returned:
        message = with_text(message, returned.path, config.words(age))
    return message


def truncate_old_tool_outputs(
    messages: Sequence[ChatMessage],
    config: RollingContext = DEFAULTS,
    *,
    enabled: bool = True,
) -> list[ChatMessage]:
    """Return the messages to send: old results as placeholders, long ones cut; the messages given are not changed."""
    return roll(messages, config, enabled=enabled).messages


def roll(
    messages: Sequence[ChatMessage],
    config: RollingContext = DEFAULTS,
    *,
    enabled: bool = True,
) -> RollingResult:
    """Return the messages to send, as `truncate_old_tool_outputs` gives them, with a note for each that differs."""
    sent, notes = list(messages), list[Note]()
    if not enabled:
        return RollingResult(sent, notes)
    transcript = transcript_of(messages)
    for choice in Rolling(config).age(transcript, {}, Situation(DEFAULT)):
        item = transcript.items[choice.number]
        sent[item.index] = with_text(sent[item.index], item.returned.path, shown_text(item, choice))
        age = transcript.steps - item.step
        notes.append(Note(item.index, item.returned.call_id, choice.rule, len(item.text), age))
    return RollingResult(sent, notes)
