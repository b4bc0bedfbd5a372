"""Logs in Keepwhole's own format, written for a test."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from keepwhole.replay.survey import LoggedRun, survey
from tests.replay.recorded import calls, result, user


def record(number: int, steps: int = 3, chars: int = 400, source: str = "made/up") -> dict[str, Any]:
    """A run that reads an order in each step and uses its number in the next."""
    messages = [user("What became of my orders?")]
    for step in range(steps):
        messages.append(calls(f"c{step}", order=f"W-{number:04}-{step:03}"))
        text = f"next is W-{number:04}-{step + 1:03}\n" + f"row {step} of {number} is fine\n" * (chars // 20)
        messages.append(result(text, f"c{step}"))
    return {"source": source, "id": f"run-{number}", "messages": messages}


def write(path: Path, records: Iterable[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    return path


def logged(path: Path) -> list[LoggedRun]:
    return [found for found in survey(path) if isinstance(found, LoggedRun)]
