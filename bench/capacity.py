"""`python -m bench.capacity [PATH…]`: the load of many agents on a record in PostgreSQL and on its server.

Steps of recorded runs, with made-up texts of the recorded sizes, go through a real proxy to a real server. The bytes
and the CPU of a step are measured and multiplied. The only assumptions are how often an agent takes a step, and how
much of a core may be busy.
"""

import argparse
import http.client
import os
import random
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

import psycopg

from bench.postgres import Group
from bench.support.postgres_server import Database, database
from bench.support.proxy_processes import cpu, process, request
from bench.support.setup import PYTHON, Setup, say
from keepwhole.logs.reader import find_logs, read_runs
from keepwhole.logs.run import Run
from keepwhole.replay.samples.files import write_samples
from keepwhole.store.postgres.store import INLINE_BODY

AGENTS = (100, 1_000, 10_000, 100_000)
_BUSY = 0.6
"""Share of a core that may be busy before another one is needed."""
_STORE_CONNECTIONS = 4
_CONNECTIONS = _STORE_CONNECTIONS + 1
"""The connections of each proxy to the server: one more is for ephemeral sessions."""
_APPENDS = 2
"""Appends of a step: what came in with what was decided about it, then the request with its answer."""
_FREEZE = 200e6
"""Transactions after which the server freezes old rows, by its default `autovacuum_freeze_max_age`."""
_TABLE = 8_192 * 2**32
"""The most bytes of one table of PostgreSQL."""
_DAY = 86_400
_WORDS = ["".join(random.Random(number).choices("aeinorst_/.0123456789", k=1 + number % 9)) for number in range(4_000)]


class Step(NamedTuple):
    """The sizes of one message of a model and of the results of its calls, in characters."""

    said: int
    returned: tuple[int, ...]


class StepCosts(NamedTuple):
    """The bytes and the CPU that some steps took."""

    steps: int
    rows: float
    bodies: float
    """Bytes of results and answers."""
    large: float
    """Bytes of bodies that are large enough for an object store."""
    objects: int
    disk: float
    log: float
    """Bytes of the server's write-ahead log."""
    commits: float
    proxy: float
    """Seconds of CPU."""
    server: float

    def each(self, value: float) -> float:
        return value / self.steps


def main() -> None:
    args = _arguments()
    folder = tempfile.mkdtemp(prefix="keepwhole-bench-", dir=args.folder)
    setup = Setup(folder, False)
    try:
        runs = [_shape(run) for run in _runs(args.paths)]
        drawn = _draw_runs([run for run in runs if run], args.runs)
        say(f"{len(runs)} runs, of which {len(drawn)} are played: {sum(map(len, drawn))} steps")
        with database(setup) as server:
            taken, appends = _play(setup, server, drawn), _appends(setup, server)
    finally:
        shutil.rmtree(folder)
    print(_report(taken, appends, args))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.capacity", description=(__doc__ or "").partition("\n\n")[2])
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="logs of agents (default: made-up ones)")
    parser.add_argument("--runs", type=int, default=24, metavar="N", help="runs to play (default: 24)")
    parser.add_argument("--every", type=float, default=15.0, metavar="S", help="seconds between steps (default: 15)")
    parser.add_argument("--hours", type=float, default=8.0, metavar="H", help="hours a day (default: 8)")
    parser.add_argument(
        "--disk-price", type=float, default=0.115, metavar="P", help="of 1 GB of the server's disk, a month"
    )
    parser.add_argument("--object-price", type=float, default=0.023, metavar="P", help="of 1 GB of objects, a month")
    parser.add_argument("--folder", default="/var/tmp", help="where to work: on the disk to measure")
    return parser.parse_args()


def _runs(paths: Sequence[Path]) -> Iterator[Run]:
    with tempfile.TemporaryDirectory() as folder:
        for path in find_logs(paths or write_samples(Path(folder))):
            yield from (found for found in read_runs(path) if isinstance(found, Run))


def _shape(run: Run) -> list[Step]:
    """The sizes of a run's steps."""
    steps: list[Step] = []
    for message in run.messages:
        if message.role == "assistant":
            steps.append(Step(len(message.said) + sum(len(call.arguments) for call in message.calls), ()))
        elif steps:
            more = tuple(len(returned.text) for returned in message.returned)
            steps[-1] = steps[-1]._replace(returned=steps[-1].returned + more)
    return steps


def _draw_runs(runs: list[list[Step]], most: int) -> list[list[Step]]:
    """At most `most` runs, spread over all lengths."""
    runs.sort(key=len)
    return [runs[at * len(runs) // most] for at in range(most)] if len(runs) > most else runs


def _play(setup: Setup, server: Database, runs: Sequence[Sequence[Step]]) -> StepCosts:
    url = server.record()
    with ExitStack() as stack:
        provider = stack.enter_context(process([PYTHON, "-m", "bench.relays.provider"], setup))
        words = [PYTHON, "-m", "keepwhole", "proxy", "--port", "0", "--no-token"]
        words += ["--upstream", f"anthropic=http://127.0.0.1:{provider[1]}"]
        record = {"KEEPWHOLE_STORE": url, "KEEPWHOLE_STORE_CONNECTIONS": str(_STORE_CONNECTIONS)}
        proxy = stack.enter_context(process(words, setup, **record))
        ask = _asker(proxy[1])
        ask("warm", [{"role": "user", "content": "hello"}])
        counted = _Counters(server, url, proxy[0].pid)
        for number, run in enumerate(runs):
            say(f"run {number + 1} of {len(runs)}: {len(run)} steps")
            _play_one(run, f"capacity-{number}", ask)
        return counted.since(sum(map(len, runs)), [size for run in runs for step in run for size in step.returned])


def _asker(port: int) -> Any:
    connection = http.client.HTTPConnection("127.0.0.1", port)

    def ask(session: str, messages: Sequence[Any]) -> None:
        headers = {"content-type": "application/json", "x-api-key": "k", "x-claude-code-session-id": session}
        connection.request("POST", "/v1/messages", request(messages), headers)
        if b"message_stop" not in connection.getresponse().read():
            raise RuntimeError("a stream was left unfinished")

    return ask


def _play_one(run: Sequence[Step], session: str, ask: Any) -> None:
    messages: list[Any] = [{"role": "user", "content": "Find out what is wrong."}]
    for number, step in enumerate(run):
        ask(session, messages)
        calls = [f"toolu_{number}_{at}" for at in range(len(step.returned))]
        said = {"type": "text", "text": _text(number, max(1, step.said))}
        uses = [{"type": "tool_use", "id": call, "name": "Bash", "input": {"command": call}} for call in calls]
        messages.append({"role": "assistant", "content": [said, *uses]})
        results = [
            {"type": "tool_result", "tool_use_id": call, "content": _text(call, size)}
            for call, size in zip(calls, step.returned, strict=True)
        ]
        messages.append({"role": "user", "content": results or "Go on."})


def _text(name: object, chars: int) -> str:
    """A text of `chars` characters, with other words for each name."""
    chance = random.Random(str(name))
    return f"{name} {' '.join(chance.choices(_WORDS, k=chars // 5))}"[: max(chars, 1)]


class _Counters:
    """The counters of the server and the proxy before the runs."""

    def __init__(self, server: Database, url: str, proxy: int) -> None:
        self._server, self._proxy = server, proxy
        self._schema = url.rpartition("=")[2]
        self._before = self._now()

    def since(self, steps: int, sizes: Sequence[int]) -> StepCosts:
        found = [now - before for now, before in zip(self._now(), self._before, strict=True)]
        rows, bodies, disk, log, commits, proxy, server = found
        large = [size for size in sizes if size > INLINE_BODY]
        return StepCosts(steps, rows, bodies, sum(large), len(large), disk, log, commits, proxy, server)

    def _now(self) -> tuple[float, ...]:
        spent = cpu(self._proxy), sum(map(cpu, _children(self._server.data)))
        with psycopg.connect(self._server.url, autocommit=True) as connection:
            connection.execute(f"SET search_path TO {self._schema}".encode())
            connection.execute("SELECT pg_stat_force_next_flush()")
            row = connection.execute(_COUNTED, (self._schema,)).fetchone()
        assert row is not None
        return (*map(float, row), *spent)


_COUNTED = """
SELECT (SELECT count(*) FROM entries),
       (SELECT coalesce(sum(stored), 0) FROM (SELECT max(stored) AS stored FROM entries GROUP BY session) s),
       (SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = %s AND c.relkind = 'r'),
       pg_current_wal_lsn() - '0/0'::pg_lsn,
       (SELECT xact_commit FROM pg_stat_database WHERE datname = current_database())
"""


def _children(data: str) -> list[int]:
    """The process ids of the server's children; its own id is in its folder."""
    with open(os.path.join(data, "postmaster.pid"), encoding="utf-8") as file:
        first = int(file.readline())
    found: list[int] = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8") as file:
                parent = int(file.read().rpartition(")")[2].split()[1])
        except OSError:
            continue
        found += [int(name)] if parent == first else []
    return found


def _appends(setup: Setup, server: Database) -> float:
    """Durable appends of 1 KB per second to the server by 32 processes."""
    say("appends of 32 processes")
    with Group(setup, "store", server.record(), 32, "processes", 1_000) as group:
        return max(group.rate(3.0) for _ in range(3))


def _report(taken: StepCosts, appends: float, args: argparse.Namespace) -> str:
    each = taken.each
    lines = [
        "| a step, on average | |",
        "|---|---|",
        f"| rows | {each(taken.rows):.2f} |",
        f"| bytes of tools and models | {each(taken.bodies):,.0f} |",
        f"| of them in bodies over {INLINE_BODY:,} bytes | {taken.large / max(1, taken.bodies):.0%} |",
        f"| bytes on the server's disk, indexes included | {each(taken.disk):,.0f} |",
        f"| bytes of its write-ahead log | {each(taken.log):,.0f} |",
        f"| transactions, reads included | {each(taken.commits):.1f} |",
        f"| CPU of the proxy | {each(taken.proxy) * 1000:.1f} ms |",
        f"| CPU of the server | {each(taken.server) * 1000:.1f} ms |",
        f"| durable appends a second that it takes, 32 clients | {appends:,.0f} |",
        "",
        f"One step of each agent every {args.every:g} s, {args.hours:g} hours a day:",
        "",
        "| agents at once | " + " | ".join(f"{agents:,}" for agents in AGENTS) + " |",
        "|---|" + "---|" * len(AGENTS),
    ]
    loads = [_load(taken, agents / args.every, args) for agents in AGENTS]
    lines += [f"| {name} | " + " | ".join(load[name] for load in loads) + " |" for name in loads[0]]
    return "\n".join(lines)


def _load(taken: StepCosts, steps: float, args: argparse.Namespace) -> dict[str, str]:
    """The load of this many steps per second, as cells of a table."""
    each, daily = taken.each, steps * args.hours / 24 * _DAY
    proxies = ceil(steps * each(taken.proxy) / _BUSY)
    disk, objects = daily * each(taken.disk) / 1e9, daily * each(taken.large) / 1e9
    priced = 30 * (disk * args.disk_price), 30 * ((disk - objects) * args.disk_price + objects * args.object_price)
    return {
        "steps a second": f"{steps:,.0f}",
        "appends a second": f"{steps * _APPENDS:,.0f}",
        "rows a second": f"{steps * each(taken.rows):,.0f}",
        "rows a day": f"{daily * each(taken.rows) / 1e6:,.1f} million",
        "new bytes a second": f"{steps * each(taken.bodies) / 1e6:,.1f} MB",
        "the server's disk grows by, a day": f"{disk:,.1f} GB",
        "write-ahead log a day": f"{daily * each(taken.log) / 1e9:,.1f} GB",
        f"proxies of one core, {_BUSY:.0%} busy": f"{proxies:,}",
        "their connections": f"{proxies * _CONNECTIONS:,}",
        f"cores of the server, {_BUSY:.0%} busy": f"{ceil(steps * each(taken.server) / _BUSY):,}",
        "hours of work until the server freezes old rows": f"{_FREEZE / (steps * _APPENDS) / 3_600:,.0f}",
        "days until all of it would fill the largest table there can be": f"{_TABLE / 1e9 / disk:,.0f}",
        "to keep a month of it for a month": f"{priced[0]:,.0f}",
        "the same with large bodies as objects": f"{priced[1]:,.0f}",
    }


if __name__ == "__main__":
    main()
