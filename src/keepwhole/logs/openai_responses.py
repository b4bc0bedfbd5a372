"""OpenAI Responses: a request and its answer."""

from typing import Any

from keepwhole.logs.provider_exchange import Exchange, model_of
from keepwhole.wire.as_dict import parts_of, text_of


def exchange(request: dict[str, Any], response: dict[str, Any]) -> Exchange:
    """The items that were sent, instructions first, and those that came back."""
    given, after = request.get("input"), text_of(request.get("previous_response_id"))
    # Instructions come with each request; they are told once.
    told = [{"role": "system", "content": request["instructions"]}] if request.get("instructions") and not after else []
    items = [{"role": "user", "content": given}] if isinstance(given, str) else parts_of(given)
    answer = parts_of(response.get("output"))
    return Exchange([*told, *items], answer, model_of(request, response), text_of(response.get("id")), after)
