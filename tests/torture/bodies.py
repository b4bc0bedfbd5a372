"""Outputs of any kind and size that can be made again from their seed, so that nobody has to remember them."""

import hashlib
import random
from collections.abc import Iterator
from typing import NamedTuple

_LETTERS = bytes(b"abcdefghijklmnopqrstuvwxyz \n"[value % 28] for value in range(256))


class Made(NamedTuple):
    """One output: how it is handed over, and its bytes."""

    kind: str
    data: bytes

    @property
    def output(self) -> str | bytes | Iterator[bytes]:
        """What `keep` is given."""
        if self.kind == "text":
            return self.data.decode()
        return self.data if self.kind == "bytes" else pieces(self.data)

    @property
    def sha256(self) -> str:
        """A plain digest; nothing of Keepwhole has a part in it."""
        return hashlib.sha256(self.data).hexdigest()


def make(seed: int) -> Made:
    """The output of this seed: two in three small enough for a row, the others for files."""
    chance = random.Random(seed)
    kind = chance.choice(("text", "bytes", "stream", "stream"))
    size = chance.choice(
        (chance.randint(10, 500), chance.randint(500, 20_000), int(40_000 * (300_000 / 40_000) ** chance.random() ** 2))
    )
    data = chance.randbytes(size)
    return Made(kind, data if kind == "bytes" else data.translate(_LETTERS))


def text(seed: int, size: int) -> str:
    """`size` characters of lines of letters."""
    return random.Random(seed).randbytes(size).translate(_LETTERS).decode()


def pieces(data: bytes, size: int = 7_919) -> Iterator[bytes]:
    """`data` as a tool streams it."""
    return (data[start : start + size] for start in range(0, len(data), size))
