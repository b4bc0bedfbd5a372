"""Writers that are killed at any moment while their bodies go to a bucket: nothing acknowledged is lost.

`KEEPWHOLE_OUTSIDE_KILLS` changes the number of kills.
"""

import hashlib
import os
import random
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from keepwhole import Session
from keepwhole.errors import Damaged
from keepwhole.store.factory import open_store
from keepwhole.store.protocol import Store, body_of
from keepwhole.store.verify import verify
from tests.build import taken
from tests.objects import fresh_bucket
from tests.postgres import fresh_url
from tests.torture.nursery import environment

KILLS = int(os.environ.get("KEEPWHOLE_OUTSIDE_KILLS", "20"))
WRITER = """
import hashlib, os, sys
from keepwhole import Session
from keepwhole.store.blobs import s3
from keepwhole.store.factory import open_store

if sys.argv[4] == "unsent":
    s3._put = lambda name, reader, is_believed, store: None
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


class Outside:
    """A record whose large bodies are in a bucket, and what writers that were killed acknowledged."""

    def __init__(self, rows: str, folder: Path) -> None:
        self._where = fresh_url() if rows == "postgres" else "", str(folder / "record"), fresh_bucket()
        self.told: list[list[str]] = []

    def kill(self, kills: int, broken: str = "") -> None:
        self.told += [line.split() for _ in range(kills) for line in killed(*self._where, broken)]

    def open(self) -> Store:
        address, folder, blobs = self._where
        return open_store(address, folder, blobs=blobs, inline_body=32_768)


def check(store: Store, told: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> int:
    """How many bodies are in the bucket; `AssertionError` if one is lost, or if one is there that no entry has."""
    for trace_id, digest in told:
        assert digest_of(store, trace_id) == digest, f"{trace_id} was acknowledged, and is lost or changed"
    assert verify(store, "s").whole
    bodies = left(store, monkeypatch)
    assert bodies == sorted(str(row.blob) for row in store.rows("s") if row.blob), "bodies without an entry are left"
    assert verify(store, "s").whole
    return len(bodies)


def digest_of(store: Store, trace_id: str) -> str | None:
    row = store.find("s", trace_id)
    if row is None:
        return None
    try:
        with store.open(body_of(row)) as reader:
            return hashlib.sha256(reader.read()).hexdigest()
    except Damaged:
        return None


@pytest.mark.torture
@pytest.mark.timeout(0)
@pytest.mark.parametrize("rows", ["postgres", "sqlite"])
def test_nothing_acknowledged_is_lost_and_nothing_is_left_when_writers_are_killed(
    rows: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = Outside(rows, tmp_path)
    outside.kill(KILLS)
    assert len(outside.told) >= KILLS
    with closing(outside.open()) as store:
        bodies = check(store, outside.told, monkeypatch)
    print(f"\n{rows}: {KILLS} kills, {len(outside.told):,} acknowledged, {bodies:,} bodies in the bucket")


def test_a_store_that_acknowledges_what_it_does_not_send_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = Outside("sqlite", tmp_path)
    outside.kill(1, broken="unsent")
    with closing(outside.open()) as store, pytest.raises(AssertionError, match="is lost or changed"):
        check(store, outside.told, monkeypatch)


def test_a_collector_that_leaves_bodies_without_an_entry_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(Outside("sqlite", tmp_path).open()) as store:
        Session("s", store=store).keep("t", None, "x" * 40_000)
        taken(store, b"y" * 40_000)
        with monkeypatch.context() as patched:
            patched.setattr(store, "collect_orphans", lambda: None)
            with pytest.raises(AssertionError, match="without an entry are left"):
                check(store, [], patched)
        assert check(store, [], monkeypatch) == 1


def left(store: Store, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The bodies in the bucket after what no entry has was collected, however new."""
    from keepwhole.store.blobs import s3

    monkeypatch.setattr(s3, "ORPHAN_SECONDS", -10)
    places = store.blobs  # type: ignore[attr-defined]
    store.collect_orphans()  # type: ignore[attr-defined]
    return sorted(f"@{name}" for name in places.outside().old())
