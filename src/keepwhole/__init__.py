"""Keepwhole: keep every tool result in full, view what fits, recall the rest.

tool output ──keep──▶ canonical ──append──▶ store        nothing is ever lost
                          │                   │
                      truncation              └──▶ recall ──▶ the model reads back
                          │
what the model sees ◀── view
"""

import gc
from importlib import import_module
from typing import TYPE_CHECKING, Any

from keepwhole.interrupt import end_command

if TYPE_CHECKING:
    from keepwhole.integrations.clients import async_http_client, http_client
    from keepwhole.standalone.truncate import truncate
    from keepwhole.store.memory import MemoryStore

_LATER = {
    "MemoryStore": "keepwhole.store.memory",
    "async_http_client": "keepwhole.integrations.clients",
    "http_client": "keepwhole.integrations.clients",
    "truncate": "keepwhole.standalone.truncate",
}
"""Names that few programs use, by where they are: they are imported when somebody asks for them."""

_was_collecting = gc.isenabled()
gc.disable()  # what these imports make stays: the collector would look at all of it again and again
try:
    from keepwhole.errors import KeepwholeError, NotFound, NotStored
    from keepwhole.install import POSIX_HINT, is_posix
    from keepwhole.version import VERSION

    if is_posix():
        from keepwhole.session import Session, session
        from keepwhole.store.sqlite.store import SqliteStore
except KeyboardInterrupt:  # these imports are most of the start of the command line
    end_command()
    raise
finally:
    if not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()  # both together make all of it old at once, without a look
    if _was_collecting:
        gc.enable()


def __getattr__(name: str) -> Any:
    """Import a public name of `_LATER`, or say why it is not available on this system."""
    if name in _LATER and (is_posix() or name == "truncate"):
        found = globals()[name] = getattr(import_module(_LATER[name]), name)
        return found
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
