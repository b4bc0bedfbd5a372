"""A writer to a record in PostgreSQL, in a process of its own: `python -m tests.torture.postgres_writers URL …`.

Appends a result with its decision, and now and then a response alone, as fast as it can; acknowledges each to the
oracle once `append` returned. What was not stored is whole or absent, and is not acknowledged.

`KEEPWHOLE_BREAK` switches a safety off, for the controls that must be caught: `forgetful` (an append that is sent again
does not say so) or `early` (a server that says stored before it is on its disk is not refused).
"""

import argparse
import hashlib
import json
import os
import random
import traceback

from keepwhole.canonical import ids
from keepwhole.canonical.body import measure
from keepwhole.canonical.entry import Entry
from keepwhole.errors import NotFound, StoreError
from keepwhole.store.postgres import settings
from keepwhole.store.postgres.append import Append
from keepwhole.store.postgres.store import PostgresStore
from keepwhole.store.protocol import Body, Draft, SessionInfo
from keepwhole.truncation.cut import encode_cut, whole
from tests.build import decision, draft, response
from tests.torture.oracle import Oracle

_SIZES = (5, 150, 1_500, 30_000)


def forgetful(append: Append) -> list[Entry]:
    """Send an append as if it were another one each time."""
    append._mark, append._sent_before = os.urandom(12), False
    return _send(append)


_send = Append.__call__


class Writer:
    """Its own session and one that all share."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._chance = random.Random(f"{options.seed} {options.number}")
        self._oracle = Oracle(options.oracle)
        self._store = PostgresStore(options.url, options.folder)
        self._names = [f"writer-{options.number}", "shared"]
        self.kept = self.unknown = 0

    def work(self, stop: str) -> None:
        """Write until the file `stop` is there."""
        opened: set[str] = set()
        while not os.path.exists(stop):
            name = self._chance.choice(self._names)
            try:
                if name not in opened:
                    self._store.open_session(SessionInfo(name=name, created_at=1))
                    opened.add(name)
                self._append(name)
                self.kept += 1
            except (StoreError, NotFound):  # whole or absent; the session too, where a safety is off
                self.unknown += 1
                opened.discard(name)

    def _append(self, name: str) -> None:
        data = self._chance.randbytes(self._chance.choice(_SIZES)).hex().encode()
        trace_id = ids.trace_id(os.urandom(ids.RANDOM_BYTES))
        if self._chance.random() < 0.3:
            drafts = [response(self._store, trace_id, data)]
        else:
            kept = draft(
                self._store, data, trace_id=trace_id, artifact_id=ids.artifact_id(1, trace_id), call_id=trace_id
            )
            drafts = [kept, shown_whole(trace_id, data)]
        self._store.append(name, drafts, once=True)
        self._oracle.ack(name, trace_id, hashlib.sha256(data).hexdigest(), len(data))


def shown_whole(trace_id: str, data: bytes) -> Draft:
    """A decision to show all of a result."""
    about, cut = decision(trace_id).header, encode_cut(whole(len(data)))
    header = about.replace(shown_digest=measure(data).digest.hex(), shown_chars=len(data))
    return Draft(header, Body(measure(cut), inline=cut))


def break_on_purpose(what: str) -> None:
    """Switch one safety off in this process."""
    if what == "forgetful":
        Append.__call__ = forgetful
    elif what == "early":
        settings._DURABLE = (*settings._DURABLE, "off")
    elif what:
        raise ValueError(what)


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("url", "oracle", "report", "stop", "folder"):
        parser.add_argument(name)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--number", type=int, default=0)
    options = parser.parse_args()
    break_on_purpose(os.environ.get("KEEPWHOLE_BREAK", ""))
    try:
        writer = Writer(options)
        writer.work(options.stop)
        report = {"kept": writer.kept, "unknown": writer.unknown}
    except BaseException:
        report = {"error": traceback.format_exc()}
    with open(options.report, "a", encoding="utf-8") as file:
        file.write(json.dumps(report) + "\n")


if __name__ == "__main__":
    main()
