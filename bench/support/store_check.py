"""Reads a store from outside, to check what a benchmark wrote there."""

import os

from keepwhole.canonical.body import BodyFacts
from keepwhole.store.protocol import body_of
from keepwhole.store.sqlite.store import SqliteStore


def read_largest(home: str) -> tuple[BodyFacts, str]:
    """Return the facts of the largest result of a store, and its file."""
    store = SqliteStore(home)
    bodies = [body_of(row) for info in store.sessions() for row in store.rows(info.name, kind="result")]
    store.close()
    body = max(bodies, key=lambda body: body.facts.size)
    name = body.blob or ""
    return body.facts, next(os.path.join(place, name) for place, _, names in os.walk(home) if name in names)
