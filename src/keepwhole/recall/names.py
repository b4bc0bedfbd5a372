"""What the recall tools are called and how they are described to a model.

The definitions come first in a prompt, so they are short, and the same bytes in every request of a session. Those that
are offered on the way, in every request of a client that does not know of them, are shorter still: every notice spells
out the call that reads it back.
"""

from typing import Any, NamedTuple

GET_ARTIFACT = "get_artifact"
GET_TASK_TRACE = "get_task_trace"
SEARCH_ARTIFACTS = "search_artifacts"
NAMES = (GET_ARTIFACT, GET_TASK_TRACE, SEARCH_ARTIFACTS)
_SERVER = "keepwhole"
_LONGEST = 256
"""Characters of a tool's name; no provider takes as many."""

_TEXT = {"type": "string"}
_NUMBER = {"type": "integer"}


class Definition(NamedTuple):
    """A tool as it is described to a model."""

    name: str
    description: str
    parameters: dict[str, Any]


DEFINITIONS = (
    Definition(
        GET_ARTIFACT,
        "Read [Artifact: id]: all, or a page and the next call. pattern: text to find. path: $.items[0:9].name",
        {
            "type": "object",
            "properties": {
                "id": _TEXT,
                "lines": _TEXT,
                "start_char": _NUMBER,
                "length": _NUMBER,
                "pattern": _TEXT,
                "path": _TEXT,
                "part": {},
            },
            "required": ["id"],
        },
    ),
    Definition(GET_TASK_TRACE, "A call and raw output", {"type": "object", "properties": {"trace_id": _TEXT}}),
    Definition(SEARCH_ARTIFACTS, "Find results", {"type": "object", "properties": {"query": _TEXT}}),
)


_SHORT = {
    GET_ARTIFACT: "Read [Artifact: id]; pattern: text to find in it",
    GET_TASK_TRACE: "A call",
    SEARCH_ARTIFACTS: "Search",
}
OFFERED = tuple(
    Definition(name, _SHORT[name], {"type": "object", "properties": {key: {} for key in schema["properties"]}})
    for name, _, schema in DEFINITIONS
)
"""The same as they are offered on the way."""
OFFERED_TOKENS = 120
"""Most tokens that these take, by the o200k vocabulary."""


def is_recall(tool: str) -> bool:
    """Whether a tool of a conversation is a recall tool of ours, also behind the prefix of an MCP server.

    Users name servers, and servers name tools. So a tool with one of our names is ours only if the server is called
    `keepwhole`: what any other server prints is the output of a tool.

    >>> is_recall("mcp__keepwhole__get_artifact"), is_recall("mcp__weather__get_artifact")
    (True, False)
    """
    name = next((each for each in NAMES if tool.endswith(each)), None)
    if name is None or len(tool) > _LONGEST:
        return False
    before = tool.removesuffix(name)
    server = before.rstrip("_-./:")
    is_server = server.endswith(_SERVER) and server != before and not server.removesuffix(_SERVER)[-1:].isalnum()
    return not before or is_server
