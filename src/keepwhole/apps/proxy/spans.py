"""A span of OpenTelemetry for each request, where the process has a tracer; without one nothing is loaded.

Owns: the names. Those of `gen_ai.*` are the semantic conventions' (status: development); ours begin with `keepwhole.`.
Must not know: exporters. No content goes into a span.
"""

import time
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any

from keepwhole.apps.proxy.turn import Turn


def tracing(provider: Any = None) -> Callable[[Turn], None]:
    """What is told of each request; does nothing where no tracer is configured."""
    if find_spec("opentelemetry") is None:
        return _untold
    from opentelemetry import trace

    provider = provider or trace.get_tracer_provider()
    if isinstance(provider, trace.ProxyTracerProvider | trace.NoOpTracerProvider):
        return _untold
    tracer: Any = trace.get_tracer("keepwhole", tracer_provider=provider)

    def told(turn: Turn) -> None:
        if turn.exchange is not None:
            _record(tracer, turn)

    return told


def _untold(_: Turn) -> None:
    """Nobody listens."""


def _record(tracer: Any, turn: Turn) -> None:
    from opentelemetry import propagate

    ended = time.time_ns()
    begun = ended - int(turn.seconds * 1e9)
    facts = attributes(turn)
    name = f"chat {facts['gen_ai.request.model']}"
    span = tracer.start_span(name, context=propagate.extract(turn.traced), start_time=begun, attributes=facts)
    span.end(ended)


def attributes(turn: Turn) -> Mapping[str, str | int]:
    """The facts of a request by their names."""
    exchange = turn.exchange
    assert exchange is not None
    account = exchange.account.as_sent
    facts: dict[str, str | int] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": exchange.dialect.provider,
        "gen_ai.request.model": exchange.model,
        "keepwhole.policies.policy": account.policy,
        "keepwhole.tokens.whole": account.tokens_whole,
        "keepwhole.tokens.saved": account.tokens_saved,
        "keepwhole.results.edited": account.edited,
        "keepwhole.outcome": turn.outcome,
    }
    if exchange.has_record:
        facts["gen_ai.conversation.id"] = exchange.session
    if turn.usage is not None:
        facts["gen_ai.usage.input_tokens"] = turn.usage.input
        facts["gen_ai.usage.output_tokens"] = turn.usage.output
        facts["gen_ai.usage.cache_read.input_tokens"] = turn.usage.cached
        facts["gen_ai.usage.cache_creation.input_tokens"] = turn.usage.written
    if turn.predicted is not None:
        facts["keepwhole.tokens.cached.foreseen"] = turn.predicted
    return facts
