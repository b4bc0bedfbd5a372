"""What fills a context window, item by item, and how full it is: for the inspector and `status`.

Owns: to which item each token of a request is counted, and that the items add up to the tokens of the request.
Must not know: stores, sockets.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import nlargest
from typing import Any, Literal, NamedTuple, TypeAlias

from keepwhole.apps.argument_words import telling_argument
from keepwhole.canonical.entry import Result
from keepwhole.canonical.message import Message
from keepwhole.canonical.utf8 import showable
from keepwhole.models.profiles import Profile
from keepwhole.models.thresholds import Thresholds
from keepwhole.models.tokens import estimate
from keepwhole.policies.transcript import Item, Transcript
from keepwhole.recall.answer import RecallCall
from keepwhole.wire.declarations import by_server, declarations_in
from keepwhole.wire.dialects import decode_message
from keepwhole.wire.instructions import instructions_beside
from keepwhole.wire.request_body import read_request

FindResult: TypeAlias = Callable[[str], Result | None]
"""Finds a result on record by the id of its call."""
Counted: TypeAlias = Literal["bill", "estimate", "results"]
"""Whether tokens are those that the provider billed, those that were estimated, or those of the results alone."""
_STATES = {"normal": "ok", "warn": "warning", "compact": "compaction", "hard": "hard"}
_LABELS = {"system": "System", "user": "User", "assistant": "Assistant", "overhead": "Tool definitions"}
_TOOLS = 12
"""Tools that are listed; the tokens of all others form one part."""
_ITEMS = 60
"""Items that are listed; the tokens of all others form one item."""


class WindowPart(NamedTuple):
    """The tokens of one speaker or tool."""

    kind: str
    label: str
    tokens: int


class WindowItem(NamedTuple):
    """One thing that takes room: a result, or all words of one speaker, or the tools of one server."""

    kind: str
    label: str
    tokens: int
    pieces: int = 1
    """How many messages, declarations or results it is."""
    artifact_id: str | None = None
    trace_id: str | None = None
    argument: str | None = None
    """The argument that tells the call from others of the same tool."""

    @property
    def recall(self) -> str | None:
        """The call that reads a result back; None for anything else."""
        return None if self.artifact_id is None else RecallCall(self.artifact_id).text()


class WindowUse(NamedTuple):
    """The tokens of a request, and of what."""

    used: int
    whole: int
    """What they would be with everything sent as it came."""
    counted: Counted
    model: str
    profile: Profile
    items: Sequence[WindowItem] = ()
    parts: Sequence[WindowPart] | None = None
    """The same by speakers and tools, where the items are not all there are."""

    @property
    def is_known(self) -> bool:
        """Whether the size of the window is known, and not the guess for any model."""
        return self.profile.name != "default" or "window" not in self.profile.assumed


def parts_of_request(body: bytes) -> list[WindowPart]:
    """The parts of a request by estimated tokens; none where the request cannot be read."""
    return parts_of(items_of_request(body, lambda _: None))


def items_of_request(body: bytes, find: FindResult) -> list[WindowItem]:
    """The items of a request by estimated tokens, the largest first; none where the request cannot be read."""
    request = read_request(body)
    if request is None:
        return []
    found = _Items()
    if instructions := instructions_beside(request):
        found.add("system", _LABELS["system"], estimate(instructions))
    for server, tools in by_server(declarations_in(request.fields)).items():
        label = f"{_LABELS['overhead']}: {showable(server)}" if server else _LABELS["overhead"]
        found.add("overhead", label, sum(one.tokens for one in tools), len(tools))
    if isinstance(request.fields.get("input"), str):
        found.add("user", _LABELS["user"], estimate(request.fields["input"]))
    transcript = Transcript()
    for message in map(decode_message, request.messages):
        _add_words(found, message)
        transcript.extend((message,))
    results = [_result_item(item, find) for item in transcript.items]
    return sorted([*found.all(), *results], key=lambda item: -item.tokens)


def items_of_results(results: Iterable[tuple[Result, int]]) -> list[WindowItem]:
    """The items of a window from results and their shown tokens alone, where no request is recorded."""
    ordered = sorted(results, key=lambda pair: -pair[1])
    return [
        WindowItem(
            "tool",
            showable(result.tool),
            tokens,
            artifact_id=result.artifact_id,
            trace_id=result.trace_id,
            argument=telling_argument(result.arguments) if number < _ITEMS else None,
        )
        for number, (result, tokens) in enumerate(ordered)
    ]


def largest_results(results: Iterable[tuple[Result, int]], count: int, tokens: int) -> list[WindowItem]:
    """The same of a session with `count` results that have `tokens` together: the largest, and one item for all
    others."""
    most = _ITEMS if count <= _ITEMS else _ITEMS - 1
    items = items_of_results(nlargest(most, results, key=lambda pair: pair[1]))
    rest = count - len(items)
    return items + [_rest_item(rest, tokens - sum(item.tokens for item in items))] * bool(rest)


def parts_of(items: Iterable[WindowItem]) -> list[WindowPart]:
    """The same by speakers and tools: speakers first, then tools, the largest tool first."""
    counts: dict[tuple[str, str], int] = {}
    for item in items:
        key = item.kind, item.label
        counts[key] = counts.get(key, 0) + item.tokens
    return _parts(counts)


def parts_of_tools(tokens: Mapping[str, int]) -> list[WindowPart]:
    """The parts of a window from the tokens of each tool."""
    return _parts({("tool", tool): count for tool, count in tokens.items()})


def _parts(counts: Mapping[tuple[str, str], int]) -> list[WindowPart]:
    words = [WindowPart(*key, counts[key]) for key in counts if key[0] != "tool"]
    words.sort(key=lambda part: list(_LABELS).index(part.kind))
    tools = sorted((WindowPart(*key, counts[key]) for key in counts if key[0] == "tool"), key=lambda part: -part.tokens)
    rest = sum(part.tokens for part in tools[_TOOLS:])
    return words + tools[:_TOOLS] + ([WindowPart("tool", "other tools", rest)] if rest else [])


def scale_items(items: Sequence[WindowItem], used: int) -> list[WindowItem]:
    """The items with tokens that are together exactly `used`, in the same proportions and the largest first."""
    total = sum(item.tokens for item in items)
    if not total:
        return []
    if total == used:  # as of the results of a session without requests, of which there may be fifty thousand
        return sorted(items, key=_by_tokens)
    found: list[WindowItem] = []
    so_far = given = 0
    for item in items:
        so_far += item.tokens
        upto = round(so_far * used / total)
        found.append(item._replace(tokens=upto - given))
        given = upto
    return sorted(found, key=_by_tokens)


def _by_tokens(item: WindowItem) -> tuple[bool, int]:
    return item.kind == "rest", -item.tokens


def largest_items(items: Sequence[WindowItem], most: int = _ITEMS) -> list[WindowItem]:
    """The largest items; all others are one more."""
    if len(items) <= most:
        return list(items)
    rest = items[most - 1 :]
    count = sum(item.pieces for item in rest)
    return [*items[: most - 1], _rest_item(count, sum(item.tokens for item in rest))]


def _rest_item(count: int, tokens: int) -> WindowItem:
    return WindowItem("rest", f"{count:,} more", tokens, count)


def indicator(use: WindowUse, thresholds: Thresholds) -> dict[str, Any]:
    """How full a window is, for programs; its parts add up to `used`, and so do its items."""
    window = use.profile.window
    state = thresholds.indicator(use.used, window)
    items = scale_items(use.items, use.used)
    return {
        "used": use.used,
        "whole": use.whole,
        "window": window,
        "is_known": use.is_known,
        "model": showable(use.model),
        "counted": use.counted,
        "share": state.share,
        "parts": [part._asdict() for part in (parts_of(items) if use.parts is None else use.parts)],
        "items": [
            {**item._asdict(), "recall": item.recall, "share": item.tokens / window} for item in largest_items(items)
        ],
        "thresholds": [
            {
                "share": getattr(thresholds, line.level),
                "tokens": line.tokens,
                "label": line.label,
                "explained": line.explanation,
                "reached": line.reached,
            }
            for line in state.lines
        ],
        "state": _STATES[state.level],
    }


class _Items:
    """Items of which several are counted together."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], tuple[int, int]] = {}

    def add(self, kind: str, label: str, tokens: int, count: int = 1) -> None:
        known = self._counts.get((kind, label), (0, 0))
        self._counts[kind, label] = known[0] + tokens, known[1] + count

    def all(self) -> list[WindowItem]:
        return [WindowItem(*key, tokens, count) for key, (tokens, count) in self._counts.items()]


def _add_words(found: _Items, message: Message) -> None:
    kind = message.role if message.role in ("system", "user", "assistant") else "user"
    tokens = message.other + (estimate(message.said) if message.said else 0)
    tokens += sum(estimate(call.tool) + estimate(call.arguments) for call in message.calls)
    if tokens:
        found.add(kind, _LABELS[kind], tokens)


def _result_item(item: Item, find: FindResult) -> WindowItem:
    call, result = item.call, find(item.returned.call_id)
    return WindowItem(
        "tool",
        showable(call.tool if call else "tool"),
        item.tokens,
        artifact_id=None if result is None else result.artifact_id,
        trace_id=None if result is None else result.trace_id,
        argument=telling_argument(call.arguments if call else None),
    )
