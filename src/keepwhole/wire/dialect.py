"""The dialects by name: OpenAI Chat Completions, OpenAI Responses, Anthropic Messages, MCP."""

from typing import Literal, TypeAlias

from keepwhole.errors import UsageError

Dialect: TypeAlias = Literal["openai_chat", "openai_responses", "anthropic", "mcp"]

_NAMES: dict[str, Dialect] = {
    "openai": "openai_chat",
    "openai_chat": "openai_chat",
    "openai_responses": "openai_responses",
    "responses": "openai_responses",
    "anthropic": "anthropic",
    "mcp": "mcp",
}


def dialect_named(name: str) -> Dialect:
    """The dialect that `name` means.

    >>> dialect_named("openai")
    'openai_chat'
    """
    try:
        return _NAMES[name.replace("-", "_").lower()]
    except KeyError:
        known = ", ".join(f"`{known}`" for known in sorted(set(_NAMES.values())))
        raise UsageError(f"There is no dialect `{name}`. Use one of {known}.") from None
