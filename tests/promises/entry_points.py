"""One tool result on its way to the model through each entry point, to compare what the model gets to see.

Owns: the entry points by name, and the text that each of them shows of a result. One result per conversation, with a
session of its own; the user's message is "do", so no word of it can select a part of the result.
"""

import json
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from tests.golden import doors
from tests.promises import conversations as talk

PATHS = {
    "anthropic": "/v1/messages",
    "openai_chat": "/v1/chat/completions",
    "openai_responses": "/v1/responses",
    "gemini": "/v1beta/models/gemini-2.5-pro:generateContent",
    "converse": "/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse",
}
MODELS = {
    "anthropic": "claude-sonnet-4-5",
    "openai_chat": "gpt-4o",
    "openai_responses": "gpt-5",
    "gemini": "gemini-2.5-pro",
    "converse": "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
}
_IDS = re.compile(r"(?:art_\d+|trace)_\w{22}")


class ToolCall(NamedTuple):
    """A call and the result that its tool returned."""

    tool: str
    arguments: dict[str, Any]
    output: str


class Setup(NamedTuple):
    """The settings of a session: what its settings file says, and arguments of `Session`."""

    file: Mapping[str, Any] = MappingProxyType({})
    options: Mapping[str, Any] = MappingProxyType({})

    @property
    def text(self) -> str:
        """The settings file; a hook would name files in its notices if `recall` were not set."""
        return json.dumps({"recall": "tools", **self.file})

    def session(self) -> Any:
        """A new session under these settings, with a clock and ids that are always the same."""
        return doors.open_session(settings=doors.settings(self.text), seed="same", **self.options)


Show: TypeAlias = Callable[[Setup, ToolCall], str]
"""What shows a result to the model; the text that the model gets to see."""


def shown_by_each(setup: Setup, call: ToolCall) -> dict[str, str]:
    """The text that the model is shown of the result, by entry point, without the ids in it."""
    names = [name for name in ENTRY_POINTS if name != "hook" or not setup.options]  # a hook has the settings file only
    return {name: without_ids(ENTRY_POINTS[name](setup, call)) for name in names}


def _keep(setup: Setup, call: ToolCall) -> str:
    return setup.session().keep(call.tool, call.arguments, call.output, call_id="c1").content


def _view_of_messages(dialect: str) -> Show:
    def show(setup: Setup, call: ToolCall) -> str:
        return _only_result(dialect, setup.session().view(_messages(dialect, call)))

    return show


def _view_of_request(dialect: str) -> Show:
    def show(setup: Setup, call: ToolCall) -> str:
        return _sent_result(dialect, setup.session().view(_request(dialect, call)))

    return show


def _router(dialect: str) -> Show:
    def show(setup: Setup, call: ToolCall) -> str:
        given = {"clock": doors.Clock(), "seed": "same", "settings": doors.settings(setup.text), **setup.options}
        router = doors.open_desk(session="s", **given)
        begun = doors.begin(router, PATHS[dialect], {}, _request(dialect, call, with_tools=True))
        assert doors.is_exchange(begun)
        return _sent_result(dialect, begun.body)

    return show


def _hook(setup: Setup, call: ToolCall) -> str:
    """The hook of opencode, which can replace the result of any tool."""
    event = {"event": "returned", "session_id": "s", "tool": call.tool, "args": call.arguments, "call_id": "c1"}
    with doors.folder() as place, doors.hook_place(place, doors.Clock(), "same", setup.text) as answer:
        replaced = answer("opencode", {**event, "output": call.output, "metadata": {}})
    return call.output if replaced is None else replaced["output"]


def _gateway(setup: Setup, call: ToolCall) -> str:
    result = {"content": [{"type": "text", "text": call.output}]}
    passed = doors.gateway_result(setup.session(), call.tool, call.arguments, "2025-06-18", result)
    return passed["content"][0]["text"]


ENTRY_POINTS: Mapping[str, Show] = {
    "keep": _keep,
    **{f"view of {dialect} messages": _view_of_messages(dialect) for dialect in talk.DIALECTS},
    **{f"view of an {dialect} request": _view_of_request(dialect) for dialect in talk.DIALECTS},
    **{f"router, {dialect}": _router(dialect) for dialect in talk.DIALECTS},
    "hook": _hook,
    "MCP gateway": _gateway,
}


def _messages(dialect: str, call: ToolCall) -> list[dict[str, Any]]:
    return [
        talk.user_message("do", dialect),
        *talk.call_messages(dialect, [("c1", call.tool, call.arguments)]),
        *talk.result_messages(dialect, [("c1", call.output)]),
    ]


def _request(dialect: str, call: ToolCall, *, with_tools: bool = False) -> bytes:
    key = talk.list_name(dialect)
    body = {"model": MODELS[dialect], "max_tokens": 1_000, key: _messages(dialect, call)}
    tools = talk.tools_fields(dialect, [call.tool]) if with_tools else {}
    return json.dumps({**body, **tools}).encode()


def _sent_result(dialect: str, request: bytes) -> str:
    body = json.loads(request)
    return _only_result(dialect, body[talk.list_name(dialect)])


def _only_result(dialect: str, messages: list[dict[str, Any]]) -> str:
    [(_, text)] = talk.result_texts(dialect, messages)
    return text


def without_ids(text: str) -> str:
    """The text with every artifact id and trace id replaced by a placeholder of the same length."""
    return _IDS.sub(lambda match: "x" * len(match[0]), text)
