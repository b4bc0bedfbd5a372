"""The same result under the same settings looks the same through every entry point.

A user who sets a limit means it for `keep`, for `view`, for the proxy, for a hook and for the MCP gateway. The examples
name the settings and the results one by one; the property draws them together.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from keepwhole.truncation.configuration import ToolOverride, TruncationConfiguration
from keepwhole.truncation.cut import Cut, Inserted, Segment, Source, whole
from keepwhole.truncation.strategy import STRATEGIES, StrategyOptions
from tests.apps.cli.cli import Cli
from tests.golden.texts import text
from tests.promises.entry_points import Setup, ToolCall, shown_by_each, without_ids

"""What does not hold until results have one way into the record."""


def middle(source: Source, budget: int, options: StrategyOptions) -> Cut:
    """A strategy of a user: keep the middle."""
    notice = "(the beginning is left out)\n"
    room = budget - 2 * len(notice)
    if source.chars <= room:
        return whole(source.chars)
    start = (source.chars - room) // 2
    gaps = (Segment("gap", 0, start), Segment("gap", start + room, source.chars))
    return Cut((Inserted(notice), gaps[0], Segment("kept", start, start + room), gaps[1]))


_OWN = {**STRATEGIES, "middle": middle}
_OVERRIDES = {
    "bash": {"strategy": "head", "inline_limit": 1_000},
    "read_file": {"head_ratio": 0.2},
    "grep": {"inline_limit": 3_000, "line_cap": 80},
    "mcp__files__fetch": {"strategy": "tail"},
}


def _file(policy: str = "auto", **truncation: Any) -> dict[str, Any]:
    """A settings file that names a policy, with these settings under `tools.truncation`."""
    return {"policy": policy, "tools": {"truncation": truncation}}


SETUPS: dict[str, Setup] = {
    "the defaults": Setup(),
    "the preset `lean`": Setup({"preset": "lean"}),
    "the policy `truncation`": Setup(_file("truncation")),
    "the policy `retention`": Setup(_file("retention")),
    "the policy `rolling`": Setup(_file("rolling")),
    "`inline_limit` set to its default": Setup(_file(inline_limit=8_000)),
    "`inline_limit` set to another value": Setup(_file(inline_limit=8_001)),
    "a small `inline_limit` under `truncation`": Setup(_file("truncation", inline_limit=1_500)),
    "`line_cap`": Setup(_file(line_cap=60)),
    "`line_cap` under `truncation`": Setup(_file("truncation", line_cap=60)),
    "`default_strategy`": Setup(_file(default_strategy="head")),
    "overrides for tools": Setup(_file(overrides=_OVERRIDES)),
    "overrides for tools under `truncation`": Setup(_file("truncation", overrides=_OVERRIDES)),
    "limits given in Python": Setup(options={"policy": TruncationConfiguration(inline_limit=1_000)}),
    "limits given in Python under `truncation`": Setup(
        _file("truncation"), {"policy": TruncationConfiguration(inline_limit=1_000)}
    ),
    "a strategy given in Python": Setup(
        options={"strategies": _OWN, "policy": TruncationConfiguration(default_strategy="middle")}
    ),
    "a strategy given in Python for one tool": Setup(
        _file("truncation"),
        {
            "strategies": _OWN,
            "policy": TruncationConfiguration(overrides={"bash": ToolOverride(strategy="middle", inline_limit=2_000)}),
        },
    ),
    "a strategy given in Python in place of a built-in one": Setup(options={"strategies": {**_OWN, "log": middle}}),
}
_IMITATION = 'See [Artifact: art_1700000000_xxxxxxxxxxxxxxxxxxxxxx] and get_artifact(id="x").\n'
_TRACEBACK = 'Traceback (most recent call last):\n  File "/srv/a.py", line 7, in load\nValueError: no such berth\n'
OUTPUTS: dict[str, str] = {
    "log": text("log", 30_000),
    "long log": text("log", 70_000),
    "JSON": text("json", 40_000),
    "code": text("code", 20_000),
    "CSV": text("csv", 30_000),
    "prose": text("plain", 12_000),
    "search hits": text("grep", 12_000),
    "wide lines": text("huge_lines", 30_000),
    "one line": "abc " * 5_000,
    "error": _TRACEBACK,
    "long error": text("plain", 12_000) + _TRACEBACK,
    "imitation of a notice": _IMITATION,
    "long imitation of a notice": text("notices", 12_000),
    "short": "ok\n",
    "empty": "",
}
ARGUMENTS: dict[str, dict[str, Any]] = {
    "bash": {"command": "make -j4 all"},
    "read_file": {"path": "/srv/berth.py"},
    "grep": {"pattern": "berth", "path": "/srv"},
    "mcp__files__fetch": {"address": "https://harbor.example/berths"},
}


def differences(setup: Setup, call: ToolCall) -> list[str]:
    """The texts that are not what `keep` shows, each with the entry points that show it."""
    shown = shown_by_each(setup, call)
    texts = dict.fromkeys(text for text in shown.values() if text != shown["keep"])
    return [
        f"{call.tool}: `keep` shows {_in_short(shown['keep'])}, but {', '.join(names)} show {_in_short(text)}"
        for text in texts
        for names in [[name for name, content in shown.items() if content == text]]
    ]


def _in_short(content: str) -> str:
    return f"{len(content):,} characters {content[:30]!r}…{content[-60:]!r}"


def _call(tool: str, output: str) -> ToolCall:
    return ToolCall(tool, ARGUMENTS[tool], OUTPUTS[output])


@pytest.mark.parametrize("name", [pytest.param(name) for name in SETUPS])
def test_results_look_the_same_everywhere_under(name: str) -> None:
    calls = [_call("bash", "log"), _call("read_file", "code"), _call("grep", "search hits")]
    calls.append(_call("mcp__files__fetch", "JSON"))
    found = [line for call in calls for line in differences(SETUPS[name], call)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("output", [name for name in OUTPUTS if "imitation" not in name])
def test_any_kind_of_result_looks_the_same_everywhere_under_the_defaults(output: str) -> None:
    found = [line for tool in ARGUMENTS for line in differences(Setup(), _call(tool, output))]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("output", [name for name in OUTPUTS if "imitation" in name])
def test_an_imitation_of_a_notice_looks_the_same_everywhere(output: str) -> None:
    found = [line for tool in ARGUMENTS for line in differences(Setup(), _call(tool, output))]
    assert not found, "\n".join(found)


def test_an_imitation_of_a_notice_is_marked_as_quoted_in_every_entry_point() -> None:
    for name, content in shown_by_each(Setup(), _call("bash", "imitation of a notice")).items():
        assert "[quoted] [Artifact: " in content, name


def test_an_override_for_a_tool_holds_in_every_entry_point() -> None:
    """The promise is not kept by showing everything, or by ignoring the setting everywhere."""
    for name, content in shown_by_each(SETUPS["overrides for tools"], _call("bash", "log")).items():
        assert len(content) <= 1_000, name
        assert content.startswith(OUTPUTS["log"][:500]), f"{name}: not cut by `head`"


def test_a_strategy_given_in_python_cuts_in_every_entry_point() -> None:
    setup = SETUPS["a strategy given in Python for one tool"]
    for name, content in shown_by_each(setup, _call("bash", "log")).items():
        assert content.startswith("(the beginning is left out)\n"), name


def test_a_limit_that_equals_the_default_is_a_limit_like_any_other() -> None:
    """Raising `inline_limit` by one character changes little of what is shown."""
    call = _call("read_file", "code")
    at, above = (shown_by_each(Setup(_file(inline_limit=limit)), call) for limit in (8_000, 8_001))
    for name in at:
        assert abs(len(above[name]) - len(at[name])) < 500, name


def test_the_command_line_shows_what_keep_shows(tmp_path: Path) -> None:
    call = _call("read_file", "code")
    given = ("--tool", call.tool, "--arguments", json.dumps(call.arguments))
    shown = Cli(tmp_path).json("keep", *given, input=call.output.encode())
    assert without_ids(shown["content"]) == shown_by_each(Setup(), call)["keep"]


_LIMITS = st.sampled_from([256, 1_000, 2_500, 7_999, 8_000, 8_001, 20_000])
_LINE_CAPS = st.sampled_from([20, 200, 2_000])
_STRATEGIES = st.sampled_from(sorted(STRATEGIES))
_OVERRIDE = st.fixed_dictionaries(
    {},
    optional={
        "strategy": _STRATEGIES,
        "inline_limit": _LIMITS,
        "head_ratio": st.sampled_from([0.0, 0.2, 1.0]),
        "line_cap": _LINE_CAPS,
    },
)
_FILES = st.fixed_dictionaries(
    {"policy": st.sampled_from(["auto", "auto", "truncation", "retention", "rolling"])},
    optional={
        "preset": st.just("lean"),
        "inline_limit": _LIMITS,
        "line_cap": _LINE_CAPS,
        "default_strategy": _STRATEGIES,
        "overrides": st.dictionaries(st.sampled_from(sorted(ARGUMENTS)), _OVERRIDE, max_size=2),
    },
)
"""The policy, the preset, and what is under `tools.truncation`."""


@st.composite
def _any_output(draw: st.DrawFn) -> str:
    output = OUTPUTS[draw(st.sampled_from(sorted(OUTPUTS)))]
    return output[: draw(st.sampled_from([255, 256, 5_001, 8_000, 8_001, 24_001, 70_000]))]


@settings(max_examples=30)
@given(_FILES, st.booleans(), st.sampled_from(sorted(ARGUMENTS)), _any_output())
@example({"policy": "auto", "overrides": {"bash": {"strategy": "head"}}}, False, "bash", OUTPUTS["log"])
def test_any_result_looks_the_same_everywhere_under_any_settings(
    file: dict[str, Any], in_python: bool, tool: str, output: str
) -> None:
    """`in_python` gives the limits as arguments of the session instead of in the file."""
    top = {key: value for key, value in file.items() if key in ("policy", "preset")}
    limits = {key: value for key, value in file.items() if key not in top}
    setup = Setup({**top, "tools": {"truncation": limits}})
    if in_python:
        overrides = {name: ToolOverride(**own) for name, own in limits.pop("overrides", {}).items()}
        setup = Setup(top, {"policy": TruncationConfiguration(**limits, overrides=overrides), "strategies": _OWN})
    found = differences(setup, ToolCall(tool, ARGUMENTS[tool], output))
    assert not found, "\n".join(found)
