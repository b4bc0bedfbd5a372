"""A log is read for what went wrong: the error unlike the others, in any language, and how it all ended."""

import random

import pytest

from keepwhole.policies.failures import error_line
from keepwhole.truncation import error_words
from keepwhole.truncation.cut import TextSource, render, whole
from keepwhole.truncation.log import error_lines, folded, log
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


def lines_at(text: str, starts: list[int]) -> list[str]:
    return [text[start : text.find("\n", start)] for start in starts]


def test_of_equal_errors_the_first_and_the_last_come_before_those_between() -> None:
    often, again = (
        [f"error: {name} {number}" for number in range(count)] for name, count in (("alpha", 5), ("beta", 3))
    )
    text = text_of(["begun", *often, "error: the disk is full", *again, "error: no route home", "ended"])
    assert lines_at(text, error_lines(text, "\n")) == [
        *("error: the disk is full", "error: no route home"),  # two of the rarest
        *("error: alpha 0", "error: alpha 4"),  # then what comes most often
        *("error: beta 0", "error: beta 2"),
        *("error: alpha 1", "error: alpha 2", "error: alpha 3", "error: beta 1"),
    ]


def test_a_line_is_judged_by_its_first_240_characters() -> None:
    for before, is_found in ((235, True), (236, False)):
        text = text_of(["begun", "-" * before + "error", "ended"])
        assert error_lines(text, "\n") == ([6] if is_found else [])
        assert error_lines(text[:-7], "\n") == ([6] if is_found else [])


def test_of_errors_that_all_differ_120_are_looked_at() -> None:
    words = [f"{'ghijklmnop'[n // 10 % 10]}{'ghijklmnop'[n % 10]}{'xyz'[n // 100]}" for n in range(130)]
    for count in (119, 120, 121, 130):
        assert len(error_lines(text_of([f"error: {word}" for word in words[:count]]), "\n")) == min(count, 120)


@pytest.mark.parametrize(
    ("at", "is_found"),
    [
        *((0, True), (32_750, True), (32_780, False), (90_000, False), (100_010, True), (132_780, False)),
        *((167_210, False), (167_260, True), (199_980, True)),
    ],
)
def test_the_script_of_a_log_is_looked_for_at_its_beginning_in_its_middle_and_at_its_end(
    at: int, is_found: bool
) -> None:
    text = "all well.\n" * 20_000
    text = f"{text[:at]}ошибка 1.\n{text[at + 10 :]}"
    assert error_lines(text, "\n") == ([at] if is_found else [])


def folded_text(text: str) -> str:
    return render(folded(whole(len(text)), text, "\n"), TextSource(text))


def retries(*numbers: int) -> str:
    return "".join(f"try {number} of host\n" for number in numbers)


def test_three_lines_that_differ_from_the_one_before_in_numbers_alone_become_a_count() -> None:
    assert folded_text(retries(1, 2, 3)) == retries(1, 2, 3)
    assert folded_text(retries(1, 2, 3, 4)) == retries(1) + "... [3 similar lines] ...\n"
    assert folded_text("up\n" + retries(*range(1, 1_235)) + "down\n" + retries(*range(5)) + "left\n") == (
        f"up\n{retries(1)}... [1,233 similar lines] ...\ndown\n{retries(0)}... [4 similar lines] ...\nleft\n"
    )


def test_lines_are_not_counted_where_the_words_for_it_are_as_long_as_they_are() -> None:
    assert len("... [3 similar lines] ...\n") == 26
    assert folded_text("g 1\n" + "g 12345\n" + "g 123456\n" * 2) == "g 1\n" + "g 12345\n" + "g 123456\n" * 2
    assert folded_text("g 1\n" + "g 123456\n" * 3) == "g 1\n... [3 similar lines] ...\n"


def test_lines_of_numbers_alone_are_folded_up_to_the_end_of_the_text() -> None:
    numbers = "".join(f"{number}\n" for number in range(1_000_000, 1_000_006))
    assert folded_text(numbers + "1000006") == "1000000\n... [5 similar lines] ...\n1000006"
    assert folded_text(numbers) == "1000000\n... [5 similar lines] ...\n"


LETTERS = "ghijklmnopqrstuvwxyz"
CALM = [f"all of {LETTERS[n // 20]}{LETTERS[n % 20]} is in order" for n in range(400)]


def cut_to(lines: list[str], budget: int, question: str = "") -> list[str]:
    source = TextSource(text_of(lines))
    shown = render(log(source, budget, StrategyOptions(question=question)), source)
    return [line for line in shown.splitlines() if line]


def test_an_error_comes_with_two_lines_before_it_and_two_behind() -> None:
    lines = [*CALM[:200], "error: swordfish", *CALM[200:]]
    body = cut_to(lines, 500)
    at = body.index("error: swordfish")
    assert body[at - 2 : at + 3] == lines[198:203]
    assert "omitted" in body[at - 3]
    assert "omitted" in body[at + 3]


@pytest.mark.parametrize(("count", "shown", "indent"), [(3, 3, " "), (20, 20, "\t"), (21, 20, " "), (40, 20, "\t")])
def test_an_error_comes_with_up_to_twenty_indented_lines_behind_it(count: int, shown: int, indent: str) -> None:
    trace = [f"{indent}in {LETTERS[n % 20]}{LETTERS[n // 20]}" for n in range(count)]
    lines = [*CALM[:200], "error: swordfish", *trace, *CALM[200:]]
    body = cut_to(lines, 2_000)
    at = body.index("error: swordfish")
    assert body[at - 2 : at + 1 + shown] == lines[198 : 201 + shown]
    assert "omitted" in body[at + 1 + shown]


def test_a_line_that_is_asked_for_comes_whole_and_alone() -> None:
    lines = [*CALM[:200], "here are swordfish, and 7 of them", *CALM[200:]]
    body = cut_to(lines, 500, "how many swordfish are there?")
    at = body.index("here are swordfish, and 7 of them")
    assert "omitted" in body[at - 1]
    assert "omitted" in body[at + 1]


def test_a_log_without_errors_shows_whole_lines_of_both_ends_and_most_of_the_room_is_used() -> None:
    body = cut_to(CALM, 1_000)
    at = next(at for at, line in enumerate(body) if "omitted" in line)
    assert body[:at] == CALM[:at]
    assert body[at + 1 :] == CALM[at + 1 - len(body) :]
    assert 800 < sum(len(line) + 1 for line in body) <= 1_000


def test_where_lines_are_folded_the_room_goes_to_more_lines() -> None:
    lines = [f"request {n} of {CALM[n // 25]} took {n % 90} ms" for n in range(10_000)]
    body = cut_to(lines, 2_000)
    assert sum(len(line) + 1 for line in body) > 1_200
    assert sum("similar lines" in line for line in body) > 8
