"""A provider on loopback whose model is an oracle: it bills as the real ones do, and refuses what they refuse."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import cast

from bench.live.gemini_as_chat import as_chat
from bench.live.oracle import ORACLES
from bench.live.wires.wire import Json
from keepwhole.models.profiles import profile_for
from tests.upstream.prompt import blocks_of, tokens_of, words_of
from tests.upstream.prompt_cache import TILLS, Bill, Clock, GeminiPrefixes, Till
from tests.upstream.server import Upstream, upstream
from tests.upstream.spelling import Dialect

COUNTERS = {"bytes": tokens_of, "words": words_of}
"""How tokens are counted: 3.3 bytes each, or as a vocabulary splits words."""
_CLEARED = "[Old tool result content cleared]"


@contextmanager
def serve_oracle(
    name: str, dialect: str, model: str, change: Callable[[Json], Json] = dict, tokens: str = "bytes"
) -> Generator[Upstream]:
    """Serve an oracle under the prices and the window of a model; it sees requests as `change` makes them."""
    profile, oracle = profile_for(model), ORACLES[name]
    kind = GeminiPrefixes if dialect == "gemini" else TILLS[cast("Dialect", dialect)]
    till = kind(Clock(), window=profile.window, minimum=profile.minimum, read=profile.read, write=profile.write)
    till.tokens_of = COUNTERS[tokens]
    read = as_chat if dialect == "gemini" else cleared
    with upstream(lambda body: oracle(change(read(body))), _ClearingTill(till)) as served:
        yield served


class _ClearingTill:
    """Bills requests as they are after the provider's own context editing."""

    def __init__(self, till: Till) -> None:
        self._till, self.bills = till, till.bills

    def bill(self, body: Json) -> Bill:
        return self._till.bill(cleared(body))

    def count(self, body: Json) -> int:
        return self._till.count(cleared(body))

    def usage(self, bill: Bill, made: int) -> Json:
        return self._till.usage(bill, made)


def cleared(body: Json) -> Json:
    """Return a request as Anthropic's `clear_tool_uses` leaves it: above the trigger old results are emptied."""
    edits = body.get("context_management", {}).get("edits", [])
    if not edits or sum(block.tokens for block in blocks_of(body)) <= edits[0]["trigger"]["value"]:
        return body
    found = [
        block["tool_use_id"]
        for message in body["messages"]
        for block in message["content"]
        if block["type"] == "tool_result"
    ]
    old = set(found[: -edits[0]["keep"]["value"]])

    def empty(block: Json) -> Json:
        return {**block, "content": _CLEARED} if block.get("tool_use_id") in old else block

    messages = [{**message, "content": [empty(block) for block in message["content"]]} for message in body["messages"]]
    return {**body, "messages": messages}
