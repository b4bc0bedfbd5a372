"""The policy `auto`: what it leaves alone, what it cuts, what it ages and when."""

import time

import pytest

from keepwhole.canonical.message import Call, Message, ResultText
from keepwhole.models.ledger import Costs, Ledger, SentRequest
from keepwhole.models.profiles import DEFAULT
from keepwhole.models.unmanaged import ClientRequest
from keepwhole.policies.auto import Auto
from keepwhole.policies.policy import Choice, Situation, TrackedChoices
from keepwhole.policies.settings import CAREFUL, AutoSettings
from keepwhole.policies.transcript import Name, Transcript

SMALL = CAREFUL.replace(
    start=1_000,
    clear_at_least=100,
    min_tokens=20,
    worth=0,
    horizon=1_000,
    keep={"shell": 1, "read": 2},
    keep_steps=1,
)
HERE = Situation(DEFAULT)


def words(seed: int, lines: int = 60) -> str:
    return "".join(f"part {seed} has line {line} of plain words\n" for line in range(lines))


def transcript(*texts: str, tool: str = "bash", task: str = "Find out.") -> Transcript:
    made = Transcript()
    made.extend([Message("user", task)])
    for number, text in enumerate(texts):
        made.extend([Message("assistant", calls=(Call(f"c{number}", tool, f'{{"command": "step {number}"}}'),))])
        made.extend([Message("tool", returned=(ResultText(f"c{number}", ("content",), text),))])
    for item in made.items:
        item.name = Name(f"trace_{item.number:022}", f"art_1_{item.number:022}")
    return made


def aged(made: Transcript, settings: AutoSettings = SMALL, decided: dict[int, Choice] | None = None) -> list[int]:
    return [choice.number for choice in Auto(settings).age(made, decided or {}, HERE)]


def test_nothing_ages_below_the_budget() -> None:
    made = transcript(*map(words, range(6)))
    assert aged(made, SMALL.replace(start=made.tokens + 1)) == []
    assert aged(made, SMALL.replace(start=made.tokens)) != []


def test_the_newest_of_a_kind_stay() -> None:
    assert aged(transcript(*map(words, range(5)))) == [0, 1, 2, 3]
    assert aged(transcript(*map(words, range(5)), tool="read_file")) == [0, 1, 2]


def test_a_batch_that_frees_too_little_or_never_pays_is_not_made() -> None:
    made = transcript(*map(words, range(5)))
    assert aged(made, SMALL.replace(clear_at_least=made.tokens)) == []
    assert aged(made, SMALL.replace(horizon=0.001)) == []
    assert aged(made, SMALL.replace(worth=1_000_000)) == []


def test_small_pinned_and_unnamed_results_stay() -> None:
    made = transcript(words(0), "short", words(2), words(3), words(4))
    made.items[2].pinned = True
    made.items[3].name = None
    assert aged(made) == [0]


def test_an_open_error_stays_until_the_same_call_succeeds() -> None:
    error = words(0) + "Error: the disk is full\n"
    made = transcript(error, *map(words, range(1, 5)))
    assert 0 not in aged(made)
    made.extend([Message("assistant", calls=(Call("again", "bash", '{"command": "step 0"}'),))])
    made.extend([Message("tool", returned=(ResultText("again", ("content",), words(9)),))])
    assert 0 in aged(made)


def test_what_the_user_took_up_stays() -> None:
    made = transcript(words(0) + "ticket INV-20431-77\n", *map(words, range(1, 5)))
    assert 0 in aged(made)
    made.extend([Message("user", "What about INV-20431-77?")])
    assert 0 not in aged(made)


def test_reads_are_whole_on_arrival_and_shells_are_capped() -> None:
    long = words(0, 600)
    for tool, cut in (("read_file", False), ("bash", True), ("Task", False)):
        made = transcript(long, tool=tool)
        assert bool(Auto().arrive(made, made.items, {}, HERE)) is cut, tool


def test_a_repeat_points_to_an_earlier_result_only_while_that_is_whole() -> None:
    made = transcript(words(1), words(1))
    (choice,) = Auto(SMALL).arrive(made, made.items[1:], {}, HERE)
    assert (choice.number, choice.rule) == (1, "repeat")
    hidden = {0: Auto(SMALL).age(transcript(*map(words, range(1, 6))), {}, HERE)[0]}
    assert Auto(SMALL).arrive(made, made.items[1:], hidden, HERE) == []


def test_a_result_that_others_point_to_does_not_age_before_them() -> None:
    made = transcript(words(1), words(2), words(3), words(4), words(1))
    (pointer,) = [c for c in Auto(SMALL).arrive(made, made.items[4:], {}, HERE) if c.rule == "repeat"]
    assert 0 not in aged(made, decided={4: pointer})


def test_the_window_forces_what_the_budget_would_not() -> None:
    made = transcript(*map(words, range(6)))
    tight = Situation(DEFAULT.replace(window=made.tokens))
    assert Auto(SMALL.replace(clear_at_least=10**9)).age(made, {}, tight)


def test_a_batch_waits_until_a_run_is_so_long_that_it_pays() -> None:
    ages = SMALL.replace(horizon=1.0)
    carried = [bool(aged(transcript(words(0, 300), *map(words, range(1, many))), ages)) for many in range(2, 20)]
    assert carried[0] is False
    assert carried[-1] is True
    assert carried == sorted(carried)


def test_the_dearer_a_rewrite_is_the_later_it_comes() -> None:
    ages = SMALL.replace(horizon=1.0)

    def first(read: float) -> int:
        there = Situation(DEFAULT.replace(read=read))
        many = range(2, 60)
        runs = ((one, transcript(words(0, 300), *map(words, range(1, one)))) for one in many)
        return next(one for one, made in runs if Auto(ages).age(made, {}, there))

    assert first(0.1) < first(0.05) < first(0.02)


def test_results_from_before_the_users_last_words_are_needed_less() -> None:
    ages = SMALL.replace(worth=9_000, keep={})
    made = transcript(*map(words, range(4)))
    assert aged(made, ages) == []
    made.extend([Message("user", "Now something else.")])
    made.extend([Message("assistant", calls=(Call("next", "bash", '{"command": "other"}'),))])
    made.extend([Message("tool", returned=(ResultText("next", ("content",), words(9)),))])
    assert aged(made, ages) == [0, 1, 2, 3]


def test_words_beside_a_result_are_not_the_users() -> None:
    made = transcript(*map(words, range(4)))
    made.extend([Message("user", "A reminder.", returned=(ResultText("c3", ("content",), "done"),))])
    assert made.next_user_turn(made.items[0]) is None


def test_with_a_cold_cache_everything_that_is_getting_old_ages() -> None:
    slow = SMALL.replace(horizon=0.001)
    made = transcript(*map(words, range(5)))
    assert [choice.number for choice in Auto(slow).age(made, {}, HERE._replace(cold=True))] == [0, 1, 2, 3]


def test_when_it_must_the_oldest_for_their_kind_age_first_and_only_as_many_as_needed() -> None:
    made = transcript(*map(words, range(40)))
    slow = SMALL.replace(horizon=0.001, most=made.tokens - 10)
    gone = aged(made, slow)
    assert gone == list(range(len(gone)))
    assert 28 < len(gone) < 38, "down to a quarter, so that the next time is far away"


def test_nothing_is_forced_where_it_would_be_in_vain() -> None:
    made = transcript(*map(words, range(8)))
    made.extend([Message("user", words(99, 2_000))])
    assert aged(made, SMALL.replace(horizon=0.001, most=made.tokens - 10)) == []


def test_nothing_is_forced_below_nine_tenths_of_any_window() -> None:
    made = transcript(*map(words, range(40)))
    slow = Auto(SMALL.replace(horizon=0.001))
    for share, is_forced in ((0.89, False), (0.91, True)):
        window = int(made.tokens / share)
        assert bool(slow.age(made, {}, Situation(DEFAULT.replace(window=window)))) is is_forced


def test_the_last_five_steps_stay_while_there_is_room() -> None:
    assert aged(transcript(*map(words, range(9))), SMALL.replace(keep_steps=5)) == [0, 1, 2, 3]


def test_a_batch_is_made_only_if_it_is_afforded() -> None:
    made = transcript(*map(words, range(20)))
    request = SentRequest(made.tokens, made.tokens, ClientRequest(2 * made.tokens, 0))
    ends = list(range(1, 42, 2))
    chosen = {
        paid: bool(Auto(SMALL).age(made, {}, HERE._replace(costs=Costs(_ledger(paid), request, DEFAULT, ends))))
        for paid in (0, 10**6)
    }
    assert chosen == {0: True, 10**6: False}


@pytest.mark.parametrize(("share", "paid", "is_made"), [(0.91, 0, True), (0.91, 10**6, False), (1.1, 10**6, True)])
def test_a_batch_that_the_window_forces_is_made_if_it_is_afforded_or_else_refused(
    share: float, paid: float, is_made: bool
) -> None:
    """Below the window a summary makes room for less."""
    made = transcript(*map(words, range(40)))
    profile = DEFAULT.replace(window=int(made.tokens / share))
    request = SentRequest(made.tokens, made.tokens, ClientRequest(2 * made.tokens, 0))
    there = Situation(profile, costs=Costs(_ledger(paid), request, profile, list(range(1, 82, 2))))
    assert bool(Auto(SMALL).age(made, {}, there)) is is_made


def _ledger(paid: float) -> Ledger:
    """A conversation that would have cost nothing yet with `mode: off`, and has cost so much."""
    ledger = Ledger()
    ledger.paid = paid
    return ledger


def test_forgotten_messages_are_no_longer_asked_about() -> None:
    made = transcript(words(0))
    made.extend([Message("user", "And now?")])
    assert made.next_user_turn(made.items[0]) == 1
    made.cut_back(3)
    assert made.next_user_turn(made.items[0]) is None


def grown(
    turns: int, settings: AutoSettings, *, reads: int = 1
) -> tuple[Transcript, dict[int, Choice], list[list[Choice]]]:
    """A conversation fed step by step, the choices that hold at its end, and what each request chose with age."""
    made = Transcript()
    made.extend([Message("user", "Find out.")])
    decided: dict[int, Choice] = {}
    batches: list[list[Choice]] = []
    for turn in range(turns):
        ids = [f"c{turn}_{at}" for at in range(reads)]
        made.extend([Message("assistant", calls=tuple(Call(one, "bash", f'{{"command": "{one}"}}') for one in ids))])
        for one in ids:
            made.extend([Message("tool", returned=(ResultText(one, ("content",), words(turn * reads + len(one))),))])
        new = made.items[turn * reads :]
        for item in new:
            item.name = Name(f"trace_{item.number:022}", f"art_1_{item.number:022}")
        policy = Auto(settings)
        decided |= {choice.number: choice for choice in policy.arrive(made, new, decided, HERE)}
        batches.append(policy.age(made, decided, HERE))
        assert policy.age(made, decided, HERE) == batches[-1], "the same transcript and decisions, the same choices"
        decided |= {choice.number: choice for choice in batches[-1]}
    return made, decided, batches


@pytest.mark.parametrize("reads", [1, 3])
def test_a_policy_made_anew_at_every_request_chooses_as_one_that_stays(reads: int) -> None:
    settings = SMALL.replace(horizon=5, clear_at_least=1_000)
    made, decided, batches = grown(30, settings, reads=reads)
    held = TrackedChoices()
    held.open.update(dict.fromkeys(range(len(made.items))))
    for number, choice in decided.items():
        held.hold(made.items[number], choice)
    assert sum(map(bool, batches)) > 1
    assert Auto(settings).age(made, held, HERE) == Auto(settings).age(made, decided, HERE)


def test_the_results_of_the_newest_step_never_age_even_if_the_window_forces_it() -> None:
    made = transcript(*map(words, range(4)))
    last = [Call(f"p{at}", "bash", f'{{"command": "last {at}"}}') for at in range(3)]
    made.extend([Message("assistant", calls=tuple(last))])
    made.extend([Message("tool", returned=(ResultText(call.call_id, ("content",), words(50)),)) for call in last])
    for item in made.items:
        item.name = Name(f"trace_{item.number:022}", f"art_1_{item.number:022}")
    tiny = Situation(DEFAULT.replace(window=1_000))
    assert [choice.number for choice in Auto(SMALL).age(made, {}, tiny)] == [0, 1, 2, 3]


@pytest.mark.parametrize("window", [3_000, 6_000, 12_000, 24_000])
def test_when_it_must_a_request_comes_under_the_limit_or_all_has_gone_that_may(window: int) -> None:
    made = transcript(*map(words, range(30)), "short")
    made.items[3].pinned = True
    there = Situation(DEFAULT.replace(window=window))
    chosen = {choice.number: choice for choice in Auto(SMALL).age(made, {}, there)}
    left = made.tokens - sum(made.items[number].tokens - choice.tokens for number, choice in chosen.items())
    assert left <= SMALL.ceiling * window or set(chosen) == set(range(30)) - {3}
    assert 3 not in chosen
    assert 30 not in chosen


def test_hundreds_of_open_results_are_judged_in_about_a_millisecond() -> None:
    made = transcript(*(words(number, 10) for number in range(500)))
    patient = Auto(CAREFUL.replace(horizon=0.001, start=1_000, most=10_000_000))
    roomy = Situation(DEFAULT.replace(window=20_000_000))
    times: list[float] = []
    for _ in range(30):
        began = time.thread_time()
        assert patient.age(made, {}, roomy) == []
        times.append(time.thread_time() - began)
    assert min(times) < 0.003, "0.6 ms on an idle machine"
