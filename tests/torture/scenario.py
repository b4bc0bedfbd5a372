"""What is run under `strace`, once for each system call it makes. `python -m tests.torture.scenario WHAT …`.

Says what happened in JSON lines on the oracle's side, so that a kill or an error at any call can be judged.
"""

import json
import os
import sys
import traceback
from collections.abc import Callable

from keepwhole import Session, SqliteStore
from keepwhole.store.sqlite.database import connect
from keepwhole.store.sqlite.schema import migrate, scripts
from tests.torture import bodies, migration
from tests.torture.broken import break_on_purpose
from tests.torture.oracle import Oracle

SMALL, LARGE = 11, 5
"""Seeds of a streamed output that goes into the row, and of one that goes into a file."""


def keep_two(store: SqliteStore, oracle: Oracle) -> None:
    """One result in the row and one in a file."""
    session = Session("kept", store=store)
    for seed in (SMALL, LARGE):
        keep(session, seed, oracle)


def keep_and_purge(store: SqliteStore, oracle: Oracle) -> None:
    """A session that is kept, and one that goes."""
    keep_two(store, oracle)
    session = Session("gone", store=store)
    for seed in (SMALL, LARGE):
        keep(session, seed, oracle)
    oracle.purging("gone")
    store.purge("gone", 0)
    oracle.purged("gone")


def read_back(store: SqliteStore, oracle: Oracle) -> None:
    """Verify, recall and list what is there."""
    session = Session("kept", store=store)
    session.verify()
    for row, seed in zip(store.rows("kept", kind="result"), (SMALL, LARGE), strict=True):
        assert session.recall_bytes(row.trace_id) == bodies.make(seed).data, "wrong bytes were served"
    store.sessions()


def purge_it(store: SqliteStore, oracle: Oracle) -> None:
    """The session that is there goes."""
    oracle.purging("kept")
    store.purge("kept", 0)
    oracle.purged("kept")


def bring_up_to_date(store: SqliteStore, oracle: Oracle) -> None:
    """A migration of a store that has data."""
    connection = connect(store.path)
    migrate(connection, store.path, [*scripts(), migration.ADDED])
    connection.close()


def keep(session: Session, seed: int, oracle: Oracle) -> None:
    """Keep one output; it is acknowledged, or it comes back whole with the reason."""
    made = bodies.make(seed)
    shown = session.keep("tool", {"seed": seed}, made.output)
    if shown.problem is None:
        oracle.ack(session.id, shown.trace_id, made.sha256, len(made.data))
    else:
        whole = shown.content.encode() == made.data
        _say({"problem": str(shown.problem), "whole": whole})


SCENARIOS: dict[str, Callable[[SqliteStore, Oracle], None]] = {
    scenario.__name__: scenario for scenario in (keep_two, keep_and_purge, purge_it, read_back, bring_up_to_date)
}


def _say(record: dict[str, object]) -> None:
    print(json.dumps(record), file=sys.stderr, flush=True)


def main() -> None:
    name, folder, path = sys.argv[1:]
    break_on_purpose(os.environ.get("KEEPWHOLE_BREAK", ""))
    oracle, store = Oracle(path), SqliteStore(folder)
    _say({"begun": name})
    try:
        SCENARIOS[name](store, oracle)
        store.close()
    except BaseException as error:
        kinds = [kind.__name__ for kind in type(error).__mro__]
        _say({"raised": kinds, "what": repr(error), "trace": traceback.format_exc()})
        os._exit(1)


if __name__ == "__main__":
    main()
