"""`keepwhole replay --tune FILE`: fit what `auto` expects to be needed to one's own logs, and say what that changes.

Settings are written only if runs that the weights were not fitted to improve. Nothing leaves the machine.
"""

import shlex
from pathlib import Path

from keepwhole.apps.cli import screen
from keepwhole.errors import UsageError
from keepwhole.policies.settings import AutoSettings
from keepwhole.replay.runner import ReplayJob
from keepwhole.replay.summary import PolicySummary
from keepwhole.replay.tuned_weights import LEAST_EVIDENCE, TunedWeights, settings_text, tuned_weights

EXIT_NOT_BETTER = 1


def check_target(path: Path) -> None:
    """Raise an error for a file that exists, or that no command would read as settings, before minutes of work."""
    if path.exists():
        raise UsageError(f"`{path}` already exists. Name a new file, and copy `auto.need` from it afterwards.")
    if path.suffix not in (".yaml", ".yml"):
        raise UsageError(f"`--tune` writes a settings file. Give a name that ends in `.yaml`, such as `{path}.yaml`.")


def tune(job: ReplayJob, now: AutoSettings, path: Path, jobs: int, as_json: bool) -> int:
    """Fit, compare on what was held back, print, and write the file if that improves."""
    screen.warn("Fitting to two thirds of the tasks, then replaying the others. This takes a few minutes.")
    found = tuned_weights(job, now, jobs)
    if found is None or not found.has_enough:
        least = f"{LEAST_EVIDENCE:,} pieces of evidence in each part"
        raise UsageError(
            f"There are too few logs to tell: {least} are needed. `keepwhole replay` works with any number."
        )
    if found.is_better:
        _write(path, found)
    if as_json:
        screen.print_json(_as_json(found, path))
    else:
        _print(found, path)
    return 0 if found.is_better else EXIT_NOT_BETTER


def _write(path: Path, found: TunedWeights) -> None:
    try:
        path.write_text(settings_text(found.weights, "keepwhole replay --tune"), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"`{path}` cannot be written ({error.strerror}). Name another file.") from error


def _print(found: TunedWeights, path: Path) -> None:
    rows = [(name, *_figures(row)) for name, row in (("now", found.before), ("tuned", found.after))]
    screen.say(f"On {found.before.runs:,} runs that were held back:\n")
    screen.print_table(("Weights", "Evidence kept", "All-in cost"), rows, right=(1, 2))
    if found.is_better:
        command = f"keepwhole replay --policy auto {shlex.quote(str(path))}"
        screen.say(f"\nThe weights are in `{path}`. Try them: `{command}`.")
    else:
        screen.say("\nThat is not an improvement, so nothing was written. The weights in use are right for your logs.")


def _figures(row: PolicySummary) -> tuple[str, str]:
    return screen.percent(row.evidence.in_context.value, 1), screen.percent(row.cost.all_in_context.value, 1)


def _as_json(found: TunedWeights, path: Path) -> dict[str, object]:
    return {
        "improves": found.is_better,
        "written": str(path) if found.is_better else None,
        "weights": {name: getattr(found.weights, name) for name in type(found.weights).fields},
        "held_back_runs": found.before.runs,
        "now": _json_figures(found.before),
        "tuned": _json_figures(found.after),
    }


def _json_figures(row: PolicySummary) -> dict[str, float]:
    return {"evidence_kept": row.evidence.in_context.value, "all_in_cost": row.cost.all_in_context.value}
