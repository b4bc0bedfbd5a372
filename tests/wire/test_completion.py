"""Whether a provider said all it had to say: only its own last words tell."""

import pytest

from keepwhole.wire.dialect import Dialect
from keepwhole.wire.dialects import DIALECTS
from tests.upstream.answer import Answer, written
from tests.upstream.spelling import Text

SAID = [Text('data: [DONE] event: message_stop event: response.completed "finishReason": "STOP"')]


@pytest.mark.parametrize("dialect", DIALECTS, ids=repr)
@pytest.mark.parametrize("ends", [b"\n", b"\r\n", b"\r"])
def test_a_stream_is_whole_with_its_last_words_and_not_before(dialect: Dialect, ends: bytes) -> None:
    data = b"".join(written(Answer(SAID), dialect.name, True, 1, None))  # type: ignore[arg-type]
    if dialect.name == "converse":
        ends = b"\n"  # its events come in frames and are written by us
    data = data.replace(b"\n", ends)
    assert dialect.is_whole(data, True)
    assert dialect.is_whole(data + b": a word to keep the line open" + ends * 2, True)
    last = 2 * len(ends)
    assert not [at for at in range(len(data) - last) if dialect.is_whole(data[:at], True)]


@pytest.mark.parametrize("dialect", DIALECTS, ids=repr)
def test_a_model_that_says_the_last_words_does_not_end_a_stream(dialect: Dialect) -> None:
    events = list(written(Answer(SAID), dialect.name, True, 1, None))  # type: ignore[arg-type]
    assert not dialect.is_whole(b"".join(events[:-1]), True)
