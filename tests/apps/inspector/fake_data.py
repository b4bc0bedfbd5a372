"""Made-up sessions for the page: ordinary ones, long ones, one of a gigabyte, and hostile text."""

import random
from functools import cache
from typing import Any

TOOLS = ("read_file", "bash", "grep", "list_dir", "web_fetch")
CALLS = {
    "read_file": '{"path": "src/server/router.py"}',
    "bash": '{"command": "pytest -q tests/server"}',
    "grep": '{"pattern": "def handle", "path": "src"}',
    "list_dir": '{"path": "src/server"}',
    "web_fetch": '{"url": "https://docs.example.org/asyncio/streams"}',
}
RULES = (("arrival_cap", "head_tail"), ("repeat", "reference"), ("batch", "log"), ("aged", "element"))
WINDOW = 200_000
GIANT_LINES = 20_000_000

HOSTILE = [
    "<script>window.hacked=1</script>",
    "<img src=x onerror='window.hacked=2'>",
    '"><svg/onload=window.hacked=3>',
    "javascript:window.hacked=4",
    "</pre></td><iframe srcdoc='<script>parent.hacked=5</script>'>",
    "{{constructor.constructor('window.hacked=6')()}}",
    "${window.hacked=7}",
    "<a href='javascript:window.hacked=8'>x</a>",
    "<style>@import url(https://evil.example/x.css)</style>",
    "<link rel=stylesheet href=https://evil.example/y.css>",
    "<base href=https://evil.example/>",
    "<meta http-equiv=refresh content='0;url=https://evil.example/'>",
    "' onmouseover='window.hacked=9' x='",
    "\x1b]52;c;ZXZpbA==\x07\x1b[2J\x9b31m",
    "\u202egnp.exe\u202c \u2066x\u2069 \u200b\ufeff\u2028",
    "__proto__",
    "../../etc/passwd",
    "%2e%2e%2f#token=stolen",
    "a/b?c#d&e",
    "<details open ontoggle=window.hacked=10>",
    "<math><mtext></form><mglyph><style></math><img src onerror=window.hacked=11>",
    "\ud800 lone \udfff",
]


def result(index: int, at: int = 0, hostile: str = "") -> dict[str, Any]:
    draw = random.Random(index * 7 + at)
    tool = hostile or TOOLS[(index + at) % len(TOOLS)]
    tokens = draw.choice([180, 420, 2_300, 5_200, 14_000])
    rule, strategy = RULES[index % len(RULES)]
    cut = tokens > 2_000
    shown = (
        {"rule": hostile or rule, "strategy": hostile or strategy, "chars": 3_200, "tokens": 800}
        if cut or hostile
        else None
    )
    return {
        "trace_id": f"t{index}-{at}",
        "artifact_id": f"art_1790000000_{index:022d}" if cut else None,
        "tool": tool,
        "arguments": hostile or CALLS[tool],
        "at": 1_790_000_000_000 + index * 21_000,
        "chars": tokens * 4,
        "tokens": tokens,
        "lines": tokens // 10,
        "is_error": index % 17 == 5,
        "exit_code": 1 if index % 17 == 5 else None,
        "shown": shown,
        "pinned": False,
    }


@cache
def step(index: int, hostile: str = "") -> dict[str, Any]:
    whole = 6_000 + index * 950
    sent = min(whole, 6_000 + index * 900 - (index // 60) * 24_000) if index < 300 else 90_000 + (index % 200) * 300
    rewritten = index % 60 == 0 and index > 0
    results = [result(index, at, hostile) for at in range(1 + index % 3 // 2)]
    return {
        "index": index,
        "seq": index * 5,
        "at": 1_790_000_000_000 + index * 21_000,
        "id": f"r{index}",
        "branch": hostile or "main",
        "model": hostile or "claude-sonnet-5",
        "purpose": hostile or "",
        "policy": hostile or "auto",
        "mode": "on",
        "tokens_whole": whole,
        "tokens_sent": max(sent, 5_000),
        "predicted": max(sent, 5_000) + 120,
        "usage": {"input": 900, "cached": max(sent - 1_400, 0), "written": 500, "output": 340},
        "outcome": hostile or "complete",
        "first_ms": 820,
        "total_ms": 5_400,
        "clock": {"queue": 2, "keepwhole": 18, "first": 800, "stream": 4_580, "total": 5_400},
        "cost": {
            "paid": "$0.009",
            "off": hostile or "$0.021",
            "saved": "$0.012",
            "is_loss": False,
            "basis": "list price",
        },
        "rewritten": {"bytes": 84_000, "tokens": 21_000} if rewritten else None,
        "results": results,
        "decisions": [
            *(decision(each, hostile) for each in range(max(index - 4, 0), index) if rewritten or hostile),
            *(
                decision(index, hostile) | {"trace_id": each["trace_id"], "rule": each["shown"]["rule"]}
                for each in results
                if each["shown"] and index % 10
            ),
        ],
    }


def decision(index: int, hostile: str = "") -> dict[str, Any]:
    return {
        "trace_id": f"t{index}-0",
        "artifact_id": hostile or None,
        "tool": hostile or "bash",
        "arguments": hostile or '{"command": "pytest -q tests"}',
        "rule": hostile or "batch",
        "strategy": hostile or "head_tail",
        "saved": 4_300,
        "at": 1_790_000_000_000,
    }


def cost(steps: int) -> dict[str, Any]:
    amounts = {"paid": steps * 0.009, "off": steps * 0.021, "saved": steps * 0.012}
    words = {"words": "57 % less", "assumes": "The same client sends everything.", "is_loss": False}
    return {name: f"${amount:.2f}" for name, amount in amounts.items()} | words


def row(name: str, steps: int, health: str = "ok", note: str = "", hostile: str = "") -> dict[str, Any]:
    whole = 6_000 + steps * 950
    return {
        "name": name,
        "title": hostile or (f"Mend the router of {name}" if name != "nothing-yet" else None),
        "fork_of": "fix-the-router" if name == "long-haul" else None,
        "errors": steps // 17,
        "agent": hostile or "claude-code",
        "workspace": hostile or "/home/ada/server",
        "created_at": 1_789_990_000_000,
        "last_at": 1_790_000_000_000 + steps * 21_000,
        "entries": steps * 5,
        "stored": steps * 61_000,
        "results": steps + steps // 3,
        "requests": steps,
        "tokens_whole": whole * steps // 2,
        "tokens_sent": whole * steps // 5,
        "cost": cost(steps),
        "health": health,
        "note": note,
    }


@cache
def summary(name: str, steps: int, hostile: str = "") -> dict[str, Any]:
    at = sorted({round(each * (steps - 1) / 399) for each in range(400)}) if steps else []
    made = [step(index) for index in at]
    return {
        **row(name, steps, hostile=hostile),
        "model": hostile or "claude-sonnet-5",
        "window": WINDOW,
        "indicator": indicator(made[-1]["tokens_sent"], made[-1]["tokens_whole"], hostile) if made else None,
        "course": {
            "index": at,
            "seq": [each["seq"] for each in made],
            "whole": [each["tokens_whole"] for each in made],
            "sent": [each["tokens_sent"] for each in made],
            "cached": [each["usage"]["cached"] for each in made],
            "predicted": [each["predicted"] for each in made],
            "ms": [each["total_ms"] for each in made],
            "rewritten": [last // 60 > before // 60 for before, last in zip([0, *at], at, strict=False)],
        },
        "tree": {
            "origin": {"name": "fix-the-router", "title": hostile or "Mend the router"}
            if name == "long-haul"
            else None,
            "forks": [],
            "agents": [{"branch": "b1", "steps": 4, "title": hostile or "Explore"}],
        },
        "steps": steps,
        "seq": steps * 5,
        "branches": [hostile or "main"],
        "notes": [hostile] if hostile else [],
    }


def indicator(used: int, whole: int, hostile: str = "") -> dict[str, Any]:
    shares = [("system", "System", 0.07), ("user", "User", 0.05), ("assistant", "Assistant", 0.18)]
    shares += [("tool", hostile or tool, part) for tool, part in zip(TOOLS, (0.3, 0.2, 0.1, 0.06, 0.04), strict=True)]
    share = used / WINDOW
    return {
        "used": used,
        "whole": whole,
        "window": WINDOW,
        "share": share,
        "is_known": True,
        "counted": "bill",
        "items": [item(used, hostile, at) for at in range(3)],
        "parts": [{"kind": kind, "label": label, "tokens": round(used * part)} for kind, label, part in shares],
        "thresholds": [
            {
                "share": 0.75,
                "label": "Warning at 75 %",
                "explained": "From here on, results of earlier steps are prepared for cutting.",
            },
            {
                "share": 0.9,
                "label": "Compaction at 90 %",
                "explained": "Many agents summarize their history here, and details are lost.",
            },
            {
                "share": 0.95,
                "label": "Hard limit at 95 %",
                "explained": "Providers refuse requests close to the window; everything that can be cut is.",
            },
        ],
        "state": "hard" if share >= 0.95 else "compaction" if share >= 0.9 else "warning" if share >= 0.75 else "ok",
    }


def item(used: int, hostile: str, at: int) -> dict[str, Any]:
    """One of the things that fill the window."""
    about = {"kind": "tool", "label": hostile or TOOLS[at], "tokens": used // (at + 3), "share": 1 / (at + 3)}
    named = {"trace_id": f"t{at}-0", "artifact_id": f"art_{at}", "recall": f'get_artifact(id="art_{at}")'}
    return about | named | {"pieces": 1, "argument": hostile or "pytest -q"}


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"kind": "text", "text": words, "chars": len(words), "more": False, **more}


def message(index: int, role: str, state: str, *parts: dict[str, Any]) -> dict[str, Any]:
    return {"index": index, "role": role, "state": state, "tokens": 40, "parts": list(parts)}


def call(hostile: str = "") -> dict[str, Any]:
    arguments = hostile or '{"command": "pytest -q tests/server", "timeout": 60}'
    return text(arguments) | {"kind": "call", "tool": hostile or "bash", "call_id": "c1"}


def returned(index: int, hostile: str = "") -> dict[str, Any]:
    about = {
        "kind": "result",
        "tool": hostile or "bash",
        "call_id": "c1",
        "arguments": hostile or '{"command": "make"}',
    }
    place = {"trace_id": f"t{index}-0", "step": index, "rule": hostile or "arrival", "kept_chars": 9_000, "media": None}
    return text(hostile or "12 passed") | about | place | {"is_error": False, "was": text(hostile or "all of it")}


def answer(hostile: str = "") -> dict[str, Any]:
    thought = text(hostile or "The slash matters.") | {"kind": "thinking"}
    said = message(0, "assistant", "new", thought, text(hostile or "I look at the router."), call(hostile))
    return {"status": 200, "outcome": "complete", "error": "", "is_readable": True, "messages": [said]}


def story(index: int, total: int, hostile: str = "") -> dict[str, Any]:
    """The words of a step."""
    first = [message(0, "user", "new", text(hostile or "Mend the router."))] if index == 0 else []
    told = [*first, message(2 * index, "assistant", "new", call(hostile))]
    told.append(message(2 * index + 1, "tool", "new", returned(index, hostile)))
    after = {"index": index + 1, "id": f"r{index + 1}", "results": [result(index + 1, hostile=hostile)]}
    follows = after if index + 1 < total else None
    return {"is_readable": True, "skipped": 0, "messages": told, "answer": answer(hostile), "next": follows}


def request(index: int, query: Any, hostile: str = "") -> dict[str, Any]:
    """A request as messages: many as before, one changed, two new."""
    first, most = int(query.get("from", 0)), int(query.get("count", 40))
    runs = [("same", 0, 30), ("changed", 30, 1), ("same", 31, 9), ("new", 40, 2)]
    states = [state for state, _, count in runs for _ in range(count)]
    shown = [
        message(at, "tool", states[at], returned(at, hostile))
        if at % 2
        else message(at, "assistant", states[at], text(hostile or f"Message {at}"), call(hostile))
        for at in range(first, min(first + most, len(states)))
    ]
    return {
        "is_readable": True,
        "step": index,
        "model": hostile or "claude-sonnet-5",
        "total": len(states),
        "before": {"index": index - 1, "id": f"r{index - 1}", "results": []} if index else None,
        "gone": 0,
        "system": text(hostile or "You are a coding agent."),
        "is_system_new": False,
        "tools": [{"name": hostile or "bash", "tokens": 120}],
        "runs": [{"state": state, "from": at, "count": count} for state, at, count in runs],
        "from": first,
        "messages": shown,
        "curl": {"command": "curl https://api.anthropic.com/v1/messages", "file": f"r{index}.json", "is_inline": False},
    }


KEPT = {"shell": 1, "search": 1, "read": 1}


def setting(key: str, default: float, explained: str) -> dict[str, Any]:
    return {"key": key, "default": default, "explained": explained, "kind": "number", "choices": None}


POLICIES = {
    "policies": ["auto", "everything", "truncation", "retention", "rolling"],
    "presets": ["careful", "lean"],
    "now": {"policy": "auto", "preset": "careful", "mode": "on"},
    "settings": [
        *(
            setting(f"auto.keep.{kind}", many, "Newest results of each kind that never age.")
            for kind, many in KEPT.items()
        ),
        setting("auto.horizon", 0.15, "How long a run is expected to go on."),
        setting("rolling.max_age", 5, "Steps after which a result is replaced."),
    ],
}
HEALTH = {
    "counters": {
        "results_kept": 2_731,
        "results_cut": 804,
        "bytes_kept": 164_000_000,
        "recalls": {"whole": 12, "lines": 71},
    },
    "store": {"home": "/home/ada/.keepwhole", "bytes": 171_000_000, "sessions": 4, "free": 48_000_000_000},
    "doctor": [
        {"name": "record", "state": "ok", "words": "Every file is readable, and only by you."},
        {"name": "proxy", "state": "warning", "words": "No client points at it. Run `keepwhole init` to see how."},
        {"name": "disk", "state": "bad", "words": "Less than 1 GB is free. Run `keepwhole artifacts clean`."},
    ],
    "version": "0.9.0",
}
LINES = (
    "tests/server/test_router.py::test_a_route_with_two_parameters PASSED",
    "tests/server/test_router.py::test_a_trailing_slash_is_the_same_route FAILED",
    "    def test_a_trailing_slash_is_the_same_route(client):",
    '>       assert client.get("/users/").status == 200',
    "E       assert 404 == 200",
    "src/server/router.py:118: AssertionError",
)
