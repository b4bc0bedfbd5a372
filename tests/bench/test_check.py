"""`make bench-check`: today's ratios against the committed ones."""

import os
import sys
from pathlib import Path

import pytest

import bench.__main__ as cli
from bench.floors import Floor
from bench.support import committed
from bench.support.committed import FIGURES, committed_ratios, compare, of_all_suites, rewritten
from bench.support.row import Row, markdown_table, row_with_floor, row_without_floor
from bench.support.setup import Setup

CUT, KEEP, TIME = "cut, against `tee | wc -l`", "keep", "a time"


def rows(cut: float, keep: float, time: float = 1.0) -> list[Row]:
    """Three figures, each measured three times: a ratio to keep low, one to keep high, and a time."""
    return [
        row_with_floor(CUT, "1 ms", "`tee | wc -l` 1 ms", [cut - 0.2, cut, cut + 0.5], Floor(1, "×")),
        row_with_floor(KEEP, "1/s", "bare", [keep - 0.2, keep, keep + 0.5], Floor(5, "×", at_least=True)),
        row_with_floor(TIME, "1 ms", "–", [time, time, time + 1], Floor(1, " ms")),
        row_without_floor("a ratio without a floor", "1 ms", "–", [1, time, 3], "×"),
    ]


COMMITTED = committed_ratios(f"# Figures\n\n{markdown_table(rows(2, 4))}\n")


def test_ratios_with_a_spread_and_a_floor_are_compared() -> None:
    assert set(COMMITTED) == {CUT, KEEP}
    assert COMMITTED[CUT] == committed.CommittedRatio(CUT, "2.00×", 1.8, 2.5, at_least=False)
    assert COMMITTED[KEEP].at_least


@pytest.mark.parametrize(
    ("cut", "keep", "worse"),
    [(2, 4, ""), (2.5, 3.8, ""), (0.1, 40, ""), (2.51, 4, CUT), (2, 3.79, KEEP)],
    ids=["the same", "within the spread", "better", "more than the spread", "less than the spread"],
)
def test_only_what_is_beyond_the_spread_on_the_bad_side_is_worse(cut: float, keep: float, worse: str) -> None:
    found = compare(COMMITTED, rows(cut, keep, time=1_000), is_all=True)
    assert [line.rpartition(": ")[0] for line in found] == [worse] * bool(worse)


def test_a_suite_that_failed_is_worse() -> None:
    assert compare({}, [Row("view", "failed: ValueError: no", met=False)], is_all=False) == [
        "view: failed: ValueError: no"
    ]


def test_a_committed_ratio_that_no_suite_measures_is_reported_where_all_were_run() -> None:
    assert compare(COMMITTED, rows(2, 4)[1:], is_all=False) == []
    assert [line.partition(": ")[0] for line in compare(COMMITTED, rows(2, 4)[1:], is_all=True)] == [CUT]


def test_suites_that_run_only_if_they_are_named_are_not_missed() -> None:
    tables = [markdown_table([row]) for row in rows(2, 4)[:2]]
    page = f"# Figures\n\n{tables[0]}\n\n## Only if named\n\n{tables[1]}\n"
    assert set(of_all_suites(page)) == {CUT}
    assert set(committed_ratios(page)) == {CUT, KEEP}


def test_every_committed_ratio_is_of_a_suite_that_is_run() -> None:
    with open(FIGURES, encoding="utf-8") as file:
        missed = committed_ratios(page := file.read()).keys() - of_all_suites(page).keys()
    assert missed
    assert all("10,000,000 entries" in what for what in missed)


def test_the_committed_page_has_ratios() -> None:
    with open(FIGURES, encoding="utf-8") as file:
        found = committed_ratios(file.read())
    assert len(found) > 30
    assert "1 GB ASCII through a pipe, `keep`, no extra: CPU" in found
    assert all(ratio.least <= ratio.greatest for ratio in found.values())


def test_rows_are_written_where_they_were_and_new_ones_behind_the_one_before() -> None:
    first, second, *_ = rows(2, 4)
    page = f"# Figures\n\n{markdown_table([first, second])}\n\nthe end\n"
    slower = rows(3, 4)[0]
    new, failed = Row("new", "1 ms"), Row(KEEP, "failed: ValueError: no", met=False)
    written = rewritten(page, [slower, new, failed])
    assert written == f"# Figures\n\n{markdown_table([slower, new, second])}\n\nthe end\n"


@pytest.mark.parametrize(("cut", "code"), [(2, 0), (3, 1)])
def test_the_command_fails_where_a_ratio_is_worse(
    cut: float, code: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def suite(setup: Setup) -> list[Row]:
        """Measures nothing."""
        return rows(cut, 4)

    page = f"{tmp_path}/figures.md"
    with open(page, "w", encoding="utf-8") as file:
        file.write(markdown_table(rows(2, 4)))
    monkeypatch.setattr(cli, "FIGURES", page)
    monkeypatch.setattr(cli, "BENCHMARKS", {"made-up": suite})
    monkeypatch.chdir(tmp_path)  # and back again, wherever the command leaves the process
    monkeypatch.setattr(cli, "_isolate", os.chdir)
    monkeypatch.setattr(sys, "argv", ["bench", "made-up", "--check", "--folder", str(tmp_path)])
    assert cli.main() == code
    with open(page, encoding="utf-8") as file:
        assert file.read() == markdown_table(rows(2, 4))
    monkeypatch.setattr(sys, "argv", ["bench", "made-up", "--write", "--folder", str(tmp_path)])
    assert cli.main() == 0
    with open(page, encoding="utf-8") as file:
        assert file.read() == markdown_table(rows(cut, 4))
    assert f"2 ratios compared with {page}: {code} are worse." in capsys.readouterr().out
