"""The tasks of the live proof: the same for the same seed, as long as they say, solvable, and not by guessing."""

import random

import pytest

from bench.live import texts
from bench.live.families import FAMILIES, SEEDS, make_task, task_ids
from bench.live.picture import read_comment
from bench.live.task import CHARS_PER_TOKEN, LENGTHS, Returned, Task
from keepwhole.models.tokens import estimate
from tests.upstream.prompt import tokens_of, words_of


def follow_plan(task: Task) -> tuple[dict[str, str], list[Returned]]:
    """The facts that a task's plan finds, and what each call returned."""
    world, values, results = task.begin(), dict[str, str](), list[Returned]()
    for at, step in enumerate(task.plan):
        results.append(world(step.tool, step.filled(values)))
        for name, fact in task.facts.items():
            if fact.step == at:
                text = read_comment(results[-1].image or b"") if fact.is_pictured else results[-1].text
                values[name] = fact.read(text) or ""
    return values, results


def size_of(results: list[Returned]) -> float:
    tokens = sum(len(result.text) for result in results) / CHARS_PER_TOKEN
    return tokens + sum(560 * 420 / 784 for result in results if result.image)


def test_there_are_six_families_and_four_seeds_at_least() -> None:
    assert len(FAMILIES) >= 6
    assert len(SEEDS) >= 4
    assert len(set(task_ids("64k"))) == len(FAMILIES) * len(SEEDS)


@pytest.mark.parametrize("task_id", task_ids("16k"))
def test_the_plan_of_a_task_leads_to_its_answer_and_no_other_answer_counts(task_id: str) -> None:
    task = make_task(task_id)
    values, results = follow_plan(task)
    assert task.answer({name: values[name] for name in task.needed}) == task.expected
    assert task.is_solved(f"I think so.\nANSWER: {task.expected}")
    assert not task.is_solved(f"ANSWER: {task.expected}\nANSWER: unknown")
    assert not task.is_solved(task.expected)
    assert task.expected not in task.prompt
    assert size_of(results) == pytest.approx(LENGTHS["16k"], rel=0.15)
    make_task.cache_clear()
    assert follow_plan(make_task(task_id))[1] == results, "the same seed gives the same bytes"


@pytest.mark.parametrize("family", FAMILIES)
def test_a_fact_is_told_by_one_result_and_a_wrong_one_is_refused(family: str) -> None:
    task = make_task(f"{family}-2-16k")
    _, results = follow_plan(task)
    for fact in task.facts.values():
        others = [result for at, result in enumerate(results) if at != fact.step]
        same_key = [one for one in task.facts.values() if one.pattern == fact.pattern]
        if len(same_key) == 1 and not fact.is_pictured:
            assert not any(fact.read(result.text) for result in others)
    world = task.begin()
    tool = task.plan[-1].tool
    assert world(tool, {key: "wrong" for key in task.plan[-1].arguments}).is_error


def test_longer_tasks_have_more_results_or_longer_ones() -> None:
    for family in FAMILIES:
        short, long = (follow_plan(make_task(f"{family}-1-{length}"))[1] for length in ("16k", "64k"))
        assert sum(len(result.text) for result in long) > 3 * sum(len(result.text) for result in short)


def test_the_rule_of_the_third_result_decides_after_step_forty() -> None:
    task = make_task("early_rule-1-16k")
    assert task.facts["depot"].step == 2
    assert task.plan[39].tool == "get_order"
    assert "{depot}" in task.plan[40].arguments["depot"]


VOCABULARY = {"prose": 4_370, "log": 7_335, "source": 6_372}
"""Tokens of 20,000 characters of each by the vocabulary of OpenAI; `test_the_counts_of_the_vocabulary_are_exact`."""


def some_text(kind: str) -> str:
    return getattr(texts, kind)(random.Random(1), 20_000)


@pytest.mark.parametrize(("kind", "by_bytes"), [("prose", 1.39), ("log", 0.83), ("source", 0.95)])
def test_a_script_that_counts_words_bills_nearly_what_the_vocabulary_has(kind: str, by_bytes: float) -> None:
    text = some_text(kind).encode()
    assert words_of(text) == pytest.approx(VOCABULARY[kind], rel=0.06)
    assert tokens_of(text) / VOCABULARY[kind] == pytest.approx(by_bytes, abs=0.005)


def test_keepwhole_estimates_the_prose_of_tasks_seven_percent_too_high() -> None:
    assert estimate(some_text("prose")) / VOCABULARY["prose"] == pytest.approx(1.07, abs=0.005)


def test_the_counts_of_the_vocabulary_are_exact() -> None:
    splintr = pytest.importorskip("splintr", reason="needs splintr-rs")
    counter = splintr.Tokenizer.from_pretrained("o200k_base")
    assert {kind: len(counter.encode(some_text(kind))) for kind in VOCABULARY} == VOCABULARY
