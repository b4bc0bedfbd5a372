"""How ids are spelled."""

import os
import re

import pytest

from holdfast.canonical.ids import RANDOM_BYTES, artifact_id, is_session_id, session_id, trace_id


def test_an_artifact_id_has_its_second_and_22_letters() -> None:
    for _ in range(200):
        assert re.fullmatch(r"art_1700000000_[0-9A-Za-z]{22}", artifact_id(1_700_000_000, os.urandom(RANDOM_BYTES)))


def test_a_trace_id_and_a_session_id_have_22_letters() -> None:
    assert re.fullmatch(r"trace_[0-9A-Za-z]{22}", trace_id(os.urandom(RANDOM_BYTES)))
    assert re.fullmatch(r"s_[0-9A-Za-z]{22}", session_id(os.urandom(RANDOM_BYTES)))


def test_no_id_is_drawn_twice() -> None:
    drawn = {artifact_id(1_700_000_000, os.urandom(RANDOM_BYTES)) for _ in range(100_000)}
    assert len(drawn) == 100_000


def test_every_letter_place_varies() -> None:
    drawn = [trace_id(os.urandom(RANDOM_BYTES))[-22:] for _ in range(2_000)]
    for place in range(22):
        assert len({letters[place] for letters in drawn}) == 62


def test_an_id_is_made_of_nothing_but_the_time_and_the_bytes_it_was_given() -> None:
    random = bytes(range(RANDOM_BYTES))
    assert artifact_id(5, random) == artifact_id(5, random)
    assert artifact_id(5, random)[-22:] == trace_id(random)[-22:]


@pytest.mark.parametrize("name", ["a", "s_1", "team:agent@host", "2026-01-01.run", "x" * 128])
def test_ordinary_names_can_name_a_session(name: str) -> None:
    assert is_session_id(name)


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../up", "a/b", "-flag", ".hidden", "a b", "a\n", "ä", "a\x00", "x" * 129]
)
def test_names_that_could_be_paths_flags_or_log_lines_cannot(name: str) -> None:
    assert not is_session_id(name)
