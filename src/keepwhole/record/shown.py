"""What `keep` gives back: a truncation result that can be put into a conversation."""

from typing import Any

from keepwhole.errors import UsageError
from keepwhole.truncation.result import TruncationResult
from keepwhole.wire.calls import result_block
from keepwhole.wire.dialect import dialect_named


class Shown(TruncationResult):
    """One kept result, ready to show."""

    call_id: str | None = None
    is_error: bool = False

    def block(self, dialect: str) -> dict[str, Any]:
        """The message or block that answers the call in this dialect."""
        name = dialect_named(dialect)
        if self.call_id is None and name != "mcp":
            raise UsageError("A result block names the call it answers. Give `keep` the call, or its `call_id`.")
        return result_block(name, self.call_id, self.content, self.is_error)
