"""OpenAI's Agents SDK: a `Session` that is our record, the input filter that shows the view, the recall tools.

Owns: how their session, filter and tools are spelled. Must not know: what is kept or shown, and why.

The items of a conversation are entries of a session beside ours, named after it: one entry a change, so what was popped
or cleared stays on record. The texts of tool results are on record once, in ours, and an item names them.
"""

import asyncio
import json
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias, cast

from holdfast.projection.transcript import Call, Path, Returned
from holdfast.session import Session
from holdfast.store.protocol import body_of, result_of
from holdfast.truncation.configuration import TruncationConfiguration
from holdfast.wire.decode import decode_message
from holdfast.wire.edits import apply

try:
    from agents import FunctionTool, SessionSettings
    from agents.run_config import CallModelData, CallModelInputFilter, ModelInputData
except ImportError as error:
    raise ImportError("Holdfast for OpenAI Agents needs `pip install 'holdfast[openai-agents]'`.") from error

Packed: TypeAlias = tuple[Any, list[tuple[Path, str]]]
"""An item without the texts of its results, and which results they are."""
Change: TypeAlias = tuple[str, list[Packed]]
_ADD, _POP, _CLEAR = "add_items", "pop_item", "clear_session"
_WHOLE = TruncationConfiguration(inline_limit=1 << 40)
_SHORT = 1_000
"""Characters of a text that an item holds itself, since naming it would not be shorter."""


class HoldfastSession:
    """Their `Session` over one of ours: items come back whole, whatever a model was shown of them."""

    def __init__(self, session: Session, session_settings: SessionSettings | None = None) -> None:
        self.session_id = session.id
        self.session_settings = session_settings
        self._session = session
        self._items = Session(
            f"{session.id}.items", agent="openai-agents", store=session.store, policy=_WHOLE, settings=session.settings
        )
        self._calls: dict[str, Call] = {}
        self._lock = threading.Lock()
        self._waiting: list[Change] = []
        """Changes that could not be written yet. The conversation goes on with them while this object lives."""

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """The conversation, whole; the newest `limit` items if one is given."""
        items = await asyncio.to_thread(self._read)
        most = limit if limit is not None or self.session_settings is None else self.session_settings.limit
        return items if most is None else items[-most:] if most > 0 else []

    async def add_items(self, items: list[Any]) -> None:
        """Put items on record. A task that is cancelled meanwhile leaves all of them there or none."""
        if items:
            await asyncio.to_thread(self._add, items)

    async def pop_item(self) -> Any | None:
        """The newest item, taken out of the conversation; the record still has it."""
        return await asyncio.to_thread(self._pop)

    async def clear_session(self) -> None:
        """Begin the conversation anew. What it was stays on record until the session is purged."""
        await asyncio.to_thread(self._note, _CLEAR, [])

    def _add(self, items: Sequence[Any]) -> None:
        self._learn(items)
        self._note(_ADD, [self._packed(item) for item in items])

    def _pop(self) -> Any | None:
        items = self._read()
        if not items:
            return None
        self._note(_POP, [])
        return items[-1]

    def _note(self, change: str, packed: list[Packed]) -> None:
        with self._lock:
            self._waiting.append((change, packed))
            while self._waiting:
                name, body = self._waiting[0]
                if self._items.keep(name, None, json.dumps(body)).problem is not None:
                    return
                del self._waiting[0]

    def _read(self) -> list[Any]:
        """The conversation after all changes, whoever made them."""
        packed: list[Packed] = []
        for change, body in [*self._written(), *self._waiting]:
            if change == _ADD:
                packed += body
            else:
                del packed[-1 if change == _POP else 0 :]
        items = [self._unpacked(*each) for each in packed]
        self._learn(items)
        return items

    def _written(self) -> Iterator[Change]:
        for row in self._items.store.rows(self._items.id, kind="result"):
            with self._items.store.open(body_of(row)) as reader:
                yield result_of(row).tool, json.loads(reader.text())

    def _packed(self, item: Any) -> Packed:
        """An item without the texts of its results, and where these are on record."""
        named: list[tuple[Path, str]] = []
        for each in decode_message(item).returned:
            shown = self._session.keep(*_told(self._calls, each), call_id=each.call_id, is_error=each.is_error)
            if shown.trace_id is not None and len(each.text) > _SHORT:
                named.append((each.path, shown.trace_id))
        return apply([item], {0: [(path, "") for path, _ in named]}).messages[0], named

    def _unpacked(self, item: Any, named: Iterable[tuple[Path, str]]) -> Any:
        texts = [(tuple(path), self._text(trace_id)) for path, trace_id in named]
        return apply([item], {0: texts}).messages[0]

    def _text(self, trace_id: str) -> str:
        with self._session.open(trace_id) as reader:
            return reader.text()

    def _learn(self, items: Iterable[Any]) -> None:
        self._calls |= _calls_in(items)


def input_filter(session: Session) -> CallModelInputFilter:
    """What goes into `RunConfig(call_model_input_filter=…)`: before each call of a model, show what fits."""

    async def filtered(data: CallModelData[Any]) -> ModelInputData:
        items = cast("list[Any]", data.model_data.input)
        shown = await asyncio.to_thread(_shown, session, items, _model_of(data.agent.model))
        return ModelInputData(input=shown, instructions=data.model_data.instructions)

    return filtered


def recall_tools(session: Session) -> list[FunctionTool]:
    """The tools with which a model reads back; add them to the agent's own."""
    return [
        FunctionTool(
            name=tool["name"],
            description=tool["description"],
            params_json_schema=tool["parameters"],
            on_invoke_tool=_answering(session, tool["name"]),
            strict_json_schema=False,
        )
        for tool in session.tools("openai_responses")
    ]


def _answering(session: Session, name: str) -> Callable[[Any, str], Any]:
    async def answer(context: Any, arguments: str) -> str:
        call = {"type": "function_call", "name": name, "arguments": arguments, "call_id": ""}
        block = await session.aanswer(call)
        return str(block["output"]) if block is not None else ""

    return answer


def _shown(session: Session, items: list[Any], model: str | None) -> list[Any]:
    """The items to send; where OpenAI holds the conversation they are only what is new, and half of its pairs."""
    if not _is_half(items):
        return session.view(items, model=model)
    edits: dict[int, list[tuple[Path, str]]] = {}
    calls = _calls_in(items)
    for at, item in enumerate(items):
        for each in decode_message(item).returned:
            shown = session.keep(*_told(calls, each), call_id=each.call_id, is_error=each.is_error)
            edits.setdefault(at, []).append((each.path, shown.content))
    return apply(items, edits).messages


def _is_half(items: Iterable[Any]) -> bool:
    """Whether results answer calls that are not among these items."""
    called: set[Any] = set()
    answered: set[Any] = set()
    for item in items:
        if (call_id := item.get("call_id")) is not None:
            (answered if item["type"].endswith("_output") else called).add(call_id)
    return not answered <= called


def _told(calls: dict[str, Call], each: Returned) -> tuple[str, object, str]:
    """What `keep` wants to know of a result: its tool, the arguments, the text."""
    call = calls.get(each.call_id)
    return (call.tool, call.arguments, each.text) if call is not None else ("tool", None, each.text)


def _calls_in(items: Iterable[Any]) -> dict[str, Call]:
    return {call.call_id: call for item in items for call in decode_message(item).calls}


def _model_of(model: object) -> str | None:
    name = model if isinstance(model, str) else getattr(model, "model", None)
    return name if isinstance(name, str) else None
