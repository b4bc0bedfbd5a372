"""Scenarios of settings: every one with values at and beyond its limits, from the file and from the environment."""

import json
from collections.abc import Callable
from typing import Any

from tests.golden import app_doors
from tests.golden.recorder import Recorder

_VALUES: tuple[Any, ...] = (
    *(-1, 0, 1, 2, 255, 256, 999, 1_000, 1 << 40, 0.0, 0.04, 0.5, 0.95, 1.0, 1.5, True, False, None, "", "x", "12k"),
    *("on", "off", "auto", "lean", "tools", "need", "start", "head", "50%", [], ["a"], [1], {}, {"a": 1}, {"shell": 5}),
    *({"shell": -1}, {"shell": "x"}, {"anthropic": "http://localhost:1"}, {"anthropic": "nowhere"}, "{age} of {x}"),
)
_FILES = {
    "empty": "",
    "comment": "# nothing\n",
    "list": "- a\n",
    "text": "hello",
    "unknown": "polcy: auto\n",
    "unknown-below": "auto: {strat: 5}\n",
    "twice": "mode: on\nmode: off\n",
    "model": "models:\n  mine: {window: 1000, read: 0.1, write: 1.25}\n",
    "model-odd": "models:\n  mine: {window: -5}\n",
    "model-unknown": "models:\n  mine: {widow: 5}\n",
    "override": "tools:\n  truncation:\n    overrides:\n      bash: {strategy: tail}\n      '*': {head_ratio: 1}\n",
    "override-odd": "tools:\n  truncation:\n    overrides:\n      bash: {strategy: none}\n",
    "override-limit": "tools:\n  truncation:\n    overrides:\n      bash: {inline_limit: 255}\n",
    "override-unknown": "tools:\n  truncation:\n    overrides:\n      bash: {side: left}\n",
    "thresholds": "thresholds: {warn: 0.9, compact: 0.8, hard: 0.7}\n",
    "anchors": "auto: &a {start: 5}\nrolling: *a\n",
}


def files(out: Recorder) -> None:
    """Whole files."""
    for name, text in _FILES.items():
        out.add(f"settings/file/{name}", app_doors.read_settings(text))


def values(out: Recorder) -> None:
    """Each setting with each value, in a file and in the environment."""
    for name in app_doors.setting_names():
        found: list[Any] = []
        for value in _VALUES:
            text = json.dumps(value)
            for key in reversed(name.split(".")):
                text = f"{{{json.dumps(key)}: {text}}}"
            found.append([value, app_doors.read_settings(text, name)])
        out.add(f"settings/value/{name}", found)
        variable = "KEEPWHOLE_" + name.replace(".", "_").upper()
        given = ("", "0", "1", "5", "0.5", "x", "true", "off", "on", "{}", "-3")
        out.add(f"settings/variable/{name}", [app_doors.read_settings("", name, {variable: one}) for one in given])


GROUPS: dict[str, list[Callable[[Recorder], None]]] = {"settings": [files, values]}
