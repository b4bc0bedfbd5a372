"""Invented reports of replays: a full one with close points and hostile texts, and nearly empty ones."""

from collections.abc import Sequence
from typing import Any

HOSTILE = (
    "</script><script>window.hacked = 1</script>",
    "<img src=x onerror='window.hacked = 2'>",
    '"><svg onload=window.hacked=3>',
    "<!-- <script> ]]> &lt;b&gt; $title ${script}",
    "before\u2028after\u2029\x00\x1b[2J\u202eesrever",
    "lone \ud800 surrogate",
    "javascript:window.hacked=4//",
)
UNICODE = ("größe_ß.txt", "日本語のファイル.md", "naïve café — ½ 🦀", "עברית/קובץ.txt")
WINDOW = 128_000

_POLICIES: tuple[tuple[str, str, float, float, float, float, float, int], ...] = (
    # name, verdict, in context, all-in, cached, tail, steps ok, rewrites
    ("everything", "what you send today", 1.0, 1.0, 1.0, 1.0, 1.0, 0),
    ("auto", "cheapest of those that keep more than nine in ten", 0.953, 0.541, 0.522, 0.537, 0.934, 61),
    ("clear_tool_uses", "close to auto, but forgets more", 0.947, 0.581, 0.552, 0.570, 0.911, 92),
    ("opencode", "keeps as much, costs a quarter more", 0.945, 0.692, 0.654, 0.681, 0.909, 199),
    ("langchain", "cheap only where the whole prefix is cached", 0.868, 0.569, 0.523, 1.51, 0.819, 2_788),
    ("truncation", "cuts on arrival, never again", 0.837, 0.732, 0.684, 0.684, 0.821, 0),
    ("retention", "cheap, but forgets four of ten", 0.571, 0.517, 0.427, 0.770, 0.540, 4_078),
    ("mask_5", "forgets, and pays for rewriting", 0.643, 0.667, 0.583, 2.00, 0.574, 6_339),
    ("rolling", "costs more than sending everything", 0.728, 2.30, 2.24, 2.24, 0.675, 6_900),
    ("clairvoyant", "knows the future: nobody can do better", 1.0, 0.420, 0.420, 0.973, 1.0, 5_750),
)
_AUTO_YAML = """# keepwhole.yaml
policy: auto
preset: careful
auto:
  arrival_least: {shell: 8000, search: 8000, other: 8000}
  start: 100000
  clear_at_least: 20000
"""
_TOOLS = (("Bash", 412, 1_480_000, 0.71), ("Read", 389, 1_350_000, 0.48), ("Grep", 201, 610_000, 0.80))
_MORE_TOOLS = (("WebFetch", 44, 390_000, 0.66), ("Task", 19, 205_000, 0.31), ("Edit", 377, 120_000, 0.93))
_CALLS = (
    ("Bash", "pytest -x tests/server -q"),
    ("Read", "src/server/session_store.py"),
    ("Grep", "retry_after|RateLimit"),
    ("WebFetch", "https://docs.example.org/rate-limits"),
    ("Bash", "npm run build --workspace packages/editor"),
    ("Read", "packages/editor/src/selection/anchors.ts"),
)


def full() -> dict[str, Any]:
    """Nine policies and the bound, three runs, thirty results."""
    rows = [_row(*each) for each in _POLICIES]
    return {
        "version": 1,
        "keepwhole": "0.4.0",
        "window": WINDOW,
        "provider": "anthropic",
        "price": {"read": 0.1, "write": 1.25},
        "read": {
            "files": 41,
            "bytes": 48_211_930,
            "runs": 37,
            "sources": {"claude-code": 31, "codex": 6},
            "unread": [
                {"path": "~/.claude/projects/shop/4f1e.jsonl", "why": "the last line is not JSON", "count": 1},
                {"path": "~/.codex/sessions", "why": "no tool was called", "count": 3},
            ],
        },
        "totals": {
            "runs": 37,
            "steps": 2_904,
            "tokens": 5_410_000,
            "result_tokens": 4_155_000,
            "share": 0.768,
            "never_used": 0.624,
            "tools": [_tool(*each) for each in (*_TOOLS, *_MORE_TOOLS)],
            "replayed": 34,
        },
        "policies": rows,
        "sources": {"claude-code": rows, "codex": [_row(*each) for each in _POLICIES[:4]]},
        "hidden": {"policy": "auto", "evidence": 3_108, "hidden": 146, "brought_back": 141},
        "missed": _missed(),
        "settings": _AUTO_YAML,
        "runs": [_run(number) for number in range(3)],
        "results": [_result(number) for number in range(30)],
    }


def hostile() -> dict[str, Any]:
    """The same with hostile text in place of every text of a tool, a path or a task."""
    report = full()
    texts = (*HOSTILE, *UNICODE)
    for number, row in enumerate(report["policies"]):
        row["verdict"] = texts[number % len(texts)]
    report["policies"][3]["name"] = HOSTILE[0]
    report["settings"] = report["policies"][1]["settings"] = "\n".join(HOSTILE)
    report["read"]["unread"] = [{"path": text, "why": text, "count": 2} for text in texts]
    report["read"]["sources"] = {text: 1 for text in texts}
    report["sources"] = {HOSTILE[0]: report["policies"], HOSTILE[1]: report["policies"][:2]}
    for number, tool in enumerate(report["totals"]["tools"]):
        tool["tool"] = texts[number]
    for number, result in enumerate(report["results"]):
        result["tool"] = result["arguments"] = result["run"] = texts[number % len(texts)]
        result["became"] = {HOSTILE[0]: [{"step": 3, "rule": HOSTILE[1], "tokens": 4}]}
    for number, run in enumerate(report["runs"]):
        run["task"] = run["id"] = run["source"] = texts[number]
        run["context"][HOSTILE[1]] = run["context"]["auto"]
    for number, missed in enumerate(report["missed"]):
        missed["text"] = missed["call"] = missed["tool"] = missed["rule"] = texts[number]
    return report


def short() -> dict[str, Any]:
    """The report when transcripts were read but no run was long enough."""
    return {
        "version": 1,
        "keepwhole": "0.4.0",
        "window": None,
        "provider": None,
        "price": None,
        "read": {"files": 2, "bytes": 812, "runs": 2, "sources": {"claude-code": 2}, "unread": []},
        "totals": {"runs": 2, "steps": 3, "tokens": 900, "share": None, "never_used": None, "tools": [], "replayed": 0},
        "policies": [],
        "sources": {},
        "missed": [],
        "runs": [],
        "results": [],
    }


def nulls() -> dict[str, Any]:
    """A full report without all figures that can be missing."""
    report = full()
    for row in report["policies"]:
        for key in set(row) - {"name", "bound"}:
            row[key] = None
    report["sources"] = report["hidden"] = report["settings"] = None
    for run in report["runs"]:
        run["context"], run["rewrites"] = None, None
    for result in report["results"]:
        result["became"], result["used"], result["arguments"] = None, None, None
    return report


def _row(
    name: str, verdict: str, kept: float, all_in: float, cached: float, tail: float, ok: float, rewrites: int
) -> dict[str, Any]:
    peak = {"everything": 482_000, "truncation": 301_000}.get(name, 119_000)
    return {
        "name": name,
        "verdict": verdict,
        "settings": _AUTO_YAML if name == "auto" else f"policy: {name}\n" if name == "retention" else None,
        "bound": name == "clairvoyant",
        "tokens": cached * 0.9,
        "bare": kept,
        "in_context": _interval(kept, 0.025 + (1 - kept) / 6, most=1.0),
        "steps_ok": ok,
        "cost": _interval(cached, cached * 0.11),
        "tail": tail,
        "explicit": cached,
        "dollars": round(61.40 * cached, 2),
        "all_in": all_in,
        "all_in_context": _interval(all_in, all_in * 0.12),
        "all_in_blind": None if name == "clairvoyant" else all_in * (1.25 - kept / 4),
        "blind_hits": 0.71,
        "rerun": all_in * 1.2,
        "peak_median": 94_000,
        "peak": peak,
        "overflow": 0.41 if name == "everything" else 0.23 if name == "truncation" else 0.0,
        "first_compaction": {"median_step": 71, "runs": 0.41} if peak > WINDOW else {"median_step": None, "runs": 0.0},
        "after_compaction": 0.8,
        "re_executed": {"hidden": 3, "calls": 900},
        "rewrites": rewrites,
        "dearest": 1.01,
        "kinds": {"args": kept, "line": kept, "answer": kept, "old": kept},
    }


def _interval(value: float, by: float, most: float = 9.0) -> dict[str, float]:
    if value == 1.0:
        return {"value": 1.0, "low": 1.0, "high": 1.0}
    return {"value": value, "low": round(value - by, 4), "high": round(min(most, value + by), 4)}


def _tool(name: str, results: int, tokens: int, never_used: float) -> dict[str, Any]:
    share = tokens / 4_155_000
    return {"tool": name, "results": results, "tokens": tokens, "share": share, "never_used": never_used}


def _run(number: int) -> dict[str, Any]:
    steps = (184, 96, 41)[number]
    everything = [6_000 + sum(700 + (step * 7_919 + number) % 2_600 for step in range(to)) for to in range(steps)]
    auto, batches = _aged(everything, 100_000, 0.55)
    cleared, clearings = _aged(everything, 100_000, 0.42)
    return {
        "source": ("claude-code", "codex", "claude-code")[number],
        "id": f"run-{number}",
        "task": (
            "Move the session store from files to SQLite without losing a session",
            "Why does the editor lose its selection after undo?",
            "Rate limits: retry after the time the server says 🦀",
        )[number],
        "steps": steps,
        "tokens": everything[-1],
        "context": {"everything": everything, "auto": auto, "clear_tool_uses": cleared},
        "rewrites": {"auto": batches, "clear_tool_uses": clearings},
    }


def _aged(sizes: Sequence[int], start: int, freed: float) -> tuple[list[int], list[int]]:
    """Request sizes under a policy that drops a share whenever a request reaches `start`."""
    sent, batches, dropped = list[int](), list[int](), 0
    for step, size in enumerate(sizes):
        if size - dropped > start:
            dropped += int((size - dropped) * freed)
            batches.append(step)
        sent.append(size - dropped)
    return sent, batches


def _result(number: int) -> dict[str, Any]:
    tool, arguments = _CALLS[number % len(_CALLS)]
    tokens, step = int(31_000 / (1 + number / 4)), 3 + number * 5 % 60
    became: dict[str, Any] = {"auto": [{"step": step, "rule": "arrival", "tokens": 2_010}] if tool == "Bash" else []}
    became["auto"] = [*became["auto"], {"step": step + 38, "rule": "aged", "tokens": 31}]
    became["clear_tool_uses"] = [{"step": step + 44, "rule": "cleared", "tokens": 9}]
    became["everything"] = []
    used = (0, 0, 3, 1, 0, 7)[number % 6]
    return {
        "run": f"run-{number % 3}",
        "tool": tool,
        "arguments": arguments if number % 7 else UNICODE[number // 7 % 4],
        "step": step,
        "tokens": tokens,
        "used": used,
        "became": became,
    }


def _missed() -> list[dict[str, Any]]:
    texts = ("SESSION_TTL_SECONDS=86400", "anchors.ts:214:17", "req_011CQ7x", "def _rehydrate(self, blob):")
    kinds, back = ("args", "line", "answer", "args"), (True, True, False, True)
    return [
        {
            "run": f"run-{number % 3}",
            "step": 141 - 13 * number,
            "text": text,
            "kind": kinds[number],
            "tool": ("Bash", "Read", "WebFetch", "Read")[number],
            "shown_at": 52 - 9 * number,
            "rule": "aged" if number != 2 else "arrival",
            "brought_back": back[number],
            "call": f'get_artifact(id="art_1760000000_{number:022d}", lines="{210 + number}-{216 + number}")',
        }
        for number, text in enumerate(texts)
    ]
