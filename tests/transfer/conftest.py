"""Records that are copied from one back end to another."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from keepwhole.store.protocol import Store
from tests.stores import made

_PAIRS = [("sqlite", "postgres"), ("postgres", "sqlite")]
_MORE = [
    ("sqlite", "sqlite"),
    ("memory", "postgres"),
    ("memory", "sqlite"),
    ("sqlite", "memory"),
    ("postgres", "postgres"),
    ("postgres", "memory"),
]


@pytest.fixture(params=[*_PAIRS, *(pytest.param(pair, marks=pytest.mark.torture) for pair in _MORE)], ids="-".join)
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Store, Store]]:
    source, target = (made(kind, tmp_path / f"{at}") for at, kind in enumerate(request.param))
    yield source, target
    source.close()
    target.close()
