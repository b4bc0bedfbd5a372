"""The pictures of the page in the documentation can be taken again: each place that they show is there."""

from pathlib import Path
from typing import Any

import pytest

from docs.inspector_pictures import sample, take
from tests.browser import browser

__all__ = ["browser"]


@pytest.mark.browser
@pytest.mark.timeout(120)
def test_every_picture_that_a_page_shows_is_taken_from_the_sample(browser: Any, tmp_path: Path) -> None:
    with sample() as address:
        take(browser, address, tmp_path)
    pictures = {file.name for file in tmp_path.iterdir()}
    docs = Path(__file__).parent.parent / "docs"
    assert pictures == {file.name for file in (docs / "images").glob("inspector*.png")}
