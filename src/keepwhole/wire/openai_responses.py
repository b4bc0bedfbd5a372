"""Items of OpenAI's Responses API: each call, each output and each message is an item of its own.

Owns: the calls that a client answers, and their outputs. What OpenAI runs or encrypts itself (web search, MCP, code
interpreter, reasoning, compaction) is sized and left alone, and so is every type that is not known here.
Must not know: the other dialects.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from keepwhole.canonical.message import Call, Message, ResultText
from keepwhole.wire.as_dict import build, fields_of, json_text, parts_of, text_of
from keepwhole.wire.content import ROLES, results_in, size_of, spoken

Item: TypeAlias = Mapping[str, Any]


def decode(message: Item) -> Message:
    """The item as policies see it; one that is not understood is of role `other` and has no results."""
    kind = message.get("type")
    if isinstance(kind, str):
        if kind in _CALLS:
            return _call(message, *_CALLS[kind](message))
        if kind in _OUTPUTS:
            return _OUTPUTS[kind](message)
        if kind != "message":
            return Message("other", other=size_of(message))
    role = message.get("role")
    known = ROLES.get(role) if isinstance(role, str) else None
    if known is None:
        return Message("other", other=size_of(message))
    said, other = spoken(message.get("content"))
    return build(Message, (known, said, (), (), other, False))


def _call(item: Item, name: object, arguments: object) -> Message:
    call_id = item.get("call_id")
    if not isinstance(call_id, str) or not isinstance(name, str):
        return Message("other", other=size_of(item))
    call = build(Call, (call_id, name, json_text(arguments)))
    return build(Message, ("assistant", "", (call,), (), 0, False))


def _function(item: Item) -> tuple[object, object]:
    name, space = item.get("name"), item.get("namespace")
    return f"{space}__{name}" if space and isinstance(name, str) else name, item.get("arguments")


def _custom(item: Item) -> tuple[object, object]:
    return item.get("name"), item.get("input")


def _output(item: Item) -> Message:
    call_id, output = item.get("call_id"), item.get("output")
    if not isinstance(call_id, str):
        return Message("other", other=size_of(output))
    returned, other = results_in(call_id, ("output",), output, item.get("status") == "failed")
    return build(Message, ("tool", "", (), returned, other, False))


def _local_shell_output(item: Item) -> Message:
    """The SDK has only an `id` here, clients send a `call_id` too."""
    return _output({**item, "call_id": item.get("call_id") or item.get("id")})


def _shell_output(item: Item) -> Message:
    call_id, output = item.get("call_id"), item.get("output")
    if not isinstance(call_id, str) or isinstance(output, str):
        return _output(item)
    returned: list[ResultText] = []
    for at, part in enumerate(parts_of(output)):
        fields = fields_of(part)
        is_error = _failed(fields_of(fields.get("outcome")))
        for stream in ("stdout", "stderr"):
            if text := text_of(fields.get(stream)):
                returned.append(ResultText(call_id, ("output", at, stream), text, is_error))
    return Message("tool", "", (), tuple(returned))


def _failed(outcome: Item) -> bool:
    return outcome.get("type") == "timeout" or outcome.get("exit_code") not in (0, None)


_CALLS: Mapping[str, Callable[[Item], tuple[object, object]]] = {
    "function_call": _function,
    "custom_tool_call": _custom,
    "local_shell_call": lambda item: ("local_shell", item.get("action")),
    "shell_call": lambda item: ("shell", item.get("action")),
    "apply_patch_call": lambda item: ("apply_patch", item.get("operation")),
    "computer_call": lambda item: ("computer", item.get("actions") or item.get("action")),
}
_OUTPUTS: Mapping[str, Callable[[Item], Message]] = {
    "function_call_output": _output,
    "custom_tool_call_output": _output,
    "local_shell_call_output": _local_shell_output,
    "shell_call_output": _shell_output,
    "apply_patch_call_output": _output,
    "computer_call_output": lambda item: Message("tool", other=size_of(item.get("output"))),
}
