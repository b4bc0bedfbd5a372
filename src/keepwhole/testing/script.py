"""A script for the fake model of any framework, and the outcome of a run.

Owns: which turn comes next, the ids of calls, and what the model received.
Must not know: any framework. A harness turns a `Turn` into the framework's message, and its messages into dicts.
"""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

from keepwhole.session import Session
from keepwhole.testing.model import PrintedCall
from keepwhole.wire.dialects import decode_message

OneCall: TypeAlias = PrintedCall | tuple[str, Mapping[str, Any]]
"""A tool's name and its arguments."""
Step: TypeAlias = "str | OneCall | list[OneCall] | Callable[[str], str | OneCall | list[OneCall]]"
"""Words, a call, parallel calls, or a function that makes one of these from the newest result's text."""
Tools: TypeAlias = Mapping[str, Callable[..., str]]
"""Functions by name, annotated and documented, so that any framework can make tools of them."""


class ScriptedCall(NamedTuple):
    """A call as the scripted model makes it."""

    call_id: str
    name: str
    arguments: dict[str, Any]


class Turn(NamedTuple):
    """One turn of the scripted model: words, or calls."""

    text: str
    calls: tuple[ScriptedCall, ...] = ()


class Script:
    """Steps for a framework's fake model, which passes in what it received and replies what it gets.

    >>> script = Script([("look", {"path": "a"}), "done"])
    >>> script.reply([{"role": "user", "content": "go"}]).calls
    (ScriptedCall(call_id='call_1', name='look', arguments={'path': 'a'}),)
    """

    def __init__(self, steps: Iterable[Step], ids: Iterable[int] | None = None) -> None:
        self._steps = iter(steps)
        self._ids = iter(itertools.count(1) if ids is None else ids)
        self.requests: list[list[Any]] = []
        """The messages of every request, as dicts in any dialect."""
        self.offered: list[tuple[str, ...]] = []
        """The names of the tools in every request."""

    def reply(self, messages: Iterable[Any], tools: Iterable[str] = ()) -> Turn:
        """Note what the model received, and return its next turn; at the end of the script, words."""
        request = list(messages)
        self.requests.append(request)
        self.offered.append(tuple(tools))
        step = next(self._steps, "done")
        said = step(newest_result(request)) if callable(step) else step
        if isinstance(said, str):
            return Turn(said)
        calls = said if isinstance(said, list) else [said]
        return Turn("", tuple(ScriptedCall(f"call_{next(self._ids)}", name, dict(given)) for name, given in calls))


class AgentRun(NamedTuple):
    """The outcome of a run."""

    text: str
    """The model's last words, as the framework returns them."""
    requests: Sequence[Sequence[Any]]
    """What the model received, request by request: `script.requests`, or what a transport saw."""
    history: Sequence[Any]
    """The framework's own state of the conversation, not the view, as dicts in any dialect."""


class Harness(Protocol):
    """How a test runs an agent of one framework with an adapter. One harness has one conversation."""

    def run(self, script: Script, tools: Tools, session: Session) -> AgentRun:
        """Run the agent once on a new message of the user, with this script for a model and the adapter in place.

        A second call continues the conversation. Exceptions of the framework are not caught.
        """
        ...


def newest_result(messages: Sequence[Any]) -> str:
    """The text of the newest tool result in messages of any dialect; empty where there is none."""
    for message in reversed(messages):
        returned = decode_message(message).returned
        if returned:
            return returned[-1].text
    return ""
