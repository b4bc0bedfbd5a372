"""Anthropic Messages: a request and its answer."""

from typing import Any

from keepwhole.logs.provider_exchange import Exchange, model_of
from keepwhole.wire.as_dict import kind_of_part, parts_of, text_of


def exchange(request: dict[str, Any], response: dict[str, Any]) -> Exchange:
    """What was sent, what the system was told first, and the message that came back."""
    told = [{"role": "system", "content": request["system"]}] if request.get("system") else []
    sent = [*told, *parts_of(request.get("messages"))]
    answer = [{"role": "assistant", "content": response.get("content")}] if kind_of_part(response) == "message" else []
    return Exchange(sent, answer, model_of(request, response), text_of(response.get("id")))
