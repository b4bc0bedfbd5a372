"""OpenAI Chat Completions: logs of requests and answers, batches, training files, or plain lists of messages."""

from collections.abc import Iterator
from typing import Any

from holdfast.replay.importers import exchanges
from holdfast.replay.importers.exchanges import Exchange
from holdfast.replay.importers.lines import Lines
from holdfast.replay.run import Run
from holdfast.wire.fields import fields_of, parts_of, text_of


def knows(value: object) -> bool:
    """Whether it is in this dialect."""
    return exchanges.dialect(value) == "openai_chat"


def runs(lines: Lines) -> Iterator[Run]:
    """The runs of such a log."""
    return exchanges.runs(lines, "openai_chat", _exchange)


def _exchange(request: dict[str, Any], response: dict[str, Any]) -> Exchange | None:
    messages = request.get("messages")
    if not isinstance(messages, list):
        return None
    chosen = [fields_of(fields_of(choice).get("message")) for choice in parts_of(response.get("choices"))[:1]]
    model = exchanges.model_of(request, response)
    return Exchange(parts_of(messages), list(filter(None, chosen)), model, text_of(response.get("id")))
