# pyright: basic, reportMissingImports=false
"""OpenAI's Agents SDK: a `Session` over Keepwhole's record, the input filter that shows the view, the recall tools.

Owns: the forms of the SDK's session, filter and tools. Must not know: what is kept or shown, and why.

The items of a conversation are recorded in a second session, `NAME.items`: one entry per change, so popped and cleared
items stay recorded, and `search_artifacts` finds only results. The results are recorded in the session itself when the
filter first sees them, because only then a policy knows the model and the rest of the step.
"""

import asyncio
import json
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias, cast

from keepwhole.canonical.media import MediaBytes
from keepwhole.canonical.message import Path, ResultText
from keepwhole.install import install_hint
from keepwhole.session import Session
from keepwhole.store.protocol import body_of, result_of
from keepwhole.truncation.configuration import TruncationConfiguration
from keepwhole.wire.dialects import decode_message
from keepwhole.wire.edits import apply

try:
    from agents import FunctionTool, ToolOutputFileContent, ToolOutputImage, ToolOutputText
    from agents.run import CallModelData, CallModelInputFilter, ModelInputData
except ImportError as error:
    raise ImportError(f"Keepwhole for OpenAI Agents needs {install_hint('openai-agents')}.") from error

Change: TypeAlias = tuple[str, list[Any]]
"""What was done, and the items."""
_ADD, _POP, _CLEAR = "add_items", "pop_item", "clear_session"
_WHOLE = TruncationConfiguration(inline_limit=1 << 40)


class KeepwholeSession:
    """The SDK's `Session`, kept in Keepwhole's: items are returned in full, whatever a model was shown of them."""

    def __init__(self, session: Session, session_settings: Any = None) -> None:
        self.session_id = session.id
        self.session_settings = session_settings
        self._session = session
        self._items = Session(
            f"{session.id}.items", agent="openai-agents", store=session.store, policy=_WHOLE, settings=session.settings
        )
        self._lock = threading.Lock()
        self._waiting: list[Change] = []
        """Changes that could not be written yet. The conversation goes on with them while this object lives."""

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """The conversation in full, or its newest `limit` items."""
        items = await asyncio.to_thread(self._read)
        most = limit if limit is not None or self.session_settings is None else self.session_settings.limit
        return items if most is None or most < 0 else items[max(0, len(items) - most) :]

    async def add_items(self, items: list[Any]) -> None:
        """Record items: all of them or none, even if the task is canceled meanwhile."""
        if items:
            await asyncio.to_thread(self._note, _ADD, items)

    async def pop_item(self) -> Any | None:
        """Remove the newest item from the conversation and return it; the record still has it."""
        return await asyncio.to_thread(self._pop)

    async def clear_session(self) -> None:
        """Start the conversation again. The old one stays recorded until the session is purged."""
        await asyncio.to_thread(self._note, _CLEAR, [])

    def _pop(self) -> Any | None:
        items = self._read()
        if not items:
            return None
        self._note(_POP, [])
        return items[-1]

    def _note(self, change: str, items: list[Any]) -> None:
        with self._lock:
            self._waiting.append((change, items))
            while self._waiting:
                name, body = self._waiting[0]
                if self._items.keep(name, None, json.dumps(body)).problem is not None:
                    return
                del self._waiting[0]

    def _read(self) -> list[Any]:
        """The conversation after all changes, by any process."""
        items: list[Any] = []
        for change, body in [*self._read_changes(), *self._waiting]:
            if change == _ADD:
                items += body
            else:
                del items[-1 if change == _POP else 0 :]
        return items

    def _read_changes(self) -> Iterator[Change]:
        for row in self._items.store.rows(self._items.id, kind="result"):
            with self._items.store.open(body_of(row)) as reader:
                yield result_of(row).tool, json.loads(reader.text())


def input_filter(session: Session) -> CallModelInputFilter:
    """The filter for `RunConfig(call_model_input_filter=…)`: before each call of a model, show what fits."""

    async def filter_input(data: CallModelData[Any]) -> ModelInputData:
        items = cast("list[Any]", data.model_data.input)
        shown = await asyncio.to_thread(_view_items, session, items, _model_of(data.agent.model))
        return ModelInputData(input=shown, instructions=data.model_data.instructions)

    return filter_input


def recall_tools(session: Session) -> list[FunctionTool]:
    """The recall tools; add them to the agent's own."""
    return [
        FunctionTool(
            name=tool["name"],
            description=tool["description"],
            params_json_schema=tool["parameters"],
            on_invoke_tool=_tool_handler(session, tool["name"]),
            strict_json_schema=False,
        )
        for tool in session.tools("openai_responses")
    ]


def _tool_handler(session: Session, name: str) -> Callable[[Any, str], Any]:
    async def answer(context: Any, arguments: str) -> Any:
        call = {"type": "function_call", "name": name, "arguments": arguments, "call_id": ""}
        block = await session.aanswer(call)
        output = "" if block is None else block["output"]
        return [_as_output(part) for part in output] if isinstance(output, list) else str(output)

    return answer


def _as_output(part: dict[str, Any]) -> Any:
    """A part of an answer as the SDK takes it; with Chat Completions it sends the words alone."""
    if part["type"] == "input_image":
        return ToolOutputImage(image_url=part["image_url"])
    if part["type"] == "input_file":
        return ToolOutputFileContent(file_data=part["file_data"], filename=part.get("filename"))
    return ToolOutputText(text=part["text"])


def _view_items(session: Session, items: list[Any], model: str | None) -> list[Any]:
    """The items to send; where OpenAI stores the conversation, these are only new results without their calls."""
    if not _is_half(items):
        return session.view(items, model=model)
    edits: dict[int, list[tuple[Path, str]]] = {}
    for at, item in enumerate(items):
        for each in decode_message(item).returned:
            if each.media is not None:
                _keep_media(session, each)
                continue
            shown = session.keep("tool", None, each.text, call_id=each.call_id, is_error=each.is_error)
            edits.setdefault(at, []).append((each.path, shown.content))
    return apply(items, edits).messages if session.settings.mode == "on" else items


def _keep_media(session: Session, returned: ResultText) -> None:
    """Keep an image or a document, which is sent as it came."""
    assert returned.media is not None
    media = MediaBytes(returned.media.facts.media_type, returned.media.body())
    session.keep_media("tool", None, [media], call_id=returned.call_id, is_error=returned.is_error)


def _is_half(items: Iterable[Any]) -> bool:
    """Whether results answer calls that are not among these items."""
    called: set[Any] = set()
    answered: set[Any] = set()
    for item in items:
        if (call_id := item.get("call_id")) is not None:
            (answered if item["type"].endswith("_output") else called).add(call_id)
    return not answered <= called


def _model_of(model: object) -> str | None:
    name = model if isinstance(model, str) else getattr(model, "model", None)
    return name if isinstance(name, str) else None
