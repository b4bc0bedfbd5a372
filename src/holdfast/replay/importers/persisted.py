"""What Claude Code kept back of large outputs, found again.

Owns: the words with which it names the file of an output, and where those files lie beside a log.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from holdfast.projection.transcript import Message, Returned
from holdfast.replay.importers.lines import BAD
from holdfast.replay.importers.saved import saved_output
from holdfast.wire.fields import fields_of, text_of

_FRAME = "<persisted-output>"
_NAMED = re.compile(r"(?:Full output saved to: |Output has been saved to )(.+?)\.?(?=\n|$|\. )")
_NAMED_WITHIN = 2_000


class Outputs:
    """The large outputs of one log."""

    def __init__(self, log: Path) -> None:
        self._folders = (log.parent / _stem(log) / "tool-results", log.parent.parent / "tool-results")
        self._restored: list[str] = []
        self._lost: list[str] = []

    def restored(self, message: Message, result: msgspec.Raw) -> Message:
        """The message with the whole of each output that only its beginning was sent of."""
        if not any(_is_cut(one.text) for one in message.returned):
            return message
        return message._replace(returned=tuple(self._whole(one, result) for one in message.returned))

    def found(self) -> Mapping[str, Any]:
        """Which calls have their whole output again, and which have not."""
        return {"restored_full_output": self._restored, "legacy_truncated": self._lost}

    def _whole(self, returned: Returned, result: msgspec.Raw) -> Returned:
        if not _is_cut(returned.text):
            return returned
        kept = _kept(result)
        named = _NAMED.search(returned.text, 0, _NAMED_WITHIN)
        text = saved_output(kept.get("persistedOutputPath") or (named and named[1]), self._folders)
        if text is None:
            text, is_whole = _printed(kept)
        else:
            is_whole = True
        (self._restored if is_whole else self._lost).append(returned.call_id)
        return returned._replace(text=text) if len(text) > len(returned.text) or is_whole else returned


def _printed(kept: dict[str, Any]) -> tuple[str, bool]:
    """What the log itself has of the output, and whether that is all of it."""
    text, size = text_of(kept.get("stdout")), kept.get("persistedOutputSize")
    return text, bool(text) and (not isinstance(size, int) or len(text.encode()) >= size)


def _kept(result: msgspec.Raw) -> dict[str, Any]:
    try:
        return fields_of(msgspec.json.decode(result))
    except BAD:
        return {}


def _is_cut(text: str) -> bool:
    return text.startswith(_FRAME) or (text.startswith("Error: result (") and "has been saved to" in text[:300])


def _stem(log: Path) -> str:
    return log.name.partition(".")[0]
