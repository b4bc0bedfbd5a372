"""Takes the picture of a replay report: `python -m docs.pictures REPORT.json [PICTURE.png]`.

Needs what `make browser` installs. The report is what `keepwhole replay --json` prints.
"""

import json
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from keepwhole.replay.page import page

PICTURE = Path(__file__).parent / "images" / "replay.png"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = [
    "--no-sandbox",  # root has none, and the page is ours
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-lcd-text",  # colored edges of letters double the size of a picture
]
_WIDTH = 1200
_END = "#frontier"
"""The picture ends below this section."""


def take_picture(report: Path, target: Path = PICTURE) -> None:
    """Write a picture of the upper part of the page, in light colors."""
    from playwright.sync_api import sync_playwright

    chromium = next(filter(None, map(shutil.which, BROWSERS)), None)
    with TemporaryDirectory() as folder, sync_playwright() as play:
        source = Path(folder) / "page.html"
        source.write_text(page(json.loads(report.read_text(encoding="utf-8"))), encoding="utf-8")
        browser = play.chromium.launch(executable_path=chromium, args=FLAGS)
        tab = browser.new_page(viewport={"width": _WIDTH, "height": 900}, color_scheme="light")
        tab.goto(source.as_uri())
        end = tab.evaluate(f"document.querySelector('{_END}').getBoundingClientRect().bottom")
        target.parent.mkdir(exist_ok=True)
        clip = {"x": 0, "y": 0, "width": _WIDTH, "height": end + 40}
        tab.screenshot(path=target, clip=clip, full_page=True)
        browser.close()


if __name__ == "__main__":
    take_picture(*(Path(name) for name in sys.argv[1:3]))
