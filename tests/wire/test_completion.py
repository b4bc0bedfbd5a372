"""Whether a provider said all it had to say: only its own last words tell."""

import pytest

from keepwhole.wire.completion import is_whole
from keepwhole.wire.dialect import Dialect
from tests.upstream.answer import Answer, written
from tests.upstream.spelling import Text

SAID = [Text("data: [DONE] event: message_stop event: response.completed")]
DIALECTS: tuple[Dialect, ...] = ("anthropic", "openai_chat", "openai_responses")


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("ends", [b"\n", b"\r\n", b"\r"])
def test_a_stream_is_whole_with_its_last_words_and_not_before(dialect: Dialect, ends: bytes) -> None:
    data = b"".join(written(Answer(SAID), dialect, True, 1, None)).replace(b"\n", ends)
    assert is_whole(dialect, data, True)
    assert is_whole(dialect, data + b": a word to keep the line open" + ends * 2, True)
    last = 2 * len(ends)
    assert not [at for at in range(len(data) - last) if is_whole(dialect, data[:at], True)]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_model_that_says_the_last_words_does_not_end_a_stream(dialect: Dialect) -> None:
    events = list(written(Answer(SAID), dialect, True, 1, None))
    assert not is_whole(dialect, b"".join(events[:-1]), True)
