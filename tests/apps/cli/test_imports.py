"""A short command imports no more than its own work takes: what reads whole conversations costs as much as all else."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import sys
from keepwhole.apps.cli.main import main
code = main()
print("IMPORTED", *sorted(sys.modules))
sys.exit(code)
"""
CONVERSATIONS = ("keepwhole.conversation", "keepwhole.exchange", "keepwhole.record.journal", "keepwhole.wire.dialects")


def imported(home: Path, *words: str) -> list[str]:
    environ = {**os.environ, "KEEPWHOLE_HOME": str(home), "KEEPWHOLE_SESSION": "s"}
    command = [sys.executable, "-c", SCRIPT, *words]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True, input="kept\n" * 5_000)
    return done.stdout.rpartition("IMPORTED ")[2].split()


@pytest.mark.parametrize("words", ["artifacts show 1 --lines 1-2", "artifacts list", "show 1", "search kept"])
def test_a_command_about_one_result_imports_nothing_that_reads_conversations(words: str, tmp_path: Path) -> None:
    assert "keepwhole.apps.cli.main" in imported(tmp_path, "keep", "--tool", "bash")
    assert [name for name in imported(tmp_path, *words.split()) if name in CONVERSATIONS] == []
