"""Every back end there is, made in one place: who tests what holds for all of them asks here."""

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from keepwhole import MemoryStore
from keepwhole.store.factory import open_store
from keepwhole.store.protocol import Store
from tests.objects import fresh_bucket
from tests.postgres import fresh_url

DURABLE = ("sqlite", "postgres", "postgres+s3")
"""Those that are there again when they are opened again: where the rows are, and where large bodies, if elsewhere."""
SELDOM = [pytest.param(kind, marks=pytest.mark.torture) for kind in ("sqlite+s3", "postgres+folder")]
KINDS = ("memory", *DURABLE)
EACH = ("sqlite", "postgres", pytest.param("postgres+s3", marks=pytest.mark.torture))
"""The same, for what hardly depends on where large bodies are."""
everywhere = pytest.mark.parametrize("kind", EACH)


class Place(NamedTuple):
    """Where a record is; each `open` is a handle of its own on the same one."""

    kind: str
    address: str
    """Of a server; empty for a record in the folder."""
    folder: str
    blobs: str = ""
    """Where large bodies are, if not with the rest."""

    @property
    def name(self) -> str:
        """What a session is given to find it."""
        return self.address or self.folder

    @property
    def environ(self) -> dict[str, str]:
        """What a process is given to find it."""
        own = {"KEEPWHOLE_STORE": self.address, "KEEPWHOLE_BLOBS": self.blobs}
        return {name: value for name, value in own.items() if value}

    def open(self, **more: Any) -> Store:
        elsewhere = {"blobs": self.blobs} if self.blobs else {}
        return open_store(self.address, self.folder, **{"inline_body": 32_768, **elsewhere, **more})


def place(kind: str, folder: Path) -> Place:
    """A new, empty record; the test is skipped where there is no server for it."""
    rows, _, bodies = kind.partition("+")
    blobs = fresh_bucket() if bodies == "s3" else str(folder / "elsewhere") if bodies else ""
    return Place(kind, "" if rows == "sqlite" else fresh_url(), str(folder), blobs)


def made(kind: str, folder: Path) -> Store:
    """A store of its own, empty."""
    return MemoryStore() if kind == "memory" else place(kind, folder).open()
