"""Takes the pictures of the inspector's page from its sample: `python -m docs.inspector_pictures`.

Needs what `make browser` installs.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from docs.pictures import BROWSERS, FLAGS, PICTURE


class Shot(NamedTuple):
    """One picture: where, how wide, in which colors, and what has to be there first."""

    name: str
    route: str
    width: int
    height: int
    scheme: str
    until: str
    act: Callable[[Any], None] = lambda tab: None


def go_to_the_gap(tab: Any) -> None:
    """Show where the cut begins, on both sides."""
    tab.get_by_role("button", name="Next gap").click()
    tab.wait_for_timeout(1_000)


def replay(tab: Any) -> None:
    """Replay the session with another policy."""
    tab.get_by_label("Policy").select_option("truncation")
    tab.get_by_role("button", name="Replay this session").click()
    tab.wait_for_selector(".figure", timeout=60_000)


def shots(session: str, stops: dict[str, int]) -> list[Shot]:
    """What is worth a picture: two of the steps to which the page's tour leads, and two more."""
    own = f"/session/{session}"
    return [
        Shot(
            "inspector", f"{own}/step/{stops['A cut on arrival'] + 1}", 1360, 860, "light", ".pair .seen", go_to_the_gap
        ),
        Shot("inspector-dark", f"{own}/step/{stops['A batch'] + 1}", 1360, 860, "dark", ".note.turn"),
        Shot("inspector-play", f"{own}/play", 1360, 700, "light", "form.settings", replay),
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


def finished(tab: Any, name: str) -> dict[str, Any]:
    """A session when it has stopped growing: the sample is recorded while the page is open."""
    steps, told = -1, dict[str, Any](steps=0)
    while steps != told["steps"]:
        steps = told["steps"]
        tab.wait_for_timeout(2_000)
        told = tab.evaluate(f"fetch('api/sessions/{name}').then((answer) => answer.json())")
    return told


def take(browser: Any, address: str, folder: Path = PICTURE.parent) -> None:
    """All pictures, each in a tab of its own."""
    context = browser.new_context()
    tab = context.new_page()
    tab.goto(address)
    tab.wait_for_selector(".row.chosen .what")
    name = address.partition("session=")[2]
    stops = {stop["label"]: stop["index"] for stop in finished(tab, name)["tour"]}
    for shot in shots(name, stops):
        tab = context.new_page()
        tab.set_viewport_size({"width": shot.width, "height": shot.height})
        tab.emulate_media(color_scheme=shot.scheme)
        tab.goto(f"{address.partition('#')[0]}#{shot.route}")
        tab.wait_for_selector(shot.until)
        shot.act(tab)
        tab.wait_for_selector(".line.connected", state="attached")
        tab.screenshot(path=folder / f"{shot.name}.png")
        tab.close()


if __name__ == "__main__":
    from playwright.sync_api import sync_playwright

    with sample() as where, sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=next(filter(None, map(shutil.which, BROWSERS))), args=FLAGS)
        take(chromium, where)
        chromium.close()
