"""Every error that Keepwhole raises.

KeepwholeError
├── UsageError                the caller asked for something impossible
│   ├── ConfigError           a setting is unknown or has a wrong value
│   ├── UnknownStrategy       no strategy goes by that name
│   └── TooLargeToRecall      the whole of it does not fit in one answer
└── StoreError                the record cannot do what was asked
    ├── NotFound              no such session, result or artifact here
    ├── NotStored             a write failed: nothing was half-written, nothing may be hidden
    │   └── QuotaExceeded     the session's quota is used up
    ├── Overtaken             another process added an entry that has to be read first
    ├── Damaged               stored bytes are not the bytes that were kept
    └── StoreRefused          the store cannot be opened safely here

`str(error)` is for the programmer and says what to do next. `error.for_model` is one sentence for the model
with the next call in it.
"""

from collections.abc import Iterator
from typing import Protocol


class Rescue(Protocol):
    """What was read of an output that could not be stored, and the rest of it."""

    def chunks(self) -> Iterator[bytes]:
        """The whole original, once."""
        ...

    def close(self) -> None:
        """Give back what it holds open."""
        ...


class KeepwholeError(Exception):
    """Base class of every error that Keepwhole raises."""

    def __init__(self, message: str, for_model: str | None = None) -> None:
        super().__init__(message)
        self.for_model = for_model or "The stored result is not available now. Go on without it, or run the tool again."


class UsageError(KeepwholeError):
    """The caller asked for something impossible; the message says what is possible."""


class ConfigError(UsageError):
    """A setting is unknown or has a wrong value; `keepwhole config check` names the file and the key."""


class UnknownStrategy(UsageError):
    """No strategy goes by that name; the message lists those that exist."""


class TooLargeToRecall(UsageError):
    """The whole body does not fit in one answer; ask for lines, characters or a stream."""


class StoreError(KeepwholeError):
    """The record cannot do what was asked; `keepwhole doctor` says why."""


class NotFound(StoreError):
    """No such session, result or artifact here; `keepwhole artifacts list` says what there is."""


class NotStored(StoreError):
    """A write failed. Nothing was half-written, and what was not stored must be shown in full."""

    def __init__(self, message: str, for_model: str | None = None, rescue: Rescue | None = None) -> None:
        super().__init__(message, for_model)
        self.rescue = rescue
        """Gives the original back where it was being read from a stream."""


class QuotaExceeded(NotStored):
    """The session's quota is used up; raise `session_quota`, or end and clean old sessions."""


class Overtaken(StoreError):
    """Another process added a result or a decision meanwhile; nothing was written. Read the new entries, and decide
    again."""


class Damaged(StoreError):
    """Stored bytes are not the bytes that were kept; `keepwhole sessions verify` names every damaged entry."""


class StoreRefused(StoreError):
    """The store cannot be opened safely: a newer schema, wrong permissions, an unsafe file system."""
