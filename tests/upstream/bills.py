"""A provider that bills as the real ones do, with a tokenizer that is not ours.

Tokens are bytes by a factor. Anthropic's cache holds prefixes that ended at a breakpoint and looks back twenty blocks
from each; OpenAI's holds every prefix, in steps of 128 tokens. Both forget after a while.
"""

import json
from typing import Any

Json = dict[str, Any]
MINIMUM, LOOK_BACK, STEP = 1_024, 20, 128


class Bills:
    """One provider's cache and its bills."""

    def __init__(self, dialect: str, lifetime: float = 300, width: float = 3.1, caches: bool = True) -> None:
        self._dialect, self._lifetime, self.width = dialect, lifetime, width
        self.caches = caches
        self._entries: dict[bytes, float] = {}
        self._sent: list[tuple[bytes, float]] = []
        self.billed: list[Json] = []

    def bill(self, body: bytes, now: float) -> Json:
        """The usage of a request."""
        fields = json.loads(body)
        made = self._explicit(fields, now) if self._dialect == "anthropic" else self._automatic(fields, now)
        self.billed.append(made)
        return made

    def answer(self, body: bytes, now: float, streamed: bool = False) -> bytes:
        """A response, as far as usage goes."""
        usage = self.bill(body, now)
        if not streamed:
            return json.dumps({"usage": usage}).encode()
        if self._dialect == "anthropic":
            start = {"type": "message_start", "message": {"usage": {**usage, "output_tokens": 1}}}
            end = {"type": "message_delta", "usage": {"output_tokens": 5}}
            return b"".join(f"data: {json.dumps(one)}\n\n".encode() for one in (start, end))
        told = {"response": {"usage": usage}} if self._dialect == "openai_responses" else {"usage": usage}
        return f"data: {json.dumps(told)}\n\n".encode()

    def _tokens(self, size: int) -> int:
        return int(size / self.width)

    def _automatic(self, fields: Json, now: float) -> Json:
        names = ("tools", "instructions", "messages", "input")
        prompt = b"".join(_bytes(part) for name in names for part in _listed(fields.get(name)))
        alive = [sent for sent, used in self._sent if now - used <= self._lifetime]
        cached = self._tokens(max((_common(sent, prompt) for sent in alive), default=0)) if self.caches else 0
        cached = cached - cached % STEP if cached >= MINIMUM else 0
        self._sent = [*self._sent[-8:], (prompt, now)]
        total = self._tokens(len(prompt))
        if self._dialect == "openai_responses":
            return {"input_tokens": total, "input_tokens_details": {"cached_tokens": cached}, "output_tokens": 5}
        return {"prompt_tokens": total, "prompt_tokens_details": {"cached_tokens": cached}, "completion_tokens": 5}

    def _explicit(self, fields: Json, now: float) -> Json:
        blocks = list(_blocks(fields))
        ends, size, seen = [], 0, b""
        prefixes: list[bytes] = []
        for data, _ in blocks:
            size += len(data)
            seen = hash((seen, data)).to_bytes(8, "big", signed=True)
            ends.append(self._tokens(size))
            prefixes.append(seen)
        points = [at for at, (_, is_marked) in enumerate(blocks) if is_marked]
        points = sorted({*points, *([len(blocks) - 1] if fields.get("cache_control") else [])})
        assert len(points) <= 4, "more breakpoints than a provider takes"
        alive = {prefix for prefix, used in self._entries.items() if now - used <= self._lifetime}
        reached = {at for point in points for at in range(max(0, point - LOOK_BACK), point + 1)}
        found = max((at for at in reached if prefixes[at] in alive), default=-1) if self.caches else -1
        self._entries |= {prefixes[point]: now for point in points if ends[point] >= MINIMUM}
        if found >= 0:
            self._entries[prefixes[found]] = now
        cached = ends[found] if found >= 0 else 0
        last = ends[points[-1]] if points and ends[points[-1]] >= MINIMUM else cached
        return {
            "input_tokens": ends[-1] - last,
            "cache_read_input_tokens": cached,
            "cache_creation_input_tokens": last - cached,
            "output_tokens": 5,
        }


def _blocks(fields: Json) -> Any:
    for part in (*_listed(fields.get("tools")), *_listed(fields.get("system"))):
        yield _bytes(part), _is_marked(part)
    for message in fields["messages"]:
        for part in _listed(message["content"]):
            yield message["role"].encode() + _bytes(part), _is_marked(part)


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [{"type": "text", "text": value}]  # pyright: ignore


def _is_marked(part: Any) -> bool:
    return "cache_control" in json.dumps(part)


def _bytes(part: Json) -> bytes:
    return json.dumps({key: value for key, value in part.items() if key != "cache_control"}).encode()


def _common(one: bytes, other: bytes) -> int:
    length = min(len(one), len(other))
    if one[:length] == other[:length]:
        return length
    low, high = 0, length
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low
