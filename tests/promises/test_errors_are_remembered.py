"""A result that was kept as an error is an error in every later view, though messages do not say so.

OpenAI's dialects have no flag for a failed call, and an exit code is in no dialect: only the record knows. While an
error is open, that is until the same call succeeds, `auto` does not age it and `rolling` does not replace it.
"""

from typing import Any

import pytest

from keepwhole import MemoryStore, Session
from keepwhole.config import Settings
from keepwhole.policies.settings import AutoSettings
from tests.build import fixed_clock, numbered_lines, seeded
from tests.promises import conversations as talk

_SOON = AutoSettings(
    keep_steps=1,
    max_loss=1_000,
    start=100,
    keep={"shell": 1},
    clear_at_least=10,
    min_tokens=20,
    worth=0,
    horizon=1_000,
)
"""`auto` under which a few steps age a result."""
OUTPUT = numbered_lines(40)
"""A text that does not look like an error by itself."""
MAKE: dict[str, Any] = {"command": "make all"}
FAILED = [{"is_error": True}, {"exit_code": 2}]
SUCCEEDED = [{}, {"is_error": False}, {"exit_code": 0}]
POLICIES = ["auto", "rolling"]


def ids(given: dict[str, Any]) -> str:
    return ", ".join(f"{key}={value}" for key, value in given.items()) or "nothing said"


def shown_later(policy: str, dialect: str, outcome: dict[str, Any], *, succeeds_again: bool = False) -> str:
    """What a view shows of `OUTPUT`, which was kept with this outcome, after nine more steps of other commands."""
    settings = Settings(home="unused", policy=policy, auto=_SOON)
    store = MemoryStore()
    session = Session("s", store=store, settings=settings, clock=fixed_clock, random=seeded())
    kept = session.keep("bash", MAKE, OUTPUT, call_id="c0", **outcome)
    messages = [
        talk.user_message("do", dialect),
        *talk.call_messages(dialect, [("c0", "bash", MAKE)]),
        *talk.result_messages(dialect, [("c0", kept.content)]),
    ]
    for number in range(1, 10):
        arguments = MAKE if succeeds_again and number == 1 else {"command": f"step {number}"}
        messages += talk.call_messages(dialect, [(f"c{number}", "bash", arguments)])
        messages += talk.result_messages(dialect, [(f"c{number}", f"{number} is done\n" * 30)])
        sent = session.view(messages)
    elsewhere = Session("s", store=store, settings=settings, clock=fixed_clock, random=seeded("elsewhere"))
    assert elsewhere.view(messages) == sent, "another process sends something else"
    return dict(talk.result_texts(dialect, sent))["c0"]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("dialect", talk.DIALECTS)
@pytest.mark.parametrize("outcome", FAILED, ids=ids)
def test_a_result_that_was_kept_as_an_error_stays(policy: str, dialect: str, outcome: dict[str, Any]) -> None:
    assert shown_later(policy, dialect, outcome) == OUTPUT


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("dialect", talk.DIALECTS)
@pytest.mark.parametrize("outcome", SUCCEEDED, ids=ids)
def test_the_same_result_of_a_call_that_succeeded_does_not(policy: str, dialect: str, outcome: dict[str, Any]) -> None:
    assert len(shown_later(policy, dialect, outcome)) < len(OUTPUT) / 2


@pytest.mark.parametrize("dialect", talk.DIALECTS)
def test_an_error_is_no_longer_open_once_the_same_call_succeeds(dialect: str) -> None:
    assert len(shown_later("auto", dialect, {"is_error": True}, succeeds_again=True)) < len(OUTPUT) / 2
