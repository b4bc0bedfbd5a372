"""What every test stands on: a private home folder and Hypothesis' profile."""

import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.objects import use_keys

pytest.register_assert_rewrite("tests.build", "tests.contracts.store_contract", "tests.contracts.archive_contract")
pytest.register_assert_rewrite("keepwhole.testing.contract")

settings.register_profile(
    "keepwhole",
    max_examples=int(os.environ.get("EXAMPLES", "50")),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile("ci", settings.get_profile("keepwhole"), derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") == "true" else "keepwhole")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # in the background of a shell; the processes of tests inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _private_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the record or the settings of the person who runs it, nor has their keys."""
    use_keys(monkeypatch)
    for name in [name for name in os.environ if name.startswith("KEEPWHOLE_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KEEPWHOLE_HOME", str(tmp_path / "home"))


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Searches that look at everything however busy the machine is, where answers are compared to the letter."""
    from keepwhole.recall import tools

    monkeypatch.setattr(tools, "_SEARCH_SECONDS", 60)
