"""An error is known by its flag, its exit code, or its shape in the first or the last lines."""

from pathlib import Path
from time import perf_counter

import pytest
from hypothesis import given

from keepwhole.policies.failures import is_error_text
from tests.promises.texts import texts

OUTPUTS = Path(__file__).parent.parent / "outputs"
QUIET = "".join(f"line {number} of some honest output\n" for number in range(400))

ERRORS = [
    "Traceback (most recent call last):\n  File 'x.py', line 1\nKeyError: 'plum'",
    "json.decoder.JSONDecodeError: Expecting value: line 1 column 12 (char 11)",
    "fatal: not a git repository (or any of the parent directories): .git",
    "Error: ENOENT: no such file or directory, open 'a.txt'",
    "error[E0308]: mismatched types",
    "main.c:1:41: error: 'y' undeclared (first use in this function)",
    "src/app.ts(3,5): error TS2322: Type 'string' is not assignable",
    "bash: foo: command not found",
    "ls: cannot access '/nope': No such file or directory",
    "cat: /etc/shadow: Permission denied",
    "npm ERR! code ELIFECYCLE",
    "make: *** [Makefile:3: all] Error 2",
    "thread 'main' panicked at src/main.rs:4:5",
    "panic: runtime error: index out of range",
    "--- FAIL: TestSums (0.00s)",
    "FAILED tests/test_sums.py::test_sum - assert 1 == 2",
    "========= 4 failed, 40 passed in 0.10s =========",
    "\x1b[31m\x1b[1m4 failed\x1b[0m, 40 passed in 0.10s",
    "Found 86 errors.",
    "Segmentation fault (core dumped)",
    "Process exited with code 1",
    "Exit code: 127",
    "exit status 2",
    "<tool_use_error>File has not been read yet.</tool_use_error>",
    '{"error": "no such user", "id": 7}',
    '{"output": "", "exit_code": 1}',
    '{"isError": true}',
    "2026-01-01 12:00:01,123 ERROR could not connect",
    "[ERROR] no connection",
    "404 Not Found",
    "HTTP/1.1 503 Service Unavailable",
    "Failed to connect to localhost port 80",
    "Unable to find the file",
    "BUILD FAILED",
]
HONEST = [
    "",
    "ok",
    "class ParseError(Exception):\n    '''A text that cannot be parsed.'''\n",
    "40 passed in 0.10s",
    "0 errors, 0 warnings, 0 informations",
    "Found 0 errors.",
    "no errors found",
    '{"error": null, "items": []}',
    '{"error": false}',
    '{"exit_code": 0, "output": "fine"}',
    "Exit code: 0",
    "Process exited with code 0",
    "error: false",
    "errors:\n  - none",
    "# How to handle errors\n\nErrors are values.",
    "src/errors.py:12: class NotFound(KeepwholeError):",
    "def fail(message: str) -> None: ...",
    "the code is 42",
    "critical sections are short",
    "status: 200",
    "import errno",
    "Error: (none)",
    "  fail_on_error: false    # never halt",
    "      failOnError: suite.failOnError,",
    "CMD wget -q http://localhost/ || exit 1",
    '  74\tt.Fatalf("prompt 1 error = %v", err)',
]


@pytest.mark.parametrize("text", ERRORS)
def test_what_programs_print_when_they_fail_is_an_error(text: str) -> None:
    assert is_error_text(text)


@pytest.mark.parametrize("text", HONEST)
def test_what_is_only_about_errors_is_none(text: str) -> None:
    assert not is_error_text(text)


def test_the_flag_of_the_provider_is_enough() -> None:
    assert is_error_text("all is well", flagged=True)


@pytest.mark.parametrize(("exit_code", "is_error"), [(1, True), (-9, True), (0, False), (None, False)])
def test_an_exit_code_other_than_zero_is_enough(exit_code: int | None, is_error: bool) -> None:
    assert is_error_text("all is well", exit_code=exit_code) is is_error


@pytest.mark.parametrize("text", ERRORS[3:])
def test_a_shape_counts_in_the_first_and_last_lines_and_not_in_the_middle(text: str) -> None:
    assert is_error_text(f"{text}\n{QUIET}")
    assert is_error_text(f"{QUIET}{text}\n")
    assert not is_error_text(f"{QUIET}{text}\n{QUIET}")


@pytest.mark.parametrize(
    ("name", "is_error"),
    [
        ("traceback.txt", True),
        ("gcc_errors.txt", True),
        ("pytest_failures.txt", True),
        ("pytest_ansi.txt", True),
        ("ruff_concise.txt", True),
        *((name, False) for name in ("pydoc.txt", "git_diff.txt", "git_log_stat.txt", "grep_def.txt", "this.txt")),
        *((name, False) for name in ("pip_list.json", "ndjson.jsonl", "table.csv", "crlf_log.txt", "git_status.txt")),
    ],
)
def test_real_output_is_told_apart(name: str, is_error: bool) -> None:
    assert is_error_text((OUTPUTS / name).read_text(encoding="utf-8")) is is_error


@given(texts)
def test_any_text_is_answered(text: str) -> None:
    assert is_error_text(text) in (True, False)


def test_a_long_text_costs_no_more_than_its_ends() -> None:
    texts_of_both = [QUIET * 2, QUIET * 2_000]
    short, long = (min(_seconds(text) for _ in range(30)) for text in texts_of_both)
    assert long < 20 * short + 0.001


def _seconds(text: str) -> float:
    start = perf_counter()
    is_error_text(text)
    return perf_counter() - start
