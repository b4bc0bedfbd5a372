"""The same text handed over in every way that `keep` takes, and what must hold of it when it was not stored."""

import hashlib
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from keepwhole import KeepwholeError, Session
from keepwhole.record.kept_result import KeptResult
from tests.torture.bodies import pieces, text

KINDS = ("str", "bytes", "iterator", "pipe")
INLINE, BLOB, LARGE = 1_000, 200_000, 2_500_000
SIZES = (INLINE, BLOB, LARGE)


def output(kind: str, content: str) -> str | bytes | Iterator[bytes] | IO[bytes]:
    """`content` as text, bytes, chunks or the read end of a pipe."""
    data = content.encode()
    if kind == "str":
        return content
    if kind == "bytes":
        return data
    return pieces(data) if kind == "iterator" else pipe(data)


def pipe(data: bytes) -> IO[bytes]:
    """The read end of a pipe into which somebody writes `data`."""
    read, write = os.pipe()

    def feed() -> None:
        with open(write, "wb", buffering=0) as file:
            for piece in pieces(data):
                file.write(piece)

    threading.Thread(target=feed, daemon=True).start()
    return open(read, "rb", buffering=0)


@contextmanager
def handed_over(kind: str, content: str) -> Iterator[object]:
    """`content` as an output of this kind; what it holds open is given back afterwards."""
    given = output(kind, content)
    try:
        yield given
    finally:
        close = getattr(given, "close", None)
        if close is not None:
            close()


class Keeper:
    """Keeps texts in a session and remembers, outside the store, what was acknowledged."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.acked: dict[str, str] = {}
        self.refused = 0
        self._seed = 0

    def keep(self, kind: str, size: int) -> bool:
        """Keep a new text; whether it was acknowledged. If not, it must have come back whole."""
        self._seed += 1
        content = text(self._seed, size)
        with handed_over(kind, content) as given:
            shown = self.session.keep("tool", None, given)
        if shown.problem is not None:
            assert_given_back(shown, content)
            self.refused += 1
            return False
        assert shown.trace_id is not None
        self.acked[shown.trace_id] = hashlib.sha256(content.encode()).hexdigest()
        return True

    def keep_every_kind(self) -> None:
        """Every way of handing over, every size."""
        for kind in KINDS:
            for size in SIZES:
                self.keep(kind, size)

    def check(self, session: Session | None = None) -> None:
        """Everything acknowledged can be read, and is what it was."""
        for trace_id, digest in self.acked.items():
            data = (session or self.session).recall_bytes(trace_id)
            assert hashlib.sha256(data).hexdigest() == digest
        assert (session or self.session).verify().whole


def assert_given_back(shown: KeptResult, content: str) -> None:
    """A result that could not be stored is shown in full, and says so."""
    assert isinstance(shown.problem, KeepwholeError)
    assert shown.content == content, f"{len(shown.content):,} of {len(content):,} characters came back"
    assert not shown.metadata.stored
    assert not shown.metadata.was_truncated
    assert shown.trace_id is None
    assert shown.artifact_id is None


def unfinished_files(folder: str) -> list[str]:
    """Files that were begun and not finished."""
    return [name for _, _, files in os.walk(os.path.join(folder, "blobs")) for name in files if name.startswith(".")]


def descriptors() -> int:
    """How many descriptors this process has open."""
    return len(os.listdir("/proc/self/fd"))
