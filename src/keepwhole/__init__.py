"""Keepwhole: keep every tool result whole, view what fits, recall the rest.

tool output ──keep──▶ canonical ──append──▶ store        nothing is ever lost
                          │                   │
                      truncation              └──▶ recall ──▶ the model reads back
                          │
what the model sees ◀── view
"""

from keepwhole.errors import KeepwholeError, NotFound, NotStored
from keepwhole.integrations.clients import async_http_client, http_client
from keepwhole.session import Session, session
from keepwhole.store.memory import MemoryStore
from keepwhole.store.sqlite.store import SqliteStore
from keepwhole.truncation.configuration import TruncationConfiguration
from keepwhole.version import VERSION

__all__ = [
    "KeepwholeError",
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
