# pyright: basic, reportMissingImports=false
"""Claude's Agent SDK: hooks that keep results and show what fits, and an in-process server with the recall tools.

Owns: where the results of Claude's tools have their text, and how options are extended.
Must not know: what is kept or shown, and why.

A result is replaced when it arrives; the SDK has no hook to change it later. A replacement that does not have the
shape of its tool's results is dropped by the client, so only texts in tested shapes are replaced. Results of `Read` are
only kept: the client renumbers the lines of a replacement, and the numbers would be wrong.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, cast

from keepwhole.canonical.media import MediaBytes
from keepwhole.canonical.message import MediaPart, Path
from keepwhole.errors import UsageError
from keepwhole.install import install_hint
from keepwhole.session import Session
from keepwhole.standalone.normalize import normalize
from keepwhole.truncation.configuration import TruncationConfiguration
from keepwhole.wire.edits import apply
from keepwhole.wire.embedded_media import WithoutMedia, read_data_url, take_out
from keepwhole.wire.fields import fields_of, text_of
from keepwhole.wire.mcp import MCP
from keepwhole.wire.media import IMAGE_TYPES

try:
    from claude_agent_sdk import (
        ClaudeAgentOptions,
        HookMatcher,
        McpSdkServerConfig,
        SdkMcpTool,
        create_sdk_mcp_server,
    )
    from mcp.types import ToolAnnotations
except ImportError as error:
    raise ImportError(f"Keepwhole for Claude's Agent SDK needs {install_hint('claude-agent')}.") from error

SERVER = "keepwhole"
_RETURNED, _FAILED = "PostToolUse", "PostToolUseFailure"
_RESPONSE = "tool_response"
_WHOLE = TruncationConfiguration(inline_limit=1 << 40)
_FILE = "persistedOutputPath"
"""The client's file with all of a long output of `Bash`; the hook gets only the beginning."""
_SPILLED = frozenset((_FILE, "persistedOutputSize"))
_ONLY_MEDIA = ("image", "pdf", "parts")
"""Types of results of which the model sees nothing but images or pages."""


def with_keepwhole(options: ClaudeAgentOptions, session: Session) -> ClaudeAgentOptions:
    """The options with Keepwhole's hooks, server and tools added."""
    if not isinstance(options.mcp_servers, dict):
        raise UsageError("`mcp_servers` names a file. Give `with_keepwhole` options whose `mcp_servers` is a dict.")
    hooks: dict[Any, list[HookMatcher]] = {**(options.hooks or {})}
    for event, callback in _callbacks(session).items():
        hooks[event] = [*hooks.get(event, ()), HookMatcher(hooks=[callback])]
    names = [f"mcp__{SERVER}__{tool['name']}" for tool in session.tools("mcp")]
    return replace(
        options,
        hooks=hooks,
        mcp_servers={**options.mcp_servers, SERVER: recall_server(session)} if names else options.mcp_servers,
        allowed_tools=[*options.allowed_tools, *names],
    )


def recall_server(session: Session) -> McpSdkServerConfig:
    """The server with the recall tools, for your own `mcp_servers`."""
    most = {"maxResultSizeChars": session.settings.retrieval_limit}
    about = ToolAnnotations.model_validate({"readOnlyHint": True, **most})
    tools = [
        SdkMcpTool(tool["name"], tool["description"], tool["inputSchema"], _tool_handler(session, tool["name"]), about)
        for tool in session.tools("mcp")
    ]
    return create_sdk_mcp_server(SERVER, tools=tools)


def _tool_handler(session: Session, name: str) -> Callable[[Any], Awaitable[dict[str, Any]]]:
    async def answer(arguments: Any) -> dict[str, Any]:
        answer = await session.acall_tool(name, arguments)
        media = answer.media if answer.media and answer.media.media_type in IMAGE_TYPES else None
        words = answer.content if media is None else answer.beside_media
        return {"content": MCP.result_block(None, words, media=media)["content"], "is_error": answer.is_error}

    return answer


def _callbacks(session: Session) -> dict[str, Any]:
    """The hooks for a tool that has returned, and for one that has failed."""
    whole = Session(session.id, store=session.store, policy=_WHOLE, settings=session.settings)
    shows = session if session.settings.mode == "on" else whole

    async def after_tool(event: Any, call_id: str | None, context: Any) -> Any:
        return await asyncio.to_thread(_keep_response, shows, whole, event)

    async def after_failure(event: Any, call_id: str | None, context: Any) -> Any:
        await asyncio.to_thread(_keep, whole, event, event.get("error"), is_error=True)
        return {}

    return {_RETURNED: after_tool, _FAILED: after_failure}


def _keep_response(session: Session, whole: Session, event: Mapping[str, Any]) -> dict[str, Any]:
    """Keep the texts and images of a result; return the hook's answer, which is empty where nothing is left out."""
    places, (left, media) = _places(event), _without_media(event)
    _keep_media(whole, event, media)
    if not places:
        if not media or not _is_only_media(event.get(_RESPONSE)):
            _keep(whole, event, normalize(left, mode="canonical"))
        return {}
    edits = [(path, _keep(session, event, text)) for path, text in places]
    changed = [(path, shown) for (path, shown), (_, text) in zip(edits, places, strict=True) if shown != text]
    if not changed:
        return {}
    response: Any = apply([event], {0: changed}).messages[0][_RESPONSE]
    if isinstance(response, dict):
        response = {key: value for key, value in cast("dict[str, Any]", response).items() if key not in _SPILLED}
    return {"hookSpecificOutput": {"hookEventName": _RETURNED, "updatedToolOutput": response}}


def _without_media(event: Mapping[str, Any]) -> WithoutMedia:
    """The response without its images and documents, and these; an image that `Bash` printed is all of it."""
    response = event.get(_RESPONSE)
    fields = fields_of(response)
    printed = read_data_url(text_of(fields.get("stdout"))) if fields.get("isImage") else None
    return take_out(response) if printed is None else WithoutMedia("", (printed,))


def _is_only_media(response: object) -> bool:
    """Whether the model sees nothing of a response with images but these."""
    fields = fields_of(response)
    if fields.get("type") in _ONLY_MEDIA or fields.get("isImage"):
        return True
    return isinstance(response, list) and all(take_out(block).media for block in cast("list[object]", response))


def _keep_media(session: Session, event: Mapping[str, Any], media: Iterable[MediaPart]) -> None:
    session.keep_media(
        event["tool_name"],
        event.get("tool_input"),
        [MediaBytes(part.facts.media_type, part.body()) for part in media],
        call_id=event.get("tool_use_id"),
        task_id=event.get("agent_id"),
    )


def _keep(session: Session, event: Mapping[str, Any], text: Any, is_error: bool = False) -> str:
    shown = session.keep(
        event["tool_name"],
        event.get("tool_input"),
        text if isinstance(text, str | bytes) else str(text),
        call_id=event.get("tool_use_id"),
        task_id=event.get("agent_id"),
        is_error=is_error,
    )
    return shown.content


def _places(event: Mapping[str, Any]) -> list[tuple[Path, Any]]:
    """The paths of the texts in an event that may be replaced, each with its whole text."""
    tool, response = event["tool_name"], event.get(_RESPONSE)
    if tool.startswith("mcp__"):
        return list(_blocks(response))
    fields = cast("dict[str, Any]", response) if isinstance(response, dict) else {}
    names = () if fields.get("isImage") else _TEXTS.get(tool, ())
    found = [((_RESPONSE, name), fields[name]) for name in names if isinstance(fields.get(name), str)]
    if fields.get(_FILE):
        return [((_RESPONSE, "stdout"), text)] if (text := _read_spill_file(fields)) is not None else []
    return [(path, text) for path, text in found if text]


_TEXTS = {"Bash": ("stdout", "stderr"), "Grep": ("content",)}


def _blocks(response: object) -> Iterable[tuple[Path, str]]:
    if isinstance(response, str):
        yield (_RESPONSE,), response
    for at, block in enumerate(cast("list[object]", response) if isinstance(response, list) else []):
        fields = cast("dict[str, Any]", block) if isinstance(block, dict) else {}
        if fields.get("type") == "text" and isinstance(text := fields.get("text"), str):
            yield (_RESPONSE, at, "text"), text


def _read_spill_file(fields: Mapping[str, Any]) -> bytes | None:
    """The whole output from the client's file; None where the file cannot be that output."""
    try:
        with open(fields[_FILE], "rb") as file:
            data = file.read()
    except OSError:
        return None
    return data if len(data) >= len(fields.get("stdout") or "") else None
