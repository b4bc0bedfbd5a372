"""A result that somebody cut before it came is flagged, wherever the mark is."""

import pytest

from keepwhole import MemoryStore, Session
from keepwhole.metrics import MARKER
from keepwhole.store.protocol import result_of

CUT = "…4,096 tokens truncated…"


@pytest.mark.parametrize("around", [0, 5_000, 60_000, 400_000])
@pytest.mark.parametrize("as_bytes", [False, True])
def test_a_mark_in_the_middle_is_recorded(around: int, as_bytes: bool) -> None:
    text = "a line\n" * (around // 7) + CUT + "\n" + "a line\n" * (around // 7)
    session = Session("s", store=MemoryStore())
    session.keep("bash", None, text.encode() if as_bytes else text)
    assert MARKER in _flags(session)
    whole = Session("t", store=MemoryStore())
    whole.keep("bash", None, text.replace(CUT, "4,096 tokens"))
    assert MARKER not in _flags(whole)


def _flags(session: Session) -> tuple[str, ...]:
    return result_of(next(iter(session.store.rows(session.id, kind="result")))).flags


def test_a_mark_at_the_end_of_a_very_long_result_is_recorded() -> None:
    session = Session("s", store=MemoryStore())
    session.keep("bash", None, "a line\n" * 300_000 + CUT)
    assert MARKER in _flags(session)
