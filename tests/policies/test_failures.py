"""An error is known by its flag, its exit code, or its shape in the first or the last lines."""

from pathlib import Path
from time import perf_counter

import pytest
from hypothesis import given

from keepwhole.policies.failures import error_line, is_error_source, is_error_text
from keepwhole.truncation.cut import TextSource
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

FAILURES: dict[str, tuple[str, str]] = {
    "pytest": (
        "collected 4 items\n\ntests/test_sums.py ..F.\n\n=== FAILURES ===\n    assert total == 41\n"
        "E   assert 42 == 41\n"
        "FAILED tests/test_sums.py::test_sum - assert 42 == 41\n=== 1 failed, 3 passed in 0.12s ===",
        "FAILED tests/test_sums.py::test_sum - assert 42 == 41",
    ),
    "unittest": (
        "..F\n======\nFAIL: test_sum (test_sums.Sums)\n------\nAssertionError: 42 != 41\n\n"
        "Ran 3 tests in 0.001s\n\nFAILED (failures=1)",
        "AssertionError: 42 != 41",
    ),
    "npm": (
        "npm error code ERESOLVE\nnpm error ERESOLVE unable to resolve dependency tree\nnpm error Found: react@18.2.0",
        "npm error Found: react@18.2.0",
    ),
    "make": (
        "cc -o app main.c\nmain.c: In function 'main':\nmain.c:3:5: error: expected ';' before 'return'\n"
        "make: *** [Makefile:7: app] Error 1",
        "main.c:3:5: error: expected ';' before 'return'",
    ),
    "go test": (
        "--- FAIL: TestSum (0.00s)\n    sum_test.go:9: got 42, want 41\nFAIL\nexit status 1\n"
        "FAIL\texample.com/sum\t0.003s",
        "--- FAIL: TestSum (0.00s)",
    ),
    "gcc": (
        "main.c:3:5: error: expected ';' before 'return'\n    3 |     return 0\n      |     ^\n1 error generated.",
        "main.c:3:5: error: expected ';' before 'return'",
    ),
    "javac": (
        "Main.java:4: error: cannot find symbol\n    foo();\n    ^\n  symbol: method foo()\n1 error",
        "Main.java:4: error: cannot find symbol",
    ),
    "Java stack trace": (
        'Exception in thread "main" java.lang.NullPointerException: name is null\n'
        "\tat com.acme.App.greet(App.java:14)\n\tat com.acme.App.main(App.java:7)",
        'Exception in thread "main" java.lang.NullPointerException: name is null',
    ),
    "Java cause at the end": (
        "\n".join(f"2026-01-01 INFO request {n}" for n in range(40))
        + "\nCaused by: java.net.ConnectException: Connection refused\n"
        "\tat java.base/sun.nio.ch.Net.connect(Net.java:579)\n\tat com.acme.Db.open(Db.java:31)\n\t... 12 more",
        "Caused by: java.net.ConnectException: Connection refused",
    ),
    "Maven": (
        "[INFO] Scanning for projects...\n[INFO] BUILD FAILURE\n[ERROR] Failed to execute goal compile on project app",
        "[ERROR] Failed to execute goal compile on project app",
    ),
    "Gradle": (
        "> Task :compileJava FAILED\n\nFAILURE: Build failed with an exception.\n\nBUILD FAILED in 3s",
        "FAILURE: Build failed with an exception.",
    ),
    "Rust panic": (
        "thread 'main' panicked at src/main.rs:4:5:\n"
        "index out of bounds: the len is 3 but the index is 7\nnote: run with `RUST_BACKTRACE=1`",
        "thread 'main' panicked at src/main.rs:4:5:",
    ),
    "cargo": (
        "error[E0308]: mismatched types\n --> src/main.rs:4:5\n"
        'error: could not compile `app` (bin "app") due to 1 previous error',
        'error: could not compile `app` (bin "app") due to 1 previous error',
    ),
    "curl": (
        "curl: (7) Failed to connect to localhost port 8080 after 0 ms: Couldn't connect to server",
        "curl: (7) Failed to connect to localhost port 8080 after 0 ms: Couldn't connect to server",
    ),
    "curl, host": (
        "curl: (6) Could not resolve host: api.acme.test",
        "curl: (6) Could not resolve host: api.acme.test",
    ),
    "HTTP 503": ("HTTP/1.1 503 Service Unavailable\ncontent-length: 0", "HTTP/1.1 503 Service Unavailable"),
    "HTTP 429 in JSON": (
        '{"status": 429, "error": {"type": "rate_limit", "message": "slow down"}}',
        '{"status": 429, "error": {"type": "rate_limit", "message": "slow down"}}',
    ),
    "exit code in JSON": (
        '{"stdout": "", "stderr": "nope", "exit_code": 2}',
        '{"stdout": "", "stderr": "nope", "exit_code": 2}',
    ),
    "exit code in printed JSON": ('{\n  "stdout": "",\n  "stderr": "nope",\n  "exitCode": 1\n}', '  "exitCode": 1'),
    "timed out": ("Command timed out after 120s", "Command timed out after 120s"),
    "timed out, Claude": ("Command timed out after 2m 0.0s\nstill compiling", "Command timed out after 2m 0.0s"),
    "timeout": ("TimeoutError: Timeout 30000ms exceeded.", "TimeoutError: Timeout 30000ms exceeded."),
    "killed": ("compiling 112 files\nKilled", "Killed"),
    "killed by the shell": (
        "run.sh: line 3:  4711 Killed                  ./train",
        "run.sh: line 3:  4711 Killed                  ./train",
    ),
    "terminated": ("Terminated", "Terminated"),
    "not ok": ('{"ok": false}', '{"ok": false}'),
    "no success": ('{"success": false, "reason": "card declined"}', '{"success": false, "reason": "card declined"}'),
    "status error": ('{"status": "error", "message": "bad token"}', '{"status": "error", "message": "bad token"}'),
    "git conflict": (
        "Auto-merging a.py\nCONFLICT (content): Merge conflict in a.py\n"
        "Automatic merge failed; fix conflicts and then commit the result.",
        "Automatic merge failed; fix conflicts and then commit the result.",
    ),
    "git push": (
        "To github.com:a/b.git\n ! [rejected]        main -> main (fetch first)\n"
        "error: failed to push some refs to 'github.com:a/b.git'",
        "error: failed to push some refs to 'github.com:a/b.git'",
    ),
    "docker": (
        "docker: Error response from daemon: pull access denied for acme/app",
        "docker: Error response from daemon: pull access denied for acme/app",
    ),
    "kubectl": (
        'Error from server (NotFound): pods "web-0" not found',
        'Error from server (NotFound): pods "web-0" not found',
    ),
    "psql": (
        'ERROR:  relation "users" does not exist\nLINE 1: SELECT * FROM users',
        'ERROR:  relation "users" does not exist',
    ),
    "sqlite": ("sqlite3.OperationalError: no such table: users", "sqlite3.OperationalError: no such table: users"),
    "node": (
        "/app/index.js:3\n    throw new Error('boom')\n    ^\n\nError: boom\n"
        "    at Object.<anonymous> (/app/index.js:3:11)\n\nNode.js v22.1.0",
        "Error: boom",
    ),
    "tsc": (
        "src/app.ts(3,5): error TS2322: Type 'string' is not assignable to type 'number'.\n"
        "Found 1 error in src/app.ts:3",
        "src/app.ts(3,5): error TS2322: Type 'string' is not assignable to type 'number'.",
    ),
    "jest": (
        "FAIL src/sum.test.js\n  ● adds\n    expect(received).toBe(expected)\nTests:       1 failed, 3 passed, 4 total",
        "FAIL src/sum.test.js",
    ),
    "apt": ("E: Unable to locate package nosuch", "E: Unable to locate package nosuch"),
    "pip": (
        "ERROR: Could not find a version that satisfies the requirement nosuch\n"
        "ERROR: No matching distribution found for nosuch",
        "ERROR: No matching distribution found for nosuch",
    ),
    "python, no module": ("/usr/bin/python: No module named pytest", "/usr/bin/python: No module named pytest"),
    "disk": (
        "cp: error writing 'b.bin': No space left on device",
        "cp: error writing 'b.bin': No space left on device",
    ),
    "terraform": ("╷\n│ Error: Invalid reference\n│ \n│   on main.tf line 4\n╵", "│ Error: Invalid reference"),
    "ruby": (
        "app.rb:3:in `<main>': undefined method `foo' for nil:NilClass (NoMethodError)",
        "app.rb:3:in `<main>': undefined method `foo' for nil:NilClass (NoMethodError)",
    ),
    "C#": (
        "Unhandled exception. System.InvalidOperationException: Sequence contains no elements",
        "Unhandled exception. System.InvalidOperationException: Sequence contains no elements",
    ),
    "go panic": (
        "panic: runtime error: index out of range [5] with length 3\n\ngoroutine 1 [running]:\n"
        "main.main()\n\t/app/main.go:8 +0x1d\nexit status 2",
        "panic: runtime error: index out of range [5] with length 3",
    ),
}
"""What a program printed, and the line to quote of it."""
NOT_FAILURES: dict[str, str] = {
    "an error rate of none": "error rate: 0\nall good",
    "an error rate in percent": "requests: 1200\nerror rate: 0.0%\np99: 12 ms",
    "errors counted to none": "errors: 0",
    "errors counted to none, ESLint": "✔ 0 problems (0 errors, 0 warnings)",
    "no failures": "Tests run: 12, Failures: 0, Errors: 0, Skipped: 0",
    "surefire": "[INFO] BUILD SUCCESS",
    "jest": "Tests:       4 passed, 4 total\nTime:        1.2 s",
    "none failed": "4 passed, 0 failed in 0.12s",
    "cargo": "test result: ok. 12 passed; 0 failed; 0 ignored",
    "exit": "[exit code: 0]",
    "ok": '{"ok": true}',
    "no error": '{"ok": true, "error": null}',
    "an empty list of errors": '{"errors": [], "data": {"n": 1}}',
    "successful status": '{"status": 200, "success": true}',
    "a page about errors": "# Error handling\n\nErrors are values. Wrap them with context.\n",
    "a heading": "Errors\n======\n\nWhat can go wrong, and what to do.",
    "a module about failures": '"""Failures of the parser."""\n\nclass Failure(Exception):\n    pass\n',
    "a test file": "def test_it_fails():\n    with pytest.raises(ValueError):\n        parse('')\n",
    "a changelog": "- Fix a crash when the file was killed\n- Show errors in red\n",
    "a log without trouble": "10:00:01 INFO error handler installed\n10:00:02 INFO ready",
    "a table of codes": "code,meaning\n404,Not Found\n503,Service Unavailable\n",
    "words with killed": "The process may be killed by the user.",
    "a process list": "PID STAT COMMAND\n4711 S ./train --timeout 30",
    "a search": "src/app.py:12:    raise ValueError('bad')\nsrc/app.py:40:    except KeyError:",
    "a diff": "-    raise RuntimeError('no')\n+    return None\n",
    "settings": "timeout: 30\nretries: 3\non_error: ignore\n",
    "a switch that is off": '{"debug": false, "verbose": false}',
    "ok as a part of a word": '{"is_book": false, "token": false}',
    "a helpful text": "usage: app [--fail-fast] [--timeout SECONDS]\n\nRun the app.",
    "a git status": "On branch fix-error-handling\nnothing to commit, working tree clean",
    "a list of files": "errors.py\nfailures.py\ntest_errors.py\n",
    "prose": "If the build fails, try again. A timeout is not an error.",
    "a docstring": "Raises:\n    ValueError: if the text is empty.\n",
    "an enum": "class Status(Enum):\n    FAILED = 'failed'\n    KILLED = 'killed'\n",
    "a stack of calls in a manual": "The call stack is printed as `at com.acme.App.main(App.java:7)`.",
}


@pytest.mark.parametrize("text", ERRORS)
def test_what_programs_print_when_they_fail_is_an_error(text: str) -> None:
    assert is_error_text(text)


@pytest.mark.parametrize("text", HONEST)
def test_what_is_only_about_errors_is_none(text: str) -> None:
    assert not is_error_text(text)


@pytest.mark.parametrize(("text", "quoted"), FAILURES.values(), ids=FAILURES)
def test_the_output_of_a_program_that_failed_is_an_error_and_says_why(text: str, quoted: str) -> None:
    assert is_error_text(text)
    assert error_line(text) == quoted


@pytest.mark.parametrize("text", NOT_FAILURES.values(), ids=NOT_FAILURES)
def test_output_without_a_failure_is_none_whatever_words_it_has(text: str) -> None:
    assert not is_error_text(text)
    assert error_line(text) is None


def test_the_line_to_quote_has_no_colors() -> None:
    assert error_line("\x1b[31mValueError: bad\x1b[0m") == "ValueError: bad"


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


FAILED = "fatal: it broke"


@pytest.mark.parametrize("lines", [10, 11, 40, 400], ids=lambda lines: f"{lines} lines")
def test_the_first_five_and_the_last_five_lines_are_looked_at(lines: int) -> None:
    found = [
        is_error_text("\n".join(FAILED if number == at else "a line" for number in range(lines))) for at in range(lines)
    ]
    assert found == [at < 5 or at >= lines - 5 for at in range(lines)]


@pytest.mark.parametrize(("before", "is_error"), [(0, True), (232, True), (233, False)])
def test_240_characters_of_a_line_are_looked_at(before: int, is_error: bool) -> None:
    assert is_error_text("x" * before + ": error: broken") is is_error


@pytest.mark.parametrize(("line", "is_error"), [(1_197, True), (1_198, False)])
def test_a_last_line_that_begins_too_far_from_the_end_is_left_out(line: int, is_error: bool) -> None:
    text = "a line\n" * 300 + "fatal: " + "x" * (line - len("fatal: ")) + "\n"
    assert is_error_text(text) is is_error
    assert is_error_source(TextSource(text), False) is is_error


@pytest.mark.parametrize("size", [2_399, 2_400, 2_401, 9_000])
def test_a_long_source_is_judged_as_its_text_is(size: int) -> None:
    for text in ("x" * size, FAILED + "\n" + "x" * size, "x" * size + "\n" + FAILED):
        assert is_error_source(TextSource(text), False) is is_error_text(text)
        assert is_error_source(TextSource(text), True)
