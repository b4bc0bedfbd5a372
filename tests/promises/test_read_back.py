"""What the model asked to read again is whole in the request that follows, whatever the policy and the window."""

from typing import Any

import pytest

from keepwhole import MemoryStore, Session
from keepwhole.config import Settings
from keepwhole.policies.auto import age_choice
from keepwhole.policies.policy import Choice
from keepwhole.policies.transcript import Transcript
from tests.build import numbered_lines
from tests.promises import conversations as talk

_STEPS = 40


def at_work(window: int) -> Session:
    return Session("s", store=MemoryStore(), settings=Settings(home="unused", models={"m": {"window": window}}))


def step(messages: list[dict[str, Any]], calls: list[tuple[str, str, dict[str, Any]]], texts: list[str]) -> None:
    messages += talk.call_messages("openai_chat", calls)
    messages += talk.result_messages("openai_chat", [(call[0], text) for call, text in zip(calls, texts, strict=True)])


@pytest.mark.parametrize("tool", ["get_artifact", "get_task_trace", "search_artifacts", "mcp__keepwhole__get_artifact"])
@pytest.mark.parametrize(
    ("policy", "window"),
    [("auto", 30_000), ("auto", 128_000), ("retention", 30_000), ("rolling", 30_000), ("truncation", 30_000)],
)
def test_a_read_back_is_whole_in_the_request_after_it_over_many_steps(policy: str, window: int, tool: str) -> None:
    session = at_work(window)
    messages = [talk.user_message("find out what is wrong")]
    for number in range(_STEPS):
        if number % 4 < 3:
            step(messages, [(f"c{number}", "bash", {"n": number})], [numbered_lines(700) + str(number)])
            session.view(messages, model="m", policy=policy)
            continue
        read = [f"back {number} {part}\n" + numbered_lines(300) for part in range(2)]
        step(messages, [(f"c{number}{part}", tool, {"id": f"art_{part}"}) for part in range(2)], read)
        if number % 8 == 7:
            messages.append(talk.user_message("go on, please"))
        shown = dict(talk.result_texts("openai_chat", session.view(messages, model="m", policy=policy)))
        assert [shown[f"c{number}{part}"] for part in range(2)] == read


def test_a_read_back_that_was_answered_ages_as_anything_else_does() -> None:
    session = at_work(30_000)
    messages = [talk.user_message("find out what is wrong")]
    for name in ("back", "later"):  # the newest of its kind stays
        step(messages, [(name, "get_artifact", {"id": name})], [name + numbered_lines(700)])
    for number in range(_STEPS):
        step(messages, [(f"c{number}", "bash", {"n": number})], [numbered_lines(700) + str(number)])
        sent = session.view(messages, model="m", policy="auto")
    assert dict(talk.result_texts("openai_chat", sent)).get("back") != "back" + numbered_lines(700)


class _AgesAll:
    """A policy of somebody's own that spares nothing."""

    name = "ages_all"

    def arrive(self, *_: object) -> list[Choice]:
        return []

    def age(self, transcript: Transcript, *_: object) -> list[Choice]:
        return [age_choice(item) for item in transcript.items if item.name is not None]


def test_no_policy_of_ones_own_ages_a_read_back_before_it_was_used() -> None:
    session = at_work(30_000)
    messages = [talk.user_message("find out what is wrong")]
    step(
        messages, [("c1", "bash", {}), ("back", "get_artifact", {"id": "x"})], [numbered_lines(90), numbered_lines(80)]
    )
    shown = dict(talk.result_texts("openai_chat", session.view(messages, model="m", policy=_AgesAll())))
    assert shown["back"] == numbered_lines(80)
    assert shown["c1"] != numbered_lines(90)
