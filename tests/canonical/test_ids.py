"""How ids are spelled."""

import os
import re

import pytest

from keepwhole.canonical.ids import RANDOM_BYTES, artifact_id, is_session_id, session_id, trace_id, trace_of


def drawn() -> str:
    return trace_id(os.urandom(RANDOM_BYTES))


def test_an_artifact_id_has_its_second_and_22_letters() -> None:
    for _ in range(200):
        assert re.fullmatch(r"art_1700000000_[0-9A-Za-z]{22}", artifact_id(1_700_000_000, drawn()))


def test_an_artifact_id_and_its_trace_id_name_the_same_result() -> None:
    trace = drawn()
    assert trace_of(artifact_id(1_700_000_000, trace)) == trace
    assert trace_of(trace) == trace


def test_a_trace_id_and_a_session_id_have_22_letters() -> None:
    assert re.fullmatch(r"trace_[0-9A-Za-z]{22}", trace_id(os.urandom(RANDOM_BYTES)))
    assert re.fullmatch(r"s_[0-9A-Za-z]{22}", session_id(os.urandom(RANDOM_BYTES)))


def test_no_id_is_drawn_twice() -> None:
    assert len({drawn() for _ in range(100_000)}) == 100_000


def test_every_letter_place_varies() -> None:
    ends = [drawn()[-22:] for _ in range(2_000)]
    for place in range(22):
        assert len({letters[place] for letters in ends}) == 62


def test_an_id_is_made_of_nothing_but_the_time_and_the_bytes_it_was_given() -> None:
    random = bytes(range(RANDOM_BYTES))
    assert trace_id(random) == trace_id(random)
    assert artifact_id(5, trace_id(random)) == artifact_id(5, trace_id(random))


@pytest.mark.parametrize("name", ["a", "s_1", "team:agent@host", "2026-01-01.run", "x" * 128])
def test_ordinary_names_can_name_a_session(name: str) -> None:
    assert is_session_id(name)


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../up", "a/b", "-flag", ".hidden", "a b", "a\n", "ä", "a\x00", "x" * 129]
)
def test_names_that_could_be_paths_flags_or_log_lines_cannot(name: str) -> None:
    assert not is_session_id(name)


def test_an_id_from_before_1970_is_spelled_like_every_other() -> None:
    assert re.fullmatch(r"art_0_[0-9A-Za-z]{22}", artifact_id(-86_397, drawn()))
