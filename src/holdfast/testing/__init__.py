"""What tests of agents stand on: a record in memory, a model that plays a script, and the contract of adapters.

Nothing here reaches a network or draws a random number.
"""

from holdfast.store.memory import MemoryStore
from holdfast.testing.contract import AdapterContract
from holdfast.testing.model import FakeModel, PrintedCall, printed_calls
from holdfast.testing.script import Called, Harness, Ran, Script, Turn

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
