"""Writers that are killed at any moment while their bodies go to a bucket: nothing acknowledged is lost."""

import hashlib
import random
import subprocess
import sys
from pathlib import Path

import pytest

from keepwhole.store.factory import open_store
from keepwhole.store.protocol import Store, body_of
from keepwhole.store.verify import verify
from tests.objects import fresh_bucket
from tests.postgres import fresh_url
from tests.torture.nursery import environment

KILLS = 20
WRITER = """
import hashlib, os, sys
from keepwhole import Session
from keepwhole.store.factory import open_store

store = open_store(sys.argv[1], sys.argv[2], blobs=sys.argv[3], inline_body=32_768)
session = Session("s", store=store)
number = 0
while True:
    text = os.urandom((20_000, 100_000, 4_500_000)[number % 3]).hex()
    kept = session.keep("t", None, text)
    assert kept.problem is None
    print(kept.trace_id, hashlib.sha256(text.encode()).hexdigest(), flush=True)
    number += 1
"""


def killed(*args: str) -> list[str]:
    """What a writer acknowledged before it was killed."""
    with subprocess.Popen([sys.executable, "-c", WRITER, *args], stdout=subprocess.PIPE, env=environment()) as writer:
        assert writer.stdout is not None
        said = writer.stdout.readline()
        try:
            writer.wait(random.uniform(0, 1.5))
        except subprocess.TimeoutExpired:
            pass
        writer.kill()
        return (said + writer.stdout.read()).decode().splitlines()


@pytest.mark.torture
@pytest.mark.timeout(300)
@pytest.mark.parametrize("rows", ["postgres", "sqlite"])
def test_nothing_acknowledged_is_lost_and_nothing_is_left_when_writers_are_killed(
    rows: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blobs = fresh_bucket()
    address = fresh_url() if rows == "postgres" else ""
    args = (address, str(tmp_path / "record"), blobs)
    told = [line.split() for _ in range(KILLS) for line in killed(*args)]
    store = open_store(address, str(tmp_path / "record"), blobs=blobs, inline_body=32_768)
    assert len(told) >= KILLS
    for trace_id, digest in told:
        row = store.find("s", trace_id)
        assert row is not None
        with store.open(body_of(row)) as reader:
            assert hashlib.sha256(reader.read()).hexdigest() == digest
    assert verify(store, "s").whole
    assert left(store, monkeypatch) == sorted(str(row.blob) for row in store.rows("s") if row.blob)
    assert verify(store, "s").whole
    store.close()


def left(store: Store, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The bodies in the bucket after what no entry has was collected, however new."""
    from keepwhole.store.blobs import s3

    monkeypatch.setattr(s3, "ORPHAN_SECONDS", -10)
    places = store.blobs  # type: ignore[attr-defined]
    store.collect_orphans()  # type: ignore[attr-defined]
    return sorted(f"@{name}" for name in places.outside().old())
