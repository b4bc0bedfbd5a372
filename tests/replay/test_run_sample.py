"""Which runs are replayed, and that they are not all in memory at once."""

import subprocess
import sys
from array import array
from collections import Counter
from pathlib import Path
from typing import Any

from keepwhole.replay.run_sample import FEWEST, batches, first_within, read_batch, sample_fixed, sample_within
from keepwhole.replay.survey import LoggedRun, RunLocation, merge_survey, survey
from tests.logs.test_duplicates import session
from tests.replay.logs import logged, record, write


def test_all_runs_are_drawn_where_they_are_few(tmp_path: Path) -> None:
    runs = logged(write(tmp_path / "a.jsonl", map(record, range(5))))
    assert sample_within(runs) == runs


def test_the_same_share_of_each_source_is_drawn_whatever_the_order(tmp_path: Path) -> None:
    records = [record(number, source=source) for source in ("one", "two") for number in range(40)]
    runs = logged(write(tmp_path / "a.jsonl", records))
    budget = sum(run.chars for run in runs) // 4
    drawn = sample_within(runs, budget)
    assert Counter(run.source for run in drawn) == {"one": 10, "two": 10}
    assert {run.digest for run in drawn} == {run.digest for run in sample_within(reversed(runs), budget)}


def test_a_session_that_goes_on_in_another_file_is_counted_once(tmp_path: Path) -> None:
    paths = [session(tmp_path, "first", "one"), session(tmp_path, "resumed", "one", "two")]
    runs, totals = merge_survey(found for path in paths for found in survey(path))
    assert [run.location.path.stem for run in runs] == ["resumed"]
    assert (totals.runs, totals.files) == (1, 2)


def test_names_that_are_no_text_are_drawn_too(tmp_path: Path) -> None:
    assert len(logged(write(tmp_path / "a.jsonl", [record(1, source="\ud800")]))) == 1


def test_a_rare_source_is_drawn_in_any_case(tmp_path: Path) -> None:
    records = [record(number) for number in range(60)] + [record(number, source="rare") for number in range(4)]
    drawn = sample_within(logged(write(tmp_path / "a.jsonl", records)), 10_000)
    assert sum(run.source == "rare" for run in drawn) == FEWEST


def _runs(count: int, **fields: Any) -> list[LoggedRun]:
    one = LoggedRun(RunLocation(Path("a"), 0), "one", "", "", 1, 1, "short", 1, 1, {}, "", array("Q"))
    return [one._replace(digest=f"{number:04}", **fields) for number in range(count)]


def test_a_sample_of_fixed_size_has_the_first_runs_of_each_source_and_length_by_digest() -> None:
    lengths = [_runs(50, length=length) for length in ("short", "mid", "long")]
    drawn = sample_fixed([run for runs in lengths for run in reversed(runs)])
    assert Counter(run.length for run in drawn) == {"short": 12, "mid": 12, "long": 40}
    assert [run.digest for run in drawn if run.length == "short"] == [f"{number:04}" for number in range(12)]
    others = _runs(2, source="another", length="short")
    assert sample_fixed([*lengths[0], *others]).count(others[1]) == 1


def test_a_run_with_a_very_large_result_is_in_no_sample_of_fixed_size() -> None:
    sizes = (119_999, 120_000, 120_001)
    runs = [run for size in sizes for run in _runs(1, largest=size)]
    assert [run.largest for run in sample_fixed(runs)] == [119_999, 120_000]


def test_a_sample_has_at_most_40_million_characters_where_its_parts_have_enough_runs() -> None:
    assert len(sample_within(_runs(40, chars=1_000_000))) == 40
    assert len(sample_within(_runs(80, chars=1_000_000))) == 40


def test_batches_have_every_run_once_and_are_read_again_as_they_were(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{name}.jsonl", map(record, numbers)) for name, numbers in (("a", range(9)), ("b", [9]))]
    runs = [run for path in paths for run in logged(path)]
    made = batches([run for run in runs if run.location.ordinal != 1], 4)
    assert len(made) > 2
    ids = [run.id for batch in made for run in read_batch(batch)]
    assert ids == [f"run-{number}" for number in range(10) if number != 1]


def test_common_strings_are_counted_in_a_bounded_number_of_runs(tmp_path: Path) -> None:
    runs = logged(write(tmp_path / "a.jsonl", map(record, range(20))))
    assert len(first_within(runs, runs[0].chars * 5.5)) == 5
    assert len(first_within(runs, 0)) == 1


MEASURED = """
import resource, sys
from pathlib import Path
from keepwhole.replay.contenders import contender_named
from keepwhole.replay.run_sample import sample_within
from keepwhole.replay.runner import ReplayJob, read_frequencies, replay_all
from keepwhole.replay.survey import LoggedRun, survey

def most():
    return max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))

path = Path(sys.argv[1])
before = most()
runs = [found for found in survey(path) if isinstance(found, LoggedRun)]
drawn = sample_within(runs, 2_000_000)
work = ReplayJob(drawn, read_frequencies(runs, 2, 1_000_000))
replayed = sum(1 for pairs in replay_all(work, [contender_named("auto")], 2) if pairs)
print(len(runs), replayed, path.stat().st_size // 1024, most() - before)
"""


def test_memory_does_not_grow_with_the_logs(tmp_path: Path) -> None:
    path = write(tmp_path / "large.jsonl", (record(number, 20, 10_000) for number in range(200)))
    done = subprocess.run([sys.executable, "-c", MEASURED, str(path)], capture_output=True, text=True, check=True)
    runs, replayed, size, grown = map(int, done.stdout.split())
    assert runs == 200 > replayed > 3
    assert size > 40_000
    unit = 1024 if sys.platform == "darwin" else 1
    assert grown / unit < size / 2, f"{grown / unit:.0f} KB for a log of {size} KB"
