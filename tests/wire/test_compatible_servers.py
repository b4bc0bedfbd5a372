"""The usage of servers that speak like OpenAI, each in its own words; recorded shapes of their documentation."""

import json
from typing import Any

import pytest

from keepwhole.wire.openai_chat.dialect import OPENAI_CHAT
from keepwhole.wire.usage import Usage

_COUNTS = {"prompt_tokens": 2_000, "completion_tokens": 5, "total_tokens": 2_005}
_SILENT = Usage(2_000, 0, 0, 5, says_cached=False, model="m")
_CACHED = Usage(2_000, 1_920, 0, 5, model="m")
SERVERS: dict[str, tuple[dict[str, Any], Usage]] = {
    "deepseek": ({"usage": {**_COUNTS, "prompt_cache_hit_tokens": 1_920, "prompt_cache_miss_tokens": 80}}, _CACHED),
    "groq": ({"usage": {**_COUNTS, "queue_time": 0.1, "prompt_tokens_details": {"cached_tokens": 1_920}}}, _CACHED),
    "xai": ({"usage": {**_COUNTS, "prompt_tokens_details": {"text_tokens": 80, "cached_tokens": 1_920}}}, _CACHED),
    "mistral": ({"usage": {**_COUNTS, "num_cached_tokens": 1_920}}, _CACHED),
    "moonshot": ({"usage": {**_COUNTS, "cached_tokens": 1_920}}, _CACHED),
    "openrouter": (
        {
            "usage": {
                **_COUNTS,
                "cost": 0.01,
                "prompt_tokens_details": {"cached_tokens": 1_920, "cache_write_tokens": 64},
            }
        },
        _CACHED._replace(written=64),
    ),
    "vllm": ({"usage": {**_COUNTS, "prompt_tokens_details": None}}, _SILENT),
    "vllm with details": ({"usage": {**_COUNTS, "prompt_tokens_details": {"cached_tokens": 1_920}}}, _CACHED),
    "llama.cpp": ({"usage": _COUNTS, "timings": {"cache_n": 1_920, "prompt_n": 80, "prompt_ms": 3.0}}, _CACHED),
    "ollama": ({"usage": _COUNTS}, _SILENT),
    "lm studio": ({"usage": _COUNTS, "stats": {"tokens_per_second": 50}}, _SILENT),
}


@pytest.mark.parametrize(("fields", "usage"), SERVERS.values(), ids=SERVERS)
def test_the_usage_of_a_server_is_read_whole_and_streamed(fields: dict[str, Any], usage: Usage) -> None:
    whole = {"id": "1", "model": "m", "choices": [], **fields}
    first = {"id": "1", "model": "m", "choices": [{"index": 0, "delta": {"content": "hi"}}], "usage": None}
    streamed = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in (first, whole)) + "data: [DONE]\n\n"
    assert OPENAI_CHAT.usage_of(json.dumps(whole).encode(), streamed=False) == usage
    assert OPENAI_CHAT.usage_of(streamed.encode(), streamed=True) == usage


def test_a_count_of_zero_is_news_and_not_taken_from_elsewhere() -> None:
    usage = {**_COUNTS, "prompt_tokens_details": {"cached_tokens": 0}, "prompt_cache_hit_tokens": 7}
    found = OPENAI_CHAT.usage_of(json.dumps({"usage": usage}).encode(), streamed=False)
    assert found is not None
    assert (found.cached, found.says_cached) == (0, True)
