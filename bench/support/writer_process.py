"""A process that writes results: prints `ready`, waits for a line, writes 1 KB results, prints its commits as JSON."""

import json
import sys
import time
from collections.abc import Callable

import keepwhole
from bench.support.bare_log import BareLog

_BODY = (b"2026-03-01T12:00:00Z INFO request served " * 25)[:1_000]


def main() -> None:
    kind, folder, seconds = sys.argv[1:]
    keep_one = {"keepwhole": _keepwhole, "bare": _bare}[kind](folder)
    keep_one()
    print("ready", flush=True)
    sys.stdin.readline()
    print(json.dumps(_write(keep_one, float(seconds))))


def _write(keep_one: Callable[[], None], seconds: float) -> dict[str, list[float] | list[str]]:
    times: list[float] = []
    errors: list[str] = []
    now = time.monotonic()
    stop = now + seconds
    while now < stop:
        try:
            keep_one()
        except Exception as error:
            errors.append(f"{type(error).__name__}: {error}")
        after = time.monotonic()
        times.append(after - now)
        now = after
    return {"times": times, "errors": errors}


def _keepwhole(folder: str) -> Callable[[], None]:
    session = keepwhole.session("shared", store=folder)

    def keep_one() -> None:
        shown = session.keep("bench", None, _BODY)
        if shown.problem is not None:
            raise shown.problem

    return keep_one


def _bare(folder: str) -> Callable[[], None]:
    log = BareLog(folder)
    return lambda: log.keep_row(_BODY)


if __name__ == "__main__":
    main()
