"""An override for one tool changes only the settings that it names."""

import pytest

from keepwhole import MemoryStore, Session
from keepwhole.truncation.configuration import ToolOverride, TruncationConfiguration


def shown(chars: int, tool: str = "fetch_url", **override: object) -> int:
    """Characters shown of a long page under `auto`."""
    given = {tool: ToolOverride(**override)} if override else {}  # type: ignore[arg-type]
    session = Session(store=MemoryStore(), policy=TruncationConfiguration(overrides=given))
    text = "".join(f"line {number:06} of a long page\n" for number in range(chars // 27))
    return len(session.keep(tool, None, text).content)


@pytest.mark.parametrize("chars", [15_000, 40_000, 60_000, 110_000, 400_000])
def test_a_higher_limit_never_shows_less(chars: int) -> None:
    assert shown(chars, inline_limit=20_000) >= min(chars * 0.95, 19_000)


@pytest.mark.parametrize("tool", ["fetch_url", "Read"])
@pytest.mark.parametrize("chars", [15_000, 40_000, 60_000, 110_000])
def test_another_strategy_leaves_the_limit_as_it_was(chars: int, tool: str) -> None:
    assert abs(shown(chars, tool, strategy="tail") - shown(chars, tool)) < 400


def test_a_threshold_that_was_given_applies() -> None:
    assert shown(60_000, inline_limit=20_000, artifact_threshold=50_000) < 3_000
