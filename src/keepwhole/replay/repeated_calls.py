"""Calls that repeat an earlier one: what an agent does, among other things, when it no longer sees the result.

Owns: which calls are the same, and which results the earlier one had given.
Must not know: policies.
"""

import json
from collections.abc import Mapping
from typing import NamedTuple

from keepwhole.canonical.message import Call
from keepwhole.replay.word_sources import Told


class Repeats(NamedTuple):
    """The calls of a run."""

    calls: int
    """In all."""
    by_step: Mapping[int, list[tuple[int, ...]]]
    """For each call of a step that repeats an earlier one, the results that the last such call had given."""


def repeats(told: Told) -> Repeats:
    """The calls of the same tool with the same arguments, whatever the order of these."""
    gave: dict[tuple[str, str], dict[int, list[int]]] = {}
    for number, (step, call) in enumerate(told.result_of):
        gave.setdefault(_same(call), {}).setdefault(step, []).append(number)
    by_step: dict[int, list[tuple[int, ...]]] = {}
    for at, step in enumerate(told.steps):
        for call in step.message.calls:
            earlier = [numbers for made, numbers in gave.get(_same(call), {}).items() if made < at]
            if earlier:
                by_step.setdefault(at, []).append(tuple(earlier[-1]))
    return Repeats(sum(len(step.message.calls) for step in told.steps), by_step)


def hidden(found: Repeats, step: int, texts: Mapping[int, str]) -> int:
    """How many calls of a step repeat one whose result is not shown as it came."""
    return sum(any(number in texts for number in numbers) for numbers in found.by_step.get(step, ()))


def _same(call: Call) -> tuple[str, str]:
    try:
        return call.tool, json.dumps(json.loads(call.arguments), sort_keys=True)
    except (ValueError, RecursionError):
        return call.tool, call.arguments
