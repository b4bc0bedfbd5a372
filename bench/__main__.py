"""`python -m bench [NAME …]`: runs the benchmarks and prints a table.

It exits with 0, since it does not test; with `--check` it exits with 1 where a ratio is worse than the committed one.
"""

import argparse
import json
import os
import platform
import re
import shutil
import sqlite3
import sys
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
from bench.proxy import proxy
from bench.proxy_postgres import proxy_postgres
from bench.ranges import ranges
from bench.recall import recall
from bench.search import search
from bench.select import select
from bench.start import start
from bench.support.committed import FIGURES, committed_ratios, compare, compared, of_all_suites, rewritten
from bench.support.row import Row, markdown_table, text_table
from bench.support.setup import Setup, say
from bench.truncate import truncate
from bench.view import view
from bench.watchers import watchers
from bench.wire import wire
from bench.writers import writers
from keepwhole.store.sqlite.record_folder import file_system

BENCHMARKS: dict[str, Callable[[Setup], list[Row]]] = {
    "ingest": ingest,
    "ranges": ranges,
    "keep": keep,
    "writers": writers,
    "postgres": postgres,
    "copy": copy,
    "truncate": truncate,
    "wire": wire,
    "view": view,
    "select": select,
    "search": search,
    "recall": recall,
    "adapters": adapters,
    "gateway": gateway,
    "proxy": proxy,
    "proxy_postgres": proxy_postgres,
    "inspector": inspector,
    "watchers": watchers,
    "start": start,
    "install": install,
}

LONG: dict[str, Callable[[Setup], list[Row]]] = {"postgres-scale": postgres_scale}
"""Benchmarks that run only if they are named."""
_NAMES = ", ".join((*BENCHMARKS, *LONG))


def main() -> int:
    args = _arguments()
    where = os.path.abspath(args.json) if args.json else None
    folder = tempfile.mkdtemp(prefix="keepwhole-bench-", dir=args.folder)
    _isolate(folder)
    try:
        setup = Setup(folder, args.quick)
        results = {name: _run_suite(name, setup) for name in args.names or BENCHMARKS}
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
    if args.write:
        _write(rows, about if not args.names else None)
    return _check(rows, is_all=not args.names and not args.quick) if args.check else 0


def _write(rows: list[Row], about: str | None) -> None:
    """Put these rows into the committed page, and what is said of the machine where all were measured."""
    with open(FIGURES, encoding="utf-8") as file:
        page = rewritten(file.read(), rows)
    if about is not None:
        page = re.sub("(?m)^.*; spread is least to greatest; load average.*$", lambda _: about, page, count=1)
    with open(FIGURES, "w", encoding="utf-8") as file:
        file.write(page)


def _check(rows: list[Row], *, is_all: bool) -> int:
    """Print which ratios are worse than committed; return the exit code."""
    with open(FIGURES, encoding="utf-8") as file:
        committed = (of_all_suites if is_all else committed_ratios)(file.read())
    worse = compare(committed, rows, is_all=is_all)
    print(f"\n{compared(committed, rows)} ratios compared with {FIGURES}: {len(worse)} are worse.")
    for line in worse:
        print(f"- {line}")
    return 1 if worse else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description="Measure Keepwhole against plain references.",
        epilog=_suites(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="suites to run (default: all but the long ones)")
    parser.add_argument("--quick", action="store_true", help="small texts and three rounds: a look, not a figure")
    parser.add_argument(
        "--check", action="store_true", help="exit with 1 where a ratio is worse than the committed one"
    )
    parser.add_argument("--write", action="store_true", help="put the rows into docs/reference/figures.md")
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


def _suites() -> str:
    """Return the list of suites, each with the first sentence of its module."""
    lines = [f"  {name:<16}{_about(suite)}" for name, suite in BENCHMARKS.items()]
    long = [f"  {name:<16}{_about(suite)}" for name, suite in LONG.items()]
    return "\n".join(("suites:", *lines, "", "only if named:", *long))


def _about(suite: Callable[[Setup], list[Row]]) -> str:
    summary = (sys.modules[suite.__module__].__doc__ or "").partition("\n\n")[0]
    return " ".join(summary.split()).removesuffix(".")


def _isolate(folder: str) -> None:
    """Remove everything of the user that could change the figures: settings, records, environment."""
    for key in [key for key in os.environ if key.startswith("KEEPWHOLE_")]:
        del os.environ[key]
    os.environ["HOME"] = folder
    os.chdir(folder)


def _run_suite(name: str, setup: Setup) -> list[Row]:
    """Return the rows of one benchmark; a failure gives one row with the error."""
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
    sys.exit(main())
