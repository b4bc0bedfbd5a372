"""OpenAI Responses: logs of requests and answers, or plain lists of items."""

from collections.abc import Iterator
from typing import Any

from holdfast.replay.importers import exchanges
from holdfast.replay.importers.exchanges import Exchange
from holdfast.replay.importers.lines import Lines
from holdfast.replay.run import Run
from holdfast.wire.fields import parts_of, text_of


def knows(value: object) -> bool:
    """Whether it is in this dialect."""
    return exchanges.dialect(value) == "openai_responses"


def runs(lines: Lines) -> Iterator[Run]:
    """The runs of such a log."""
    return exchanges.runs(lines, "openai_responses", _exchange)


def _exchange(request: dict[str, Any], response: dict[str, Any]) -> Exchange | None:
    given = request.get("input")
    if not isinstance(given, list | str):
        return None
    told = [{"role": "system", "content": request["instructions"]}] if request.get("instructions") else []
    items = [{"role": "user", "content": given}] if isinstance(given, str) else parts_of(given)
    after = text_of(request.get("previous_response_id"))
    answer = parts_of(response.get("output"))
    return Exchange(
        [*([] if after else told), *items],
        answer,
        exchanges.model_of(request, response),
        text_of(response.get("id")),
        after,
    )
