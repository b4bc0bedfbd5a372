"""A fake inspector and a browser that shows it, for the tests of the page."""

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import pytest

WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => window.violations.push(event.violatedDirective));
"""


class Looked:
    """The page in a tab, with all of its messages and requests."""

    def __init__(self, context: Any, fake: Any) -> None:
        self.context, self.fake, self.tab = context, fake, context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.tab.add_init_script(WATCH)
        self.tab.on("console", lambda message: self.said.append(message.text))
        self.tab.on("pageerror", lambda error: self.said.append(str(error)))
        self.tab.on("dialog", lambda dialog: (self.said.append(f"dialog {dialog.message}"), dialog.dismiss()))
        self.tab.on("request", lambda request: self.asked.append(request.url))

    def enter(self) -> None:
        from tests.apps.inspector.fake_api import TOKEN

        self.tab.goto(f"{self.fake.url}/#token={quote(TOKEN)}")
        self.tab.wait_for_selector("h1, .state")

    def see(self, route: str, until: str) -> Any:
        """Go to a route of the page and wait until an element is there."""
        self.tab.goto("about:blank")
        self.tab.goto(f"{self.fake.url}/#{route}")
        self.tab.wait_for_selector(until)
        return self.tab

    @property
    def hash(self) -> str:
        return str(self.tab.evaluate("location.hash"))


@pytest.fixture
def fake() -> Iterator[Any]:
    pytest.importorskip("aiohttp", reason="no aiohttp here; the extra `proxy` brings it")
    from tests.apps.inspector.fake_api import serving

    with serving() as one:
        yield one


@pytest.fixture
def look(browser: Any, fake: Any) -> Iterator[Callable[..., Looked]]:
    contexts: list[Any] = []

    def open_page(width: int = 1280, height: int = 900, enter: bool = True, **options: Any) -> Looked:
        contexts.append(browser.new_context(viewport={"width": width, "height": height}, **options))
        contexts[-1].set_default_timeout(8_000)
        one = Looked(contexts[-1], fake)
        if enter:
            one.enter()
        return one

    yield open_page
    for context in contexts:
        context.close()
