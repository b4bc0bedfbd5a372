"""A log is read for what went wrong: the error unlike the others, in any language, and how it all ended."""

import random

import pytest

from keepwhole.policies.failures import error_line
from keepwhole.truncation import error_words
from keepwhole.truncation.cut import TextSource
from keepwhole.truncation.log import error_lines, log
from keepwhole.truncation.question import fold
from keepwhole.truncation.strategy import StrategyOptions
from tests.truncation.test_structure import shown


def quiet(lines: int, word: str = "request") -> list[str]:
    return [f"2026-01-01 10:{n // 60 % 60:02d}:{n % 60:02d} INFO {word} {n} took {n % 90} ms" for n in range(lines)]


def flood(lines: int) -> list[str]:
    """The same two errors again and again, with other ids, addresses and names."""
    chance = random.Random(7)
    names = ("alice", "bob", "carol", "dave", "erin")
    return [
        f"2026-01-01 10:00:00 ERROR [exec-{n % 9}] pool: connection {chance.getrandbits(48):012x} failed"
        if n % 2
        else f"2026-01-01 10:00:00 ERROR [exec-{n % 9}] auth: user {chance.choice(names)} failed to sign in, 10.0.0.{n}"
        for n in range(lines)
    ]


def text_of(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("limit", [2_000, 8_000])
def test_the_one_error_unlike_the_others_is_kept(limit: int) -> None:
    lines = flood(1_000)
    lines[617] = "2026-01-01 10:00:00 ERROR [exec-4] disk: volume swordfish is read-only"
    assert "swordfish" in shown(text_of(lines), limit).body


def test_of_errors_that_come_again_and_again_the_first_and_the_last_are_kept() -> None:
    lines = quiet(2_000)
    for n in range(300, 1_700, 7):
        lines[n] = f"2026-01-01 10:00:00 ERROR worker {n} lost the database"
    body = shown(text_of(lines), 2_000).body
    assert lines[300] in body
    assert lines[1_693] in body


@pytest.mark.parametrize(
    ("word", "around"),
    [
        ("FEHLER", "Anfrage für"),
        ("ERREUR", "requête"),
        ("FALLO", "petición"),
        ("ОШИБКА", "запрос"),
        ("错误", "请求"),
        ("エラー", "リクエスト"),
        ("오류", "요청"),
    ],
)
def test_an_error_is_known_in_other_languages(word: str, around: str) -> None:
    lines = quiet(2_000, around)
    lines[900] = f"2026-01-01 10:00:00 {word} swordfish"
    assert "swordfish" in shown(text_of(lines), 2_000).body


@pytest.mark.parametrize("words", ["exited with code 137", "exit status 1", "exit code: 2", "exit_code=1", "Exit 127"])
def test_a_process_that_ended_badly_is_an_error(words: str) -> None:
    assert error_lines(fold(f"first\nworker {words}\nlast\n"), "\n") == [6]


CRASHES = (
    "Segmentation fault",
    "./run.sh: line 3: 4711 Segmentation fault      (core dumped) ./server",
    "Aborted (core dumped)",
    "Killed",
    "12:00:01 Killed",
    "./run.sh: line 3: 4711 Killed                  ./server",
    "signal: killed",
    "Killed: 9",
    "Out of memory: Killed process 4711 (python)",
    "panic: runtime error: index out of range [5] with length 3",
    "fatal error: all goroutines are asleep - deadlock!",
    "Traceback (most recent call last):",
)


@pytest.mark.parametrize("crash", CRASHES)
def test_a_crash_in_the_middle_of_a_log_is_kept(crash: str) -> None:
    lines = quiet(2_000)
    lines[900] = crash
    assert crash in shown(text_of(lines), 2_000).body


@pytest.mark.parametrize("words", error_words.CRASHES)
def test_a_crash_is_an_error_line_of_a_log_and_a_failed_result(words: str) -> None:
    assert error_lines(f"first\nserver: {words}\nlast\n", "\n") == [6]
    assert error_line(f"first\nserver: {words}\nlast\n") == f"server: {words}"


@pytest.mark.parametrize(
    "line",
    [
        *(
            "0 errors",
            "build done, no failures",
            "failed: 0",
            "exited with code 0",
            "exit status 0",
            "the exit is left",
        ),
        *("a skilled worker", "12 mutants killed", "mutants: killed 12", "killed-jobs: none", "jobs killed by hand: 3"),
    ],
)
def test_a_line_that_tells_of_no_error_is_none(line: str) -> None:
    assert error_lines(f"first\n{line}\nlast\n", "\n") == []


def test_a_line_that_counts_no_errors_but_failures_is_an_error() -> None:
    assert error_lines("first\ntests run: 5, failures: 2, errors: 0\n", "\n") == [6]


def test_the_last_lines_are_kept_however_many_errors_there_are() -> None:
    lines = [*flood(1_000), "collected 90 tests", "3 passed", "ended at 10:00:01"]
    body = shown(text_of(lines), 2_000, strategy="log").body
    assert "collected 90 tests\n3 passed\nended at 10:00:01" in body


@pytest.mark.parametrize("budget", [200, 700, 3_000])
def test_a_cut_log_covers_the_original_within_its_budget(budget: int) -> None:
    text = text_of([*quiet(300, "запрос"), *flood(300)])
    cut = log(TextSource(text), budget, StrategyOptions(question="why could alice not sign in?"))
    assert cut.covers(len(text))


def test_lower_case_has_as_many_characters_as_the_text() -> None:
    text = "İstanbul ЖЁ " * 20_000
    assert len(fold(text)) == len(text)
    assert fold(text)[-3:] == "жё "


@pytest.mark.parametrize(("at", "is_found"), [(2_999, True), (3_000, False), (3_999, False), (4_000, True)])
def test_of_very_many_lines_with_a_word_the_first_3000_and_the_last_1000_are_looked_at(at: int, is_found: bool) -> None:
    lines = ["error: connection lost"] * 5_000
    lines[at] = "error: the disk of host seven is full, so nothing was written"
    start = sum(len(line) + 1 for line in lines[:at])
    assert (start in error_lines("\n".join(lines) + "\n", "\n")) is is_found
