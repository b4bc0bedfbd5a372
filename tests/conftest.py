"""What all tests share: a private home folder, an environment without settings, and Hypothesis' profile.

Every test runs with the defaults that users have. A test that needs another setting names it itself.
"""

import gc
import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.memory_folder import memory_folder
from tests.objects import use_keys

pytest.register_assert_rewrite("tests.build", "tests.contracts.store_contract", "tests.contracts.archive_contract")
pytest.register_assert_rewrite("keepwhole.testing.contract")

settings.register_profile(
    "keepwhole",
    max_examples=int(os.environ.get("EXAMPLES", "30")),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile("ci", settings.get_profile("keepwhole"), derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") == "true" else "keepwhole")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a background job of a shell, whose children would ignore it too
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    """Keep the files of tests in memory, where there is room; what `make torture` writes may be larger."""
    if config.option.markexpr != "torture" and (memory := memory_folder()):
        os.environ.setdefault("TMPDIR", memory)
        tempfile.tempdir = os.environ["TMPDIR"]  # found out already by what pytest has imported


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Look for garbage neither while tests are collected nor, later, in what was collected."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


@pytest.fixture(autouse=True)
def _signals_as_before() -> Iterator[None]:
    """Take back the handlers that a command has set in this process: the next test's children would have them."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        if handler is not None and signal.getsignal(number) is not handler:
            signal.signal(number, handler)


@pytest.fixture(autouse=True)
def _private_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep tests away from the record, the settings and the keys of the person who runs them."""
    use_keys(monkeypatch)
    for name in [name for name in os.environ if name.startswith("KEEPWHOLE_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KEEPWHOLE_HOME", str(tmp_path / "home"))


@pytest.fixture
def recall_from_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Offer the recall tools in the first request, for tests of what a model does with them in short conversations."""
    monkeypatch.setenv("KEEPWHOLE_RECALL_FROM", "start")


@pytest.fixture
def patient_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give searches the time to look at everything on a busy machine, for tests that compare exact answers."""
    from keepwhole.recall import tools

    monkeypatch.setattr(tools, "_SEARCH_SECONDS", 60)
