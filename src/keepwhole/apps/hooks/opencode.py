"""opencode: what Keepwhole's plugin there sends, and what it accepts as an answer.

Owns: two messages of `opencode.js`: a tool returned, a session is compacted. Where the client may not read the files of
results, nothing is replaced: a run without a terminal would end at the first file that a notice names.
Must not know: the record, files, what is cut.
"""

from keepwhole.apps.hooks.payload import Boundary, HookPayload, Json, ToolReturn, mapping, text
from keepwhole.wire.embedded_media import take_out


def parse(event: Json) -> HookPayload:
    """Parse the plugin's message; None for one that is not handled."""
    if event.get("event") == "compacting":
        return Boundary("PreCompact", {"trigger": "auto"}, _as_context)
    output = event.get("output")
    if event.get("event") != "returned" or not isinstance(output, str):
        return None
    metadata = mapping(event.get("metadata"))
    code = metadata.get("exit")
    return ToolReturn(
        tool=str(event.get("tool", "")),
        arguments=event.get("args"),
        call_id=text(event.get("call_id")),
        output=output,
        file=text(metadata.get("outputPath")) if metadata.get("truncated") else None,
        exit_code=code if isinstance(code, int) else None,
        replace=None if event.get("attachments") or event.get("may_read") is False else _replacement,
        media=take_out(event.get("attachments")).media,
    )


def _replacement(words: str) -> Json:
    return {"output": words}


def _as_context(words: str) -> Json:
    return {"context": words}
