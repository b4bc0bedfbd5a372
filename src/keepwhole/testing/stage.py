"""What adapters are tested with: tools with known results, scripts for them, and a full store."""

import asyncio
import itertools
import threading
from typing import Any

from keepwhole.errors import StoreError
from keepwhole.session import Session
from keepwhole.store.memory import MemoryStore
from keepwhole.testing.script import AgentRun, Harness, Script, Step, Tools

NEEDLE = "the needle of line 700"
"""A line in the middle of the output of the command `long`, where every view leaves it out."""


class Stage:
    """Tools with known results, and the scripts of one conversation."""

    def __init__(self) -> None:
        self.kinds = _kinds()
        self.returned: list[tuple[str, str]] = []
        """What tools returned, with their names, in order."""
        self.script = Script(())
        self._ids = itertools.count(1)
        self._lock = threading.Lock()

    def run(self, harness: Harness, session: Session, *steps: Step) -> AgentRun:
        """Play these steps and then `done`."""
        self.script = Script([*steps, "done"], self._ids)
        return harness.run(self.script, self.tools(), session)

    def tools(self) -> Tools:
        """The tools of every run."""

        def run_command(command: str) -> str:
            """Run a command and give what it prints."""
            return self._gives("run_command", self.kinds[command])

        def read_file(path: str) -> str:
            """Read a file."""
            return self._gives("read_file", "".join(f"{path}:{n} = {_words(path, n)}\n" for n in range(120)))

        def fail(reason: str) -> str:
            """Fail."""
            raise ValueError(reason)

        def cancel(reason: str) -> str:
            """Be cancelled while running."""
            raise asyncio.CancelledError(reason)

        return {"run_command": run_command, "read_file": read_file, "fail": fail, "cancel": cancel}

    def _gives(self, tool: str, text: str) -> str:
        with self._lock:
            self.returned.append((tool, text))
        return text


class FullStore(MemoryStore):
    """A store that refuses every write."""

    def append(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse."""
        raise StoreError("There is no room left on this device.")


def _words(name: str, number: int) -> str:
    """Words that differ from line to line, the same on every machine."""
    return f"{(len(name) * 7_919 + number * 104_729) % 99_991:05} of {name}"


def _kinds() -> dict[str, str]:
    lines = [f"{number:04}: nothing to see\n" for number in range(1_500)]
    lines[700] = f"{NEEDLE}\n"
    return {
        "short": "a.txt\nb.txt\n",
        "long": "".join(lines),
        "unicode": "é 🎉 \u2028 \t line\r\nnext\x7f",
        "json": '{"b": 1e5, "a": [1, 2, 3], "a": null}',
    }
