"""Builders that many tests share: results, drafts, clocks, child processes. Nothing here stands in for our code."""

import ast
import hashlib
import itertools
import os
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from keepwhole import MemoryStore, Session
from keepwhole.canonical import ids
from keepwhole.canonical.body import measure
from keepwhole.canonical.entry import Decision, Request, Response, Result
from keepwhole.config import Settings
from keepwhole.store.feed import Feed, Output
from keepwhole.store.protocol import Body, Draft, Row, SessionInfo, Store, body_of
from keepwhole.truncation.cut import encode_cut, whole

ROOM = 1 << 40
NOON = 1_700_000_000
"""A fixed moment in unix seconds."""
TRUNCATION = Settings(home="unused", policy="truncation")
"""The policy `truncation`, which cuts every result to the limit of its tool; the default shows most files whole."""


def result(**fields: Any) -> Result:
    """A result with ids of its own."""
    trace_id = ids.trace_id(os.urandom(ids.RANDOM_BYTES))
    about = {
        "at": NOON * 1000,
        "trace_id": trace_id,
        "artifact_id": ids.artifact_id(NOON, trace_id),
        "tool": "read_file",
    }
    return Result(**{**about, **fields})


def taken(store: Store, output: Output) -> Body:
    """A body that is in the store, closed."""
    found = store.store_body(Feed(output), ROOM)
    found.reader.close()
    return found.body


def draft(store: Store, output: Output = b"body", **fields: Any) -> Draft:
    """A result with its body taken, ready to append."""
    return Draft(result(**fields), taken(store, output))


def decision(trace_id: str, rule: str = "arrival") -> Draft:
    """A decision about a result, ready to append; it shows nothing less than the whole of `body`."""
    cut = encode_cut(whole(4))
    header = Decision(
        at=NOON * 1000,
        trace_id=trace_id,
        rule=rule,
        strategy="head",
        version="0",
        shown_digest=measure(b"body").digest.hex(),
        shown_chars=4,
    )
    return Draft(header, Body(measure(cut), inline=cut))


def request(store: Store, output: Output = b"[0]\n", **fields: Any) -> Draft:
    """A request with an id of its own, ready to append; it sent nothing."""
    trace_id = ids.trace_id(os.urandom(ids.RANDOM_BYTES))
    about = {"at": NOON * 1000, "trace_id": trace_id, "size": 0, "digest": hashlib.sha256(b"").hexdigest()}
    return Draft(Request(**{**about, **fields}), taken(store, output))


def response(store: Store, trace_id: str, output: Output = b"said", **fields: Any) -> Draft:
    """A response to a request, ready to append."""
    about = {"at": NOON * 1000, "trace_id": trace_id, "status": 200, "outcome": "complete"}
    return Draft(Response(**{**about, **fields}), taken(store, output))


def opened(store: Store, name: str = "s", **fields: Any) -> str:
    """A session in `store`, open; gives its name."""
    return store.open_session(SessionInfo(name=name, created_at=NOON * 1000, **fields)).name


def stored_bytes(store: Store, row: Row) -> bytes:
    """The body of a stored row."""
    with store.open(body_of(row)) as reader:
        return reader.read()


def fixed_clock() -> float:
    """A clock that stands still."""
    return float(NOON)


def seeded(seed: str = "") -> Callable[[int], bytes]:
    """Random bytes that are the same in every run."""
    count = itertools.count()
    return lambda size: hashlib.shake_128(f"{seed}/{next(count)}".encode()).digest(size)


def in_memory(**options: Any) -> Session:
    """A session on a store of its own, in memory."""
    return Session(**{"store": MemoryStore(), "clock": fixed_clock, "random": seeded(), **options})


def numbered_lines(count: int) -> str:
    """Text of `count` lines, each of them different."""
    return "".join(f"line {number:06d} of the text\n" for number in range(1, count + 1))


def printed_call(text: str) -> dict[str, Any]:
    """The arguments of the last `get_artifact(…)` call that a text prints, exactly as it is printed."""
    found = re.findall(r"get_artifact\([^()]*\)", text)
    assert found, f"no call is printed in {text[-300:]!r}"
    call = ast.parse(found[-1], mode="eval").body
    assert isinstance(call, ast.Call)
    assert not call.args
    return {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}


def run_python(code: str, *arguments: str, timeout: float = 60) -> str:
    """What a new Python process prints when it runs `code`; its own exit code must be 0."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=timeout, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def open_files(folder: str) -> list[str]:
    """The files under `folder` that this process holds open; the test is skipped where that cannot be known."""
    if not os.path.isdir("/proc/self/fd"):
        import pytest  # not at the top: child processes use these builders and must start fast

        pytest.skip("needs Linux's /proc")
    found: list[str] = []
    for number in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{number}")
        except FileNotFoundError:
            continue
        if target.startswith(folder):
            found.append(target)
    return found
