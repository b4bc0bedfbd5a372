"""`keepwhole replay --tune`."""

from pathlib import Path

from tests.apps.cli.cli import Cli


def test_too_few_logs_are_refused_and_a_file_that_is_there_is_never_overwritten(cli: Cli, tmp_path: Path) -> None:
    there = tmp_path / "there.yaml"
    there.write_text("policy: auto\n", encoding="utf-8")
    assert b"there already" in cli("replay", "--sample", "--tune", str(there)).stderr
    assert there.read_text(encoding="utf-8") == "policy: auto\n"
    new = tmp_path / "new.yaml"
    assert b"too few logs" in cli("replay", "--sample", "--tune", str(new)).stderr
    assert not new.exists()
