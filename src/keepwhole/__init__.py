"""Keepwhole: keep every tool result whole, view what fits, recall the rest.

tool output ──keep──▶ canonical ──append──▶ store        nothing is ever lost
                          │                   │
                      truncation              └──▶ recall ──▶ the model reads back
                          │
what the model sees ◀── view
"""

from typing import Any

from keepwhole.errors import KeepwholeError, NotFound, NotStored
from keepwhole.install import POSIX_HINT, is_posix
from keepwhole.interrupt import end_command
from keepwhole.standalone.truncate import truncate
from keepwhole.version import VERSION

if is_posix():
    try:
        from keepwhole.integrations.clients import async_http_client, http_client
        from keepwhole.session import Session, session
        from keepwhole.store.memory import MemoryStore
        from keepwhole.store.sqlite.store import SqliteStore
    except KeyboardInterrupt:  # these imports are most of the start of the command line
        end_command()
        raise
else:

    def __getattr__(name: str) -> Any:
        """Say why a public name is not available on this system."""
        if name in __all__:
            raise ImportError(f"`keepwhole.{name}`: {POSIX_HINT}", name=f"keepwhole.{name}")
        raise AttributeError(f"module `keepwhole` has no attribute `{name}`")


__all__ = [
    "KeepwholeError",
    "MemoryStore",
    "NotFound",
    "NotStored",
    "Session",
    "SqliteStore",
    "async_http_client",
    "http_client",
    "session",
    "truncate",
]
__version__ = VERSION
