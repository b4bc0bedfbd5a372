"""A provider on loopback whose model is an oracle: it bills as the real ones do, and refuses what they refuse."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import cast

from bench.live.gemini_oracle import GeminiOracle, serve_gemini_oracle
from bench.live.oracle import ORACLES
from bench.live.wires.wire import Json
from keepwhole.models.profiles import profile_for
from tests.upstream.prompt import blocks_of
from tests.upstream.prompt_cache import TILLS, Bill, Clock, Till
from tests.upstream.server import Upstream, upstream
from tests.upstream.spelling import Dialect, Part

Model = Callable[[Json], list[Part]]
_CLEARED = "[Old tool result content cleared]"


@contextmanager
def serve_oracle(
    name: str, dialect: str, model: str, change: Callable[[Json], Json] = dict
) -> Generator[Upstream | GeminiOracle]:
    """Serve an oracle under the prices and the window of a model; it sees requests as `change` makes them."""
    profile, oracle = profile_for(model), ORACLES[name]
    kind = TILLS[cast("Dialect", "openai_chat" if dialect == "gemini" else dialect)]
    till = kind(Clock(), window=profile.window, minimum=profile.minimum, read=profile.read, write=profile.write)
    if dialect == "gemini":
        with serve_gemini_oracle(lambda body: oracle(change(body)), till) as gemini:
            yield gemini
        return
    with upstream(lambda body: oracle(change(cleared(body))), _ClearingTill(till)) as served:
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
