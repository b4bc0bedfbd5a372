"""Holdfast: keep every tool result whole, view what fits, recall the rest.

tool output ──keep──▶ canonical ──append──▶ store        nothing is ever lost
                          │                   │
                      truncation              └──▶ recall ──▶ the model reads back
                          │
what the model sees ◀── view
"""

from holdfast.errors import HoldfastError, NotFound, NotStored
from holdfast.integrations.clients import async_http_client, http_client
from holdfast.session import Session, session
from holdfast.store.memory import MemoryStore
from holdfast.store.sqlite.store import SqliteStore
from holdfast.truncation.configuration import TruncationConfiguration
from holdfast.version import VERSION

__all__ = [
    "HoldfastError",
    "MemoryStore",
    "NotFound",
    "NotStored",
    "Session",
    "SqliteStore",
    "TruncationConfiguration",
    "async_http_client",
    "http_client",
    "session",
]
__version__ = VERSION
