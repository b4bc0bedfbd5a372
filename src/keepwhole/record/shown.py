"""What `keep` gives back: a truncation result that can be put into a conversation."""

from typing import Any

from keepwhole.errors import UsageError
from keepwhole.truncation.result import TruncationResult
from keepwhole.wire.dialects import dialect_named


class Shown(TruncationResult):
    """One kept result, ready to show."""

    call_id: str | None = None
    is_error: bool = False

    def block(self, dialect: str) -> dict[str, Any]:
        """The message or block that answers the call in this dialect."""
        found = dialect_named(dialect)
        if self.call_id is None and found.needs_call_id:
            raise UsageError("A result block names the call it answers. Give `keep` the call, or its `call_id`.")
        return found.result_block(self.call_id, self.content, self.is_error)
