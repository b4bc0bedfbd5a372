"""What a provider will serve from its cache is known before it says so, from what it billed before."""

import json
import random
from typing import Any

import pytest

from keepwhole.models.forecast import Breakpoint, CacheHit, Forecast, Prompt, common_prefix
from keepwhole.models.profiles import DEFAULT, Profile, profile_for
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


AUTOMATIC = Profile("automatic", breakpoints=0)


def plain(*sizes: int, other: int = 1_000) -> Prompt:
    """A prompt whose elements end after so many tokens, without breakpoints; from `other` on it is another one."""
    digests = [bytes([number, number >= other]) for number in range(len(sizes))]
    return Prompt(digests, sizes, list(range(1, len(sizes) + 1)))


def served(forecast: Forecast, asked: Prompt, profile: Profile, now: float) -> int:
    """Return the tokens that are expected from the cache."""
    return forecast.hit(asked, profile, now).tokens


def sent(*prompts: Prompt, profile: Profile = AUTOMATIC) -> Forecast:
    """A forecast after these requests, one a second from the first second on."""
    forecast = Forecast()
    for now, one in enumerate(prompts):
        forecast.learn(one, profile, now, forecast.hit(one, profile, now))
    return forecast


@pytest.mark.parametrize(
    ("size", "tokens"), [(1_023, 0), (1_024, 1_024), (1_151, 1_024), (1_152, 1_152), (3_000, 2_944)]
)
def test_without_breakpoints_prefixes_are_served_from_the_minimum_on_in_steps_of_128(size: int, tokens: int) -> None:
    hit = sent(plain(size)).hit(plain(size, 9_000), AUTOMATIC, 1)
    assert (hit.at, hit.tokens) == (0 if tokens else -1, tokens)


def test_a_provider_that_caches_shorter_prefixes_has_shorter_steps() -> None:
    for size, tokens in ((63, 0), (64, 64), (127, 64), (128, 128), (200, 192)):
        profile = AUTOMATIC.replace(minimum=64)
        assert served(sent(plain(size), profile=profile), plain(size, 900), profile, 1) == tokens
    to_the_token = AUTOMATIC.replace(minimum=0)
    assert served(sent(plain(201), profile=to_the_token), plain(201, 900), to_the_token, 1) == 201


def test_without_breakpoints_any_prefix_of_a_request_is_served_while_it_lives() -> None:
    forecast = sent(plain(2_048, 4_096, 8_192))
    hit = forecast.hit(plain(2_048, 4_096, 9_000, other=2), AUTOMATIC, 300)
    assert hit == CacheHit(1, 4_096, 1, 300, False)
    late = forecast.hit(plain(2_048, 4_096, 9_000, other=2), AUTOMATIC, 301)
    assert late == CacheHit(-1, 0, 1, 301, True)


def test_the_newest_of_several_requests_with_the_same_prefix_counts() -> None:
    forecast = sent(plain(2_048, 4_096, 5_000, other=2), plain(2_048, 4_096, 6_000, 7_000, other=3))
    hit = forecast.hit(plain(2_048, 4_096, 9_000, other=2)._replace(digests=[b"\0\0", b"\1\0", b"x"]), AUTOMATIC, 11)
    assert (hit.at, hit.gap) == (1, 10)


def test_the_longest_prefix_that_still_lives_is_served() -> None:
    forecast, long, short = Forecast(), plain(2_048, 4_096, 8_192), plain(2_048, 9_000, other=1)
    for one, now in ((long, 0), (short, 200)):
        forecast.learn(one, AUTOMATIC, now, forecast.hit(one, AUTOMATIC, now))
    assert forecast.hit(long, AUTOMATIC, 300).at == 2
    late = forecast.hit(long, AUTOMATIC, 301)
    assert (late.at, late.common, late.gap, late.cold) == (0, 2, 301, True)


def test_nothing_is_served_before_the_first_request() -> None:
    forecast = Forecast()
    assert not forecast.is_begun
    assert forecast.hit(plain(9_000), AUTOMATIC, 5) == CacheHit(-1, 0, -1, None, False)
    assert sent(plain(9_000)).is_begun


def test_thirty_two_earlier_requests_are_remembered() -> None:
    requests = [plain(2_048)._replace(digests=[b"request %d" % number]) for number in range(33)]
    forecast = sent(*requests)
    assert [forecast.hit(request, AUTOMATIC, 40).at for request in requests] == [-1] + [0] * 32


def test_a_request_that_goes_on_takes_the_place_of_the_one_before() -> None:
    """So a long conversation leaves room for the others."""
    other = plain(2_048)._replace(digests=[b"another conversation"])
    growing = [plain(*range(2_048, 2_148 + length)) for length in range(40)]
    assert sent(other, *growing).hit(other, AUTOMATIC, 50).at == 0


def test_a_size_between_two_that_were_billed_is_interpolated() -> None:
    forecast, asked = Forecast(), prompt(4)
    forecast.learn(asked, DEFAULT, 0, forecast.hit(asked, DEFAULT, 0), billed=(12_000, 0, 12_000))
    assert forecast.ratio == 1.5
    assert [forecast.tokens_at(asked, at) for at in (-1, 0, 1, 3)] == [0, 3_000, 6_000, 12_000]
    longer = prompt(6)
    forecast.learn(longer, DEFAULT, 1, forecast.hit(longer, DEFAULT, 1), billed=(20_000, 12_000, 8_000))
    assert [forecast.tokens_at(longer, at) for at in (2, 3, 4, 5)] == [9_000, 12_000, 16_000, 20_000]
    assert forecast.ratio == pytest.approx(0.7 * 1.5 + 0.3 * 20 / 12)
    beyond = prompt(7)
    assert forecast.tokens_at(beyond, 6) == int(20_000 + forecast.ratio * 2_000)


def test_the_part_up_to_the_last_breakpoint_is_as_long_as_what_was_served_and_written() -> None:
    forecast, asked = Forecast(), prompt(4)._replace(points=(Breakpoint(1), Breakpoint(2)))
    forecast.learn(asked, DEFAULT, 0, forecast.hit(asked, DEFAULT, 0), billed=(12_000, 0, 10_000))
    assert [forecast.tokens_at(asked, at) for at in (2, 3)] == [10_000, 12_000]
    partly = Forecast()
    partly.learn(asked, DEFAULT, 0, partly.hit(asked, DEFAULT, 0), billed=(12_000, 5_000, 5_000))
    assert partly.tokens_at(asked, 2) == 10_000
    nothing = Forecast()
    nothing.learn(asked, DEFAULT, 0, nothing.hit(asked, DEFAULT, 0), billed=(12_000, 0, 0))
    assert nothing.tokens_at(asked, 2) == 9_000


def test_an_entry_of_which_the_provider_served_less_than_half_is_gone() -> None:
    for cached, at in ((3_000, 2), (2_999, -1)):
        forecast = Forecast()
        forecast.learn(prompt(3), DEFAULT, 0, forecast.hit(prompt(3), DEFAULT, 0))
        expected = forecast.hit(prompt(6), DEFAULT, 1)
        assert expected.tokens == 6_000
        forecast.learn(prompt(6), DEFAULT, 1, expected, billed=(12_000, cached, 9_000))
        assert forecast.hit(prompt(6, other=3), DEFAULT, 2).at == at


def test_a_cache_that_serves_more_than_half_after_its_lifetime_lives_longer() -> None:
    for cached, lifetime in ((3_000, 300), (3_001, 1_000)):
        forecast = Forecast()
        forecast.learn(prompt(3), DEFAULT, 0, forecast.hit(prompt(3), DEFAULT, 0))
        late = forecast.hit(prompt(6), DEFAULT, 1_000)
        assert (late.cold, late.common) == (True, 2)
        forecast.learn(prompt(6), DEFAULT, 1_000, late, billed=(12_000, cached, 12_000 - cached))
        assert forecast.lifetime(DEFAULT) == lifetime
        assert forecast.tokens_at(prompt(6), 5) == 12_000, "what was served is no size of the whole"


def test_a_breakpoint_writes_an_entry_from_the_minimum_on() -> None:
    for minimum, at in ((6_000, 2), (6_001, -1)):
        profile = DEFAULT.replace(minimum=minimum)
        forecast = Forecast()
        forecast.learn(prompt(3), profile, 0, forecast.hit(prompt(3), profile, 0))
        assert forecast.hit(prompt(4), profile, 1).at == at


def test_an_entry_lives_as_long_as_the_client_asks_for() -> None:
    hour = prompt(3)._replace(points=(Breakpoint(1), Breakpoint(2, 3_600)))
    forecast = sent(hour, profile=DEFAULT)
    assert (forecast.requested_lifetime, forecast.lifetime(DEFAULT)) == (3_600, 3_600)
    assert [forecast.hit(hour, DEFAULT, now).at for now in (300, 3_600, 3_601)] == [2, 2, -1]
    for asked in (hour, prompt(3)):
        assert [forecast.hit(asked, DEFAULT, now).cold for now in (3_600, 3_601)] == [False, True]
    five_minutes = sent(hour, prompt(4), profile=DEFAULT)
    assert (five_minutes.requested_lifetime, five_minutes.lifetime(DEFAULT)) == (0, 300)


def test_the_share_that_is_cached_is_of_the_messages_up_to_the_last_breakpoint() -> None:
    assert Forecast().cached_share == 1
    assert sent(plain(1_000, 3_000)).cached_share == 1, "without breakpoints all of it is"
    marked = [prompt(5)._replace(points=tuple(map(Breakpoint, at))) for at in ([], [0], [1, 2], [4])]
    assert [sent(one, profile=DEFAULT).cached_share for one in marked] == [0, 0, 0.5, 1]
    assert sent(prompt(1), profile=DEFAULT).cached_share == 0, "there is no message"


def test_the_most_that_one_of_the_five_newest_requests_had_cached_counts() -> None:
    """Some clients do not set a breakpoint in every request."""
    marked, bare = prompt(5), prompt(5)._replace(points=())
    assert sent(marked, *[bare] * 4, profile=DEFAULT).cached_share == 1
    assert sent(marked, *[bare] * 5, profile=DEFAULT).cached_share == 0


@pytest.mark.parametrize("same", range(8))
def test_two_prompts_share_the_elements_up_to_the_first_that_differs(same: int) -> None:
    one, other = ([bytes([number, name * (number >= same)]) for number in range(7)] for name in (1, 2))
    assert common_prefix(one, other) == min(same, 7)
    assert common_prefix(one, other[:3]) == common_prefix(other[:3], one) == min(same, 3)
    assert common_prefix([], one) == 0


def test_what_was_served_is_the_size_of_the_entry_that_fits_it_best() -> None:
    forecast = Forecast()
    for length, now in ((3, 0), (5, 1)):
        forecast.learn(prompt(length), DEFAULT, now, forecast.hit(prompt(length), DEFAULT, now))
    asked = prompt(7)
    hit = forecast.hit(asked, DEFAULT, 2)
    assert (hit.at, hit.tokens) == (4, 10_000)
    forecast.learn(asked, DEFAULT, 2, hit, billed=(14_000, 9_000, 5_000))
    assert forecast.tokens_at(asked, 4) == 9_000
    shorter = Forecast()
    for length, now in ((3, 0), (5, 1)):
        shorter.learn(prompt(length), DEFAULT, now, shorter.hit(prompt(length), DEFAULT, now))
    shorter.learn(asked, DEFAULT, 2, hit, billed=(14_000, 7_000, 7_000))  # nearer to the entry of 6,000 tokens
    assert shorter.tokens_at(asked, 4) == 10_000


def test_of_eight_thousand_sizes_the_oldest_is_forgotten() -> None:
    forecast = Forecast()
    asked = [Prompt([b"prompt %d" % number], [2_000], [1], ()) for number in range(8_193)]
    for one in asked:
        forecast.learn(one, DEFAULT, 0, CacheHit(-1, 0, -1, None, False), billed=(3_000, 0, 0))
    forecast.ratio = 1.0
    assert [forecast.tokens_at(one, 0) for one in (asked[0], asked[1], asked[-1])] == [2_000, 3_000, 3_000]
