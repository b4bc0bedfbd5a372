"""Scenarios of cutting: every strategy over short peculiar texts, at many budgets and under every option."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from tests.golden import cut_doors
from tests.golden.edge_texts import TEXTS
from tests.golden.recorder import Recorder

_BUDGETS = (0, 40, 75, 110, 160, 256, 333, 500, 801, 1_300)
_SWEPT = (
    *(
        "ended",
        "crlf",
        "paragraphs",
        "emoji",
        "json-rows",
        "json-object",
        "json-strings",
        "ndjson",
        "csv",
        "csv-quoted",
    ),
    *("xml", "xml-mixed", "log-errors", "log-traces", "tests", "python", "javascript", "diff", "grep", "listing"),
)
"""Texts that are cut at every budget, so that every limit inside is met from both sides."""
_OPTIONS: dict[str, dict[str, Any]] = {
    "question": {"question": "Which customs invoice failed at `quay.py` line 12?"},
    "ratio": {"head_ratio": 0.2},
    "capped": {"line_cap": 60, "pattern": "customs|crane"},
    "few": {"max_lines": 5, "side": "both", "max_depth": 2, "keep_keys": ("note", "items", "name")},
    "tail": {"max_lines": 9, "side": "tail", "max_depth": 1},
}


def strategies(out: Recorder) -> None:
    """Each strategy at each budget."""
    for name, text in TEXTS.items():
        for strategy in cut_doors.STRATEGY_NAMES:
            found = [cut_doors.cut(strategy, text, budget) for budget in _BUDGETS]
            out.add(f"cuts/{name}/{strategy}", found)


def options(out: Recorder) -> None:
    """Each strategy under each option."""
    for name, text in TEXTS.items():
        for label, given in _OPTIONS.items():
            found = [
                cut_doors.cut(strategy, text, budget, **given)
                for strategy in cut_doors.STRATEGY_NAMES
                for budget in (120, 420, 900)
            ]
            out.add(f"cuts/{name}/with-{label}", found)


def every_budget(out: Recorder) -> None:
    """Short texts at all budgets, by the strategy that is chosen for them and one other, and as they are shown."""
    for number, name in enumerate(_SWEPT):
        text = TEXTS[name][:420]
        other = cut_doors.STRATEGY_NAMES[number % len(cut_doors.STRATEGY_NAMES)]
        for strategy in dict.fromkeys((cut_doors.chosen_for(TEXTS[name]), other)):
            found = [cut_doors.cut(strategy, text, budget) for budget in range(0, 440)]
            out.add(f"cuts/{name}/{strategy}-every", found)
        longer = TEXTS[name][:900]
        out.add(f"cuts/{name}/shown-every", [cut_doors.view(longer, limit) for limit in range(256, 920, 3)])


def questions(out: Recorder) -> None:
    """Texts of paragraphs and long lines, asked for every pair of their words: the answer is anywhere in them."""
    words = ("berth", "cargo", "crane", "customs", "ferry", "invoice", "pilot", "quay", "tide", "tug", "yard", "buoy")
    for name in ("paragraphs", "one-line", "long-middle", "markdown", "blank-lines", "python-classes", "json-rows"):
        found = [
            cut_doors.cut(cut_doors.chosen_for(TEXTS[name]), TEXTS[name], budget, question=f"{one} {other}?")
            for one, other in pairwise((*words, *words[::3], *words[::-2]))
            for budget in (150, 400, 700)
        ]
        out.add(f"cuts/{name}/asked", found)


def views(out: Recorder) -> None:
    """What is shown, with notices, and why; and single functions."""
    for name, text in TEXTS.items():
        for trusted in (False, True):
            found = [cut_doors.view(text, limit, trusted=trusted) for limit in (256, 400, 1_000)]
            out.add(f"cut-views/{name}/{'trusted' if trusted else 'plain'}", found)
        out.add(f"cut-views/{name}/question", cut_doors.view(text, 500, question="customs invoice 12"))
        out.add(f"cut-views/{name}/preview", cut_doors.view(text, 256, artifact_threshold=300, preview_limit=300))
        out.add(f"cut-views/{name}/about", cut_doors.about(text))


GROUPS: dict[str, list[Callable[[Recorder], None]]] = {
    "cuts": [strategies, options, every_budget, questions],
    "cut-views": [views],
}
