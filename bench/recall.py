"""Reading back: a literal in a large artifact against ripgrep, and a slice of JSON against one pass that skips it.

A search is judged by wall time, of a ripgrep process and of a call: both have the file in the kernel's cache
and find the same line first. "No extra" hides `stringzilla`. A slice is judged by the CPU of the thread against reading
the same artifact with the same checks and splitting the array once by `msgspec`; the row after it leaves the reading
out of the reference. Every answer is checked first.
"""

import json
import os
import shutil
import subprocess
import time
import tracemalloc
from collections.abc import Callable
from statistics import median
from typing import Any

import msgspec

import keepwhole
from bench import floors
from bench.support.row import Row, row_with_floor, row_without_floor
from bench.support.setup import Setup
from bench.support.timing import run_interleaved
from bench.texts.large_texts import text_file
from keepwhole.recall import patterns

_SEARCHED = 256_000_000
_JSON = 10_000_000
_NEEDLE = "needle-in-256-MB"
_PATH = "$.items[40:60].name"


def recall(setup: Setup) -> list[Row]:
    return [*_search(setup), *_slice(setup)]


def _search(setup: Setup) -> list[Row]:
    source = text_file("ASCII", 64_000_000 if setup.quick else _SEARCHED, setup.folder)
    with open(source, "ab") as file:
        file.write(f"the {_NEEDLE} stands here\n".encode())
    size = f"{os.path.getsize(source) / 1e6:.0f} MB"
    with keepwhole.session("bench", store=setup.path("recall")) as session:
        with open(source, "rb") as file:
            asked = {"id": session.keep("bench", None, file).artifact_id, "pattern": _NEEDLE}

        def ours() -> str:
            return session.call_tool("get_artifact", asked).content

        subjects: dict[str, Callable[[], float]] = {
            "speed": lambda: _wall(ours),
            "none": lambda: _wall_without_stringzilla(ours),
        }
        tool = shutil.which("rg") or shutil.which("grep")
        if tool is not None:
            command = [tool, "-nF", _NEEDLE, source]
            if _NEEDLE not in _run(command) or f"the {_NEEDLE} stands here" not in ours():
                raise RuntimeError("the needle was not found")
            subjects["reference"] = lambda: _wall(lambda: _run(command))
        times = run_interleaved("recall, search", setup.rounds, subjects)
        peak = _peak(ours)
    return _search_rows(size, times, os.path.basename(tool or ""), peak)


def _search_rows(size: str, times: dict[str, list[float]], tool: str, peak: float) -> list[Row]:
    found: list[Row] = []
    bounds = {"speed": ("speed extra", floors.RECALL_SEARCH_SPEED), "none": ("no extra", floors.RECALL_SEARCH)}
    for name, (words, floor) in bounds.items():
        figure, what = f"{median(times[name]):.0f} ms", f"a literal at the end of {size}, {words}"
        if tool != "rg":
            reference = f"{tool or 'no rg'} {median(times.get('reference', [0])):.0f} ms"
            found.append(row_without_floor(what, figure, f"{reference} (no ripgrep here)", times[name], " ms", 0))
            continue
        ratios = [a / b for a, b in zip(times[name], times["reference"], strict=True)]
        found.append(row_with_floor(what, figure, f"rg {median(times['reference']):.0f} ms", ratios, floor))
    row = row_with_floor(
        f"a literal at the end of {size}: most memory in use", f"{peak:.1f} MB", "–", [peak], floors.RECALL_MEMORY
    )
    return [*found, row]


def _slice(setup: Setup) -> list[Row]:
    items: list[Any] = [{"name": f"item {n}", "tags": list(range(12)), "note": "x" * 60} for n in range(80_000)]
    text = json.dumps({"count": len(items), "items": items})[: _JSON * 2]
    while len(text) > _JSON * 1.02:
        items = items[: int(len(items) * _JSON / len(text))]
        text = json.dumps({"count": len(items), "items": items})
    with keepwhole.session("bench", store=setup.path("recall-json")) as session:
        artifact = str(session.keep("bench", None, text).artifact_id)
        answer = session.call_tool("get_artifact", {"id": artifact, "path": _PATH}).content
        if json.loads(answer.rpartition("\n[")[0]) != [item["name"] for item in items[40:60]]:
            raise RuntimeError("the slice is not the one asked for")
        data = text.encode()
        array = data[data.index(b"[") : data.rindex(b"]") + 1]
        times = run_interleaved(
            "recall, slice",
            setup.rounds,
            {
                "ours": lambda: _cpu(lambda: session.call_tool("get_artifact", {"id": artifact, "path": _PATH})),
                "read": lambda: _cpu(lambda: session.recall_bytes(artifact)),
                "pass": lambda: _cpu(lambda: msgspec.json.decode(array, type=list[msgspec.Raw])),
                "tree": lambda: _cpu(lambda: json.loads(data)),
            },
        )
    return _slice_rows(times, f"`{_PATH}` of {len(text) / 1e6:.0f} MB JSON")


def _slice_rows(times: dict[str, list[float]], what: str) -> list[Row]:
    figure = f"{median(times['ours']):.1f} ms"
    both = [a / (b + c) for a, b, c in zip(times["ours"], times["read"], times["pass"], strict=True)]
    bare = [a / b for a, b in zip(times["ours"], times["pass"], strict=True)]
    tree = [a / b for a, b in zip(times["ours"], times["tree"], strict=True)]
    read, alone, loads = (median(times[name]) for name in ("read", "pass", "tree"))
    return [
        row_with_floor(
            what, figure, f"checked read {read:.1f} ms and one Raw pass {alone:.1f} ms", both, floors.RECALL_SLICE
        ),
        row_without_floor(f"{what}, against the pass alone", figure, f"one Raw pass {alone:.1f} ms", bare, "×"),
        row_without_floor(f"{what}, against the tree", figure, f"`json.loads` {loads:.0f} ms", tree, "×", 3),
    ]


def _wall(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return (time.perf_counter() - began) * 1e3


def _peak(act: Callable[[], object]) -> float:
    """The peak of a call's allocated memory, in megabytes."""
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


def _cpu(act: Callable[[], object]) -> float:
    began = time.thread_time()
    act()
    return (time.thread_time() - began) * 1e3


def _wall_without_stringzilla(act: Callable[[], object]) -> float:
    """The seconds of a search without `stringzilla`."""
    extra = patterns.stringzilla
    patterns.stringzilla = lambda: None
    try:
        return _wall(act)
    finally:
        patterns.stringzilla = extra


def _run(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
