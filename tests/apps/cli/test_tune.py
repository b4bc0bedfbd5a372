"""`keepwhole replay --tune`."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from keepwhole import config
from keepwhole.apps.cli import tune
from keepwhole.apps.cli.main import main
from keepwhole.policies.auto import Auto
from keepwhole.policies.settings import NeedWeights
from keepwhole.replay.contenders import Contender, same_policy
from keepwhole.replay.runner import ReplayJob, read_frequencies, replay_all
from keepwhole.replay.summary import PolicySummary, summarize
from keepwhole.replay.tuned_weights import LEAST_EVIDENCE, TunedWeights, tuned_weights
from tests.apps.cli.cli import Cli
from tests.replay.logs import logged, record, write


def test_too_few_logs_are_refused_and_a_file_that_is_there_is_never_overwritten(cli: Cli, tmp_path: Path) -> None:
    there = tmp_path / "there.yaml"
    there.write_text("policy: auto\n", encoding="utf-8")
    assert b"already exists" in cli("replay", "--sample", "--tune", str(there)).stderr
    assert there.read_text(encoding="utf-8") == "policy: auto\n"
    new = tmp_path / "new.yaml"
    assert b"too few logs" in cli("replay", "--sample", "--tune", str(new)).stderr
    assert not new.exists()


def replayed(folder: Path) -> PolicySummary:
    """A summary of runs that were replayed."""
    runs = [record(number, steps=4) for number in range(3)]
    logs = logged(write(folder / "logs.jsonl", runs))
    job = ReplayJob(logs, read_frequencies(logs, 1, 10_000))
    pairs = [one for one in replay_all(job, [Contender("auto", same_policy(Auto), None)], 1) if one]
    return summarize([each[0] for each in pairs])


def moved(row: PolicySummary, kept: float, saved: float, pieces: int = LEAST_EVIDENCE) -> PolicySummary:
    """The summary with as much more evidence kept at as much less cost."""
    shown = row.evidence.in_context._replace(value=0.5 + kept)
    cost = row.cost.all_in_context._replace(value=0.5 - saved)
    evidence = row.evidence.replace(in_context=shown, pieces=pieces)
    return row.replace(evidence=evidence, cost=row.cost.replace(all_in_context=cost))


@pytest.mark.parametrize(
    ("kept", "saved", "is_better"),
    [
        (0.0, 0.0, False),
        (0.003, 0.0, True),
        (0.0, 0.003, True),
        (0.001, 0.001, False),
        (0.1, -0.001, False),
        (-0.001, 0.1, False),
    ],
)
def test_weights_are_better_if_one_figure_is_and_none_is_worse(
    kept: float, saved: float, is_better: bool, tmp_path: Path
) -> None:
    row = replayed(tmp_path)
    before, after = moved(row, 0.0, 0.0), moved(row, kept, saved)
    assert TunedWeights(NeedWeights(), LEAST_EVIDENCE, before, after).is_better is is_better
    for fitted_to, pieces in ((LEAST_EVIDENCE - 1, LEAST_EVIDENCE), (LEAST_EVIDENCE, LEAST_EVIDENCE - 1)):
        few = TunedWeights(NeedWeights(), fitted_to, moved(row, 0.0, 0.0, pieces), after)
        assert not few.has_enough
        assert not few.is_better


def twelve_tasks(folder: Path) -> Path:
    """Logs of twelve runs with some evidence, each of a task of its own."""
    runs = [record(number, steps=16, chars=2_000) for number in range(12)]
    for number, run in enumerate(runs):
        run["messages"][0]["content"] = f"What became of order {number}?"
    return write(folder / "logs.jsonl", runs)


def tuned(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kept: float, *words: str
) -> tuple[Callable[[], int], list[TunedWeights]]:
    """A command that fits weights to made-up logs, of which the runs held back show as much more evidence."""
    found: list[TunedWeights] = []

    def compare(*given: Any) -> TunedWeights | None:
        made = tuned_weights(*given)
        assert made is not None
        found.append(made._replace(before=moved(made.before, 0.0, 0.0), after=moved(made.after, kept, 0.0)))
        return found[-1]._replace(fitted_to=LEAST_EVIDENCE)

    monkeypatch.setattr(tune, "tuned_weights", compare)
    logs = twelve_tasks(tmp_path)
    return partial(main, ["replay", str(logs), "--jobs", "1", "--tune", str(tmp_path / "new.yaml"), *words]), found


def test_better_weights_are_written_as_settings_that_can_be_tried(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, found = tuned(monkeypatch, tmp_path, 0.25)
    assert run() == 0
    said = capsys.readouterr().out
    assert f"On {found[0].before.runs:,} runs that were held back:" in said
    assert [line.split() for line in said.splitlines() if line.startswith(("now", "tuned"))] == [
        ["now", "50.0", "%", "50.0", "%"],
        ["tuned", "75.0", "%", "50.0", "%"],
    ]
    assert f"Try them: `keepwhole replay --policy auto {tmp_path / 'new.yaml'}`." in said
    assert config.load(str(tmp_path / "new.yaml"), environ={}).auto.need == {
        name: getattr(found[0].weights, name) for name in NeedWeights.fields
    }
    assert run() == 2, "a file that is there is not overwritten"


def test_weights_that_are_no_better_are_not_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, _ = tuned(monkeypatch, tmp_path, 0.0)
    assert run() == 1
    assert "That is not an improvement, so nothing was written." in capsys.readouterr().out
    assert not (tmp_path / "new.yaml").exists()


def test_programs_are_told_the_weights_and_both_figures(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, found = tuned(monkeypatch, tmp_path, 0.25, "--json")
    assert run() == 0
    assert json.loads(capsys.readouterr().out) == {
        "improves": True,
        "written": str(tmp_path / "new.yaml"),
        "weights": {name: getattr(found[0].weights, name) for name in NeedWeights.fields},
        "held_back_runs": found[0].before.runs,
        "now": {"evidence_kept": 0.5, "all_in_cost": 0.5},
        "tuned": {"evidence_kept": 0.75, "all_in_cost": 0.5},
    }
    assert 0 < found[0].before.runs < 12, "some tasks are held back and some are not"
    (tmp_path / "new.yaml").unlink()
    run, _ = tuned(monkeypatch, tmp_path, -0.25, "--json")
    assert run() == 1
    assert json.loads(capsys.readouterr().out)["written"] is None


def test_a_fit_to_few_pieces_of_evidence_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logs = twelve_tasks(tmp_path)
    assert main(["replay", str(logs), "--jobs", "1", "--tune", str(tmp_path / "new.yaml")]) == 2
    assert "too few logs to tell: 300 pieces of evidence" in capsys.readouterr().err
    assert not (tmp_path / "new.yaml").exists()
