"""The same over real transcripts: every run in a folder viewed under each policy. Nothing of them is ever committed."""

import gzip
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.golden import doors
from tests.golden.recorder import Recorder, Recording
from tests.golden.setups import settings

_POLICIES = (
    ("auto", "default"),
    ("auto", "lean"),
    ("auto", "tight"),
    *((name, "default") for name in doors.POLICIES[1:]),
)
_VIEWS = 6
"""Moments of a run at which it is viewed."""


def recorded(folder: Path, most: int) -> dict[str, Recording]:
    """The recordings of the runs in a folder, at most so many of each file, spread over it."""
    out = Recorder()
    with doors.unhurried():
        for path in sorted(folder.rglob("*.jsonl.gz")):
            for run in sampled(path, most):
                _record(
                    out, f"{path.name.partition('.')[0]}/{hashlib.sha256(run['id'].encode()).hexdigest()[:10]}", run
                )
    return out.found


def sampled(path: Path, most: int) -> Iterator[dict[str, Any]]:
    """Some runs of a file: every so many, so that all of it is represented."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        lines = sum(1 for _ in file)
    every = max(1, -(-lines // most))
    with gzip.open(path, "rt", encoding="utf-8") as file:
        yield from (json.loads(line) for number, line in enumerate(file) if number % every == 0)


def _record(out: Recorder, name: str, run: dict[str, Any]) -> None:
    messages: list[Any] = run["messages"]
    ends = sorted({len(messages) * part // _VIEWS for part in range(1, _VIEWS + 1)} - {0})
    body = {"model": "gpt-4o", "tools": [], "messages": messages}
    for policy, given in _POLICIES:
        clock = doors.Clock()
        session = doors.open_session(settings=settings(given), clock=clock, seed=name)
        views = []
        for end in ends:
            clock.tick()
            views.append(doors.view(session, messages[:end], policy=policy))
        label = f"{name}/{policy}{'' if given == 'default' else '-' + given}"
        out.add(label, views)
        if policy in ("auto", "truncation"):
            sent = json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass")
            out.add(f"{label}-bytes", doors.view(session, sent, policy=policy))
            out.add(f"{label}-record", doors.record(session.store))
    store = doors.memory_store()
    doors.import_into(store, doors.made_run("corpus", name, messages), name)
    out.add(f"{name}/import", doors.record(store))
