"""Every tool result of the real transcripts, where they are at hand, through every strategy."""

import gzip
import json
import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.promises.views import ALL_STRATEGIES, check_view, view_of

pytestmark = [pytest.mark.torture, pytest.mark.timeout(1_800)]
BESIDE = Path(__file__).parents[3] / "shared" / "corpus"
NAMED = os.environ.get("KEEPWHOLE_CORPUS")
LONG = 4_000
SAMPLE = 400


def folder() -> Path:
    found = BESIDE if BESIDE.is_dir() else Path(NAMED) if NAMED else None
    if found is None or not found.is_dir():
        pytest.skip(f"no transcripts: neither {BESIDE} nor KEEPWHOLE_CORPUS is a folder")
    return found


def results() -> Iterator[tuple[str, str]]:
    """Tool and text of every result that is worth cutting."""
    for path in sorted(folder().glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                for message in json.loads(line)["messages"]:
                    if message["role"] == "tool" and len(message["content"]) > LONG:
                        yield message.get("name", "t"), message["content"]


def failures(text: str, strategy: str | None, limit: int, tool: str = "t") -> Iterator[str]:
    try:
        check_view(view_of(text, strategy, limit, tool=tool), text, limit)
    except Exception as error:
        words = f"{type(error).__name__} {str(error)[:120]!r}"
        yield f"{strategy} at {limit}, {tool}, {len(text)} chars of {text[:60]!r}: {words}"


def test_every_long_result_is_shown_soundly_as_its_tool_would_be() -> None:
    found = [words for tool, text in results() for words in failures(text, None, 2_000, tool)]
    assert not found, f"{len(found)} unsound:\n" + "\n".join(found[:20])


def test_a_sample_of_long_results_is_shown_soundly_by_every_strategy() -> None:
    chance = random.Random(3)
    every = list(results())
    sample = chance.sample(every, min(SAMPLE, len(every)))
    found = [
        words
        for _, text in sample
        for strategy in ALL_STRATEGIES
        for limit in (chance.randint(256, 1_000), 3_500)
        for words in failures(text, strategy, limit)
    ]
    assert not found, f"{len(found)} unsound:\n" + "\n".join(found[:20])
