"""Recorded streams, one for each dialect and case: what the provider streamed, and what the client got of it."""

import pytest

from keepwhole.recall.names import NAMES
from tests.apps.proxy.recorded import FOLDER, RECORDED, heard, path_of, read
from tests.upstream.spelling import Dialect

every_stream = pytest.mark.parametrize(("dialect", "case"), RECORDED, ids=lambda word: word.replace(" ", "-"))


@every_stream
def test_a_recorded_stream_gives_a_client_what_it_gave_before(dialect: Dialect, case: str) -> None:
    rounds, client = read(path_of(dialect, case).read_bytes())
    assert heard(dialect, rounds) == client


@every_stream
def test_nothing_of_ours_is_in_what_a_client_gets(dialect: Dialect, case: str) -> None:
    _, client = read(path_of(dialect, case).read_bytes())
    assert not [name for name in NAMES if name.encode() in client]


def test_every_case_is_recorded_and_nothing_else() -> None:
    assert {path for path in FOLDER.rglob("*.txt")} == {path_of(*each) for each in RECORDED}
