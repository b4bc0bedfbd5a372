"""What is reported of each proxied request: counters for `/metrics`, spans, a line for people. Never content.

Owns: the names. Labels of counters are fixed words: no model, path or id that a client chose. Span attributes named
`gen_ai.*` follow the semantic conventions of OpenTelemetry (status: development); the others begin with `keepwhole.`.
Must not know: exporters. Without a tracer in the process nothing of OpenTelemetry is loaded.
"""

import sys
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, TypeAlias

from keepwhole.apps.proxy.proxied_request import ProxiedRequest
from keepwhole.exchange.exchange import AnsweredRecall
from keepwhole.wire.answer_names import answer_names

Reporter: TypeAlias = Callable[[ProxiedRequest], None]
"""Called with each request once it is recorded."""
Fact: TypeAlias = str | int | float | bool | tuple[str, ...]
_PROVIDERS = {
    "gemini": "gcp.gemini",
    "vertex": "gcp.vertex_ai",
    "bedrock": "aws.bedrock",
    "azure": "azure.ai.openai",
    "mistral": "mistral_ai",
    "xai": "x_ai",
}
"""Keepwhole's names of providers that have another one in the semantic conventions."""
_HELP = {
    "active": "Requests that are being answered.",
    "turned_away_total": "Requests without the token, to another host or from a page.",
    "requests_total": "Requests that were answered.",
    "request_seconds_total": "Seconds until their last byte.",
    "first_byte_seconds_total": "Seconds until their first byte.",
    "tokens_whole_total": "Estimated tokens that clients meant to send.",
    "tokens_sent_total": "Estimated tokens that were sent of these.",
    "shadow_tokens_saved_total": "Estimated tokens that `mode: on` would have left out of requests in shadow mode.",
    "shadow_edited_total": "Results that `mode: on` would have changed in requests in shadow mode.",
    "input_tokens_total": "Tokens that providers billed as input.",
    "cached_tokens_total": "Tokens of these that came from their caches.",
    "foreseen_cached_tokens_total": "Tokens that should have come from their caches.",
    "decisions_total": "Results whose view changed from then on.",
    "unstored_total": "Results that could not be stored and were sent in full.",
    "recall_rounds_total": "Rounds in which a model read something back.",
}


class Counters:
    """Sums over all requests since the proxy started, by outcome. Used from one event loop."""

    def __init__(self) -> None:
        self.active = 0
        self._counts: dict[tuple[str, str], float] = {}

    @contextmanager
    def open(self) -> Generator[None]:
        """Count a request as active while it is answered."""
        self.active += 1
        try:
            yield
        finally:
            self.active -= 1

    def add_refused(self, status: int) -> None:
        """Count a request that the gate refused."""
        self._add("turned_away_total", 1, f'{{status="{status}"}}')

    def add(self, proxied: ProxiedRequest) -> None:
        """Count a request that was answered."""
        dialect = proxied.endpoint.dialect.name if proxied.endpoint is not None else "other"
        self._add("requests_total", 1, f'{{dialect="{dialect}",outcome="{proxied.outcome}"}}')
        self._add("request_seconds_total", proxied.seconds)
        self._add("first_byte_seconds_total", proxied.first)
        exchange = proxied.exchange
        if exchange is not None and not (proxied.endpoint is not None and proxied.endpoint.counts):
            account = exchange.account.as_sent
            self._add("tokens_whole_total", account.tokens_whole)
            self._add("tokens_sent_total", account.tokens_sent)
            if account.mode == "shadow":
                self._add("shadow_tokens_saved_total", exchange.account.tokens_saved)
                self._add("shadow_edited_total", exchange.account.edited)
            self._add("decisions_total", account.new_decisions)
            self._add("unstored_total", account.unstored)
            self._add("recall_rounds_total", exchange.count)
        self._add("input_tokens_total", proxied.billed)
        self._add("cached_tokens_total", proxied.cached)
        self._add("foreseen_cached_tokens_total", proxied.foreseen)

    def text(self) -> str:
        """All counters in the text format of Prometheus."""
        lines: list[str] = []
        counts = {("active", ""): float(self.active), **self._counts}
        for name in _HELP:
            kind = "gauge" if name == "active" else "counter"
            lines += [f"# HELP keepwhole_proxy_{name} {_HELP[name]}", f"# TYPE keepwhole_proxy_{name} {kind}"]
            found = [(labels, value) for (known, labels), value in counts.items() if known == name]
            lines += [f"keepwhole_proxy_{name}{labels} {value:.12g}" for labels, value in sorted(found)]
        return "\n".join(lines) + "\n"

    def _add(self, name: str, value: float, labels: str = "") -> None:
        self._counts[name, labels] = self._counts.get((name, labels), 0.0) + value


def span_reporter(provider: Any = None) -> Reporter | None:
    """A reporter that writes a span for each request; None where no tracer is configured."""
    if find_spec("opentelemetry") is None:
        return None
    from opentelemetry import trace

    provider = provider or trace.get_tracer_provider()
    if isinstance(provider, trace.ProxyTracerProvider | trace.NoOpTracerProvider):
        return None
    tracer: Any = trace.get_tracer("keepwhole", tracer_provider=provider)

    def report(proxied: ProxiedRequest) -> None:
        if proxied.exchange is not None:
            _write_span(tracer, proxied)

    return report


def _write_span(tracer: Any, proxied: ProxiedRequest) -> None:
    """Write the span of a request, and below it one for each recall that was answered on the way."""
    from opentelemetry import propagate, trace

    started = proxied.arrived  # and not so long before now: it is written when there is time for it
    ended = started + int(proxied.seconds * 1e9)
    facts = attributes(proxied)
    name = f"chat {facts['gen_ai.request.model']}"
    parent = propagate.extract(proxied.trace)
    span = tracer.start_span(name, context=parent, kind=trace.SpanKind.CLIENT, start_time=started, attributes=facts)
    if "error.type" in facts:
        span.set_status(trace.StatusCode.ERROR)
    below = trace.set_span_in_context(span, parent)
    for recall in proxied.exchange.recalls if proxied.exchange is not None else ():
        about = _recall_attributes(recall)
        tool = tracer.start_span(f"execute_tool {recall.tool}", below, start_time=recall.started, attributes=about)
        tool.end(recall.ended)
    span.end(ended)


def _recall_attributes(recall: AnsweredRecall) -> Mapping[str, str]:
    named = {"gen_ai.tool.call.id": recall.call_id} if recall.call_id else {}
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": recall.tool,
        "gen_ai.tool.type": "function",
        **named,
    }


def attributes(proxied: ProxiedRequest) -> Mapping[str, Fact]:
    """The attributes of a request's span."""
    exchange = proxied.exchange
    assert exchange is not None
    account = exchange.account.as_sent
    facts: dict[str, Fact] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": _PROVIDERS.get(proxied.upstream, proxied.upstream),
        "gen_ai.request.model": exchange.model,
        "keepwhole.policies.policy": account.policy,
        "keepwhole.tokens.whole": account.tokens_whole,
        "keepwhole.tokens.saved": account.tokens_saved,
        "keepwhole.results.edited": account.edited,
        "keepwhole.outcome": proxied.outcome,
        **_answer_attributes(proxied),
    }
    if exchange.has_record:
        facts["gen_ai.conversation.id"] = exchange.session
    if proxied.usage is not None:
        facts["gen_ai.usage.input_tokens"] = proxied.usage.input
        facts["gen_ai.usage.output_tokens"] = proxied.usage.output
        facts["gen_ai.usage.cache_read.input_tokens"] = proxied.usage.cached
        facts["gen_ai.usage.cache_creation.input_tokens"] = proxied.usage.written
    if proxied.predicted is not None:
        facts["keepwhole.tokens.cached.expected"] = proxied.predicted
    return facts


def _answer_attributes(proxied: ProxiedRequest) -> dict[str, Fact]:
    """What the provider says of its answer, or why there is none."""
    facts: dict[str, Fact] = {}
    if proxied.outcome != "complete":
        facts["error.type"] = str(proxied.status) if proxied.outcome == "refused" else proxied.outcome
    if proxied.last_answer is None:
        return facts
    data, is_stream = proxied.last_answer
    names = answer_names(data, is_stream)
    facts["gen_ai.request.stream"] = is_stream
    facts |= {"gen_ai.response.time_to_first_chunk": proxied.first} if is_stream else {}
    facts |= {"gen_ai.response.id": names.id} if names.id else {}
    facts |= {"gen_ai.response.model": names.model} if names.model else {}
    facts |= {"gen_ai.response.finish_reasons": names.reasons} if names.reasons else {}
    return facts


def summary_line(proxied: ProxiedRequest) -> str:
    """The size of a request, how much of it was sent, and how long it took, in one line."""
    words = [time.strftime("%H:%M:%S"), str(proxied.status or "–"), f"{proxied.outcome:<10}"]
    exchange = proxied.exchange if proxied.exchange is not None and proxied.exchange.has_record else None
    if exchange is not None:
        would, account = exchange.account, exchange.account.as_sent
        words.append(f"{_short(account.tokens_whole)} → {_short(account.tokens_sent)} tokens")
        words += [f"{_short(would.tokens_sent)} with mode: on"] * (would.tokens_sent < account.tokens_sent)
        words += [f"{_counted(account.edited, 'result')} changed"] * bool(account.edited)
        words += [f"{account.new_decisions} of them new"] * bool(account.new_decisions)
        words += [f"{account.unstored} not stored"] * bool(account.unstored)
        words += [f"{_counted(exchange.count, 'hidden recall')}"] * bool(exchange.count)
    if proxied.usage is not None:
        expected = "" if proxied.predicted is None else f" (expected {_short(proxied.predicted)})"
        words.append(f"cached {_short(proxied.usage.cached)} of {_short(proxied.usage.input)}{expected}")
    words.append(f"{proxied.first:.2f} s to the first byte, {proxied.seconds:.1f} s in total")
    if exchange is not None:
        words.append(f"{ascii(exchange.session[:60])[1:-1]} {ascii(exchange.identity.branch[:20])[1:-1]}")
    words += [proxied.note] * bool(proxied.note)
    return " · ".join(words)


def print_summary(proxied: ProxiedRequest) -> None:
    """Print the line of a request to standard error."""
    print(summary_line(proxied), file=sys.stderr, flush=True)


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def _short(tokens: int) -> str:
    return f"{tokens / 1000:.1f}k" if tokens >= 1000 else str(tokens)
