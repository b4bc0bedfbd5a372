"""Codex: what its hooks send, and how a result is replaced there.

Owns: PostToolUse, PreCompact and SessionStart. The client takes another text for a result only as the reason of a
`block`, which then is all the model gets: the line with the exit code is ours to repeat. A long output comes cut; all
of it, up to 65,536 characters, and the exit code are in the client's transcript by then.
Must not know: the record, files, what is cut.
"""

import json
from collections.abc import Iterable

from keepwhole.apps.hooks.payload import Heard, Json, Returned, boundary, mapping, result, text, texts

READER = "sed"
EVENTS = ("PostToolUse", "PreCompact", "SessionStart")
_CUT = "Warning: truncated output (original token count: "
_WHOLE_BELOW = 65_536


def hear(event: Json, transcript: Iterable[bytes] = ()) -> Heard:
    """What a hook's input says; `transcript` gives the newest lines of the client's log, newest first."""
    name = event.get("hook_event_name")
    if name == "PostToolUse":
        return _shell(event, transcript) if event.get("tool_name") == "Bash" else _other(event)
    return boundary(event)


def _shell(event: Json, transcript: Iterable[bytes]) -> Returned:
    """Replaced only where the exit code is known and all of the output is ours to keep."""
    output = event.get("tool_response")
    if not isinstance(output, str):
        return _other(event)
    logged = _logged(text(event.get("tool_use_id")) or "", transcript)
    code, whole = logged.get("exit_code"), logged.get("aggregated_output")
    if not isinstance(code, int):
        return result(event, output)
    if output.startswith(_CUT):
        if not isinstance(whole, str) or len(whole.encode("utf-8", "surrogatepass")) >= _WHOLE_BELOW:
            return result(event, output, exit_code=code)
        output = whole
    said = f"Process exited with code {code}\nOutput:\n"

    def replace(words: str) -> Json:
        return _instead(said + words)

    return result(event, output, exit_code=code, replace=replace)


def _instead(words: str) -> Json:
    return {"decision": "block", "reason": words}


def _logged(call_id: str, transcript: Iterable[bytes]) -> Json:
    """What the client's log says of a call that ended."""
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


def _other(event: Json) -> Returned:
    """MCP results come as the server gave them; what is no text is only kept."""
    response = event.get("tool_response")
    given = mapping(response)
    words = texts(given.get("content"))
    if words is None or given.get("structuredContent"):
        return result(event, response if isinstance(response, str) else json.dumps(response, ensure_ascii=False))
    is_error = bool(given.get("isError"))
    return result(event, "\n".join(words), is_error=is_error, replace=_instead)
