"""Live runs: never over the budget, resumed where they ended, in random order, with every failure charged."""

import json
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench.live.__main__ import main
from bench.live.arms import check_arm, head_tail
from bench.live.budget import Budget
from bench.live.meter import Provider
from bench.live.oracle import PlanOracle
from bench.live.prices import prices_of
from bench.live.runner import Plan, due_runs, read_rows, run_all
from bench.live.task import Returned
from keepwhole.wire.usage import Usage
from tests.upstream.answer import Answer, refusal
from tests.upstream.prompt_cache import Breakpoints, Clock
from tests.upstream.server import Upstream, upstream
from tests.upstream.spelling import Json

MODEL = "claude-haiku-4-5"
TASKS = ("reconciliation-1-16k", "config_drift-1-16k", "flaky_tool-1-16k")
SECRET = "sk-ant-never-write-this"


@contextmanager
def oracle(model: Callable[[Json], object] | None = None) -> Generator[tuple[Upstream, Breakpoints]]:
    till = Breakpoints(Clock(), minimum=4_096)
    with upstream(model or PlanOracle(), till) as served:  # type: ignore[arg-type]
        yield served, till


def run(served: Upstream, out: Path, dollars: float, tasks: tuple[str, ...] = TASKS, jobs: int = 1) -> bool:
    plan = Plan(MODEL, "16k", ("direct", "head-tail"), tasks, jobs=jobs)
    provider = Provider(served.url, "anthropic", prices_of(MODEL), SECRET, pause=0)
    spent = sum(row["dollars"] for row in read_rows(out))
    return run_all(plan, provider, Budget(dollars, spent), out, lambda words: None)


def test_the_budget_is_never_exceeded_and_a_later_run_goes_on(tmp_path: Path) -> None:
    out, prices = tmp_path / "runs.jsonl", prices_of(MODEL)
    with oracle() as (served, till):
        assert not run(served, out, 0.1, jobs=2)
        cut_short = read_rows(out)
        billed = sum(prices.dollars(Usage(bill.tokens, bill.read, bill.written, 100)) for bill in till.bills)
        assert 0.01 < billed <= 0.1
        assert sum(row["dollars"] for row in cut_short) <= 0.1
        assert any(row["outcome"] == "unfinished" for row in cut_short)
        assert run(served, out, 5.0)
        asked = len(served.asked)
        assert run(served, out, 5.0), "there is nothing left to do"
        assert len(served.asked) == asked
    done = [row for row in read_rows(out) if row["outcome"] != "unfinished"]
    assert Counter((row["task"], row["arm"]) for row in done) == Counter(
        (task, arm) for task in TASKS for arm in ("direct", "head-tail")
    )


def test_failures_are_tried_again_and_what_nobody_knows_the_price_of_is_charged_in_full(tmp_path: Path) -> None:
    model, answers = PlanOracle(), iter((429, 529, "torn", "no usage"))

    def sick(body: Json) -> object:
        trouble = next(answers, None)
        if trouble is None:
            return model(body)
        if trouble == "torn":
            return Answer(model(body), after=10, then="reset")
        if trouble == "no usage":
            return Answer(body=b'{"content": [{"type": "text", "text": "ANSWER: 1"}]}')
        return refusal("anthropic", trouble, "later")

    out = tmp_path / "runs.jsonl"
    with oracle(sick) as (served, _):
        assert run(served, out, 5.0, ("reconciliation-1-16k",))
    first = min(read_rows(out), key=lambda row: row["steps"])
    assert (first["retries"], first["unknown"], first["outcome"]) == (3, 2, "wrong")
    assert first["dollars"] > 0.02, "both are charged at the most that they can cost"


def test_a_request_that_is_refused_fails_the_run_and_is_told(tmp_path: Path) -> None:
    out = tmp_path / "runs.jsonl"
    with oracle(lambda body: refusal("anthropic", 400, "prompt is too long: 9 tokens > 8 maximum")) as (served, _):
        assert run(served, out, 5.0, ("reconciliation-1-16k",))
    assert {row["outcome"] for row in read_rows(out)} == {"too long"}


def test_a_proxy_that_goes_around_the_meter_is_an_error(tmp_path: Path) -> None:
    out = tmp_path / "runs.jsonl"
    with oracle() as (served, _):
        plan = Plan(MODEL, "16k", (f"proxy:{served.url}",), TASKS[:1])
        run_all(plan, Provider("http://unused", "anthropic", prices_of(MODEL), "k"), Budget(5), out, lambda words: None)
    assert "meter" in read_rows(out)[0]["problem"]


def test_the_key_reaches_the_provider_and_nothing_else(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "runs.jsonl"
    with oracle() as (served, _):
        run(served, out, 5.0, TASKS[:1])
        assert {asked.headers["x-api-key"] for asked in served.asked} == {SECRET}
    assert SECRET not in out.read_text() + "".join(capfd.readouterr())


def test_arms_of_a_task_follow_each_other_in_random_order() -> None:
    arms = ("direct", "keepwhole", "clear")
    plan = Plan(MODEL, "16k", arms, tuple(f"early_id-{seed}-16k" for seed in range(1, 5)), repeats=3)
    order = due_runs(plan)
    blocks = [order[at : at + 3] for at in range(0, len(order), 3)]
    assert all(len({(run.task, run.repeat) for run in block}) == 1 for block in blocks)
    assert all({run.arm for run in block} == set(arms) for block in blocks)
    assert len({block[0].arm for block in blocks}) > 1
    assert order == due_runs(plan) != due_runs(plan._replace(order_seed=2))
    assert len(set(order)) == 36


def test_repeated_calls_are_counted(tmp_path: Path) -> None:
    out = tmp_path / "runs.jsonl"
    with oracle() as (served, _):
        run(served, out, 5.0, ("same_file-1-16k",))
    assert {row["arm"]: row["repeated"] for row in read_rows(out)}["direct"] == 4, "the file is read five times"


def test_an_unknown_arm_says_which_there_are() -> None:
    check_arm("keepwhole:lean+auto.start=3000", "openai_chat")
    for wrong, dialect in (("keephole", "anthropic"), ("clear", "openai_chat"), ("direct:1", "anthropic")):
        with pytest.raises(ValueError, match="`"):
            check_arm(wrong, dialect)


def test_head_tail_keeps_both_ends_and_nothing_else() -> None:
    shown = head_tail(Returned("a" * 6_000 + "b" * 6_000)).text
    assert shown.startswith("a" * 4_000 + "\n... [4,000")
    assert shown.endswith("b" * 4_000)
    assert head_tail(Returned("a" * 8_000)).text == "a" * 8_000


def test_one_command_runs_without_a_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "runs.jsonl"
    given = f"--model gpt-5 --arms direct,head-tail --length 16k --max-dollars 3 --seeds 1 --oracle plan --out {out}"
    assert main([*given.split(), "--families", "config_drift"]) == 0
    printed = capsys.readouterr()
    assert "No model was asked" in printed.out
    assert "2/2" in printed.err
    assert out.with_suffix(".md").read_text() in printed.out
    assert json.loads(out.read_text().splitlines()[0])["oracle"] == "plan"


def test_without_a_key_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(SystemExit, match="ANTHROPIC_API_KEY"):
        main(["--model", MODEL, "--max-dollars", "1"])


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("--families x", "Families: early_id"),
        ("--prices 1,2", "four prices"),
        ("--arms x", "Arms:"),
        ("--max-dollars nan", "a number of dollars"),
    ],
)
def test_a_wrong_option_is_told_before_anything_is_run(wrong: str, told: str, tmp_path: Path) -> None:
    given = f"--model {MODEL} --max-dollars 1 --oracle plan --length 16k"
    with pytest.raises(SystemExit, match=told):
        main([*given.split(), *wrong.split(), "--out", str(tmp_path / "runs.jsonl")])
