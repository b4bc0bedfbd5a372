"""What an append reads on the server does not grow with what others have stored."""

from pathlib import Path

import pytest

from keepwhole.errors import Overtaken
from tests.build import draft, opened, request
from tests.postgres import fresh_url

pytest.importorskip("psycopg_pool", reason="needs the extra `postgres`")

from keepwhole.store.postgres.store import PostgresStore

OTHERS = 3_000


def test_appends_after_a_decision_do_not_read_what_others_have_stored(tmp_path: Path) -> None:
    """A connection plans a query anew for five calls, then without their values."""
    store = PostgresStore(fresh_url(), str(tmp_path), connections=1)
    opened(store, "other")
    for _ in range(3):
        store.append("other", [draft(store, b"%d" % number) for number in range(OTHERS // 3)])
    with store.server._connection() as connection:
        connection.execute("ANALYZE entries")
    opened(store)
    before = rows_read(store)
    for _ in range(12):
        store.append("s", [request(store)])
        seq = store.append("s", [request(store)])[0].seq
        store.append("s", [request(store)], after=seq - 1)
    assert rows_read(store) - before < OTHERS
    decided = store.append("s", [draft(store)])[0].seq
    store.append("s", [request(store)], after=decided)
    with pytest.raises(Overtaken):
        store.append("s", [request(store)], after=decided - 1)
    store.close()


def rows_read(store: PostgresStore) -> int:
    """How many entries were read by going through the whole table, so far."""
    store.select("SELECT pg_stat_force_next_flush()")
    return store.select("SELECT seq_tup_read FROM pg_stat_user_tables WHERE relid = 'entries'::regclass")[0][0]
