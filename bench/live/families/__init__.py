"""The families of tasks: one file each, with `make`, and a line in the table."""

from collections.abc import Callable
from functools import lru_cache

from bench.live.families import (
    config_drift,
    early_id,
    early_rule,
    flaky_tool,
    pictures,
    reconciliation,
    same_file,
)
from bench.live.task import LENGTHS, Task

FAMILIES: dict[str, Callable[[str, int, str], Task]] = {
    "early_id": early_id.make,
    "early_rule": early_rule.make,
    "reconciliation": reconciliation.make,
    "same_file": same_file.make,
    "pictures": pictures.make,
    "flaky_tool": flaky_tool.make,
    "config_drift": config_drift.make,
}
SEEDS = (1, 2, 3, 4)


@lru_cache(maxsize=256)
def make_task(task_id: str) -> Task:
    """Return the task with this id.

    >>> make_task("early_id-1-16k").plan[0].tool
    'run_command'
    """
    family, seed, length = task_id.rsplit("-", 2)
    if family not in FAMILIES or length not in LENGTHS:
        raise ValueError(
            f"There is no task `{task_id}`. Families: {', '.join(FAMILIES)}; lengths: {', '.join(LENGTHS)}."
        )
    return FAMILIES[family](task_id, int(seed), length)


def task_ids(length: str, families: tuple[str, ...] = tuple(FAMILIES), seeds: tuple[int, ...] = SEEDS) -> list[str]:
    """Return the ids of all tasks of a length."""
    return [f"{family}-{seed}-{length}" for family in families for seed in seeds]
