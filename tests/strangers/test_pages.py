"""What `make strangers` does in new systems, small: the pages from top to bottom in an empty home with an odd name.

The commands that set something up are left out here, and the agent that a reader has is one that ends at once.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.strangers.minimal_root import GOALS
from tests.strangers.visit import promised
from tests.strangers.visitor import HOME, furnish

ROOT = Path(__file__).parents[2]
ALONE = ["README.md", *(f"docs/goals/{name}.md" for name in GOALS if "postgres" not in name)]
SET_UP = re.compile(r"^((?:pip install|make) [^#\n]*[^#\s])", re.M)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path / HOME
    furnish(made)
    return made


@pytest.mark.parametrize("page", ALONE)
def test_a_page_can_be_followed_from_top_to_bottom(page: str, home: Path) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    left_out = [f"--stand-in={line}=" for line in SET_UP.findall(text)]
    environ = {**os.environ, "HOME": str(home), "KEEPWHOLE_HOME": str(home / ".keepwhole")}
    environ["PATH"] = os.pathsep.join([str(home / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]])
    visitor = [sys.executable, str(ROOT / "tests/strangers/visit.py"), *left_out, str(ROOT / page)]
    done = subprocess.run(visitor, cwd=home, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("✓") >= 2


@pytest.mark.parametrize("goal", GOALS)
def test_each_page_of_a_goal_says_how_long_it_takes(goal: str) -> None:
    assert promised((ROOT / f"docs/goals/{goal}.md").read_text(encoding="utf-8"))
