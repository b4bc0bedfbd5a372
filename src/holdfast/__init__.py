"""Holdfast: keep every tool result whole, view what fits, recall the rest.

tool output ──keep──▶ canonical ──append──▶ store        nothing is ever lost
                          │                   │
                      truncation              └──▶ recall ──▶ the model reads back
                          │
what the model sees ◀── view
"""

from holdfast.errors import HoldfastError, NotFound, NotStored
from holdfast.session import Session, session
from holdfast.store.memory import MemoryStore
from holdfast.store.sqlite.store import SqliteStore
from holdfast.truncation.configuration import TruncationConfiguration
from holdfast.truncation.result import TruncationResult
from holdfast.version import VERSION as __version__

__all__ = [
    "HoldfastError",
    "MemoryStore",
    "NotFound",
    "NotStored",
    "Session",
    "SqliteStore",
    "TruncationConfiguration",
    "TruncationResult",
    "__version__",
    "session",
]
