"""What the clients' hooks really sent, one JSON object a line, long texts shortened."""

import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def events(client: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (HERE / f"{client}.ndjson").read_text(encoding="utf-8").splitlines()]


def event(client: str, tool: str, **wanted: Any) -> dict[str, Any]:
    """The first event of a tool whose response has these values."""
    for one in events(client):
        response = one.get("tool_response")
        fields = response if isinstance(response, dict) else {}
        if one.get("tool_name") == tool and wanted.items() <= fields.items():
            return one
    raise LookupError(tool)
