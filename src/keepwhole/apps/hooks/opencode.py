"""opencode: what our plugin there passes on, and what it takes back.

Owns: the two messages of `opencode.js`: a tool returned, a session is compacted.
Must not know: the record, files, what is cut.
"""

from keepwhole.apps.hooks.payload import Boundary, Heard, Json, Returned, mapping, text

READER = "read"


def hear(event: Json) -> Heard:
    """What the plugin says; None where it is nothing to us."""
    if event.get("event") == "compacting":
        return Boundary("PreCompact", {"trigger": "auto"}, _telling)
    output = event.get("output")
    if event.get("event") != "returned" or not isinstance(output, str):
        return None
    metadata = mapping(event.get("metadata"))
    code = metadata.get("exit")
    return Returned(
        tool=str(event.get("tool", "")),
        arguments=event.get("args"),
        call_id=text(event.get("call_id")),
        output=output,
        file=text(metadata.get("outputPath")) if metadata.get("truncated") else None,
        exit_code=code if isinstance(code, int) else None,
        replace=None if event.get("attachments") else _instead,
    )


def _instead(words: str) -> Json:
    return {"output": words}


def _telling(words: str) -> Json:
    return {"context": words}
