"""Scenarios of reading back short peculiar texts, in every way in which a model may ask."""

from collections.abc import Callable
from typing import Any

from tests.golden import doors
from tests.golden.edge_texts import TEXTS
from tests.golden.recorder import Recorder

_SETTINGS = "policy: truncation\nretrieval_limit: 1000\ntools:\n  truncation: {inline_limit: 256}\n"
_PARTS: tuple[dict[str, Any], ...] = (
    {},
    {"lines": "1"},
    {"lines": "2-4"},
    {"lines": "3-"},
    {"lines": "1-1,000"},
    {"lines": "40-40"},
    {"lines": 60},
    {"lines": "61"},
    {"lines": "0-2"},
    {"lines": "5-4"},
    {"start_line": 3},
    {"end_line": "4"},
    {"start_line": 2.0, "end_line": 2},
    {"start_char": 0, "length": 1},
    {"start_char": 7, "length": 50},
    {"start_char": "300"},
    {"length": 20},
    {"length": 0},
    {"start_char": -1},
    {"start_char": 1 << 70},
    {"from_end": 1},
    {"from_end": 5},
    {"from_end": 0},
    {"from_end": "x"},
)
_SEARCHES: tuple[dict[str, Any], ...] = (
    {"pattern": "customs"},
    {"pattern": "CRANE", "context": 1},
    {"pattern": "e"},
    {"pattern": "tide", "context": 2, "lines": "5-30"},
    {"pattern": "tug", "from_end": 12},
    {"pattern": "quay", "start_char": 100, "length": 900},
    {"pattern": "buoy", "lines": "9999-"},
    {"pattern": r"\b(crane|tug)\b.*\d", "regex": True, "context": 1},
    {"pattern": "^[0-9]+", "regex": "yes"},
    {"pattern": "$", "regex": True},
    {"pattern": "(", "regex": "1"},
    {"pattern": "z{300}", "regex": "true"},
    {"pattern": "nowhere at all"},
    {"pattern": "x" * 400},
    {"pattern": "a", "context": -1},
    {"pattern": "a", "context": 99},
    {"pattern": ""},
)
_PATHS = (
    *("$", "$[0]", "$[-1]", "$[2:5]", "$[:2].name", "$[*].id", "$[0].tags[1]", "$[0][0]", "$.items[3:5].in.x", "items"),
    *("$.wide.k7", "$.a.b.c.d.e[1][1]", '$["a\\"b"]', "$.total", "$[99]", "$.none", "$[1", "x" * 600, "$.name", "$.0"),
    *("$[0].name", "$[-2:].count", "$[1:3][0]", "$[5].note", "$.items.0.id", "$[:]", "$.items[*].tags[0]"),
)


def parts(out: Recorder) -> None:
    """Lines, characters, ends."""
    _ask(out, "parts", _PARTS)


def searches(out: Recorder) -> None:
    """Patterns, with lines around them, within a part."""
    _ask(out, "searches", _SEARCHES)


def paths(out: Recorder) -> None:
    """Addresses inside data."""
    _ask(out, "paths", tuple({"path": path} for path in _PATHS))


def _ask(out: Recorder, label: str, asked: tuple[dict[str, Any], ...]) -> None:
    session = doors.open_session(settings=doors.settings(_SETTINGS), seed=f"recall-edges/{label}")
    for name, text in TEXTS.items():
        shown = doors.kept(session, "bash", {"name": name}, text)
        found = [doors.recall(session, "get_artifact", {"id": shown.trace_id, **one}) for one in asked]
        out.add(f"recall-edges/{label}/{name}", found)


def traces(out: Recorder) -> None:
    """The calls themselves, searches over all of them, and selections."""
    session = doors.open_session(settings=doors.settings(_SETTINGS), seed="recall-edges/traces")
    shown = {
        name: doors.kept(session, f"tool_{at % 3}", {"name": name, "at": at}, text, is_error=at % 5 == 4)
        for at, (name, text) in enumerate(TEXTS.items())
    }
    for name, one in shown.items():
        asked = ({}, {"part": "arguments"}, {"lines": "2-3"}, {"pattern": "crane"})
        found = [doors.recall(session, "get_task_trace", {"trace_id": one.trace_id, **more}) for more in asked]
        out.add(f"recall-edges/traces/{name}", found)
    for at, query in enumerate(
        (
            "crane",
            "customs invoice",
            "ValueError cargo heavy",
            "quay.py",
            "tool_1",
            "12",
            "漢字",
            "PASSED tug",
            "",
            "none",
        )
    ):
        for key in ("query", "q"):
            out.add(f"recall-edges/search-{at}-{key}", doors.recall(session, "search_artifacts", {key: query}))
        for budget in (50, 300, 2_000):
            out.add(f"recall-edges/select-{at}-{budget}", doors.select(session, query, budget=budget))


GROUPS: dict[str, list[Callable[[Recorder], None]]] = {"recall-edges": [parts, searches, paths, traces]}
