"""The page about capacity: its second table follows from the figures of the first."""

import argparse
import re
from pathlib import Path

from bench import capacity

PAGE = (Path(__file__).parents[2] / "docs/concepts/capacity.md").read_text(encoding="utf-8")
STEPS = 1_000_000


def tables() -> list[list[str]]:
    """The rows of each table of the page."""
    return [table.splitlines() for table in re.findall(r"(?m)^\|(?:.*\n\|)*.*$", PAGE)]


def measured() -> dict[str, float]:
    """The figures of a step, by name."""
    rows = [row.strip("| ").split(" | ") for row in tables()[0][2:]]
    return {name: float(re.sub(r"[^\d.]", "", value)) for name, value in rows}


def costs(each: dict[str, float]) -> capacity.StepCosts:
    bodies = each["bytes of tools and models"]
    return capacity.StepCosts(
        steps=STEPS,
        rows=each["rows"] * STEPS,
        bodies=bodies * STEPS,
        large=each["of them in bodies over 32,768 bytes"] / 100 * bodies * STEPS,
        objects=0,
        disk=each["bytes on the server's disk, indexes included"] * STEPS,
        log=each["bytes of its write-ahead log"] * STEPS,
        commits=each["transactions, reads included"] * STEPS,
        proxy=each["CPU of the proxy"] / 1000 * STEPS,
        server=each["CPU of the server"] / 1000 * STEPS,
    )


def test_the_tables_are_what_the_command_prints_of_these_figures() -> None:
    each = measured()
    args = argparse.Namespace(every=15.0, hours=8.0, disk_price=0.115, object_price=0.023)
    printed = capacity._report(costs(each), each["durable appends a second that it takes, 32 clients"], args)
    said = [line for table in tables()[:2] for line in table]
    assert said == [line for line in printed.splitlines() if line.startswith("|")]
