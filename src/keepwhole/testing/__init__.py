"""For tests of agents: a record in memory, a model that plays a script, and the contract of adapters.

Nothing here reaches a network or draws a random number.
"""

from keepwhole.store.memory import MemoryStore
from keepwhole.testing.contract import AdapterContract
from keepwhole.testing.model import FakeModel, PrintedCall, printed_calls
from keepwhole.testing.script import AgentRun, Harness, Script, ScriptedCall, Turn

__all__ = [
    "AdapterContract",
    "AgentRun",
    "FakeModel",
    "Harness",
    "MemoryStore",
    "PrintedCall",
    "Script",
    "ScriptedCall",
    "Turn",
    "printed_calls",
]
