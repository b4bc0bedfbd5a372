"""The command line in a folder of its own."""

from pathlib import Path

import pytest

from tests.apps.cli.cli import Cli


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)
