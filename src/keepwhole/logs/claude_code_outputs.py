"""What Claude Code kept back of large outputs, found again.

Owns: the words with which it names the file of an output, and where those files lie beside a log.
"""

import re
from pathlib import Path
from typing import Any

import msgspec

from keepwhole.canonical.message import Message, ResultText
from keepwhole.logs.lines import BAD
from keepwhole.logs.saved_outputs import Outputs
from keepwhole.wire.content import fields_of, text_of

_FRAME = "<persisted-output>"
_TOO_LARGE = "Error: result ("
_NAMED = re.compile(r"(?:Full output saved to: |Output has been saved to )(.+?)\.?(?=\n|$|\. )")
_NAMED_WITHIN = 2_000


def outputs_beside(log: Path) -> Outputs:
    """The folders of a session's outputs, be it the log of the session or of one of its sub-agents."""
    session = log.parent / log.name.partition(".")[0]
    return Outputs(session / "tool-results", log.parent.parent / "tool-results")


def restored(message: Message, result: msgspec.Raw, outputs: Outputs) -> Message:
    """The message with the whole of each output that only the beginning of was sent."""
    if not any(_is_cut(one.text) for one in message.returned):
        return message
    kept = _kept(result)
    return message._replace(returned=tuple(_whole(one, kept, outputs) for one in message.returned))


def _whole(returned: ResultText, kept: dict[str, Any], outputs: Outputs) -> ResultText:
    if not _is_cut(returned.text):
        return returned
    named = _NAMED.search(returned.text, 0, _NAMED_WITHIN)
    text = outputs.saved(kept.get("persistedOutputPath") or (named and named[1]))
    is_whole = text is not None
    if text is None:
        text, size = text_of(kept.get("stdout")), kept.get("persistedOutputSize")
        is_whole = bool(text) and (not isinstance(size, int) or len(text.encode()) >= size)
    outputs.note(returned.call_id, is_whole)
    return returned._replace(text=text) if is_whole or len(text) > len(returned.text) else returned


def _kept(result: msgspec.Raw) -> dict[str, Any]:
    try:
        return fields_of(msgspec.json.decode(result))
    except BAD:
        return {}


def _is_cut(text: str) -> bool:
    return text.startswith(_FRAME) or (text.startswith(_TOO_LARGE) and "has been saved to" in text[:300])
