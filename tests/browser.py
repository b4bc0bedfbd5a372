"""A real Chromium for the tests of pages; they are skipped where there is none."""

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from docs.pictures import BROWSERS, FLAGS

CHROMIUM = next(filter(None, map(shutil.which, BROWSERS)), None)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """One for each module: while it runs, no test can have an event loop of its own."""
    if CHROMIUM is None:
        pytest.skip("no Chromium here; `make browser` installs it")
    driver = pytest.importorskip("playwright.sync_api", reason="no playwright here; `make browser` installs it")
    with driver.sync_playwright() as play:
        one = play.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield one
        one.close()
