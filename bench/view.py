"""What it costs to view a conversation: one more step, and all of it in a process that has not seen it.

Judged by CPU of the thread. The history is 2,000 messages and 2 MB, half of them results that are recorded already, so
that planning and rendering are measured and not the disk. The reference for one more step is a program without state:
it copies the list deeply and rewrites every old result. Planning is what `auto` decides by, with 2,000 results that are
all still shown.
"""

import copy
import json
import time
from collections.abc import Callable
from statistics import median
from typing import Any

from bench import floors
from bench.support.row import Row, row_with_floor
from bench.support.setup import Setup, say
from keepwhole import MemoryStore, Session
from keepwhole.canonical.message import Call, ResultText
from keepwhole.canonical.message import Message as Said
from keepwhole.models.profiles import DEFAULT
from keepwhole.policies.auto import Auto
from keepwhole.policies.need import need_of
from keepwhole.policies.policy import Situation, TrackedChoices
from keepwhole.policies.settings import CAREFUL
from keepwhole.policies.transcript import Name, Transcript

_STEPS = 1_000
_MANY = 10_000
_PLANNED = 2_000
_RESULT = 2_000
_WIDE = 4_800
_POINTER = "[Artifact: art_0123456789abcdef] read_file (2.0 KB)"
_AGED = 10
Message = dict[str, Any]


def view(setup: Setup) -> list[Row]:
    history = _history(_STEPS, _RESULT)
    session = _session_with(history)
    return [
        *_one_more(setup, session, history),
        *_planning(setup),
        *_cold(setup, session, history),
        *_per_message(setup),
    ]


def _history(steps: int, size: int) -> list[Message]:
    found: list[Message] = [{"role": "user", "content": "Find out what is slow."}]
    for number in range(steps):
        found += _step(number, size)
    return found


def _step(number: int, size: int) -> list[Message]:
    name, given = (
        ("read_file", {"path": f"src/part_{number}.py"}) if number % 2 else ("bash", {"command": f"make t{number}"})
    )
    call = {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
    line = f'{number:06} def part(x): return "value" + x  # the same again, number {number}\n'
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"call_{number}", "content": (line * (size // len(line) + 1))[:size]},
    ]


def _session_with(history: list[Message]) -> Session:
    """A session that has recorded the whole history."""
    session = Session("bench", store=MemoryStore())
    session.view(history, policy="auto")
    return session


def _one_more(setup: Setup, session: Session, history: list[Message]) -> list[Row]:
    ours: list[float] = []
    plain: list[float] = []
    history = list(history)
    for number in range(setup.rounds * 5):
        say(f"view, one more step: {number + 1} of {setup.rounds * 5}")
        step = _step(_STEPS + number, _RESULT)
        _keep(session, step)
        history = [*history, *step]
        ours.append(_clock(lambda: session.view(history, policy="auto")) * 1e3)  # noqa: B023
        plain.append(_clock(lambda: _rebuild(history)) * 1e3)  # noqa: B023
    figure, reference = f"{median(ours):.3f} ms", f"deepcopy and rebuild {median(plain):.1f} ms"
    ratios = [slow / fast for slow, fast in zip(plain, ours, strict=True)]
    return [
        row_with_floor("one more step on 2,000 messages, 2 MB", figure, reference, ours, floors.PROJECT_STEP),
        row_with_floor("the same, how many times quicker", figure, reference, ratios, floors.PROJECT_QUICKER),
    ]


def _planning(setup: Setup) -> list[Row]:
    """What `auto` takes to find that nothing of 2,000 results that are all shown is left out, with one more of them."""
    transcript, decided = Transcript(), TrackedChoices()
    policy = Auto(CAREFUL.replace(horizon=0.001))
    situation = Situation(DEFAULT.replace(window=1 << 30))
    ours: list[float] = []
    plain: list[float] = []
    for number in range(_PLANNED + setup.rounds * 5):
        call = Call(f"call_{number}", "bash", json.dumps({"command": f"make t{number}"}))
        text = "\n".join(f"src/part_{number}_{line}.py:{line} def part_{number}(x)" for line in range(12))
        transcript.extend([Said("assistant", calls=(call,))])
        transcript.extend([Said("tool", returned=(ResultText(call.call_id, ("content",), text),))])
        transcript.items[number].name = Name(f"trace_{number}", f"art_{number}")
        decided.open[number] = None
        if number >= _PLANNED - 1:  # the first counts all that came before
            ours.append(_clock(lambda: policy.age(transcript, decided, situation)) * 1e3)
            plain.append(_clock(lambda: [need_of(use, transcript.turns) for use in transcript.uses.of]) * 1e3)
    del ours[0], plain[0]
    figure, reference = f"{median(ours):.2f} ms", f"the need of each by itself {median(plain):.2f} ms"
    return [row_with_floor("planning one more step on 2,000 results", figure, reference, ours, floors.PLAN_STEP)]


def _keep(session: Session, step: list[Message]) -> None:
    session.keep(step[0]["tool_calls"][0], step[1]["content"])


def _rebuild(history: list[Message]) -> list[Message]:
    """The reference: a program without state."""
    copied = copy.deepcopy(history)
    for message in copied[: -2 * _AGED]:
        if message["role"] == "tool":
            message["content"] = _POINTER
    return copied


def _cold(setup: Setup, session: Session, history: list[Message]) -> list[Row]:
    raw = json.dumps(history)
    ours: list[float] = []
    plain: list[float] = []
    for number in range(setup.rounds):
        say(f"view, cold: {number + 1} of {setup.rounds}")
        anew = Session("bench", store=session.store)
        ours.append(_clock(lambda: anew.view(history, policy="auto")) * 1e3)  # noqa: B023
        plain.append(_clock(lambda: json.loads(raw)) * 1e3)
    ratios = [a / b for a, b in zip(ours, plain, strict=True)]
    figure, reference = f"{median(ours):.1f} ms", f"`json.loads` {median(plain):.1f} ms"
    return [
        row_with_floor(
            "view of 2,000 messages in a new process, all on record", figure, reference, ratios, floors.PROJECT_COLD
        )
    ]


def _per_message(setup: Setup) -> list[Row]:
    """The cost per message in a history ten times as long, against one of 2,000."""
    rows: list[float] = []
    few = many = 0.0
    for _ in range(3 if setup.quick else 9):
        costs: list[float] = []
        for steps in (_STEPS, _MANY):
            history = _history(steps, _WIDE)
            store = _session_with(history).store
            anew = Session("bench", store=store)
            costs.append(_clock(lambda: anew.view(history, policy="auto")) / len(history) * 1e6)  # noqa: B023
            say(f"view, {2 * steps:,} messages: {costs[-1]:.1f} µs each")
        few, many = costs
        rows.append(many / few)
    floor = floors.PROJECT_FLAT
    return [
        row_with_floor(
            "20,000 messages, 50 MB: a message, cold", f"{many:.1f} µs", f"of 2,000 {few:.1f} µs", rows, floor
        )
    ]


def _clock(act: Callable[[], object]) -> float:
    started = time.thread_time()
    act()
    return time.thread_time() - started
