"""Messages of three dialects, as dicts and as SDK objects, become the same values."""

import json
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwhole.canonical.message import Call, MediaPart, Message, ResultText
from keepwhole.models.media_tokens import FLAT_TOKENS
from keepwhole.wire.dialects import DIALECTS, decode_message, dialect_of
from keepwhole.wire.edits import apply
from keepwhole.wire.media import read_media
from keepwhole.wire.text_card import card_url
from tests.wire.requests import ANTHROPIC, CHAT, PNG, RESPONSES

ALL = [*CHAT, *RESPONSES, *ANTHROPIC]
THOUGHT = -(-len("Four letters make a token") // 4)
DOT = 1
"""Tokens of an image of one pixel."""


@pytest.fixture(autouse=True)
def _four_characters_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes that can be checked on paper."""
    monkeypatch.setattr("keepwhole.wire.content.estimate", lambda text: -(-len(text) // 4))


def image_in(part: dict[str, Any]) -> MediaPart:
    found = read_media(part)
    assert found is not None
    return found


def test_chat() -> None:
    assert [decode_message(message) for message in CHAT] == [
        Message("system", "Be brief."),
        Message("system", "Be kind."),
        Message("user", "What is\nin here?", other=DOT),
        Message("assistant", "", (Call("c1", "read_file", '{"path":"a.py"}'), Call("c2", "run_python", "print(1)"))),
        Message("tool", returned=(ResultText("c1", ("content",), "print('content')\n"),)),
        Message(
            "tool",
            returned=(
                ResultText("c2", ("content", 0, "text"), "1\n"),
                ResultText("c2", ("content", 1, "text"), "done"),
            ),
        ),
        Message("assistant", "It prints\nNo more."),
        Message("assistant"),
        Message("other", other=7),
        Message("user", "Thanks – ünïcode 🎉"),
    ]


def test_responses() -> None:
    image = image_in(RESPONSES[7]["output"][1])
    decoded = [decode_message(item) for item in RESPONSES]
    assert decoded[:4] == [
        Message("system", "Be brief."),
        Message("user", "What is in here?"),
        Message("user", "This:", other=2 * DOT),
        Message("other", other=THOUGHT),
    ]
    assert [call for message in decoded for call in message.calls] == [
        Call("c1", "read_file", '{"path":"a.py"}'),
        Call("c2", "mcp__big__plain", "{}"),
        Call("c3", "apply_patch", "*** Begin Patch"),
        Call("c4", "local_shell", '{"type": "exec", "command": ["ls", "-l"], "env": {}}'),
        Call("c5", "shell", '{"commands": ["make", "make test"]}'),
        Call("c6", "apply_patch", '{"type": "delete_file", "path": "a.py"}'),
    ]
    assert {message.role for message in decoded if message.calls} == {"assistant"}
    assert [returned for message in decoded for returned in message.returned] == [
        ResultText("c1", ("output",), "print('output')\n"),
        ResultText("c2", ("output", 0, "text"), "one"),
        ResultText("c2", ("output", 1), image.facts.description, media=image),
        ResultText("c2", ("output", 2, "text"), "two"),
        ResultText("c3", ("output",), "Done."),
        ResultText("c4", ("output",), "a.py\n"),
        ResultText("c5", ("output", 0, "stdout"), "made"),
        ResultText("c5", ("output", 1, "stdout"), "1 failed", True),
        ResultText("c5", ("output", 1, "stderr"), "Error 2", True),
        ResultText("c5", ("output", 2, "stdout"), "…", True),
        ResultText("c6", ("output",), "No such file", True),
    ]
    assert {message.role for message in decoded if message.returned} == {"tool"}
    assert decoded[7].other == 0
    assert [message.role for message in decoded[-5:]] == ["other", "other", "other", "other", "assistant"]
    assert decoded[-1].said == "It prints – ünïcode 🎉"


def test_anthropic() -> None:
    image = image_in(ANTHROPIC[2]["content"][2]["content"][1])
    decoded = [decode_message(message) for message in ANTHROPIC]
    assert decoded[:3] == [
        Message("user", "What is in here?", other=2 * DOT),
        Message(
            "assistant",
            "Let me look.",
            (
                Call("c1", "Read", '{"path": "ä.py"}'),
                Call("c2", "Bash", '{"command": "make"}'),
                Call("c3", "mcp__big__plain", "{}"),
            ),
            other=THOUGHT,
        ),
        Message(
            "tool",
            returned=(
                ResultText("c2", ("content", 0, "content"), "make: Error 2", True),
                ResultText("c1", ("content", 1, "content"), "print('content')\n"),
                ResultText("c3", ("content", 2, "content", 0, "text"), "one"),
                ResultText("c3", ("content", 2, "content", 1), image.facts.description, media=image),
                ResultText("c3", ("content", 2, "content", 2, "text"), "two"),
            ),
        ),
    ]
    assert decoded[3]._replace(other=0) == Message(
        "assistant", "It will rain – ünïcode 🎉", (Call("c4", "Read", '{"path": "b.py"}'),)
    )
    assert 0 < decoded[3].other < 20
    assert decoded[4:] == [
        Message("user", "Stop."),
        Message("system", "The user has stopped you."),
        Message("user", "Go on."),
    ]


def test_a_users_words_beside_results_are_said_by_the_user() -> None:
    block = {"type": "tool_result", "tool_use_id": "c", "content": "x"}
    message = decode_message({"role": "user", "content": [block, {"type": "text", "text": "Now stop."}]})
    assert (message.role, message.said, len(message.returned)) == ("user", "Now stop.", 1)


@pytest.mark.parametrize(
    "block",
    [
        {"type": "mcp_tool_use", "id": "m", "name": "t", "server_name": "s", "input": {"q": "x"}},
        {"type": "mcp_tool_result", "tool_use_id": "m", "content": [{"type": "text", "text": "the server's words"}]},
        {"type": "web_fetch_tool_result", "tool_use_id": "m", "content": {"type": "web_fetch_result", "url": "x.test"}},
        {"type": "compaction", "content": "what happened so far"},
        {"type": "search_result", "source": "s", "title": "t", "content": [{"type": "text", "text": "found"}]},
        {"type": "something_new", "text": "of next year"},
    ],
)
def test_what_the_provider_ran_itself_is_sized_and_left_alone(block: dict[str, Any]) -> None:
    message = decode_message({"role": "assistant", "content": [block, {"type": "text", "text": "So."}]})
    assert message == Message("assistant", "So.", other=message.other)
    assert 0 < message.other < 20


@pytest.mark.parametrize(
    ("item", "tokens"),
    [
        ({"type": "mcp_call", "name": "t", "arguments": "{}", "output": "x" * 400}, range(100, 110)),
        ({"type": "mcp_call", "output": f"data:image/png;base64,{PNG}"}, range(1)),
        ({"type": "code_interpreter_call", "code": "y" * 40, "id": "ci"}, range(10, 11)),
        ({"type": "compaction", "encrypted_content": PNG}, range(1)),
        ({"type": "item_reference", "id": "msg"}, range(1)),
        ({"type": "image_generation_call", "id": "ig", "result": PNG}, range(FLAT_TOKENS, FLAT_TOKENS + 1)),
        ({"type": "additional_tools", "role": "developer", "tools": [{"name": "abcd"}]}, range(4, 5)),
        ({"type": "of_next_year", "text": "abcd"}, range(1, 2)),
    ],
)
def test_an_item_that_is_not_ours_to_change_is_only_sized(item: dict[str, Any], tokens: range) -> None:
    message = decode_message(item)
    assert message == Message("other", other=message.other)
    assert message.other in tokens


def test_a_computers_screen_is_a_result_without_text() -> None:
    call = {"type": "computer_call", "call_id": "c", "action": {"type": "screenshot"}}
    screen = {"type": "computer_screenshot", "image_url": f"data:image/png;base64,{PNG}"}
    assert decode_message(call).calls == (Call("c", "computer", '{"type": "screenshot"}'),)
    shown = decode_message({"type": "computer_call_output", "call_id": "c", "output": screen})
    (result,) = shown.returned
    assert (result.path, shown.pinned, shown.other) == (("output",), False, 0)
    assert result.media is not None
    drawn = result.replacement("The screen.")
    assert drawn == {"type": "computer_screenshot", "image_url": card_url("The screen.")}  # no text may take its place
    assert decode_message({"type": "computer_call_output", "call_id": "c", "output": {"type": "of_next_year"}}).pinned
    assert result.media.facts.looks == "image/png 1x1"


def test_a_document_of_text_counts_by_its_text() -> None:
    document = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x" * 400}}
    message = decode_message({"role": "user", "content": [document]})
    assert message == Message("user", other=100)


def test_reasoning_beside_a_chat_message_is_counted() -> None:
    message = decode_message({"role": "assistant", "content": "So.", "reasoning_content": "x" * 40})
    assert message == Message("assistant", "So.", other=10)


def test_a_message_is_pinned_by_the_caller_and_by_no_key_in_it() -> None:
    message = {"role": "user", "content": "x", "pinned": True}
    assert decode_message(message).pinned is False
    assert decode_message(message, pinned=True).pinned is True


@pytest.mark.parametrize("message", ALL, ids=lambda message: f"{message.get('type')}-{message.get('role')}")
def test_every_path_leads_to_the_text_it_stands_for(message: dict[str, Any]) -> None:
    for returned in decode_message(message).returned:
        found: Any = message
        for key in returned.path:
            found = found[key]
        assert found == returned.text or (returned.media is not None and "type" in found)


@pytest.mark.parametrize("message", ALL, ids=lambda message: f"{message.get('type')}-{message.get('role')}")
def test_an_object_of_an_sdk_is_read_like_a_dict(message: dict[str, Any]) -> None:
    assert decode_message(as_object(message)) == decode_message(message)
    assert decode_message({key: as_object(value) for key, value in message.items()}) == decode_message(message)


def as_object(value: Any) -> Any:
    if isinstance(value, dict) and value:
        return SimpleNamespace(**{name: as_object(part) for name, part in value.items()})
    return [as_object(part) for part in value] if isinstance(value, list) else value


def test_real_sdk_objects_are_read() -> None:
    from anthropic.types import TextBlock, ToolUseBlock
    from openai.types.chat import ChatCompletionMessage
    from openai.types.responses import ResponseFunctionToolCall

    blocks = [
        TextBlock(type="text", text="Let me look.", citations=None),
        ToolUseBlock(type="tool_use", id="c", name="Read", input={"path": "a"}, caller={"type": "direct"}),
    ]
    message = decode_message({"role": "assistant", "content": blocks})
    assert message == Message("assistant", "Let me look.", (Call("c", "Read", '{"path": "a"}'),))
    function = {"id": "c", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    chat = ChatCompletionMessage.model_validate({"role": "assistant", "content": None, "tool_calls": [function]})
    assert decode_message(chat) == Message("assistant", "", (Call("c", "read", "{}"),))
    item = ResponseFunctionToolCall(type="function_call", call_id="c", name="read", arguments="{}")
    assert decode_message(item) == Message("assistant", "", (Call("c", "read", "{}"),))


@pytest.mark.parametrize(
    ("messages", "dialect"),
    [
        (CHAT, "openai_chat"),
        (CHAT[2:], "openai_chat"),
        (CHAT[4:5], "openai_chat"),
        (RESPONSES, "openai_responses"),
        (RESPONSES[2:3], "openai_responses"),
        (RESPONSES[-1:], "openai_responses"),
        (ANTHROPIC, "anthropic"),
        (ANTHROPIC[2:3], "anthropic"),
        ([{"type": "message", "role": "assistant", "content": ANTHROPIC[1]["content"]}], "anthropic"),
        ([{"role": "user", "content": "x"}, {"role": "user", "content": [{"type": "text", "text": "x"}]}], None),
        ([], None),
        ([None, 5, "x", {}, []], None),
    ],
)
def test_the_dialect_shows_in_the_shape(messages: list[Any], dialect: str | None) -> None:
    found = dialect_of(messages)
    assert (found.name if found else None) == dialect


NOT_MESSAGES: list[Any] = [
    None,
    5,
    "text",
    b"bytes",
    [],
    [1],
    {},
    object(),
    {"content": "x"},
    {"role": None, "content": "x"},
    {"role": ["user"], "content": [{"type": "tool_result", "tool_use_id": "c", "content": "x"}]},
    {"role": "tool", "content": "x"},
    {"role": "tool", "content": "x", "tool_call_id": 5},
    {"role": "critic", "content": "x"},
    {"type": ["function_call_output"], "output": "x"},
    {"type": "function_call_output", "output": "x"},
    {"type": "function_call", "name": "x"},
    {"type": "function_call", "call_id": "x", "name": None},
    {"type": "shell_call_output", "output": [{"stdout": "x"}]},
]


@pytest.mark.parametrize("thing", NOT_MESSAGES)
def test_what_is_not_understood_has_no_results_and_no_calls(thing: object) -> None:
    message = decode_message(thing)
    assert message == Message("other", other=message.other)


@pytest.mark.parametrize(
    ("message", "decoded"),
    [
        ({"role": "tool", "tool_call_id": "c", "content": None}, Message("tool")),
        ({"role": "tool", "tool_call_id": "c"}, Message("tool")),
        ({"role": "user", "content": None}, Message("user")),
        ({"role": "user"}, Message("user")),
        ({"role": "user", "content": ["a", "b", 5, None, []]}, Message("user", "a\nb")),
        ({"role": "user", "content": iter("ab")}, Message("user")),
        ({"role": "user", "content": ({"type": "text", "text": "a"},)}, Message("user", "a")),
        ({"role": "user", "content": [{"type": "text", "text": None}]}, Message("user")),
        ({"role": "assistant", "content": "a", "tool_calls": None}, Message("assistant", "a")),
        ({"role": "assistant", "content": "a", "tool_calls": 5}, Message("assistant", "a")),
        (
            {"role": "assistant", "tool_calls": [None, {}, {"id": "c"}, {"function": {"name": "n"}}]},
            Message("assistant"),
        ),
        ({"role": "user", "content": [{"type": "tool_result", "content": []}]}, Message("user")),
        ({"role": "assistant", "content": [{"type": "tool_use", "id": 5}]}, Message("assistant")),
    ],
)
def test_a_half_formed_message_gives_what_can_be_read(message: dict[str, Any], decoded: Message) -> None:
    assert decode_message(message) == decoded


def test_a_part_that_is_a_plain_string_is_a_text() -> None:
    message = decode_message({"role": "tool", "tool_call_id": "c", "content": ["one", "two"]})
    assert message.returned == (ResultText("c", ("content", 0), "one"), ResultText("c", ("content", 1), "two"))


def test_an_iterator_is_not_used_up() -> None:
    content = iter([{"type": "text", "text": "x"}])
    decode_message({"role": "user", "content": content})
    assert len(list(content)) == 1


def test_arguments_that_are_no_json_never_raise() -> None:
    cycle: dict[str, Any] = {}
    cycle["me"] = cycle
    for given_input in (cycle, {(1, 2): 3}, {"x": object()}, None, 5, [1]):
        block = {"type": "tool_use", "id": "c", "name": "n", "input": given_input}
        assert isinstance(decode_message({"role": "assistant", "content": [block]}).calls[0].arguments, str)


def test_arguments_that_are_an_object_of_an_sdk_are_written_like_a_dict() -> None:
    for value in ({"path": "ä"}, SimpleNamespace(path="ä")):
        block = {"type": "tool_use", "id": "c", "name": "n", "input": value}
        assert decode_message({"role": "assistant", "content": [block]}).calls[0].arguments == '{"path": "ä"}'


def test_arguments_are_what_json_writes() -> None:
    for value in ({"a": [1, 2.5, None, True, "ü\ud800\n"]}, {}, [], {"a": {"b": {}}}):
        block = {"type": "tool_use", "id": "c", "name": "n", "input": value}
        written = decode_message({"role": "assistant", "content": [block]}).calls[0].arguments
        assert written == json.dumps(value, ensure_ascii=False)


def test_a_value_that_holds_itself_is_sized_in_the_end() -> None:
    cycle: list[Any] = []
    cycle += [cycle, "text"]
    assert decode_message({"type": "reasoning", "summary": cycle}).other > 0


def test_an_object_that_raises_is_not_understood() -> None:
    class Broken:
        @property
        def role(self) -> str:
            raise RuntimeError("no")

    assert decode_message(Broken()) == Message("other")


KEYS = st.sampled_from(
    [
        "role",
        "type",
        "content",
        "tool_calls",
        "tool_call_id",
        "function",
        "custom",
        "name",
        "arguments",
        "input",
        "output",
        "id",
        "call_id",
        "tool_use_id",
        "is_error",
        "action",
        "text",
        "stdout",
        "outcome",
        "source",
        "data",
        "summary",
    ]
)
WORDS = st.sampled_from(
    [
        "user",
        "assistant",
        "tool",
        "system",
        "text",
        "tool_use",
        "tool_result",
        "function_call",
        "function_call_output",
        "shell_call_output",
        "image",
        "message",
        "reasoning",
        "custom_tool_call",
        "input_text",
        "base64",
        "c1",
    ]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=20,
)


@given(VALUES)
def test_no_value_makes_it_raise_and_every_text_can_be_edited(value: Any) -> None:
    before = repr(value)
    message = decode_message(value)
    edited = apply([value], {0: [(returned.path, returned.replacement("!")) for returned in message.returned]})
    assert edited.skipped == frozenset()
    assert [returned.text for returned in decode_message(edited.messages[0]).returned] == ["!"] * len(message.returned)
    assert repr(value) == before
    if isinstance(value, dict):
        for dialect in DIALECTS:
            assert isinstance(dialect.decode(value), Message | None)
