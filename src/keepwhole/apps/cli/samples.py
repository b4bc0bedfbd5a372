"""Made-up tool outputs of realistic size and kind, the same every time."""

import json
import random
from collections.abc import Callable
from typing import Any

_MODULES = ("auth", "billing", "cart", "catalog", "orders", "search", "sessions", "users")


def test_run() -> str:
    """A test run: hundreds of passes, one failure in the middle, the summary at the end."""
    chance = random.Random(1)
    lines = ["============================= test session starts ============================="]
    for number in range(600):
        module = chance.choice(_MODULES)
        state = "FAILED" if number == 371 else "PASSED"
        lines.append(f"tests/{module}/test_{module}_{number:03d}.py::test_case_{number} {state} [{number // 6:3d}%]")
    lines += [
        "=================================== FAILURES ===================================",
        ">       assert total == 42",
        "E       AssertionError: assert 41 == 42",
        "tests/cart/test_cart_371.py:18: AssertionError",
        "=================== 1 failed, 599 passed in 48.31s ===================",
    ]
    return "\n".join(lines) + "\n"


def source_file() -> str:
    """A source file of some three thousand lines."""
    parts: list[str] = ['"""Handlers, one a route."""\n']
    for number in range(420):
        name = _MODULES[number % len(_MODULES)]
        parts.append(
            f"\ndef handle_{name}_{number}(request, store):\n"
            f'    """Answer one {name} request."""\n'
            f"    found = store.find({number}, kind={name!r})\n"
            f"    if found is None:\n        return not_found({number})\n"
            f"    return ok(found)\n"
        )
    return "".join(parts)


def api_response() -> str:
    """A JSON answer with two thousand records."""
    chance = random.Random(2)
    rows: list[dict[str, Any]] = [
        {"id": number, "name": chance.choice(_MODULES), "price": chance.randrange(10_000) / 100, "tags": ["a", "b"]}
        for number in range(2_000)
    ]
    return json.dumps({"items": rows, "total": len(rows)})


def server_log() -> str:
    """A megabyte of log lines."""
    chance = random.Random(3)
    lines: list[str] = []
    for at in range(18_000):
        clock = f"2026-01-01T00:{at // 60 % 60:02d}:{at % 60:02d}Z"
        lines.append(f"{clock} INFO {chance.choice(_MODULES)} request={at} ms={chance.randrange(900)}\n")
    return "".join(lines)


def picture() -> bytes:
    """Bytes that begin like a screenshot."""
    return b"\x89PNG\r\n\x1a\n" + random.Random(4).randbytes(48_000)


def small() -> str:
    """A small result, as most are, which is shown in full."""
    return "On branch main\nnothing to commit, working tree clean\n"


SAMPLES: tuple[tuple[str, dict[str, str], Callable[[], str | bytes]], ...] = (
    ("execute_command", {"command": "pytest -v"}, test_run),
    ("read_file", {"path": "app/handlers.py"}, source_file),
    ("http_get", {"path": "/items"}, api_response),
    ("read_log", {"path": "server.log"}, server_log),
    ("screenshot", {"page": "/cart"}, picture),
    ("git_status", {}, small),
)
