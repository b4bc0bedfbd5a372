"""Takes the pictures of the inspector's page from its sample: `python -m docs.inspector_pictures`.

Needs what `make browser` installs.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from docs.pictures import BROWSERS, FLAGS, PICTURE

_IMAGES = PICTURE.parent


class Shot(NamedTuple):
    """One picture: where, how wide, in which colors, and what has to be there first."""

    name: str
    route: str
    width: int
    height: int
    scheme: str
    until: str
    press: str = ""


def shots(session: str, rewritten: int) -> list[Shot]:
    """What is worth a picture; one step is chosen for the prefix that it rewrote."""
    own = f"/session/{session}"
    return [
        Shot("inspector", f"{own}/step/30", 1360, 860, "light", ".pair .seen"),
        Shot("inspector-dark", f"{own}/step/{rewritten + 1}", 1360, 860, "dark", ".note.turn"),
        Shot("inspector-play", f"{own}/play", 1360, 700, "light", "form.settings", "Replay this session"),
        Shot("inspector-narrow", own, 390, 780, "light", ".row.chosen .what"),
    ]


@contextmanager
def sample() -> Iterator[str]:
    """The address of a sample that is served until the block ends."""
    command = [sys.executable, "-m", "keepwhole", "serve", "--sample", "--port", "18787", "--inspect-port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            found = next(filter(None, (re.search(r"http://\S+/#token=\S+", line) for line in process.stdout)))
            yield found.group()
        finally:
            process.terminate()


def take(browser: Any, address: str) -> None:
    """All pictures, each in a tab of its own."""
    context = browser.new_context()
    tab = context.new_page()
    tab.goto(address)
    link = tab.locator("table.sessions tbody a").first
    link.wait_for()
    name = link.inner_text()
    course = tab.evaluate(f"fetch('api/sessions/{name}').then((answer) => answer.json())")["course"]
    for shot in shots(name, course["index"][course["rewritten"].index(True)]):
        tab = context.new_page()
        tab.set_viewport_size({"width": shot.width, "height": shot.height})
        tab.emulate_media(color_scheme=shot.scheme)
        tab.goto(f"{address.partition('#')[0]}#{shot.route}")
        tab.wait_for_selector(shot.until)
        if shot.press:
            tab.get_by_label("Preset").select_option("lean")
            tab.get_by_role("button", name=shot.press).click()
            tab.wait_for_selector(".figure", timeout=60_000)
        tab.wait_for_selector(".line.connected", state="attached")
        tab.screenshot(path=_IMAGES / f"{shot.name}.png")
        tab.close()


if __name__ == "__main__":
    from playwright.sync_api import sync_playwright

    with sample() as where, sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=next(filter(None, map(shutil.which, BROWSERS))), args=FLAGS)
        take(chromium, where)
        chromium.close()
