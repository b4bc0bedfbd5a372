"""The report: what programs read, and that it stays small."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from keepwhole.replay.contenders import BOUND, Contender, contender_named, same_policy
from keepwhole.replay.cost import Price
from keepwhole.replay.page import page
from keepwhole.replay.replay_totals import MOST_RESULTS, MOST_RUNS, ReplayTotals
from keepwhole.replay.report import Basis, ReplayReport, build_report
from keepwhole.replay.runner import ReplayJob, read_frequencies, replay_all
from keepwhole.replay.samples.files import write_samples
from keepwhole.replay.survey import LogTotals, survey
from tests.replay.logs import logged, record, write
from tests.replay.recorded import DROP_ALL
from tests.replay.reports import full

BASIS = Basis("anthropic", Price(input=3.0), 128_000)
DROPPING = Contender("drop", same_policy(lambda: DROP_ALL))


def replayed(path: Path, contenders: Sequence[Contender]) -> tuple[LogTotals, ReplayTotals]:
    totals, gathered = LogTotals(), ReplayTotals([contender_named("everything"), *contenders])
    for found in survey(path):
        totals.add(found)
    runs = logged(path)
    for pairs in replay_all(ReplayJob(runs, read_frequencies(runs, 1), counter=len), contenders, jobs=1):
        gathered.add(pairs or [])
    return totals, gathered


@pytest.fixture
def made(tmp_path: Path) -> ReplayReport:
    records = [*(record(number, 4) for number in range(3)), record(9, 4, source="other")]
    return build_report(*replayed(write(tmp_path / "a.jsonl", records), [DROPPING, contender_named(BOUND)]), BASIS)


def keys(value: Any) -> Any:
    """The names in a report, without its figures."""
    if isinstance(value, dict):
        return {name: keys(part) for name, part in value.items() if name not in ("context", "rewrites", "became")}
    return keys(value[0]) if isinstance(value, list) and value and isinstance(value[0], dict) else None


def test_the_report_has_every_name_that_the_page_is_drawn_from(made: ReplayReport) -> None:
    agreed, given = keys(full()), keys(json.loads(json.dumps(made.as_json())))
    for name in ("price", "read", "totals", "policies", "missed", "runs", "results"):
        lacking = set(agreed[name]) - set(given[name])
        assert not lacking, name
    assert set(agreed) <= set(given)
    assert "drop" in page(made.as_json())


def test_rows_come_in_the_order_of_policies_and_by_source(made: ReplayReport) -> None:
    assert [row["name"] for row in made.policies] == ["everything", "drop", BOUND]
    assert [row["bound"] for row in made.policies] == [False, False, True]
    assert {source: rows[0]["runs"] for source, rows in made.sources.items()} == {"made/up": 3, "other": 1}


def test_everything_costs_all_and_dropping_all_keeps_nothing(made: ReplayReport) -> None:
    everything, drop, _ = made.policies
    assert (everything["cost"]["value"], everything["in_context"]["value"]) == (1.0, 1.0)
    assert (drop["in_context"]["value"], drop["dollars"] < everything["dollars"]) == (0.0, True)


def test_what_the_watched_policy_hid_is_counted_and_listed(made: ReplayReport) -> None:
    hidden = made.hidden
    assert hidden == {"policy": "drop", "evidence": 12, "hidden": 12, "brought_back": 12}
    assert len(made.missed) == 12
    assert made.missed[0]["text"].startswith("W-0000-00")


def test_tools_have_their_share_and_what_was_never_used_of_them(made: ReplayReport) -> None:
    (tool,) = made.totals["tools"]
    assert (tool["tool"], tool["results"], tool["share"]) == ("tool", 16, 1.0)
    assert tool["never_used"] == pytest.approx(0.25, abs=0.01)  # the last result of each run
    assert made.totals["replayed"] == made.totals["runs"] == 4


def test_the_report_is_the_same_whichever_run_was_done_first(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", (record(number, 4, 100 * number) for number in range(4)))
    totals, gathered = replayed(path, [DROPPING])
    turned = ReplayTotals(gathered.contenders)
    for pairs in reversed(gathered.comparisons):
        turned.add(pairs)
    assert build_report(totals, turned, BASIS).policies == build_report(totals, gathered, BASIS).policies


def test_a_report_of_many_runs_lists_the_longest_and_the_largest_only(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", (record(number, 3, 100 + number * 20) for number in range(MOST_RUNS + 5)))
    made = build_report(*replayed(path, [DROPPING]), BASIS)
    assert len(made.runs) == MOST_RUNS
    assert made.runs[0]["id"] == f"run-{MOST_RUNS + 4}"
    assert len(made.results) == MOST_RESULTS


def test_a_report_of_nothing_can_be_made_and_drawn() -> None:
    made = build_report(LogTotals(), ReplayTotals([contender_named("everything"), DROPPING]), BASIS)
    assert (made.policies, made.settings, made.totals["never_used"]) == ([], None, None)
    assert page(json.loads(json.dumps(made.as_json())))


def test_sample_sessions_are_the_same_every_time_and_long_enough_to_age(tmp_path: Path) -> None:
    first, second = (write_samples(tmp_path / name) for name in ("one", "two"))
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    runs = [run for path in first for run in logged(path)]
    assert sorted(run.source for run in runs) == ["chat", "claude-code", "claude-code", "codex"]
    assert sum(run.tokens > 100_000 for run in runs) == 3
