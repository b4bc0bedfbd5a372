"""The live proof without a model: two oracles over HTTP in every arm and dialect, and what they notice."""

import json
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import cache
from typing import Any

import pytest

from bench.live.arms import Arm, open_arm
from bench.live.budget import Budget
from bench.live.families import FAMILIES
from bench.live.meter import Provider, serve_meter
from bench.live.oracle_provider import serve_oracle
from bench.live.prices import prices_of
from bench.live.runner import Due, make_run
from keepwhole.recall.names import NAMES
from tests.apps.proxy.agent_model import turns_of
from tests.upstream.spelling import Json

WHOLE = ("direct", "keepwhole", "keepwhole:lean", "rules-only", "proxy")
"""Arms in which nothing is lost for good."""
ARMS = (*WHOLE, "clear", "head-tail")
AGING = "keepwhole:lean+auto.start=1000+auto.keep_steps=1+auto.worth=0+auto.horizon=1000+auto.clear_at_least=500"
"""Settings under which results are old at 16k already."""
KEEPWHOLE = ("keepwhole", "keepwhole:lean", AGING)
NEED_RECALL = ("early_id", "flaky_tool")
"""Families in which the default settings hide something at 16k that is needed."""
MODELS = {
    "anthropic": "claude-haiku-4-5",
    "openai_chat": "gpt-5",
    "openai_responses": "gpt-5",
    "gemini": "gemini-2.5-flash",
}
LOST_BY_BLIND = {"keepwhole": {"early_rule"}, "keepwhole:lean": {"early_rule", "config_drift"}}
"""What nothing visible leads to: the blind oracle does not find it at 16k."""


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Bench:
    """The arms, opened once, in front of a meter that is started anew for each oracle."""

    def __init__(self, stack: ExitStack) -> None:
        self._port, self._stack = free_port(), stack
        self._url = f"http://127.0.0.1:{self._port}"
        self._proxies = {name: stack.enter_context(open_arm(name, self._url, "", "")) for name in KEEPWHOLE}
        self.run = cache(self._run)

    def _arm(self, name: str, dialect: str) -> Arm:
        if name in self._proxies:
            return self._proxies[name]
        name = f"proxy:{self._url}" if name == "proxy" else name
        return self._stack.enter_context(open_arm(name, self._url, dialect, "16k"))

    def matrix(self, oracle: str = "plan", dialect: str = "anthropic") -> list[Json]:
        """A row of every family in every arm."""
        return self.run(oracle, dialect, ARMS, tuple(FAMILIES))

    def _run(
        self,
        oracle: str,
        dialect: str,
        arms: Sequence[str],
        families: Sequence[str],
        change: Callable[[Json], Json] = dict,
        length: str = "16k",
    ) -> list[Json]:
        """A row for each family in each arm."""
        model, tasks = MODELS[dialect], [f"{family}-1-{length}" for family in families]
        arms = [arm for arm in arms if arm != "clear" or dialect == "anthropic"]
        with (
            serve_oracle(oracle, dialect, model, change) as provider,
            serve_meter(
                Provider(provider.url, dialect, prices_of(model), "k", pause=0), Budget(50), self._port
            ) as meter,
        ):
            rows = [
                make_run(Due(task, arm, 0), model, self._arm(arm, dialect), meter) for arm in arms for task in tasks
            ]
        assert provider.failed == []
        assert provider.refused == [], "every request is one that a provider takes"
        return rows


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with ExitStack() as stack:
        yield Bench(stack)


def solved(rows: Sequence[Json], arm: str | None = None) -> set[str]:
    return {row["family"] for row in rows if row["outcome"] == "solved" and arm in (None, row["arm"])}


def dollars(rows: Sequence[Json], arm: str) -> dict[str, float]:
    return {row["family"]: row["dollars"] for row in rows if row["arm"] == arm}


def assert_never_dearer(rows: Sequence[Json], arm: str) -> None:
    """Five percent or a cent: the promise."""
    direct = dollars(rows, "direct")
    for family, cost in dollars(rows, arm).items():
        assert cost <= max(1.05 * direct[family], direct[family] + 0.01), (arm, family)


@pytest.mark.parametrize(
    ("oracle", "dialect"),
    [
        *(("plan", dialect) for dialect in MODELS),
        *(pytest.param("blind", name, marks=[pytest.mark.torture] if name != "anthropic" else []) for name in MODELS),
    ],
)
def test_both_oracles_solve_every_family_in_every_arm_that_loses_nothing(
    bench: Bench, oracle: str, dialect: str
) -> None:
    rows = bench.matrix(oracle, dialect)
    assert {row["dialect"] for row in rows} == {dialect}
    for arm in WHOLE:
        lost = LOST_BY_BLIND.get(arm, set[str]()) if oracle == "blind" else set[str]()
        assert solved(rows, arm) == set(FAMILIES) - lost, arm
    assert all(row["recalls"] for row in rows if row["arm"] == "keepwhole" and row["family"] in NEED_RECALL)
    assert solved(rows, "head-tail") == {"pictures"}
    if dialect == "anthropic":
        assert solved(rows, "clear") == {"same_file"}, "only there are the newest results enough"
    for arm in ("keepwhole", "keepwhole:lean"):
        assert_never_dearer(rows, arm)


def test_the_oracle_follows_what_stands_for_old_results_and_images(bench: Bench) -> None:
    rows = bench.run("plan", "openai_responses", (AGING,), ("config_drift", "pictures"))
    assert solved(rows) == {"config_drift", "pictures"}
    assert all(row["recalls"] for row in rows)
    assert solved(bench.run("plan", "openai_responses", (AGING,), ("config_drift", "pictures"), garbled)) == set()


def test_a_search_for_what_is_needed_costs_less_than_reading_the_whole_gap(bench: Bench) -> None:
    searched = bench.run("pattern", "anthropic", ("keepwhole",), ("flaky_tool",))
    assert solved(searched) == {"flaky_tool"}
    assert dollars(searched, "keepwhole")["flaky_tool"] < dollars(bench.matrix(), "keepwhole")["flaky_tool"]


def test_bills_are_those_of_the_provider_with_its_cache(bench: Bench) -> None:
    rows, prices = bench.matrix(), prices_of(MODELS["anthropic"])
    for row in rows:
        plain = row["input"] - row["cached"] - row["written"]
        paid = plain * prices.input + row["cached"] * prices.read + row["written"] * prices.write
        assert row["dollars"] == pytest.approx((paid + row["output"] * prices.output) / 1e6)
        assert row["requests"] == row["steps"] + row["recalls"], "hidden rounds are billed too"
    long = {row["arm"]: row for row in rows if row["family"] == "early_id"}
    assert long["direct"]["cached"] > 0.8 * long["direct"]["input"]
    assert long["clear"]["dollars"] > long["direct"]["dollars"], "clearing at every step breaks the prefix"


@pytest.mark.parametrize(("tokens", "is_over"), [("words", False), ("bytes", True)])
@pytest.mark.torture
def test_what_a_run_costs_too_much_comes_from_how_the_script_counts_prose(tokens: str, is_over: bool) -> None:
    """What it counts by bytes is 39 % more than the vocabulary of OpenAI has for these texts."""
    dialect, model, task = "openai_responses", MODELS["openai_responses"], "early_rule-2-16k"
    with (
        serve_oracle("plan", dialect, model, tokens=tokens) as provider,
        serve_meter(Provider(provider.url, dialect, prices_of(model), "k", pause=0), Budget(50)) as meter,
        open_arm("keepwhole:lean", meter.url, dialect, "16k") as lean,
        open_arm("direct", meter.url, dialect, "16k") as direct,
    ):
        cost = make_run(Due(task, "direct", 0), model, direct, meter)["dollars"]
        costs = [make_run(Due(task, "lean", number), model, lean, meter)["dollars"] for number in range(12)]
    assert any(one > max(1.05 * cost, cost + 0.01) for one in costs) == is_over


@pytest.mark.torture
def test_keepwhole_keeps_its_promise_of_cost_at_64k_too(bench: Bench) -> None:
    others = ("keepwhole", "keepwhole:lean")
    rows = bench.run("plan", "anthropic", ("direct", *others), tuple(FAMILIES), length="64k")
    for arm in others:
        assert_never_dearer(rows, arm)


def test_a_tool_whose_results_are_all_needed_costs_no_more_at_64k(bench: Bench) -> None:
    rows = bench.run("plan", "anthropic", ("direct", "keepwhole"), ("flaky_tool",), length="64k")
    assert solved(rows, "keepwhole") == {"flaky_tool"}
    assert_never_dearer(rows, "keepwhole")


def name_of(tool: Json) -> str:
    return tool["name"] if "name" in tool else tool["function"]["name"]


def without_recall(body: Json) -> Json:
    return {**body, "tools": [tool for tool in body["tools"] if name_of(tool) not in NAMES]}


def garbled(body: Json) -> Json:
    return json.loads(json.dumps(body).replace("get_artifact(", "get_artefact(").replace("[Artifact:", "[Artefact:"))


def without_evidence(body: Json) -> Json:
    """What was read back is not shown, in any dialect."""
    recalls = {call_id for turn in turns_of(body) for call_id, tool, _ in turn.calls if tool in NAMES}
    answers = {"tool_use_id": "content", "tool_call_id": "content", "call_id": "output"}

    def emptied(value: Any) -> Any:
        if isinstance(value, list):
            return [emptied(part) for part in value]
        if not isinstance(value, dict):
            return value
        for key, content in answers.items():
            if value.get(key) in recalls and content in value:
                return {**value, content: ""}
        return {key: emptied(part) for key, part in value.items()}

    return emptied(body)


@pytest.mark.parametrize("change", [without_recall, garbled, without_evidence])
def test_what_is_broken_on_purpose_is_noticed(bench: Bench, change: Callable[[Json], Json]) -> None:
    assert solved(bench.matrix(), "keepwhole") >= set(NEED_RECALL)
    assert solved(bench.run("plan", "anthropic", ("keepwhole",), NEED_RECALL, change)) == set()


@pytest.mark.parametrize("oracle", ["plan", "blind"])
@pytest.mark.parametrize("dialect", [name for name in MODELS if name != "anthropic"])
@pytest.mark.parametrize("change", [without_recall, garbled, without_evidence])
def test_both_oracles_notice_it_in_every_dialect(
    bench: Bench, oracle: str, dialect: str, change: Callable[[Json], Json]
) -> None:
    assert solved(bench.run(oracle, dialect, ("keepwhole",), ("flaky_tool",), change)) == set()
