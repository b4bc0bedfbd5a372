"""Whether messages are those of an earlier request, also where a client changed them in place since.

Owns: comparing messages with copies of earlier ones. Must not know: what they say.
"""

from collections.abc import Sequence
from typing import Any, cast

_DEEP = 6


def alike(messages: Sequence[Any], known: Sequence[Any]) -> int:
    """How many messages at the front are the same in both."""
    length = min(len(known), len(messages))
    if messages[:length] == known[:length]:
        return length
    return next((at for at in range(length) if messages[at] is not known[at] and messages[at] != known[at]), length)


def copied(value: Any, deep: int = _DEEP) -> Any:
    """A copy of the lists and dicts of a message, with the same texts in them."""
    if not deep:
        return value
    if isinstance(value, dict):
        return {key: copied(part, deep - 1) for key, part in cast("dict[Any, Any]", value).items()}
    return [copied(part, deep - 1) for part in cast("list[Any]", value)] if isinstance(value, list) else value
