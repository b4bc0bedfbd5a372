"""Never more expensive than doing nothing, for all that a client, a model and a provider may do, in any order.

The state machine plays one session twice, with `mode: off` and with Keepwhole, and compares the bills after every
request: the run may end at each of them. What it may have cost more:

- `max_loss`, or a cent; twice of it where a price that the settings give, or that is guessed, is wrong by a factor of
  two.
- What the window has forced: the batches and summaries above 0.85 of it are counted and exempt.
- What the model has recalled since the last batch. Nobody can forbid a model to read something back; but a batch is
  made only if the session has afforded all recalls before it, or if it costs nothing because nothing is cached.
- What it costs to go back to before a batch, once for each time: what is left out stays left out, so these messages are
  sent otherwise than they were, and the cache has them as they were (decision 27).

A client compacts when the provider's bill nears the window, and the recall tools and what was read back are on the
bill. So its compaction may come a request sooner than with `mode: off`, which pays the same with the next request. What
that costs is lent until then.

In the same way a request may be long enough to be cached a request sooner: below the provider's minimum tokens cost
their plain price, and with the recall tools they may reach it and be written to the cache. That is lent too.
"""

from copy import deepcopy
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, Phase, event, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from keepwhole.models.profiles import DEFAULT
from keepwhole.policies.settings import CAREFUL
from tests.promises.dialect_bodies import ALL
from tests.promises.priced_client import COMPACT
from tests.promises.priced_session import MARKERS, TOOLS, ManagedSession, Markers, PricedSession, Provider, Step
from tests.upstream.media_parts import KINDS, MediaKind
from tests.upstream.prompt_cache import Clock

CENT = 3_333
"""Tokens for a cent at three dollars a million."""
SIZES = st.sampled_from([300, 2_000, 7_000, 30_000])
"""Characters."""
LARGE = st.sampled_from([7_000, 15_000, 30_000])
COUNTS = st.sampled_from([10, 2, 5, 20])
tools = st.sampled_from(TOOLS)
PAUSES = (30, 200, 310, 3_700)
BETWEEN = 10
"""Seconds between two requests."""

providers = st.builds(
    Provider,
    cache=st.sampled_from(["breakpoints", "breakpoints", "prefixes", "none"]),
    window=st.sampled_from([200_000, 128_000, 1_000_000]),
    minimum=st.sampled_from([1_024, 64, 4_096]),
    lifetime=st.sampled_from([300, 3_600]),
    read=st.sampled_from([0.1, 0.05, 0.2]),
    write=st.sampled_from([1.25, 1.0]),
    told_read=st.sampled_from([1.0, None, 0.5, 2.0]),
    told_write=st.sampled_from([1.0, 1.0, 0.8, 1.25]),
    dialect=st.sampled_from(ALL),
    long_from=st.just(0),
).map(Provider.fitting)


class NeverDearer(RuleBasedStateMachine):
    """One session with and without Keepwhole."""

    options: ClassVar[dict[str, Any]] = {}

    @initialize(
        provider=providers,
        system=st.sampled_from([2_000, 8_000, 100_000]),
        tools=st.sampled_from([2_000, 8_000, 100_000]),
        client_compacts=st.booleans(),
        markers=st.sampled_from(MARKERS),
    )
    def begin(self, provider: Provider, system: int, tools: int, client_compacts: bool, markers: Markers) -> None:
        self.clock, self.steps, self.unaffordable = Clock(), 0, 0
        self.lent, self.is_before_batch = 0.0, False
        self.off = PricedSession(provider, self.clock, system, tools)
        self.on = ManagedSession(provider, self.clock, system, tools, client_compacts, **self.options)
        self.put_markers(markers)
        read = DEFAULT.read / provider.read if provider.told_read is None else provider.told_read
        is_told_wrong = read != 1.0 or provider.told_write != 1.0
        self.on.is_told_too_much = read > 1.0
        self.most = 1 + CAREFUL.max_loss * (2 if is_told_wrong else 1)

    @rule(count=COUNTS, result=LARGE, tool=tools, calls=st.integers(1, 3))
    def results_are_large(self, count: int, result: int, tool: str, calls: int) -> None:
        self.some_steps(count, Step(result=result, tool=tool, calls=calls))

    @rule(count=COUNTS, arguments=LARGE, result=SIZES, tool=tools)
    def arguments_are_large(self, count: int, arguments: int, result: int, tool: str) -> None:
        self.some_steps(count, Step(arguments=arguments, result=result, tool=tool))

    @rule(count=COUNTS, words=LARGE, result=SIZES, tool=tools)
    def the_model_says_much(self, count: int, words: int, result: int, tool: str) -> None:
        self.some_steps(count, Step(words=words, result=result, tool=tool))

    @rule(count=COUNTS, result=SIZES, tool=tools, repeats=st.booleans())
    def something_is_done(self, count: int, result: int, tool: str, repeats: bool) -> None:
        self.some_steps(count, Step(result=result, tool=tool, repeats=repeats))

    @rule(
        count=COUNTS,
        media=st.sampled_from(KINDS),
        result=st.sampled_from([20, 300, 7_000]),
        tool=st.sampled_from(["computer", "computer", "Read", "Task"]),
        calls=st.integers(1, 2),
        repeats=st.booleans(),
    )
    def images_are_returned(
        self, count: int, media: MediaKind, result: int, tool: str, calls: int, repeats: bool
    ) -> None:
        self.some_steps(count, Step(result=result, tool=tool, calls=calls, repeats=repeats, media=media))

    @rule(result=SIZES, tool=tools)
    def the_user_says_something(self, result: int, tool: str) -> None:
        self.take_step(Step(result=result, tool=tool, question=True))

    @rule(which=st.integers(0, 20), result=SIZES)
    def the_model_recalls_something(self, which: int, result: int) -> None:
        self.take_step(Step(result=result, recall=which))

    @rule(seconds=st.sampled_from(PAUSES))
    def nothing_happens_for_a_while(self, seconds: int) -> None:
        self.clock.pass_by(seconds)

    @rule(markers=st.sampled_from(MARKERS))
    def put_markers(self, markers: Markers) -> None:
        """Have other messages cached from now on.

        Not where the client would stop to have any cached in the middle of a session: that is noticed a few requests
        later, each of which costs ten times as much as it should.
        """
        if self.steps == 0 or markers not in ("system", "none"):
            self.off.markers = self.on.markers = markers

    @rule()
    def restart(self) -> None:
        self.on.restart()

    @precondition(lambda self: self.off.past and self.on.past and self.off.compactions == self.on.compactions)
    @rule(steps=st.integers(1, 12))
    def go_back(self, steps: int) -> None:
        """Take back the last steps; from there, the same rule may return to any other way.

        Not where the client has compacted with `mode: off` alone: there it goes back to less than we send.
        """
        most = min(steps, len(self.off.past), len(self.on.past))
        for session in (self.off, self.on):
            session.go_back(most)
        self.is_before_batch = self.on.is_before_batch

    @rule()
    def the_client_compacts(self) -> None:
        for session in (self.off, self.on):
            session.compact(self.steps)
        self.check()

    def some_steps(self, count: int, step: Step) -> None:
        for _ in range(count):
            self.take_step(step)

    def take_step(self, step: Step) -> None:
        sooner = self.off_compacting_now(step) if self.is_compacted_sooner() else None
        before, dearer = self.off.compactions, self.on.cost - self.off.cost
        for session in (self.off, self.on):
            session.step(self.steps, step)
        if self.is_before_batch:
            self.on.exempt += max(0.0, self.on.cost - self.off.cost - dearer)
            self.is_before_batch = False
        if sooner is not None:
            self.lent = sooner.cost - self.off.cost
        elif self.off.compactions > before:
            self.lent = 0.0
        self.steps += 1
        self.check()
        self.clock.pass_by(BETWEEN)

    def is_compacted_sooner(self) -> bool:
        """Whether the client is about to compact only because of the tools and of what was read back."""
        limit = COMPACT * self.on.provider.window
        return self.on.fills(limit) and not self.off.fills(limit) and self.off.fills(limit - self.on.added)

    def off_compacting_now(self, step: Step) -> PricedSession:
        """The session with `mode: off` after this step, if its client compacts before it."""
        ahead = deepcopy(self.off)
        ahead.compact(self.steps)
        ahead.step(self.steps, step)
        return ahead

    def over(self) -> float:
        """What the session has cost beyond `max_loss` more, or a cent."""
        off, on = self.off.cost + self.lent + self.written_sooner(), self.on
        over = on.cost - on.exempt - max(self.most * off, off + CENT)
        self.unaffordable += over > 0 and on.recalled > 0
        return over - on.recalled

    def written_sooner(self) -> float:
        """What it costs more that the last request was long enough to be cached only because of the recall tools."""
        provider = self.on.provider
        is_sooner = self.off.size < provider.minimum <= self.on.size
        return (provider.write_price - 1) * self.on.size if is_sooner else 0.0

    def check(self) -> None:
        over, off, on = self.over(), self.off, self.on
        assert over <= 0, (
            f"{on.cost:,.0f} instead of {off.cost:,.0f} is {over:,.0f} too much; {on.forced} forced, {on.recalls} "
            f"recalls, {off.compactions} and {on.compactions} compactions, {self.steps} steps"
        )

    def teardown(self) -> None:
        if hasattr(self, "on"):
            event("forced by the window" if self.on.forced else "nothing forced")
            event(f"dialect: {self.on.provider.dialect}")


class OldArguments(NeverDearer):
    """The same where the arguments of old calls are cut too."""

    options: ClassVar[dict[str, Any]] = {"auto": CAREFUL.replace(arguments="old")}


class Eager(NeverDearer):
    """The same with a policy that keeps no promise: it leaves results out whatever that costs."""

    options: ClassVar[dict[str, Any]] = {
        "auto": CAREFUL.replace(max_loss=1_000, worth=0, horizon=1_000, keep_steps=1, start=5_000)
    }


class OnlyForced(NeverDearer):
    """The same with nothing left out before the window forces it."""

    options: ClassVar[dict[str, Any]] = {"auto": CAREFUL.replace(horizon=0.001)}


def run(machine: type[NeverDearer], examples: int, **options: Any) -> None:
    some = settings(max_examples=examples, stateful_step_count=12, suppress_health_check=list(HealthCheck), **options)
    run_state_machine_as_test(machine, settings=some)


def test_wherever_it_ends_any_session_costs_no_more_than_with_mode_off() -> None:
    run(NeverDearer, 5, derandomize=True, phases=[Phase.generate])


def test_the_same_holds_where_the_arguments_of_old_calls_are_cut() -> None:
    run(OldArguments, 5, derandomize=True, phases=[Phase.generate])


def test_where_nothing_is_cached_a_second_summary_need_not_wait() -> None:
    """With `mode: off` the client compacts twice, and each request that carries more is paid in full."""
    session = OldArguments()
    session.begin(Provider(window=128_000), system=2_000, tools=2_000, client_compacts=False, markers="system")
    session.arguments_are_large(arguments=30_000, count=10, result=300, tool="Bash")
    session.arguments_are_large(arguments=7_000, count=10, result=300, tool="computer")
    session.something_is_done(count=20, repeats=False, result=30_000, tool="Read")
    assert session.off.compactions > 1


def test_without_a_cache_the_recall_tools_wait_until_something_is_left_out() -> None:
    """They are offered from the first request on, since adding them later would lose the cache: here, there is none."""
    session = NeverDearer()
    provider = Provider("none", write=1.0, lifetime=300, dialect="openai_chat")
    session.begin(provider, system=2_000, tools=2_000, client_compacts=False, markers="last")
    session.something_is_done(count=40, repeats=False, result=300, tool="Bash")
    assert session.on.size == session.off.size
    session.results_are_large(calls=1, count=3, result=30_000, tool="Bash")
    assert session.on.size < session.off.size
    session.the_model_recalls_something(which=0, result=300)
    assert session.on.recalls == 1


def test_a_price_told_twice_too_high_makes_a_batch_after_a_recall_seem_afforded() -> None:
    """It is within the bound but for what was read back, which such a price makes seem cheaper than it was."""
    session = NeverDearer()
    provider = Provider(lifetime=3_600, read=0.2, told_read=2.0, dialect="converse")
    session.begin(provider, system=2_000, tools=8_000, client_compacts=False, markers="two")
    session.the_model_recalls_something(result=30_000, which=0)
    session.the_user_says_something(result=300, tool="Bash")
    session.something_is_done(count=2, repeats=False, result=300, tool="Bash")
    session.the_model_recalls_something(result=300, which=0)
    session.images_are_returned(calls=1, count=8, media="screenshot", repeats=False, result=20, tool="computer")
    assert session.on.recalls == 1
    assert session.on.cost > 1.1 * session.off.cost
    session.images_are_returned(calls=1, count=40, media="screenshot", repeats=False, result=20, tool="computer")
    assert session.on.cost < session.off.cost


def test_a_client_that_has_only_its_system_prompt_cached_pays_for_no_marker_of_ours() -> None:
    """Such a marker wrote most of the messages to the cache, and seemed to be the client's: so all that it carried once
    the client with `mode: off` would have compacted was taken for cached."""
    session = NeverDearer()
    provider = Provider(lifetime=3_600, told_read=1.0, told_write=1.0)
    session.begin(provider, system=100_000, tools=100_000, client_compacts=False, markers="system")
    session.arguments_are_large(arguments=7_000, count=10, result=7_000, tool="Bash")
    session.results_are_large(calls=1, count=2, result=15_000, tool="Bash")
    session.something_is_done(count=10, repeats=True, result=300, tool="Bash")
    session.nothing_happens_for_a_while(seconds=200)
    session.the_model_says_much(count=5, result=7_000, tool="Read", words=30_000)
    session.images_are_returned(calls=2, count=10, media="file", repeats=True, result=300, tool="computer")
    session.something_is_done(count=30, repeats=True, result=300, tool="Task")
    assert session.off.compactions == 1


def test_a_client_that_compacts_a_request_sooner_because_of_the_tools_has_paid_no_more_a_request_later() -> None:
    session = NeverDearer()
    session.begin(Provider(window=128_000), system=2_000, tools=100_000, client_compacts=False, markers="last")
    session.images_are_returned(calls=1, count=10, media="photo", repeats=False, result=7_000, tool="computer")
    session.results_are_large(calls=1, count=7, result=30_000, tool="Read")
    assert session.on.compactions == 1
    assert session.off.compactions == 0
    assert session.lent > 0
    session.results_are_large(calls=1, count=1, result=30_000, tool="Read")
    assert session.on.compactions == 1
    assert session.off.compactions == 1
    assert session.lent == 0


def test_the_same_holds_where_it_compacts_sooner_because_of_what_was_read_back() -> None:
    session = NeverDearer()
    session.begin(Provider(window=128_000), system=100_000, tools=8_000, client_compacts=False, markers="top")
    session.the_model_says_much(count=5, result=2_000, tool="Task", words=15_000)
    session.the_model_recalls_something(result=30_000, which=18)
    session.the_model_recalls_something(result=7_000, which=15)
    session.arguments_are_large(arguments=30_000, count=2, result=7_000, tool="Task")
    session.images_are_returned(calls=2, count=3, media="document", repeats=False, result=300, tool="Task")
    assert session.on.recalls
    assert session.on.compactions == 1
    assert session.off.compactions == 0
    assert session.lent > 0
    session.images_are_returned(calls=2, count=1, media="document", repeats=False, result=300, tool="Task")
    assert session.off.compactions == 1
    assert session.lent == 0


def test_a_request_that_is_cached_sooner_because_of_the_tools_has_cost_no_more_a_request_later() -> None:
    session = NeverDearer()
    provider = Provider(minimum=4_096, lifetime=3_600, read=0.2)
    session.begin(provider, system=2_000, tools=2_000, client_compacts=False, markers="last")
    session.the_user_says_something(result=7_000, tool="Bash")
    session.something_is_done(count=2, repeats=False, result=2_000, tool="Bash")
    assert session.written_sooner() > 0
    session.something_is_done(count=1, repeats=False, result=2_000, tool="Bash")
    assert session.written_sooner() == 0
    assert session.on.cost < session.off.cost + CENT


def test_a_client_that_compacts_right_after_a_forced_batch_is_shown_only_what_is_afforded() -> None:
    session = OnlyForced()
    session.begin(Provider("prefixes", write=1.0), system=8_000, tools=8_000, client_compacts=True, markers="two")
    session.images_are_returned(calls=1, count=26, media="document", repeats=False, result=300, tool="computer")
    assert session.on.forced
    assert session.on.compactions == session.off.compactions == 0
    session.the_client_compacts()


def test_going_back_to_before_a_batch_costs_at_most_writing_once_what_is_sent() -> None:
    session = OldArguments()
    session.begin(Provider(told_read=2.0), system=2_000, tools=2_000, client_compacts=True, markers="last")
    session.arguments_are_large(arguments=30_000, count=2, result=7_000, tool="Task")
    session.images_are_returned(calls=2, count=20, media="image by URL", repeats=False, result=20, tool="Read")
    session.go_back(steps=8)
    assert session.is_before_batch
    session.the_model_says_much(count=20, result=7_000, tool="Task", words=7_000)
    assert 0 < session.on.exempt < 1.25 * 30_000


def test_a_batch_reads_what_the_cache_has_also_many_blocks_before_its_first_change() -> None:
    session = NeverDearer()
    provider = Provider(window=1_000_000, lifetime=3_600, told_read=2.0)
    session.begin(provider, system=2_000, tools=2_000, client_compacts=False, markers="last")
    session.arguments_are_large(arguments=7_000, count=20, result=7_000, tool="computer")
    session.arguments_are_large(arguments=15_000, count=5, result=2_000, tool="Read")
    session.images_are_returned(calls=1, count=20, media="image by URL", repeats=True, result=300, tool="Task")
    session.images_are_returned(calls=2, count=24, media="document by URL", repeats=True, result=20, tool="computer")
    batches = [bill for bill in session.on.till.bills if 2 * bill.read < bill.tokens]
    assert [bill.tokens < 20_000 for bill in batches] == [True] * len(batches), "all of it was written again"


def test_a_clients_own_compaction_is_shown_nothing_whole_whose_size_nobody_knows() -> None:
    session = NeverDearer()
    session.begin(Provider(window=128_000), system=2_000, tools=2_000, client_compacts=True, markers="none")
    session.images_are_returned(calls=1, count=20, media="document by URL", repeats=False, result=20, tool="computer")
    session.results_are_large(calls=1, count=10, result=15_000, tool="Bash")
    session.the_client_compacts()  # the provider refuses a request that is larger than the window


def test_a_document_whose_pages_nobody_knows_is_not_thought_to_save_more_than_it_does() -> None:
    session = NeverDearer()
    provider = Provider(minimum=4_096, lifetime=3_600, read=0.2)
    session.begin(provider, system=8_000, tools=2_000, client_compacts=True, markers="last")
    session.images_are_returned(calls=2, count=20, media="file", repeats=True, result=300, tool="Task")
    session.the_model_recalls_something(result=300, which=14)
    assert session.on.recalls
    session.the_client_compacts()


def test_what_costs_nothing_is_left_out_even_where_recalls_have_used_up_the_budget() -> None:
    session = OldArguments()
    session.begin(Provider(), system=2_000, tools=2_000, client_compacts=False, markers="none")
    session.arguments_are_large(arguments=7_000, count=2, result=300, tool="Bash")
    for size, which in ((300, 18), (30_000, 17), (2_000, 9), (300, 9)):
        session.the_model_recalls_something(result=size, which=which)
    session.arguments_are_large(arguments=15_000, count=5, result=7_000, tool="Read")
    lent = session.on.recalled
    assert session.on.cost > session.most * session.off.cost
    session.nothing_happens_for_a_while(seconds=3_700)
    session.the_client_compacts()
    assert session.on.recalled >= lent
    session.results_are_large(calls=1, count=10, result=7_000, tool="Bash")


def test_a_policy_that_keeps_no_promise_is_caught() -> None:
    session = Eager()
    session.begin(Provider(), system=8_000, tools=8_000, client_compacts=False, markers="last")
    with pytest.raises(AssertionError, match="too much"):
        session.the_model_says_much(count=40, words=7_000, result=2_000, tool="Bash")


@pytest.mark.torture
@pytest.mark.timeout(0)
def test_wherever_any_of_many_sessions_ends_it_costs_no_more_than_with_mode_off() -> None:
    run(NeverDearer, 400)


@pytest.mark.torture
@pytest.mark.timeout(0)
def test_wherever_any_of_many_sessions_ends_in_which_arguments_are_cut_it_costs_no_more_than_with_mode_off() -> None:
    run(OldArguments, 400)
