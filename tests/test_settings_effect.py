"""What a settings file and the environment say of policies takes effect in what a model is shown."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keepwhole import MemoryStore, Session
from keepwhole.config import Settings, load

Say = Callable[[Path, dict[str, str]], Settings]
FEW = "some words that take more room than what is shown in their place, and so are worth leaving out\n" * 30
LINES = "".join(f"line {number} of what came\n" for number in range(400))


def by_file(folder: Path, given: dict[str, str]) -> Settings:
    sections: dict[str, dict[str, str]] = {}
    for key, value in given.items():
        section, name = key.split(".")
        sections.setdefault(section, {})[name] = value
    rows = [
        f"{name}:\n" + "".join(f"  {key}: {value}\n" for key, value in values.items())
        for name, values in sections.items()
    ]
    (folder / "keepwhole.yaml").write_text("".join(rows))
    return load(environ={}, folder=str(folder))


def by_environment(folder: Path, given: dict[str, str]) -> Settings:
    named = {f"KEEPWHOLE_{key.replace('.', '_').upper()}": value for key, value in given.items()}
    return load(environ=named, folder=str(folder))


every_way = pytest.mark.parametrize("say", [by_file, by_environment])


def steps(count: int, text: str = LINES) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
    for number in range(count):
        call = {"id": f"c{number}", "type": "function", "function": {"name": "look", "arguments": f'{{"n": {number}}}'}}
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": f"result {number}\n{text}"},
        ]
    return messages


def shown(settings: Settings, policy: str, count: int, text: str = LINES) -> list[str]:
    """What a model sees of each result in the last request of a conversation of so many steps."""
    session = Session("s", store=MemoryStore(), settings=settings)
    view: list[dict[str, Any]] = []
    for number in range(1, count + 1):
        view = session.view(steps(number, text), policy=policy)
    return [message["content"] for message in view if message["role"] == "tool"]


@every_way
def test_rolling_max_age(tmp_path: Path, say: Say) -> None:
    usual = shown(load(environ={}, folder=str(tmp_path)), "rolling", 5, FEW)
    sooner = shown(say(tmp_path, {"rolling.max_age": "2"}), "rolling", 5, FEW)
    assert [text.startswith("result") for text in usual] == [True] * 5
    assert [text.startswith("result") for text in sooner] == [False, False, True, True, True]


@every_way
def test_rolling_max_tokens_per_output(tmp_path: Path, say: Say) -> None:
    (usual,) = shown(load(environ={}, folder=str(tmp_path)), "rolling", 1)
    (less,) = shown(say(tmp_path, {"rolling.max_tokens_per_output": "200"}), "rolling", 1)
    assert len(less) < len(usual) / 3


@every_way
def test_rolling_placeholder(tmp_path: Path, say: Say) -> None:
    assert "gone since 6" in shown(say(tmp_path, {"rolling.placeholder": "gone since {age}"}), "rolling", 7, FEW)[0]


@every_way
def test_retention_line_chars(tmp_path: Path, say: Say) -> None:
    wide = ("x" * 500 + "\n") * 9
    usual = shown(load(environ={}, folder=str(tmp_path)), "retention", 9, wide)[0]
    less = shown(say(tmp_path, {"retention.line_chars": "90"}), "retention", 9, wide)[0]
    assert usual.count("x") > 900
    assert 0 < less.count("x") <= 90


@every_way
def test_thresholds_compact_says_when_a_summary_is_made(tmp_path: Path, say: Say) -> None:
    usual = load(environ={}, folder=str(tmp_path))
    sooner = say(tmp_path, {"thresholds.warn": "0.3", "thresholds.compact": "0.5"})
    found: dict[str, int] = {}
    for name, settings in (("usual", usual), ("sooner", sooner)):
        session = Session("s", store=MemoryStore(), settings=settings.replace(models={"tiny": {"window": 20_000}}))
        projection = None
        for number in range(1, 7):
            projection = session.projection(steps(number, LINES), policy="truncation", model="tiny")
        assert projection is not None
        found[name] = projection.account.compacted
    assert found["usual"] == 0 < found["sooner"]


@every_way
def test_thresholds_warn_is_what_status_says(tmp_path: Path, say: Say) -> None:
    settings = say(tmp_path, {"thresholds.warn": "0.4"})
    (warn, *_) = settings.thresholds.indicator(45_000, 100_000).lines
    assert (warn.tokens, warn.reached) == (40_000, True)
