"""What a model answered, with the calls of recall tools told apart from what a client is to see.

Owns: finding the calls of ours in a whole response, taking them out of it, and joining the answers of several rounds
into one response.
Must not know: who answers the calls, how a response is streamed.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

from keepwhole.wire.as_dict import fields_of, parts_of
from keepwhole.wire.dialect import Dialect

Json: TypeAlias = dict[str, Any]
Names: TypeAlias = Collection[str]
"""What our tools are called."""
BREAK = "\n\n"
"""Between the words of two rounds, where a dialect has one text for all of them."""
_CALLS = ("tool_use", "function", "function_call")
_NOT_SENT_BACK = ("annotations", "audio")


class Reply(NamedTuple):
    """One answer of a model."""

    said: list[Json]
    """As the model wrote it: messages or items that go back to it."""
    shown: list[Json]
    """Without the calls of ours: blocks, items, or the one message."""
    calls: list[Json]
    """The calls of ours."""
    waits: bool
    """Whether it calls tools of the client too."""
    whole: bool
    """Whether the model ended it by itself."""


def is_ours(call: object, names: Names) -> bool:
    """Whether a block, a call or an item calls one of our tools."""
    fields = fields_of(call)
    name = fields_of(fields.get("function")).get("name") if "function" in fields else fields.get("name")
    return fields.get("type", "function") in _CALLS and name in names


def read_reply(dialect: Dialect, body: Json, names: Names) -> Reply:
    """The reply in the body of a response."""
    return _READERS[dialect](body, names)


def only_shown(dialect: Dialect, reply: Reply) -> list[Json]:
    """What goes back to the model of a reply whose calls of ours nobody answers."""
    if dialect == "anthropic":
        return [{"role": "assistant", "content": reply.shown}] if reply.shown else []
    return reply.shown


def answers(dialect: Dialect, results: Sequence[Json]) -> list[Json]:
    """The messages or items that bring results to the model."""
    return [{"role": "user", "content": list(results)}] if dialect == "anthropic" else list(results)


def joined_reply(dialect: Dialect, body: Json, shown: Sequence[Json], names: Names) -> Json:
    """The last round's body with what all rounds have to show, and nothing of ours."""
    return _JOINERS[dialect](body, shown, names)


def one_message(shown: Iterable[Json]) -> Json:
    """The messages of several rounds of OpenAI Chat as one."""
    messages = list(shown)
    if not messages:
        return {"role": "assistant", "content": None}
    texts = [message["content"] for message in messages if isinstance(message.get("content"), str)]
    return {**messages[-1], "content": BREAK.join(filter(None, texts)) or messages[-1].get("content")}


def end_reason(reason: str | None, calling: str, waits: bool, otherwise: str) -> str | None:
    """Why a response ended, once no call of ours is left in it."""
    return otherwise if reason == calling and not waits else reason


def _read_anthropic(body: Json, names: Names) -> Reply:
    blocks = parts_of(body.get("content"))
    shown = [block for block in blocks if not is_ours(block, names)]
    return Reply(
        said=[{"role": "assistant", "content": blocks}],
        shown=shown,
        calls=[block for block in blocks if is_ours(block, names)],
        waits=any(fields_of(block).get("type") == "tool_use" for block in shown),
        whole=body.get("stop_reason") == "tool_use",
    )


def read_message(message: Json, reason: object, names: Names) -> Reply:
    """The reply that a message of OpenAI Chat is."""
    calls = parts_of(message.get("tool_calls"))
    others = [call for call in calls if not is_ours(call, names)]
    said = {key: value for key, value in message.items() if value is not None and key not in _NOT_SENT_BACK}
    shown = {key: value for key, value in message.items() if key != "tool_calls"}
    return Reply(
        said=[{"content": None, **said}],
        shown=[{**shown, "tool_calls": others} if others else shown],
        calls=[call for call in calls if is_ours(call, names)],
        waits=bool(others),
        whole=reason in ("tool_calls", "stop"),
    )


def _read_chat(body: Json, names: Names) -> Reply:
    choices = [fields_of(choice) for choice in parts_of(body.get("choices"))]
    if not choices:
        return Reply([], [], [], waits=False, whole=False)
    reply = read_message(fields_of(choices[0].get("message")), choices[0].get("finish_reason"), names)
    return reply._replace(whole=reply.whole and len(choices) == 1)


def _read_responses(body: Json, names: Names) -> Reply:
    items = parts_of(body.get("output"))
    shown = [item for item in items if not is_ours(item, names)]
    kept = body.get("store") is not False
    return Reply(
        said=[item if kept else _unnamed(item) for item in items if kept or _travels(item)],
        shown=shown,
        calls=[item for item in items if is_ours(item, names)],
        waits=any(isinstance(fields_of(item).get("call_id"), str) for item in shown),
        whole=body.get("status") == "completed",
    )


def _travels(item: Json) -> bool:
    """Whether an item that the provider does not store can be sent back: reasoning only if it is in the item."""
    return item.get("type") != "reasoning" or bool(item.get("encrypted_content"))


def _unnamed(item: Json) -> Json:
    """An item without the name under which nobody has it."""
    return {key: value for key, value in item.items() if key != "id"}


def _join_anthropic(body: Json, shown: Sequence[Json], names: Names) -> Json:
    waits = any(block.get("type") == "tool_use" for block in shown)
    reason = end_reason(body.get("stop_reason"), "tool_use", waits, "end_turn")
    return {**body, "content": list(shown), "stop_reason": reason}


def _join_chat(body: Json, shown: Sequence[Json], names: Names) -> Json:
    choices = [fields_of(choice) for choice in parts_of(body.get("choices"))]
    replies = [read_message(fields_of(choice.get("message")), None, names) for choice in choices]
    messages = [one_message(shown), *(reply.shown[0] for reply in replies[1:])]
    return {
        **body,
        "choices": [
            {**choice, "message": message, "finish_reason": _chat_reason(choice.get("finish_reason"), message)}
            for choice, message in zip(choices, messages, strict=False)
        ],
    }


def _chat_reason(reason: str | None, message: Json) -> str | None:
    return end_reason(reason, "tool_calls", bool(message.get("tool_calls")), "stop")


def _join_responses(body: Json, shown: Sequence[Json], names: Names) -> Json:
    return {**body, "output": list(shown)}


_READERS: dict[str, Callable[[Json, Names], Reply]] = {
    "anthropic": _read_anthropic,
    "openai_chat": _read_chat,
    "openai_responses": _read_responses,
}
_JOINERS: dict[str, Callable[[Json, Sequence[Json], Names], Json]] = {
    "anthropic": _join_anthropic,
    "openai_chat": _join_chat,
    "openai_responses": _join_responses,
}
