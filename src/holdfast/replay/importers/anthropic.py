"""Anthropic Messages: logs of requests and answers, or plain lists of messages."""

from collections.abc import Iterator
from typing import Any

from holdfast.replay.importers import exchanges
from holdfast.replay.importers.exchanges import Exchange
from holdfast.replay.importers.lines import Lines
from holdfast.replay.run import Run
from holdfast.wire.fields import kind_of_part, parts_of, text_of


def knows(value: object) -> bool:
    """Whether it is in this dialect."""
    return exchanges.dialect(value) == "anthropic"


def runs(lines: Lines) -> Iterator[Run]:
    """The runs of such a log."""
    return exchanges.runs(lines, "anthropic", _exchange)


def _exchange(request: dict[str, Any], response: dict[str, Any]) -> Exchange | None:
    messages = request.get("messages")
    if not isinstance(messages, list):
        return None
    system = [{"role": "system", "content": request["system"]}] if request.get("system") else []
    answer = [{"role": "assistant", "content": response.get("content")}] if kind_of_part(response) == "message" else []
    model = exchanges.model_of(request, response)
    return Exchange([*system, *parts_of(messages)], answer, model, text_of(response.get("id")))
