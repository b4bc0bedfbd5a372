"""Every step of the real transcripts, where they are at hand, viewed under every policy of ours."""

import gzip
import json
import os
import random
from collections.abc import Iterator
from typing import Any

import pytest

from keepwhole import MemoryStore, Session
from keepwhole.config import Settings
from keepwhole.policies.catalog import BUILT_IN
from tests.corpus.test_truncation import folder

pytestmark = [pytest.mark.torture, pytest.mark.timeout(3_600)]
RUNS = int(os.environ.get("KEEPWHOLE_RUNS", "60"))
"""Runs of each source that are looked at; the longest is always among them."""


def runs() -> Iterator[list[dict[str, Any]]]:
    for path in sorted(folder().glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            found = [json.loads(line)["messages"] for line in lines]
        found.sort(key=lambda messages: -sum(len(str(message["content"])) for message in messages))
        chosen = random.Random(7).sample(found[1:], min(len(found) - 1, RUNS - 1))
        yield from [found[0], *chosen]


def requests(messages: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """What the agent sent at every step."""
    for at, message in enumerate(messages):
        if message["role"] == "assistant" and at:
            yield messages[:at]


def is_whole(messages: list[dict[str, Any]]) -> bool:
    """Whether every call is answered in its place and every result has its call."""
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                return False
            waiting.remove(message["tool_call_id"])
        elif waiting:
            return False
        waiting += [call["id"] for call in message.get("tool_calls") or ()]
    return not waiting


def changed(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> int:
    return sum(old != new for old, new in zip(before, after, strict=False))


@pytest.mark.parametrize("window", [128_000, 200_000])
def test_every_request_under_auto_is_valid_fits_and_changes_only_at_decisions(window: int) -> None:
    seen = rewrites = 0
    for messages in runs():
        session = Session(
            "s", store=MemoryStore(), settings=Settings(home="unused", models={"default": {"window": window}})
        )
        sent: list[dict[str, Any]] = []
        for request in requests(messages):
            seen += 1
            projection = session.projection(request, policy="auto")
            out, account = projection.messages, projection.account
            if is_whole(request):
                assert is_whole(out)
            if changed(sent, out):
                assert account.new_decisions > 0
                rewrites += 1
            assert account.tokens_sent <= window or account.compacted, account
            sent = out
    print(f"window {window:,}: {seen:,} requests, {rewrites:,} with a changed prefix")


@pytest.mark.parametrize("policy", sorted(set(BUILT_IN) - {"auto"}))
def test_every_request_under_the_other_policies_is_valid(policy: str) -> None:
    for messages in runs():
        session = Session("s", store=MemoryStore())
        for request in list(requests(messages))[-40:]:
            out = session.view(request, policy=policy)
            if is_whole(request):
                assert is_whole(out)
