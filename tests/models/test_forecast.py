"""What a provider will serve from its cache is known before it says so, from what it billed before."""

import json
import random
from typing import Any

import pytest

from keepwhole.models.forecast import Breakpoint, CacheHit, Forecast, Prompt
from keepwhole.models.profiles import DEFAULT, profile_for
from keepwhole.wire.dialects import conversation_dialect
from keepwhole.wire.prompt import Prompts
from keepwhole.wire.request_body import read_request
from tests.upstream.agent import Agent
from tests.upstream.bills import Bills

DIALECTS = ["anthropic", "openai_chat", "openai_responses"]
every_dialect = pytest.mark.parametrize("dialect", DIALECTS)
WORDS = ["alpha", "beta(", "4711", "/usr/lib", "\n", "ERROR", "  ", "0x3f", "sum", "größer", '"', "the", "line"]


class Run:
    """An agent, a provider and a forecast."""

    def __init__(self, dialect: str, **how: Any) -> None:
        self.agent, self.bills = Agent(dialect), Bills(dialect, **how)
        self.forecast, self.prompts = Forecast(), Prompts()
        self.now = 0.0
        self.predicted: list[int] = []
        self.billed: list[int] = []
        self.totals: list[tuple[int, int]] = []

    def send(self, body: bytes | None = None) -> CacheHit:
        body = body or self.agent.body()
        profile = profile_for(self.agent.model)
        request = read_request(body)
        assert request is not None
        prompt = self.prompts.read(request, explicit=self.agent.dialect == "anthropic")
        hit = self.forecast.hit(prompt, profile, self.now)
        usage = conversation_dialect(self.agent.dialect).usage_of(self.bills.answer(body, self.now), streamed=False)
        assert usage is not None
        self.totals.append((self.forecast.tokens_at(prompt, len(prompt.digests) - 1), usage.input))
        self.forecast.learn(prompt, profile, self.now, hit, (usage.input, usage.cached, usage.written))
        self.predicted.append(hit.tokens)
        self.billed.append(usage.cached)
        self.now += 10
        return hit

    def hit(self, prompt: Prompt) -> CacheHit:
        return self.forecast.hit(prompt, profile_for(self.agent.model), self.now)


def output(rng: random.Random) -> str:
    return " ".join(rng.choices(WORDS, k=rng.choice([5, 50, 300, 1_500])))


@every_dialect
@pytest.mark.parametrize("steps", [110, pytest.param(300, marks=pytest.mark.torture)])
def test_a_run_is_foreseen_within_two_per_cent(dialect: str, steps: int) -> None:
    rng = random.Random(4711)
    run = Run(dialect)
    for number in range(steps):
        run.agent.step(number, output(rng))
        if number % 40 == 39:  # an old result is left out
            message = run.agent.messages[2 * (number - 25)]
            name = "output" if dialect == "openai_responses" else "content"
            message[name] = "left out" if dialect != "anthropic" else [{**message[name][0], "content": "left out"}]
        if number == steps // 2:
            run.now += 1_000
        run.send()
    predicted, billed = sum(run.predicted), sum(run.billed)
    assert billed > 1_500 * steps
    assert abs(predicted - billed) <= 0.02 * billed
    misses = [abs(ours - theirs) for ours, theirs in zip(run.predicted, run.billed, strict=True)]
    assert sum(misses) <= 0.02 * billed, "nor do errors cancel out"
    late = run.totals[50:]
    assert max(abs(ours - theirs) / theirs for ours, theirs in late) < 0.05


@every_dialect
def test_a_pause_longer_than_the_lifetime_is_cold(dialect: str) -> None:
    run = Run(dialect)
    run.agent.step(0, "x" * 9_000)
    assert run.send() == CacheHit(-1, 0, -1, None, False)
    run.now += 280
    assert run.send().tokens > 1_024, "it was used within its life, and lives on"
    run.now += 280
    assert run.send().tokens > 1_024
    run.now += 301
    hit = run.send()
    assert (hit.tokens, hit.cold) == (0, True)
    assert run.billed[-1] == 0


@every_dialect
def test_a_cache_that_lives_longer_than_its_profile_says_is_believed(dialect: str) -> None:
    run = Run(dialect, lifetime=3_000)
    run.agent.step(0, "x" * 9_000)
    run.send()
    run.now += 1_000
    assert run.send().cold
    run.now += 900
    hit = run.send()
    assert not hit.cold
    assert run.predicted[-1] == pytest.approx(run.billed[-1], rel=0.02)


def test_markers_are_not_part_of_what_is_compared() -> None:
    prompts = Prompts()
    plain = {"role": "user", "content": "hello"}
    block = {"role": "user", "content": [{"type": "text", "text": "hello", "cache_control": {"type": "ephemeral"}}]}
    other = {"role": "user", "content": [{"type": "text", "text": "hello!", "cache_control": {"type": "ephemeral"}}]}
    read = [read_request(json.dumps({"messages": [one, plain]}).encode()) for one in (plain, block, other)]
    first, second, third = (prompts.read(one, explicit=True) for one in read if one)
    assert list(first.digests) == list(second.digests)
    assert first.digests[0] == third.digests[0]
    assert first.digests[1] != third.digests[1]
    assert first.digests[2] != third.digests[2], "what comes behind a change is not the same"
    assert second.points == (Breakpoint(1),)


def prompt(length: int, other: int = 1_000) -> Prompt:
    """A prompt of so many messages; from `other` on it is not what the others are."""
    digests = [bytes([number, number >= other]) for number in range(length)]
    sizes = [2_000 * (number + 1) for number in range(length)]
    return Prompt(digests, sizes, list(range(1, length + 1)), (Breakpoint(length - 1),))


def test_an_entry_that_was_used_lives_on() -> None:
    forecast = Forecast()
    for length, now in ((3, 0), (6, 200)):
        forecast.learn(prompt(length), DEFAULT, now, forecast.hit(prompt(length), DEFAULT, now))
    assert forecast.hit(prompt(6, other=3), DEFAULT, 400).at == 2
    assert forecast.hit(prompt(6, other=3), DEFAULT, 501).at == -1


def test_an_entry_that_was_not_there_is_forgotten() -> None:
    forecast = Forecast()
    forecast.learn(prompt(3), DEFAULT, 0, forecast.hit(prompt(3), DEFAULT, 0))
    forecast.learn(prompt(6), DEFAULT, 1, forecast.hit(prompt(6), DEFAULT, 1), billed=(12_000, 0, 12_000))
    assert forecast.hit(prompt(6, other=3), DEFAULT, 2).at == -1


@every_dialect
def test_what_was_billed_is_known_to_the_token(dialect: str) -> None:
    rng = random.Random(4712)
    run = Run(dialect)
    for number in range(20):
        run.agent.step(number, output(rng))
        run.send()
    assert run.predicted[1:] == run.billed[1:]


def test_a_breakpoint_finds_what_ended_twenty_blocks_before_it_and_no_more() -> None:
    forecast, profile = Forecast(), DEFAULT
    forecast.learn(prompt(3), profile, 0, forecast.hit(prompt(3), profile, 0))
    assert forecast.hit(prompt(23), profile, 1).at == 2
    assert forecast.hit(prompt(24), profile, 1).at == -1
    assert forecast.hit(prompt(24), profile, 1).common == 2


def test_one_more_request_looks_at_what_is_new_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    agent, prompts = Agent("anthropic"), Prompts()
    for number in range(200):
        agent.step(number, "x" * 500)
    first = read_request(agent.body())
    agent.step(200, "x" * 500)
    second = read_request(agent.body())
    assert first is not None
    assert second is not None
    prompts.read(first, explicit=True)
    looked: list[str] = []
    monkeypatch.setattr("keepwhole.wire.prompt.estimate", lambda text: looked.append(text) or 1)  # pyright: ignore
    prompts.read(second, explicit=True)
    assert len(looked) == 3, "the two new messages, and the one whose marker moved on"
