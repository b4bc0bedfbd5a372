"""A tool as a model is told of it, and a model's call of one, whatever the spelling.

Owns: the two values. Must not know: how a dialect spells them (`dialect`), what the tool does.
"""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from keepwhole.canonical.value import Value
from keepwhole.errors import UsageError

if TYPE_CHECKING:
    from keepwhole.wire.dialect import ToolDialect


class ToolSpec(Value):
    """What a model is told of a tool."""

    name: str
    description: str
    parameters: dict[str, Any]
    """JSON Schema of the arguments."""


class ToolCall(Value):
    """One call of a tool by a model, as its provider spelled it."""

    name: str
    arguments: str | Mapping[str, Any] | None
    """JSON text, or an object."""
    call_id: str | None
    dialect: "ToolDialect"

    def parsed(self) -> dict[str, Any]:
        """The arguments as an object; `UsageError` if the model wrote something else."""
        if self.arguments is None or self.arguments == "":
            return {}
        try:
            value = json.loads(self.arguments) if isinstance(self.arguments, str) else self.arguments
        except ValueError:
            value = None
        if not isinstance(value, Mapping):
            message = f"The arguments of `{self.name}` are not a JSON object. Send them as one."
            raise UsageError(message, message)
        return dict(cast("Mapping[str, Any]", value))
