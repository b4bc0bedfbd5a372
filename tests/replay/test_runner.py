"""The command: files in, a table out."""

import json
from pathlib import Path

import pytest

from holdfast.replay.__main__ import main
from holdfast.replay.run import run_of
from holdfast.replay.runner import maker_of, replay_all, work_on
from holdfast.replay.sample import sample
from tests.replay.recorded import DROP_ALL, calls, result, run


def record(number: int, chars: int = 400) -> dict[str, object]:
    messages = [calls("a"), result(f"W-{number:04} " + "x " * (chars // 2), "a"), calls("b", id=f"W-{number:04}")]
    return {"source": "made/up", "id": str(number), "messages": messages}


def test_what_cannot_be_read_is_said_and_the_rest_is_replayed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.jsonl").write_text("{oh\n" + json.dumps(record(1)) + "\n{no\n")
    main([str(tmp_path), "--policy", "oracle_until_last_use", "--least", "0", "--jobs", "1"])
    printed = capsys.readouterr()
    assert f"{tmp_path / 'a.jsonl'}: 2 × no JSON (line 1)" in printed.err
    assert printed.out.startswith("1 runs, 2 steps,")


def test_a_sample_is_the_same_whatever_the_order_and_sets_outsized_runs_apart() -> None:
    runs = [run(result("x" * 40), id=str(number)) for number in range(30)]
    outsized = run(result("x" * 120_001), id="outsized")
    drawn = sample([*runs, outsized])
    assert len(drawn) == 12
    assert drawn == sample([outsized, *reversed(runs)])


def test_the_table_has_a_row_a_policy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.jsonl").write_text("\n".join(json.dumps(record(number)) for number in range(4)))
    names = ["oracle_results_on_arrival", "oracle_until_last_use"]
    main([str(tmp_path), "--policy", *names, "--least", "0", "--jobs", "1", "--by-source"])
    printed = capsys.readouterr().out
    assert printed.startswith("4 runs, 8 steps,")
    assert [printed.count(f"| {name} |") for name in ("everything", *names)] == [2, 2, 2]


def test_too_few_tokens_are_said_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps(record(1)))
    main([str(tmp_path), "--policy", "oracle_until_last_use", "--jobs", "1"])
    assert "--least" in capsys.readouterr().out


def test_processes_give_what_one_process_gives_in_the_same_order() -> None:
    work = work_on((run_of(record(number, 400 + number)) for number in range(5)), counter=len)
    makers = [maker_of("oracle_until_last_use"), lambda measured: DROP_ALL]
    assert list(replay_all(work, makers, jobs=2)) == list(replay_all(work, makers, jobs=1))


def test_runs_of_another_size_are_left_out() -> None:
    work = work_on((run_of(record(number, size)) for number, size in enumerate((100, 1_000))), least=500, counter=len)
    assert [pairs and pairs[0].full.id for pairs in replay_all(work, [], jobs=1)] == ["1"]


def test_trouble_is_said_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="no logs"):
        main([str(tmp_path), "--policy", "oracle_until_last_use"])
