"""A context window is a value: four kinds of messages, each with everything that later cutting needs."""

import pytest

from keepwhole.errors import UsageError
from keepwhole.standalone.context_window import (
    AssistantMessage,
    ContextMessage,
    ContextWindow,
    SpecRefreshMessage,
    ToolResultMessage,
    UserMessage,
)

ALL: list[ContextMessage] = [
    UserMessage("u", "do it", 0),
    AssistantMessage("a", "I shall", 1),
    ToolResultMessage("r", "done", 1, "trace-1"),
    SpecRefreshMessage("s", "the specification", 2),
]


def test_each_kind_says_what_it_is() -> None:
    assert [message.type for message in ALL] == ["user", "assistant", "tool_result", "spec_refresh"]


def test_only_the_specification_is_pinned() -> None:
    assert [message.type for message in ALL if message.pinned] == ["spec_refresh"]


def test_a_tool_result_without_a_trace_id_cannot_be_built() -> None:
    with pytest.raises(TypeError, match="trace_id"):
        ToolResultMessage(id="r", content="done", turn=1)  # type: ignore[call-arg]
    with pytest.raises(UsageError, match="trace_id"):
        ToolResultMessage(id="r", content="done", turn=1, trace_id="")


def test_no_other_kind_has_a_trace_id() -> None:
    with pytest.raises(TypeError):
        UserMessage(id="u", content="do it", turn=0, trace_id="trace-1")  # type: ignore[call-arg]


def test_messages_and_windows_do_not_change() -> None:
    window = ContextWindow(ALL)
    with pytest.raises(AttributeError):
        window.messages = ()  # type: ignore[misc]
    with pytest.raises(AttributeError):
        ALL[0].content = "other"  # type: ignore[misc]
    assert isinstance(window.get_messages(), tuple)


def test_a_window_does_not_follow_the_list_it_was_made_from() -> None:
    messages = list(ALL)
    window = ContextWindow(messages)
    messages.clear()
    assert window.get_messages() == tuple(ALL)


def test_windows_with_the_same_messages_are_equal() -> None:
    assert ContextWindow(ALL) == ContextWindow(iter(ALL))
    assert ContextWindow(ALL) != ContextWindow(ALL[:2])
