"""`python -m bench [NAME …]`: run the benchmarks, print the table, exit with 0: it measures and does not test."""

import argparse
import json
import os
import platform
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from dataclasses import asdict

from bench.adapters import adapters
from bench.copy import copy
from bench.gateway import gateway
from bench.ingest import ingest
from bench.inspector import inspector
from bench.install import install
from bench.keep import keep
from bench.postgres import postgres
from bench.postgres_scale import postgres_scale
from bench.project import project
from bench.proxy import proxy
from bench.proxy_postgres import proxy_postgres
from bench.ranges import ranges
from bench.recall import recall
from bench.row import Row, markdown_table, text_table
from bench.select import select
from bench.setup import Setup, say
from bench.start import start
from bench.truncate import truncate
from bench.watched import watched
from bench.wire import wire
from bench.writers import writers
from keepwhole.store.sqlite.database import file_system

BENCHMARKS: dict[str, Callable[[Setup], list[Row]]] = {
    "ingest": ingest,
    "ranges": ranges,
    "keep": keep,
    "writers": writers,
    "postgres": postgres,
    "copy": copy,
    "truncate": truncate,
    "wire": wire,
    "project": project,
    "select": select,
    "recall": recall,
    "adapters": adapters,
    "gateway": gateway,
    "proxy": proxy,
    "proxy_postgres": proxy_postgres,
    "inspector": inspector,
    "watched": watched,
    "start": start,
    "install": install,
}

LONG: dict[str, Callable[[Setup], list[Row]]] = {"postgres-scale": postgres_scale}
"""Those that run only when they are asked for by name."""
_NAMES = ", ".join((*BENCHMARKS, *LONG))


def main() -> None:
    args = _arguments()
    where = os.path.abspath(args.json) if args.json else None
    folder = tempfile.mkdtemp(prefix="keepwhole-bench-", dir=args.folder)
    _isolate(folder)
    try:
        setup = Setup(folder, args.quick)
        results = {name: _measured(name, setup) for name in args.names or BENCHMARKS}
    finally:
        os.chdir("/")
        shutil.rmtree(folder)
    rows = [row for of in results.values() for row in of]
    about = _machine(args.folder, args.quick)
    print(f"{about}\n\n{markdown_table(rows) if args.markdown else text_table(rows)}")
    if where:
        with open(where, "w", encoding="utf-8") as file:
            found = {name: [asdict(row) for row in of] for name, of in results.items()}
            json.dump({"machine": about, "results": found}, file, ensure_ascii=False, indent=1)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure Keepwhole against plain references.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which: {_NAMES} (default: all before the last)")
    parser.add_argument("--quick", action="store_true", help="small texts and three rounds: a look, not a figure")
    parser.add_argument("--json", metavar="FILE", help="write the rows to FILE too")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    parser.add_argument(
        "--folder", default="/var/tmp", help="where to work: on the disk to measure (default: /var/tmp)"
    )
    args = parser.parse_args()
    for name in args.names:
        if name not in BENCHMARKS and name not in LONG:
            parser.error(f"there is no benchmark {name}; there are {_NAMES}")
    return args


def _isolate(folder: str) -> None:
    """No settings, no record and no hidden extra of the user's may change the figures."""
    for key in [key for key in os.environ if key.startswith("KEEPWHOLE_")]:
        del os.environ[key]
    os.environ["HOME"] = folder
    os.chdir(folder)


def _measured(name: str, setup: Setup) -> list[Row]:
    """The rows of one benchmark; one that fails is a row that says so."""
    say(f"{name}: load {_load()}")
    try:
        return {**BENCHMARKS, **LONG}[name](setup)
    except Exception as error:
        say(f"{name}: failed: {error}")
        return [Row(name, f"failed: {type(error).__name__}: {error}", met=False)]


def _machine(folder: str, quick: bool) -> str:
    rounds = "quick run, three rounds" if quick else "medians of at least nine rounds"
    return (
        f"{platform.machine()}, {os.cpu_count()} cores, {file_system(folder)}, Python {platform.python_version()}, "
        f"SQLite {sqlite3.sqlite_version}; {rounds}; spread is least to greatest; load average at the end {_load()}"
    )


def _load() -> str:
    return " ".join(f"{value:.1f}" for value in os.getloadavg())


if __name__ == "__main__":
    main()
