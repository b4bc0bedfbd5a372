"""Codex: what its hooks send, and how a result is replaced there.

Owns: PostToolUse, PreCompact and SessionStart. The client takes another text for a result only as the reason of a
`block`, which is then all that the model gets: so the line with the exit code is repeated here. A long output arrives
cut; the whole of it, up to 65,536 characters, and the exit code are in the client's transcript by then.
Must not know: the record, files, what is cut.
"""

import json
from collections.abc import Iterable

from keepwhole.apps.hooks.payload import (
    HookPayload,
    Json,
    ToolReturn,
    boundary,
    mapping,
    read_blocks,
    text,
    tool_return,
    untried_return,
)

EVENTS = ("PostToolUse", "PreCompact", "SessionStart")
_CUT = "Warning: truncated output (original token count: "
_WHOLE_BELOW = 65_536


def parse(event: Json, transcript: Iterable[bytes] = ()) -> HookPayload:
    """Parse a hook's input; `transcript` yields the lines of the client's log, newest first."""
    name = event.get("hook_event_name")
    if name == "PostToolUse":
        return _shell(event, transcript) if event.get("tool_name") == "Bash" else _other(event)
    return boundary(event)


def _shell(event: Json, transcript: Iterable[bytes]) -> ToolReturn:
    """A shell's output; replaced only where the exit code and the whole output are known."""
    output = event.get("tool_response")
    if not isinstance(output, str):
        return _other(event)
    logged = _logged(text(event.get("tool_use_id")) or "", transcript)
    code, whole = logged.get("exit_code"), logged.get("aggregated_output")
    if not isinstance(code, int):
        return tool_return(event, output)
    if output.startswith(_CUT):
        if not isinstance(whole, str) or len(whole.encode("utf-8", "surrogatepass")) >= _WHOLE_BELOW:
            return tool_return(event, output, exit_code=code)
        output = whole
    header = f"Process exited with code {code}\nOutput:\n"

    def replace(words: str) -> Json:
        return _replacement(header + words)

    return tool_return(event, output, exit_code=code, replace=replace)


def _replacement(words: str) -> Json:
    return {"decision": "block", "reason": words}


def _logged(call_id: str, transcript: Iterable[bytes]) -> Json:
    """The entry of a finished call in the client's log."""
    wanted = json.dumps(call_id).encode()
    for line in transcript if call_id else ():
        if b'"item_completed"' in line and wanted in line:
            try:
                item = mapping(mapping(mapping(json.loads(line)).get("payload")).get("item"))
            except (ValueError, RecursionError):
                continue
            if item.get("id") == call_id:
                return item
    return {}


def _other(event: Json) -> ToolReturn:
    """The result of another tool; one that is not text is only kept: a replacement would take its images away."""
    response = event.get("tool_response")
    given = mapping(response)
    blocks = read_blocks(given.get("content", response))
    if blocks is None or given.get("structuredContent"):
        return untried_return(event, response)
    replace = None if blocks.media else _replacement
    return tool_return(event, blocks.text, is_error=bool(given.get("isError")), replace=replace, media=blocks.media)
