"""The tokens that a provider bills for a request, and finding them in a stream.

Owns: the value, and which events of a stream are read for it. Whatever a provider wrote, nothing here raises.
Must not know: the names of the counts in a dialect (`Dialect.usage_in`), what is made of them.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from keepwhole.wire.content import Json, count_in, fields_of
from keepwhole.wire.fields import text_of
from keepwhole.wire.sse import Events

_TELLS = re.compile(rb'"usage"\s*:\s*\{|"applied_edits"\s*:')
"""An event with usage in it; a text that quotes this has backslashes before its quotes."""
_BESIDE = ("context_management", "model", "timings")
"""Fields beside the usage that say more about it."""
_ENDS = (b"\n\n", b"\r\n\r\n", b"\n\r\n", b"\r\r")


class Usage(NamedTuple):
    """The tokens of one request and its answer, as billed."""

    input: int
    """All tokens that went in, those from the cache and those written to it too."""
    cached: int = 0
    """Tokens of the input that the cache served."""
    written: int = 0
    """Tokens of the input that were written to the cache, where the provider charges for that."""
    output: int = 0
    applied: Any = None
    """What the provider says it changed of the prompt, as it says it."""
    says_cached: bool = True
    """Whether the provider says at all what its cache served; 0 is no news where it does not."""
    hops: int = 1
    """Times that the provider ran its model for this request; the input is that of all of them."""
    model: str = ""
    """The model that the provider says it used; empty where it says none."""
    written_hour: int = 0
    """Of the tokens that were written to the cache, those that live there for an hour, which cost more."""


def openai_usage(body: Json) -> Usage | None:
    """The usage in a response of OpenAI, or of a server that speaks like it; gateways mix the names of its two APIs."""
    usage = fields_of(body.get("usage"))
    total = count_in(usage, "prompt_tokens", "input_tokens")
    if total is None:
        return None
    details = fields_of(usage.get("prompt_tokens_details") or usage.get("input_tokens_details"))
    cached = _cached_tokens(body, usage, details)
    written = count_in(details, "cache_write_tokens") or 0
    output = count_in(usage, "completion_tokens", "output_tokens") or 0
    return Usage(
        total, min(cached or 0, total), written, output, None, cached is not None, model=text_of(body.get("model"))
    )


def _cached_tokens(body: Json, usage: Json, details: Json) -> int | None:
    """The tokens that the cache served; None where the server does not say.

    In the details at OpenAI, OpenRouter, Groq, xAI and vLLM; beside the other counts at DeepSeek, Moonshot and Mistral;
    in `timings` at llama.cpp. Ollama and LM Studio do not say.
    """
    told = count_in(details, "cached_tokens")
    if told is None:
        told = count_in(usage, "prompt_cache_hit_tokens", "cached_tokens", "num_cached_tokens")
    return count_in(fields_of(body.get("timings")), "cache_n") if told is None else told


def streamed_body(data: bytes) -> Json:
    """The usage in the events of a stream as a response has it; a later count replaces an earlier one."""
    body: Json = {}
    usage: Json = {}
    for event in _telling_events(data):
        inner = fields_of(event.get("message")) or fields_of(event.get("response"))
        for one in (inner, event):
            usage |= {name: value for name, value in fields_of(one.get("usage")).items() if value is not None}
            body |= {name: one[name] for name in _BESIDE if one.get(name)}
    return {**body, "usage": usage}


def _telling_events(data: bytes) -> Iterator[Json]:
    """The events with usage in them; only these are parsed."""
    end = next((end for end in _ENDS if end in data), b"\n\n")
    done = 0
    for found in _TELLS.finditer(data):
        if found.start() < done:
            continue
        before = data.rfind(end, done, found.start())
        stop = data.find(end, found.end())
        event = data[done if before < 0 else before + len(end) : stop if stop >= 0 else len(data)]
        done = stop if stop >= 0 else len(data)
        yield from (event.data() for event in Events().feed(event.lstrip() + end))
