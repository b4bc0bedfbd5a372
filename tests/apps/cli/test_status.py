"""`keepwhole status` says which limits the provider told, and what fills the window."""

import json
import time
from typing import Any

import pytest

from keepwhole import Session
from keepwhole.apps.cli.main import main
from keepwhole.exchange.request_log import AnswerFacts, LoggedAnswer, RequestFacts, RequestLog
from tests.apps.cli.cli import Cli

FACTS = RequestFacts("anthropic", "claude-sonnet-5", mode="on", tokens_whole=50, tokens_sent=50)


def put(session: Session, limits: Any = None, body: bytes = b'{"model": "m", "messages": []}') -> None:
    """Record a request with an answer that told these limits."""
    told = None if limits is None else json.dumps(limits)
    assert RequestLog(session).add(body, FACTS, LoggedAnswer(b"{}", 200, usage=AnswerFacts(9, limits=told)))


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["status", "--session", "work", *words]) == 0
    return capsys.readouterr().out


def test_the_newest_limits_are_told_of_those_that_answers_had(capsys: pytest.CaptureFixture[str]) -> None:
    resets = int(time.time() * 1000)
    with Session("work") as session:
        put(session)
    assert "Limits" not in printed(capsys)
    with Session("work") as session:
        put(session, [["5h", 0.1, None]])
        put(session, [["5h", 0.42, resets], ["7d", 0.07, None]])
        put(session)
    assert "\nLimits: 5h: 42 % used; 7d: 7 % used.\n" in printed(capsys)
    told = json.loads(printed(capsys, "--json"))["limits"]
    assert told == [
        {"name": "5h", "used": 0.42, "resets_at": resets},
        {"name": "7d", "used": 0.07, "resets_at": None},
    ]


def test_a_request_without_messages_fills_the_window_with_nothing_to_list(capsys: pytest.CaptureFixture[str]) -> None:
    with Session("work") as session:
        put(session)
    said = printed(capsys)
    assert "What fills the window" not in said
    assert "≈ 9 of 200,000 tokens (< 0.1 %)" in said
    assert json.loads(printed(capsys, "--json"))["items"] == []


def test_what_results_alone_fill_is_no_more_than_what_they_would_fill_whole(cli: Cli) -> None:
    """Each result is rounded up to a token, so both sums are of the same numbers."""
    for number in range(6):
        cli("keep", "--tool", "bash", "--session", "sums", input=b"x" * (100 + 33 * number))
    told = cli.json("status", "--session", "sums")
    assert told["tokens_shown"] == told["tokens_whole"] == sum(item["tokens"] for item in told["items"])
    said = cli.said("status", "--session", "sums")
    assert f"{told['tokens_shown']:,} of 200,000 tokens (0.2 %)" in said
