"""A page of the site works from a folder without an error, and offers other versions where a server has them."""

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from docs import site_hooks
from tests.browser import browser

__all__ = ["browser"]
PAGE = """<!doctype html><link rel="icon" href="data:,"><title>A page</title>
<script id="__config" type="application/json">{"base": ".", "version": {"provider": "mike"}}</script>
<script>
const theme = JSON.parse(document.getElementById("__config").textContent);
if (theme.version?.provider === "mike") fetch(`${theme.base}/../versions.json`).then(() => { document.title = "read" });
else document.title = `nothing read at ${theme.base}`;
</script>
"""
"""What the theme does with its settings: it looks for the list of versions beside the folder of this one."""


def made(page: str, path: str = "0.1/index.html") -> str:
    return site_hooks.on_post_page(page, page=SimpleNamespace(file=SimpleNamespace(dest_uri=path)))


def opened(browser: Any, address: str) -> tuple[str, list[str]]:
    """The title of a page when its script has run, and what the console said."""
    tab = browser.new_page()
    said: list[str] = []
    tab.on("console", lambda message: said.append(message.text))
    tab.goto(address)
    tab.wait_for_function("document.title !== 'A page'")
    title = tab.title()
    tab.close()
    return title, said


def test_a_page_without_settings_of_the_theme_stays_as_it_is() -> None:
    assert made("<title>Moved</title>") == "<title>Moved</title>"


def test_the_search_of_a_page_needs_no_other_site() -> None:
    assert made('<script src="https://unpkg.com/iframe-worker/shim">', "howto/a.html") == (
        '<script src="../assets/iframe-worker.js">'
    )


@pytest.mark.browser
def test_a_page_in_a_folder_looks_for_no_versions(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(made(PAGE), encoding="utf-8")
    assert opened(browser, (tmp_path / "page.html").as_uri()) == ("nothing read at .", [])


@pytest.mark.browser
def test_a_page_on_a_server_offers_other_versions(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "0.1").mkdir()
    (tmp_path / "0.1/index.html").write_text(made(PAGE), encoding="utf-8")
    (tmp_path / "versions.json").write_text('[{"version": "0.1", "title": "0.1", "aliases": []}]', encoding="utf-8")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(tmp_path)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        assert opened(browser, f"http://127.0.0.1:{server.server_port}/0.1/index.html") == ("read", [])
    finally:
        server.shutdown()
        server.server_close()


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None: ...
