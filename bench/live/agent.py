"""An agent that works on one task: it asks the model, runs the tools, and stops at an answer.

Owns: one run and what it came to. Must not know: prices, other runs.
"""

import http.client
import json
import time
from typing import NamedTuple
from urllib.parse import urlsplit

from bench.live.arms import Arm
from bench.live.meter import NO_MONEY
from bench.live.task import Returned, Task
from bench.live.wires.wire import Asked, Call, Json, Wire

_SYSTEM = (
    "You are a careful agent. You work through a task step by step with the tools that you are given. You never guess: "
    "what you put into calls and answers is what results told you."
)
_PATIENCE = 1_800.0
_SPARE = 15
"""Steps that an agent may take more than one and a half times the plan."""


class OutOfMoney(Exception):
    """The budget has no room for the next request."""


class Outcome(NamedTuple):
    """What a run came to."""

    outcome: str
    """`solved`, `wrong`, `no answer`, `too many steps`, `too long` for the window, or `error`."""
    answer: str
    steps: int
    repeated: int
    """Calls with the same arguments as an earlier one."""
    seconds: float
    problem: str = ""


class Agent:
    """One conversation about one task."""

    def __init__(self, task: Task, arm: Arm, wire: type[Wire], model: str, run_id: str) -> None:
        # The run's name comes first, so that no run is served by what another one has put into the prompt cache.
        system = " ".join(filter(None, (f"Run {run_id}.", _SYSTEM, arm.system)))
        self._task, self._arm = task, arm
        self._wire = wire(Asked(model, system, task.prompt, task.tools))
        self._headers = {"content-type": "application/json", **wire.headers("metered"), **arm.headers}
        if arm.names_session:
            self._headers["x-keepwhole-session"] = run_id
        base = urlsplit(arm.url)
        kind = http.client.HTTPSConnection if base.scheme == "https" else http.client.HTTPConnection
        self._connection, self._path = kind(base.netloc, timeout=_PATIENCE), base.path.rstrip("/") + self._wire.path
        self._world = task.begin()
        self._made: set[str] = set()
        self._repeated = 0

    def run(self) -> Outcome:
        """Work until there is an answer, or too many steps were taken."""
        started, steps, said = time.monotonic(), 0, ""
        most = _SPARE + len(self._task.plan) * 3 // 2
        outcome, problem = "too many steps", ""
        try:
            while steps < most:
                steps += 1
                said, calls = self._wire.read(self._ask())
                if not calls:
                    outcome = self._judge(said)
                    break
                self._wire.add([(call, self._arm.cut(self._call(call))) for call in calls])
        except OutOfMoney:
            raise
        except Exception as error:  # an answer that nobody foresaw fails this run, which is charged, and no other
            problem = str(error) if isinstance(error, _Refused) else f"{type(error).__name__}: {error}"
            outcome = "too long" if any(words in problem for words in _TOO_LONG) else "error"
        finally:
            self._connection.close()
        return Outcome(outcome, said[-200:], steps, self._repeated, time.monotonic() - started, problem[:500])

    def _judge(self, said: str) -> str:
        if self._task.is_solved(said):
            return "solved"
        return "wrong" if "ANSWER:" in said else "no answer"

    def _call(self, call: Call) -> Returned:
        name = json.dumps((call.tool, call.arguments), sort_keys=True)
        self._repeated += name in self._made
        self._made.add(name)
        return self._world(call.tool, {key: str(value) for key, value in call.arguments.items()})

    def _ask(self) -> Json:
        body = json.dumps({**self._wire.request(), **self._arm.fields}, ensure_ascii=False).encode()
        try:
            self._connection.request("POST", self._path, body, self._headers)
            response = self._connection.getresponse()
            data = response.read()
        except (OSError, http.client.HTTPException) as error:
            raise _Refused(f"{type(error).__name__}: {error}") from error
        if response.status == NO_MONEY:
            raise OutOfMoney
        if response.status != 200:
            raise _Refused(f"{response.status}: {data[:400].decode(errors='replace')}")
        return json.loads(data)


FAILED = ("error", "too long")
"""Outcomes of runs in which a request was not answered."""
_TOO_LONG = ("prompt is too long", "context_length_exceeded", "maximum context length", "exceeds the context window")


class _Refused(Exception):
    """A request that was not answered."""
