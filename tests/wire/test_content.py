"""The contents of messages: what a value is written as where the interpreter has no quick encoder."""

import json

import pytest

from keepwhole.wire import content


class Odd:
    """A value that JSON does not know."""

    def __init__(self) -> None:
        self.name = "ä"


@pytest.mark.parametrize("value", [{"a": [1, None, "ä\n"]}, {}, [True, 1.5], {"odd": Odd()}])
def test_without_the_quick_encoder_the_same_text_is_written(value: object, monkeypatch: pytest.MonkeyPatch) -> None:
    quick = "".join(content._encoder()(value, 0))
    monkeypatch.delattr(json.encoder, "c_make_encoder")
    assert "".join(content._encoder()(value, 0)) == quick
