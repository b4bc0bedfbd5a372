"""Calls that repeat an earlier one: what an agent does, among other things, when it no longer sees the result.

Owns: which calls are the same, and which results the earlier one had given.
Must not know: policies.
"""

import json
from collections.abc import Mapping
from typing import NamedTuple

from holdfast.projection.transcript import Call
from holdfast.replay.run import Run


class Repeats(NamedTuple):
    """The calls of a run."""

    calls: int
    """In all."""
    by_step: Mapping[int, list[tuple[int, ...]]]
    """For each call of a step that repeats an earlier one, the results that the last such call had given."""


def repeats(run: Run) -> Repeats:
    """The calls of the same tool with the same arguments, whatever their order and spelling."""
    step = count = number = 0
    by_step: dict[int, list[tuple[int, ...]]] = {}
    made: dict[str, tuple[str, str]] = {}
    gave: dict[tuple[str, str], dict[str, list[int]]] = {}
    for message in run.messages:
        for call in message.calls:
            count += 1
            same = made[call.call_id] = _same(call)
            if same in gave:
                earlier = list(gave[same].values())[-1]
                by_step.setdefault(step, []).append(tuple(earlier))
        for returned in message.returned:
            if returned.call_id in made:
                gave.setdefault(made[returned.call_id], {}).setdefault(f"{step} {returned.call_id}", []).append(number)
            number += 1
        step += message.role == "assistant"
    return Repeats(count, by_step)


def hidden(found: Repeats, step: int, texts: Mapping[int, str]) -> int:
    """How many calls of a step repeat one whose result is not shown as it came."""
    return sum(any(number in texts for number in numbers) for numbers in found.by_step.get(step, ()))


def _same(call: Call) -> tuple[str, str]:
    try:
        return call.tool, json.dumps(json.loads(call.arguments), sort_keys=True)
    except (ValueError, RecursionError):
        return call.tool, call.arguments
