"""All scenarios by group, and how a group is recorded."""

from collections.abc import Callable

from tests.golden import (
    adapters,
    commands,
    cuts,
    doors,
    exchanges,
    keeps,
    option_values,
    other_exchanges,
    rare_events,
    recall_edges,
    recalls,
    session_life,
    setting_values,
    small_functions,
    views,
    wires,
)
from tests.golden.recorder import Recorder, Recording

GROUPS: dict[str, list[Callable[[Recorder], None]]] = {
    **keeps.GROUPS,
    **views.GROUPS,
    **session_life.GROUPS,
    **exchanges.GROUPS,
    **other_exchanges.GROUPS,
    **adapters.GROUPS,
    **recalls.GROUPS,
    **rare_events.GROUPS,
    **commands.GROUPS,
    **option_values.GROUPS,
    **cuts.GROUPS,
    **recall_edges.GROUPS,
    **setting_values.GROUPS,
    **small_functions.GROUPS,
    **wires.GROUPS,
}


def recorded(group: str, watch: Callable[[str, bytes], None] | None = None) -> dict[str, Recording]:
    """The recordings of one group; their names begin with the group's."""
    out = Recorder(watch)
    with doors.unhurried():
        for number, scenario in enumerate(GROUPS[group]):
            with doors.counted_costs() as costs:
                scenario(out)
            if costs:
                out.add(f"{group}/costs-{number}", costs)
    return {f"{group}/{name.partition('/')[2]}": one for name, one in out.found.items()}


def of_group(recordings: dict[str, Recording], group: str) -> dict[str, Recording]:
    """Those of one group."""
    return {name: one for name, one in recordings.items() if name.startswith(f"{group}/")}
