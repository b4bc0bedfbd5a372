"""What tests of agents stand on: a record in memory, a model that plays a script, and the contract of adapters.

Nothing here reaches a network or draws a random number.
"""

from keepwhole.store.memory import MemoryStore
from keepwhole.testing.contract import AdapterContract
from keepwhole.testing.model import FakeModel, PrintedCall, printed_calls
from keepwhole.testing.script import Called, Harness, Ran, Script, Turn

__all__ = [
    "AdapterContract",
    "Called",
    "FakeModel",
    "Harness",
    "MemoryStore",
    "PrintedCall",
    "Ran",
    "Script",
    "Turn",
    "printed_calls",
]
