# pyright: basic, reportMissingImports=false
"""Google's ADK: a plugin that keeps results, shows the view and offers the recall tools.

Owns: the forms of ADK's contents, parts and tools, and which session a conversation belongs to.
Must not know: what is kept or shown, and why.

The events of ADK's session stay unchanged: only the request that goes to the model is edited. Results are recorded when
a request first contains them, because only then a policy knows the model and the rest of the step. ADK takes its own
ids of calls out of requests; such calls are numbered by their places.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from keepwhole.install import install_hint
from keepwhole.integrations.blocks import Block, PartsViewer, call_block, media_block, result_block, text_block
from keepwhole.integrations.sessions import SessionOf, session_finder
from keepwhole.recall.names import DEFINITIONS
from keepwhole.session import Session

try:
    from google.adk.plugins.base_plugin import BasePlugin
    from google.adk.tools.base_tool import BaseTool
    from google.genai import types
except ImportError as error:
    raise ImportError(f"Keepwhole for Google's ADK needs {install_hint('google-adk')}.") from error

_TEXTS = ("result", "output")
"""Keys under which a result is one text; ADK puts what is no dict under the first."""


class KeepwholePlugin(BasePlugin):
    """The plugin for `App(plugins=[…])` or `Runner(plugins=[…])`.

    `session` is one session for everything, or a function that returns one for an ADK session's id. Without it each ADK
    session has a session of its name.
    """

    def __init__(self, session: Session | SessionOf | None = None, name: str = "keepwhole") -> None:
        super().__init__(name=name)
        self._session_of = session_finder(session, "google-adk")
        offers = not isinstance(session, Session) or session.recall_by == "tools"
        self.tools = [_RecallTool(self._session_of, *each) for each in DEFINITIONS] if offers else []

    async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> None:
        """Show the model what fits, and offer the recall tools."""
        session = self._session_of(callback_context.session.id)
        contents, model = llm_request.contents, llm_request.model
        llm_request.contents = await asyncio.to_thread(_view, session, contents, model)
        llm_request.append_tools(self.tools)


class _RecallTool(BaseTool):
    """A recall tool, answered from the session of the conversation that calls it."""

    def __init__(self, session_of: SessionOf, name: str, description: str, schema: Any) -> None:
        super().__init__(name=name, description=description)
        self._session_of, self._schema = session_of, schema

    def _get_declaration(self) -> Any:
        return types.FunctionDeclaration(
            name=self.name, description=self.description, parameters_json_schema=self._schema
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> Any:
        """Answer a call; images are described in words, since ADK's results are JSON."""
        answer = await self._session_of(tool_context.session.id).acall_tool(self.name, args)
        return {"error" if answer.is_error else "result": answer.content}


def _view(session: Session, contents: Sequence[Any], model: str | None) -> list[Any]:
    return PartsViewer(_Spelling(contents)).view(session, contents, model)


class _Spelling:
    """Contents of the Gemini API; the ids of calls are those of these contents."""

    def __init__(self, contents: Iterable[Any]) -> None:
        calls, results = Counter[str](), Counter[str]()
        self._ids: dict[int, str] = {}
        for part in (part for content in contents for part in content.parts or ()):
            if part.function_call:
                self._ids[id(part)] = _id_of(part.function_call, calls)
            elif part.function_response:
                self._ids[id(part)] = _id_of(part.function_response, results)

    def is_answer(self, message: Any) -> bool:
        return message.role == "model"

    def parts(self, message: Any) -> Sequence[Any]:
        return message.parts or ()

    def block(self, part: Any) -> Block:
        if part.function_call:
            return call_block(self._ids[id(part)], part.function_call.name, part.function_call.args or {})
        if part.function_response:
            response = part.function_response.response or {}
            media = [media_block(each.mime_type or "", each.data) for each in _media(part.function_response)]
            return result_block(self._ids[id(part)], _text(response), "error" in response, media)
        return text_block(part.text or "")

    def edited(self, part: Any, content: str, media: Sequence[str | None]) -> Any:
        """Only bytes may be beside a response, so the words in the place of an image are in its text."""
        old = part.function_response
        key = next((key for key in _TEXTS if _is_text(old.response or {}, key)), _TEXTS[0])
        text = "\n".join([*([content] if content else []), *(words for words in media if words is not None)])
        changes: dict[str, Any] = {"response": {key: text}}
        if any(words is not None for words in media):
            hidden = {id(each) for each, words in zip(_media(old), media, strict=True) if words is not None}
            kept = [each for each in old.parts if id(each.inline_data) not in hidden]
            changes["parts"] = kept or None
        return part.model_copy(update={"function_response": old.model_copy(update=changes)})

    def lost_result(self, call_id: str, name: str, content: str) -> Any:
        response = types.FunctionResponse(name=name, response={"error": content})
        if not call_id.startswith(_NUMBERED):
            response.id = call_id
        return types.Part(function_response=response)

    def words(self, text: str) -> Any:
        return types.Part(text=text)

    def message(self, own: Any, parts: list[Any]) -> Any:
        return types.Content(role="user", parts=parts) if own is None else own.model_copy(update={"parts": parts})


_NUMBERED = "adk_call_"


def _id_of(call: Any, seen: Counter[str]) -> str:
    """The id of a call or of its result; without one, the tool's name and how often it was called before."""
    if call.id:
        return call.id
    seen[call.name] += 1
    return f"{_NUMBERED}{call.name}_{seen[call.name]}"


def _media(response: Any) -> list[Any]:
    """The images and files beside a response whose bytes are there; older versions of the SDK have none."""
    found = (getattr(each, "inline_data", None) for each in getattr(response, "parts", None) or ())
    return [each for each in found if each is not None and each.data]


def _text(response: dict[str, Any]) -> str:
    """What a result says: its one text, or all of it as JSON."""
    key = next((key for key in _TEXTS if _is_text(response, key)), None)
    return response[key] if key else json.dumps(response, ensure_ascii=False, default=str)


def _is_text(response: dict[str, Any], key: str) -> bool:
    return len(response) == 1 and isinstance(response.get(key), str)
