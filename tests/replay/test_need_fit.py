"""Fitting the weights of need: what made the samples is found again, and what is held back decides."""

import random
from math import log
from pathlib import Path

import pytest

from keepwhole.policies.need import need_of
from keepwhole.policies.settings import CAREFUL, NeedWeights
from keepwhole.policies.uses import ResultUse
from keepwhole.replay.need_fit import auc, fit, lost_at
from keepwhole.replay.need_samples import MOST, NeedSample, samples
from keepwhole.replay.tuned_weights import TunedWeights, settings_text
from tests.replay.recorded import calls, facts, result, run, user

TRUE = NeedWeights(base=0.2, unsaid=0.4, turns=-0.6, user=-0.5, again=0.2, written=0.5)


def made_by(weights: NeedWeights, many: int, seed: int = 1) -> list[NeedSample]:
    chance = random.Random(seed)
    return [_sample(weights, chance) for _ in range(many)]


def _sample(weights: NeedWeights, chance: random.Random) -> NeedSample:
    sample = NeedSample(
        tokens=chance.randint(100, 9_000),
        unsaid=chance.randint(0, 60),
        turns=chance.randint(1, 80),
        messages=chance.choice((0, 0, 1, 3)),
        again=chance.random() < 0.3,
        written=chance.random() < 0.3,
        used=0,
    )
    expected, used, product = need(sample, weights), 0, chance.random()
    while product > 2.718281828**-expected and used < 50:
        used, product = used + 1, product * chance.random()
    return sample._replace(used=used)


def need(sample: NeedSample, weights: NeedWeights = TRUE) -> float:
    use = ResultUse(1)
    use.unsaid, use.again, use.written = sample.unsaid, sample.again, sample.written
    return need_of(use, sample.turns, sample.messages, weights=weights)


def test_the_weights_that_made_the_samples_are_found_again() -> None:
    found = fit(made_by(TRUE, 6_000))
    for name in ("unsaid", "turns", "user"):
        assert getattr(found, name) == pytest.approx(getattr(TRUE, name), abs=0.1), name
    for name in ("base", "again", "written"):
        assert log(getattr(found, name)) == pytest.approx(log(getattr(TRUE, name)), abs=0.3), name


def test_weights_never_leave_their_ranges() -> None:
    upside_down = [sample._replace(used=min(MOST, sample.turns // 10)) for sample in made_by(TRUE, 500)]
    assert fit(upside_down).turns == 0.0
    forgotten = [sample._replace(used=0 if sample.messages else 3) for sample in made_by(TRUE, 500)]
    assert fit(forgotten).user == -1.0


def test_a_prediction_that_knows_orders_better_than_none() -> None:
    those = made_by(TRUE, 2_000, seed=2)
    assert auc(those, need) > 0.7 > 0.55 > auc(those, lambda _: 1.0) - 0.05
    assert lost_at(those, need, 0.6) < lost_at(those, lambda sample: -need(sample), 0.6)
    assert auc([], need) == 0.5


def test_samples_tell_what_the_next_turns_take_from_each_result() -> None:
    long = "plain words\n" * 200
    steps = [(calls(tool="get", q=f"q{n}"), result(f"order_{n:04} {long}")) for n in range(12)]
    late = calls(tool="pay", id="order_0001")
    one = facts(run(user("go"), *(message for step in steps for message in step), late))
    found = list(samples(one))
    assert sum(sample.used for sample in found) >= 1
    assert all(sample.used == 0 for sample in found if sample.unsaid == 0)


def test_the_settings_that_are_written_put_the_weights_in_force(tmp_path: Path) -> None:
    from keepwhole.config import load

    file = tmp_path / "tuned.yaml"
    file.write_text(settings_text(TRUE, "command"), encoding="utf-8")
    assert load(str(file), environ={}).auto == CAREFUL.replace(need={n: getattr(TRUE, n) for n in NeedWeights.fields})


def test_better_means_no_less_evidence_and_no_more_cost() -> None:
    from types import SimpleNamespace

    def row(kept: float, cost: float) -> object:
        evidence = SimpleNamespace(in_context=SimpleNamespace(value=kept), pieces=1_000)
        return SimpleNamespace(evidence=evidence, cost=SimpleNamespace(all_in_context=SimpleNamespace(value=cost)))

    def is_better(after: tuple[float, float], fitted_to: int = 1_000) -> bool:
        return TunedWeights(TRUE, fitted_to, row(0.98, 0.7), row(*after)).is_better  # type: ignore[arg-type]

    assert is_better((0.99, 0.7))
    assert is_better((0.98, 0.69))
    assert not is_better((0.99, 0.71))
    assert not is_better((0.979, 0.5))
    assert not is_better((0.98, 0.7))
    assert not is_better((0.99, 0.6), fitted_to=299)


def sampled(*sizes: int) -> list[NeedSample]:
    """The samples of a run with results of these sizes, the first of which is copied by the last call."""
    known = " ".join(f"order_{number:04}" for number in range(8))
    results = [known.ljust(size) if not at else "y" * size for at, size in enumerate(sizes)]
    turns = [(calls(f"c{at}", q="x"), result(text, f"c{at}")) for at, text in enumerate(results)]
    last = calls("last", ids=known)
    return list(samples(facts(run(user("go"), *(message for turn in turns for message in turn), last))))


@pytest.mark.parametrize(
    ("steps", "at"), [(6, []), (7, [7]), (9, [7]), (10, [7, 10]), (16, [7, 10, 13, 16]), (79, [*range(6, 79, 4)])]
)
def test_all_results_are_sampled_at_some_twenty_turns_behind_the_fifth(steps: int, at: list[int]) -> None:
    assert len(sampled(*[100] * steps)) == sum(at)


def test_results_of_a_hundred_tokens_are_samples_and_five_uses_count_at_most() -> None:
    found = sampled(*[100, 99, 100, 101], *[3] * 5)
    assert [sample.tokens for sample in found] == [100, 100, 101]
    assert [sample.used for sample in found] == [5, 0, 0]
