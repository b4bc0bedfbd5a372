"""A process that stores its standard input with `SqliteStore.take` and `append`, without a session."""

import os
import sys
import time

from keepwhole.canonical.entry import Result
from keepwhole.store.feed import Feed, pipe
from keepwhole.store.protocol import Draft, SessionInfo
from keepwhole.store.sqlite.store import SqliteStore


def main() -> None:
    store = SqliteStore(os.environ["KEEPWHOLE_HOME"])
    now = int(time.time() * 1000)
    store.open_session(SessionInfo(name="bench", created_at=now))
    body = store.store_body(Feed(pipe(sys.stdin.fileno())), sys.maxsize).body
    result = Result(at=now, trace_id=f"trace_{now}", artifact_id=f"art_{now}", tool="bench")
    store.append("bench", [Draft(result, body)])
    store.close()


if __name__ == "__main__":
    main()
