"""The tools that a request declares: their names, the MCP servers they come from, and the tokens they take.

Owns: reading declarations in any dialect, and which server a name tells of. They are read, and never edited: tools come
first in a prompt, so that a change would make the provider's cache miss everything behind it.
Must not know: which tools were called.
"""

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from keepwhole.models.tokens import estimate
from keepwhole.wire import dialects
from keepwhole.wire.content import Json, fields_of, kind_of_part, parts_of, text_of

_PREFIX, _BETWEEN = "mcp__", "__"
_NAMES = ("name", "server_label", "type")
"""Where a declaration has its name: a hosted server has a label, and a hosted tool only its type."""


class Declaration(NamedTuple):
    """One tool as a request declares it."""

    name: str
    server: str
    """The MCP server that it comes from; empty for a tool of the client itself."""
    tokens: int


def declarations_in(fields: Json) -> list[Declaration]:
    """Return the tools in the fields of a request, in order."""
    names = dict.fromkeys(name for dialect in dialects.TABLE.dialects for name in dialect.tools_fields)
    lists = (fields_of(fields.get(name)).get("tools") or fields.get(name) for name in names)
    tools = [fields_of(tool) for each in lists for tool in parts_of(each) if "cachePoint" not in fields_of(tool)]
    return [_declaration(one) for tool in tools for one in _functions(tool) or (tool,)]


def _functions(tool: Json) -> list[Json]:
    """The functions of a Gemini tool, which declares several."""
    declared = tool.get("functionDeclarations") or tool.get("function_declarations")
    return [fields_of(one) for one in parts_of(declared)]


def server_of(tool: str) -> str:
    """Return the MCP server that the name of a tool tells of; empty where it tells of none.

    >>> server_of("mcp__github__create_issue"), server_of("git__git_log"), server_of("Bash")
    ('github', 'git', '')
    """
    server, between, rest = tool.removeprefix(_PREFIX).partition(_BETWEEN)
    return server if (between and rest) or tool.startswith(_PREFIX) else ""


def _declaration(tool: Json) -> Declaration:
    inner = fields_of(tool.get("function") or tool.get("toolSpec") or tool.get("systemTool"))
    name = text_of(inner.get("name")) or next((found for key in _NAMES if (found := text_of(tool.get(key)))), "")
    server = name if kind_of_part(tool) == "mcp" else server_of(name)
    return Declaration(name, server, estimate(_as_json(tool)))


def _as_json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        return ""


def by_server(declared: Iterable[Declaration]) -> dict[str, list[Declaration]]:
    """Return the declarations of each server, the one with the most tokens first."""
    found: dict[str, list[Declaration]] = {}
    for one in declared:
        found.setdefault(one.server, []).append(one)
    return dict(sorted(found.items(), key=lambda each: -sum(one.tokens for one in each[1])))
