"""OpenAI Chat Completions: a request and its answer."""

from typing import Any

from keepwhole.logs.provider_exchange import Exchange, model_of
from keepwhole.wire.as_dict import fields_of, parts_of, text_of


def exchange(request: dict[str, Any], response: dict[str, Any]) -> Exchange:
    """What was sent, and the first choice that came back."""
    chosen = [fields_of(fields_of(choice).get("message")) for choice in parts_of(response.get("choices"))[:1]]
    answer = [message for message in chosen if message]
    return Exchange(parts_of(request.get("messages")), answer, model_of(request, response), text_of(response.get("id")))
