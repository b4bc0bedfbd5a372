"""The oracle: what was acknowledged, in a file that is not in the store, written only after `keep` returned.

A record begins with a newline and ends with a full stop, so that one torn by a kill spoils no other.
"""

import os
import re
from typing import NamedTuple

_ACK = re.compile(r"^ack (\S+) (\S+) ([0-9a-f]{64}) (\d+) \.$", re.MULTILINE)
_PURGING = re.compile(r"^purging (\S+) \.$", re.MULTILINE)
_PURGED = re.compile(r"^purged (\S+) \.$", re.MULTILINE)


class Ack(NamedTuple):
    """One promise: this result of this session has these bytes."""

    session: str
    trace_id: str
    sha256: str
    size: int


class Promises(NamedTuple):
    """Everything that was acknowledged, and the purges that were begun and done."""

    acks: list[Ack]
    purging: frozenset[str]
    purged: frozenset[str]


class Oracle:
    """Appends records, each in one write."""

    def __init__(self, path: str) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def ack(self, session: str, trace_id: str | None, sha256: str, size: int) -> None:
        """This result was acknowledged."""
        self._write(f"ack {session} {trace_id} {sha256} {size}")

    def purging(self, session: str) -> None:
        """From now on this session may go."""
        self._write(f"purging {session}")

    def purged(self, session: str) -> None:
        """This session is gone and must stay so."""
        self._write(f"purged {session}")

    def _write(self, record: str) -> None:
        os.write(self._fd, f"\n{record} .".encode())


def read(path: str, up_to: int | None = None) -> Promises:
    """What the oracle knows; nothing if nobody wrote. Promises after the first `up_to` bytes do not count."""
    try:
        with open(path, encoding="ascii") as file:
            content = file.read()
    except FileNotFoundError:
        content = ""
    counted = content[:up_to]
    acks = [Ack(session, trace, digest, int(size)) for session, trace, digest, size in _ACK.findall(counted)]
    return Promises(acks, frozenset(_PURGING.findall(content)), frozenset(_PURGED.findall(counted)))
