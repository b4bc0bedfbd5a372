"""`keepwhole report`: claims nothing that the numbers do not support."""

import json
import random
import re
from pathlib import Path

import pytest

from keepwhole.apps.report import HELD_OUT, VIEWED, compare_sessions
from keepwhole.apps.request_figures import profiles_with
from keepwhole.exchange.request_log import AnswerFacts, LoggedAnswer, LoggedRequest, RequestFacts, RequestLog
from keepwhole.session import Session
from tests.apps.cli.cli import Cli

MODEL = "claude-sonnet-4-5"


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


def put(cli: Cli, name: str, mode: str, sizes: list[int]) -> None:
    """Record a session with requests of these numbers of tokens."""
    with Session(name, store=str(cli.folder / "home")) as session:
        sent, before = RequestLog(session), 0
        for size in sizes:
            body = json.dumps({"model": MODEL, "messages": [{"role": "user", "content": f"{name} {size}"}]}).encode()
            about = RequestFacts(
                "anthropic", MODEL, mode=mode, tokens_whole=2 * size, tokens_sent=size, edited=mode == "on"
            )
            used = AnswerFacts(input=max(size, before), cached=before, written=max(0, size - before - 10), output=5)
            assert sent.add(body, about, LoggedAnswer(b"{}", 200, usage=used)) is not None
            before = size


def steps(cli: Cli) -> list[list[LoggedRequest]]:
    with Session("any", store=str(cli.folder / "home")) as session:
        return [
            RequestLog(Session(info.name, store=session.store)).all()
            for info in session.store.sessions()
            if info.entries
        ]


def test_a_record_without_requests_is_reported(cli: Cli) -> None:
    assert b"No request is recorded yet" in cli("report").stdout


def test_few_sessions_are_not_compared(cli: Cli) -> None:
    for number in range(9):
        put(cli, f"viewed-{number}", "on", [1_000, 2_000])
    for number in range(4):
        put(cli, f"held-{number}", "shadow", [9_000, 18_000])
    told = cli.said("report")
    assert "input cost per session, in uncached tokens" in told
    assert "Too few sessions to tell: 9 viewed, 4 held out" in told
    assert "% less" not in told
    assert cli.json("report")["ratios"] == {}


def test_a_difference_is_reported_with_its_interval(cli: Cli) -> None:
    chance = random.Random(1)
    for number in range(8):
        put(cli, f"viewed-{number}", "on", [chance.randrange(4_000, 6_000) * step for step in range(1, 5)])
        put(cli, f"held-{number}", "shadow", [chance.randrange(9_000, 11_000) * step for step in range(1, 5)])
    told = cli.said("report")
    assert re.search(r"^Input tokens per request: [45]\d % less where viewed, between \d+ % less and", told, re.M)
    assert "Requests per session: no difference seen" in told
    found = cli.json("report")
    assert found["groups"]["viewed"]["sessions"] == found["groups"]["held_out"]["sessions"] == 8
    ratio = found["ratios"]["tokens"]
    assert ratio["low"] < ratio["value"] < ratio["high"] < 1
    assert cli.json("report") == found


def test_a_session_that_was_viewed_and_not_is_counted_apart(cli: Cli) -> None:
    put(cli, "viewed", "on", [1_000])
    assert "neither column" not in cli.said("report")
    put(cli, "both", "on", [1_000])
    put(cli, "both", "shadow", [9_000])
    assert "\nIn neither column: 1 session with requests of both kinds.\n" in cli.said("report")
    groups = cli.json("report")["groups"]
    assert (groups["viewed"]["sessions"], groups["held_out"]["sessions"]) == (1, 0)


def test_noise_is_no_difference(cli: Cli) -> None:
    chance = random.Random(3)
    for number in range(8):
        for group, mode in (("viewed", "on"), ("held", "shadow")):
            put(cli, f"{group}-{number}", mode, [chance.randrange(1_000, 30_000) for _ in range(2)])
    found = compare_sessions(steps(cli), profiles_with({}))
    assert all("no difference seen" in sentence for sentence in found.says)


def test_a_session_that_was_both_belongs_to_neither(cli: Cli) -> None:
    put(cli, "both", "on", [1_000])
    put(cli, "both", "shadow", [2_000])
    found = compare_sessions(steps(cli), profiles_with({}))
    assert found.mixed == 1
    assert {found.groups[VIEWED].sessions, found.groups[HELD_OUT].sessions} == {0}


def test_filling_the_window_is_counted(cli: Cli) -> None:
    put(cli, "full", "shadow", [100_000, 170_000, 185_000, 190_000])
    group = compare_sessions(steps(cli), profiles_with({})).groups[HELD_OUT]
    assert group.measures["filled"].value == 1
    assert group.measures["full"].value == 3


def test_old_sessions_are_left_out_if_asked(cli: Cli) -> None:
    put(cli, "new", "on", [1_000])
    assert cli.json("report", "--since", "1")["groups"]["viewed"]["sessions"] == 1
    assert cli("report", "--since", "0").returncode == 2
    assert cli.json("report", "--since", "0.00000001")["groups"]["viewed"]["sessions"] == 0
