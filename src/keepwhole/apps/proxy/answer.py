"""What an upstream answers, piece by piece: unpacked where that is needed, held for the record, and sure to end.

Owns: what an answer breaks off with, and that one whose connection is gone is never waited for.
Must not know: clients.
"""

import asyncio
import zlib
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import aiohttp

CUT = (aiohttp.ClientError, TimeoutError, ConnectionError, zlib.error)
"""What an answer breaks off with."""
_MOST_HELD = 64 * 1024 * 1024
"""Bytes of an answer that are held to be put on record."""


async def pieces(upstream: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    """An answer as it comes; one of `CUT` where it breaks off.

    The client library does not tell who reads an answer that something came in it that is no HTTP, and closes the
    connection; so the connection is watched.
    """
    connection = upstream.connection
    closed = getattr(connection.protocol, "closed", None) if connection is not None else None
    give_up = partial(_give_up, upstream.content)
    if closed is not None:
        closed.add_done_callback(give_up)
    elif connection is not None:
        give_up(None)
    try:
        async for piece in upstream.content.iter_any():
            yield piece
    finally:
        if closed is not None:
            closed.remove_done_callback(give_up)
            closed.remove_done_callback(_look_at)  # one of them is enough for all answers of a connection
            closed.add_done_callback(_look_at)


async def unpacked(upstream: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    """The answer, unpacked where it came packed although it was asked not to be."""
    unpack = unpacker(upstream.headers.get("content-encoding", "identity"))
    async for piece in pieces(upstream):
        yield piece if unpack is None else unpack.decompress(piece)


def _look_at(closed: asyncio.Future[None]) -> None:
    """A connection of which nobody waits for anything is gone: no word of it in a log."""
    if not closed.cancelled():
        closed.exception()


def _give_up(content: aiohttp.StreamReader, closed: asyncio.Future[None] | None) -> None:
    """The connection is gone: whoever still waits for more is told."""
    if closed is not None:
        _look_at(closed)
    if not content.is_eof() and content.exception() is None:
        content.set_exception(aiohttp.ClientPayloadError("the answer is no HTTP"))


class Held:
    """What an upstream said, held to be looked at and put on record."""

    def __init__(self, packing: str) -> None:
        self._pieces: list[bytes] = []
        self._size = 0
        self._packing = packing
        self.last = b""
        """The last few bytes."""

    def add(self, piece: bytes) -> None:
        """One more piece; of an answer that is too large nothing is held."""
        self.last = (self.last + piece)[-4:]
        self._size += len(piece)
        if self._size <= _MOST_HELD:
            self._pieces.append(piece)
        else:
            self._pieces.clear()

    def data(self) -> bytes:
        """All of it, unpacked; as it came where that cannot be done."""
        data = b"".join(self._pieces)
        unpack = unpacker(self._packing)
        try:
            return data if unpack is None else unpack.decompress(data, _MOST_HELD)
        except zlib.error:
            return data


def unpacker(packing: str) -> Any:
    """What unpacks; None for what is not packed, or in a way that is not known."""
    return zlib.decompressobj(47) if packing.lower() in ("gzip", "x-gzip", "deflate") else None
