"""Many runs under several policies, and the table of `bench.frontier`."""

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from bench.frontier import main
from keepwhole.policies.other_systems import PEERS
from keepwhole.policies.policy import Choice, Choices, Situation
from keepwhole.policies.transcript import Transcript
from keepwhole.replay.contenders import Contender, contender_named, same_policy
from keepwhole.replay.run_sample import sample_fixed
from keepwhole.replay.runner import ReplayJob, read_frequencies, replay_all
from keepwhole.replay.summary import ComparedRun
from keepwhole.replay.survey import LoggedRun, RunLocation, logged_run, survey
from tests.replay.recorded import DROP_ALL, Made, calls, result, run


def record(number: int, chars: int = 400) -> dict[str, object]:
    messages = [calls("a"), result(f"W-{number:04} " + "x " * (chars // 2), "a"), calls("b", id=f"W-{number:04}")]
    return {"source": "made/up", "id": str(number), "messages": messages}


def test_what_cannot_be_read_is_reported_and_the_rest_is_replayed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.jsonl").write_text("{oh\n" + json.dumps(record(1)) + "\n{no\n")
    main([str(tmp_path), "--policy", "oracle_until_last_use", "--least", "0", "--jobs", "1"])
    printed = capsys.readouterr()
    assert f"{tmp_path / 'a.jsonl'}: 2 × not JSON (line 1)" in printed.err
    assert printed.out.startswith("1 runs, 2 steps,")


def test_a_sample_is_the_same_whatever_the_order_and_sets_outsized_runs_apart() -> None:
    where = RunLocation(Path("made.jsonl"), 0)
    runs = [logged_run(run(result("x" * 40), id=str(number)), where) for number in range(30)]
    outsized = logged_run(run(result("x" * 120_001), id="outsized"), where)
    drawn = sample_fixed([*runs, outsized])
    assert len(drawn) == 12
    assert drawn == sample_fixed([outsized, *reversed(runs)])


def test_the_table_has_a_row_a_policy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.jsonl").write_text("\n".join(json.dumps(record(number)) for number in range(4)))
    names = ["oracle_results_on_arrival", "oracle_until_last_use"]
    main([str(tmp_path), "--policy", *names, "--least", "0", "--jobs", "1", "--by-source"])
    printed = capsys.readouterr().out
    assert printed.startswith("4 runs, 8 steps,")
    assert [printed.count(f"| {name} |") for name in ("everything", *names)] == [3, 3, 3], (
        "also by the sources of tokens"
    )


def test_runs_with_too_few_tokens_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps(record(1)))
    main([str(tmp_path), "--policy", "oracle_until_last_use", "--jobs", "1"])
    assert "--least" in capsys.readouterr().out


def written(folder: Path, *sizes: int) -> list[LoggedRun]:
    """Write a file with runs of about these numbers of characters."""
    path = folder / "runs.jsonl"
    path.write_text("\n".join(json.dumps(record(number, size)) for number, size in enumerate(sizes)))
    return [found for found in survey(path) if isinstance(found, LoggedRun)]


def by_id(found: Iterable[list[ComparedRun] | None]) -> list[list[ComparedRun]]:
    return sorted((pairs for pairs in found if pairs), key=lambda pairs: pairs[0].baseline.id)


def test_processes_give_what_one_process_gives(tmp_path: Path) -> None:
    runs = written(tmp_path, *range(400, 405))
    work = ReplayJob(runs, read_frequencies(runs, jobs=2), counter=len)
    both = [contender_named("oracle_until_last_use"), Contender("drop", same_policy(lambda: DROP_ALL))]
    assert by_id(replay_all(work, both, jobs=2)) == by_id(replay_all(work, both, jobs=1))


def test_runs_of_another_size_are_left_out(tmp_path: Path) -> None:
    runs = written(tmp_path, 100, 1_000)
    work = ReplayJob(runs, read_frequencies(runs, jobs=1), least=500, counter=len)
    assert [pairs[0].baseline.id for pairs in by_id(replay_all(work, [], jobs=1))] == ["1"]


def test_a_problem_is_reported_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="no logs"):
        main([str(tmp_path), "--policy", "oracle_until_last_use"])


def test_a_window_is_what_runs_overflow_and_compact_at(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.jsonl").write_text("\n".join(json.dumps(record(number)) for number in range(4)))
    asked = [str(tmp_path), "--policy", "oracle_until_last_use", "--least", "0", "--jobs", "1"]
    for window, overflow, compacts in ((100, "100.0%", "1 (100%)"), (100_000, "0.0%", "-")):
        main([*asked, "--window", str(window)])
        lines = capsys.readouterr().out.splitlines()
        rows = [line for line in lines if line.count("|") > 20][2:]
        assert len(rows) == 2
        assert all(f"| {overflow} |" in row and f"| {compacts} |" in row for row in rows)


def test_policies_are_told_of_the_window_they_are_measured_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    texts: set[int] = set()

    class Asks(Made):
        def age(self, transcript: Transcript, decided: Choices, situation: Situation) -> list[Choice]:
            texts.add(situation.profile.window)
            return []

    (tmp_path / "a.jsonl").write_text(json.dumps(record(1)))
    monkeypatch.setitem(PEERS, "asks", Asks)
    main([str(tmp_path), "--policy", "asks", "--least", "0", "--jobs", "1", "--window", "4321"])
    assert texts == {4321}
