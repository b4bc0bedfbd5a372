"""Small recorded runs, written by hand."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from keepwhole.logs.own_format import run_of
from keepwhole.logs.run import Run
from keepwhole.policies.policy import UNKNOWN_MODEL, Choice, Choices, Situation, replacement_cut
from keepwhole.policies.transcript import Item, Transcript
from keepwhole.replay.frequency import Frequency
from keepwhole.replay.run_facts import RunFacts


def run(*turns: dict[str, Any], id: str = "one", source: str = "made/up", **meta: object) -> Run:
    """A run of chat messages; results answer the calls before them in order."""
    return run_of({"source": source, "id": id, "messages": list(turns), "meta": meta})


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def says(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def calls(call_id: str = "c", says: str | None = None, tool: str = "tool", **arguments: object) -> dict[str, Any]:
    function = {"name": tool, "arguments": json.dumps(arguments)}
    return {"role": "assistant", "content": says, "tool_calls": [{"id": call_id, "function": function}]}


def result(text: str, call_id: str = "c") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def facts(run: Run, frequency: Frequency | None = None) -> RunFacts:
    """The facts of a run with one token per character, so that sums can be checked by hand."""
    return RunFacts(run, frequency, len)


class Made:
    """A policy of two functions: the text for a result on arrival and with age; None leaves it unchanged."""

    name = "made"

    def __init__(
        self,
        arriving: Callable[[Item], str | None] = lambda item: None,
        ageing: Callable[[Transcript, Item], str | None] = lambda transcript, item: None,
    ) -> None:
        self._arriving, self._ageing = arriving, ageing

    def arrive(
        self, transcript: Transcript, new: Sequence[Item], decided: Choices, situation: Situation = UNKNOWN_MODEL
    ) -> list[Choice]:
        return self._choices((item, self._arriving(item)) for item in new)

    def age(self, transcript: Transcript, decided: Choices, situation: Situation) -> list[Choice]:
        return self._choices((item, self._ageing(transcript, item)) for item in transcript.items)

    def _choices(self, found: Any) -> list[Choice]:
        return [Choice(item.number, "made", replacement_cut(item, words), len(words)) for item, words in found if words]


KEEP_ALL = Made()
DROP_ALL = Made(arriving=lambda item: "-")


def once_read(words: str) -> Made:
    """Shows a result whole in the first request that has it, then as `words`."""
    return Made(ageing=lambda transcript, item: words if item.turn < transcript.turns else None)
