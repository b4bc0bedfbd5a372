"""Sessions with very many results, written to a record many at a time."""

from typing import Any

from keepwhole.store.protocol import Draft, Store
from tests.build import NOON, decision, draft, opened, request, response

_TOGETHER = 2_000


def write_results(store: Store, name: str, results: int, per_request: int = 0, seconds: int = 1) -> str:
    """A session with so many results, some seconds apart, and a request after each `per_request` of them; gives its
    name."""
    opened(store, name, agent="tests")
    drafts: list[Draft] = []
    for number in range(results):
        at = (NOON + number * seconds) * 1000
        kept = draft(
            store, b"body", at=at, tool="bash", call_id=f"{name}-{number}", turn=number, arguments=_call(number)
        )
        drafts.append(kept)
        if number % 10 == 0:
            drafts.append(decision(kept.header.trace_id))
        if per_request and number % per_request == per_request - 1:
            drafts += _exchange(store, number // per_request, at)
        if len(drafts) >= _TOGETHER:
            store.append(name, drafts)
            drafts = []
    store.append(name, drafts)
    return name


def _call(number: int) -> str:
    return f'{{"command": "mend --crane {number}"}}'


def _exchange(store: Store, number: int, at: int) -> list[Draft]:
    tokens = 5_000 + 20 * (number % 5_000)
    about: dict[str, Any] = {"model": "claude-sonnet-4-5", "dialect": "anthropic", "mode": "on", "at": at}
    asked = request(store, tokens_whole=2 * tokens, tokens_sent=tokens, edited=1, **about)
    billed: dict[str, Any] = {"input": tokens, "cached": tokens - 100, "written": 100, "total_ms": 900}
    return [asked, response(store, asked.header.trace_id, at=at, **billed)]
