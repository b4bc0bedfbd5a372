"""Words of a log on record: what a user or a model said, as notes of Keepwhole's own between the results.

Owns: how such a note is written and read. Must not know: where the words come from (`log_import`).
"""

import json
from typing import Any, NamedTuple, cast

from keepwhole.canonical.entry import Result

TOOL = "keepwhole_words"
"""The tool name of a note; its body is the text."""


class SaidWords(NamedTuple):
    """Who said something, and in which message of the log."""

    role: str
    message: int

    def as_arguments(self) -> str:
        """What is recorded."""
        return json.dumps({"v": 1, "role": self.role, "message": self.message})


def read_words(result: Result) -> SaidWords | None:
    """What a note says of its words; None where it is no such note."""
    if result.tool != TOOL:
        return None
    try:
        about = cast("dict[str, Any]", json.loads(result.arguments or ""))
        return SaidWords(str(about["role"]), int(about["message"]))
    except (ValueError, KeyError, TypeError):
        return None
