"""What comes out of every entry point is what is recorded, to the byte."""

import pytest

from tests.golden.recorder import differences, grouped, read
from tests.golden.scenarios import GROUPS, of_group, recorded


@pytest.mark.parametrize("group", sorted(GROUPS))
def test_everything_comes_out_as_recorded(group: str) -> None:
    wanted = of_group(read(), group)
    lines = differences(wanted, recorded(group))
    told = f"{len(lines)} of {len(wanted)} recordings differ:\n{grouped(lines)}\n"
    assert not lines, f"{told}If the change is meant: python -m tests.golden --write"


def test_every_recording_belongs_to_a_scenario() -> None:
    names = {name.partition("/")[0] for name in read()}
    assert names == set(GROUPS), "python -m tests.golden --write"
