"""Which strategy cuts a result: one rule, the same for the processor, `keep` and views, as the docs state it."""

import json

import pytest

from keepwhole.standalone.processor import TruncationProcessor
from keepwhole.truncation.configuration import ToolOverride, TruncationConfiguration
from keepwhole.truncation.strategy import STRATEGIES
from tests.build import in_memory
from tests.standalone.test_processor import Shelf

JSON = json.dumps([{"id": number, "name": f"item {number}"} for number in range(9_000)])
TABLE = "id,name\n" + "".join(f"{number},n{number}\n" for number in range(30_000))
LOG = "".join(f"2026-01-01 12:00:00 INFO step {number} done\n" for number in range(9_000))
CODE = "".join(f"def f{number}(a):\n    return a + {number}\n\n" for number in range(9_000))
SEARCH = "".join(f"src/a{number % 9}.py:{number}: value = 1\n" for number in range(9_000))
WORDS = "words of no kind at all\n" * 9_000
OWN = {"overrides": {tool: ToolOverride(strategy="head") for tool in ("Bash", "Read", "Grep", "t")}}


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (OWN, dict.fromkeys(("Bash", "Read", "Grep", "t"), ["head"] * 6)),
        (
            {"default_strategy": "head"},
            {"Bash": ["element", "rows", "log", "code", "element", "tail"], "t": ["head"] * 6},
        ),
        (
            {},
            {
                "Bash": ["element", "rows", "log", "code", "element", "tail"],
                "Read": ["element", "rows", "head_tail", "head_tail", "head_tail", "head_tail"],
                "git_diff": ["element", "rows", "head_tail", "head_tail", "head_tail", "head_tail"],
                "Grep": ["element", "rows", "log", "code", "element", "element"],
                "Glob": ["element", "rows", "log", "code", "element", "element"],
                "t": ["element", "rows", "log", "code", "element", "head_tail"],
            },
        ),
    ],
    ids=["override", "default that was set", "nothing set"],
)
def test_override_then_data_then_reading_then_appearance_then_job(
    settings: dict[str, object], expected: dict[str, list[str]]
) -> None:
    configuration = TruncationConfiguration(**settings)  # type: ignore[arg-type]
    texts = (JSON, TABLE, LOG, CODE, SEARCH, WORDS)
    processor = TruncationProcessor(STRATEGIES, Shelf(), configuration)
    session = in_memory(policy=configuration)
    for tool, names in expected.items():
        assert [processor.process(text, tool).metadata.strategy_used for text in texts] == names, tool
        assert [session.keep(tool, None, text).metadata.strategy_used for text in texts] == names, tool


def test_the_error_in_the_middle_of_a_failing_command_is_shown() -> None:
    steps = "".join(f"=== RUN   TestStep{number}\n--- PASS: TestStep{number} (0.00s)\n" for number in range(400))
    failed = "--- FAIL: TestDisk (0.01s)\n    disk_test.go:12: error: disk is full\n"
    text = steps[: len(steps) // 2] + failed + steps[len(steps) // 2 :] + "FAIL\nexit status 1\n"
    shown = in_memory().keep("Bash", {"command": "go test ./..."}, text, exit_code=1)
    assert "disk_test.go:12: error: disk is full" in shown.body
    assert shown.body.rstrip().endswith("exit status 1")
