"""What the site adds to the pages: the README as its front page, and links to files that are not pages.

MkDocs calls these functions (`hooks` in mkdocs.yml). In the repository links are relative and lead to any file; on the
site a link to code, tests or a root page leads to the repository, or is plain text where its address is not known.
"""

import posixpath
import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
_OUTSIDE = ("http://", "https://", "#", "mailto:")
_CONFIG = re.compile(r'<script id="__config" type="application/json">.*?</script>', re.S)
_NO_VERSIONS_IN_A_FOLDER = """<script>if (location.protocol === "file:") {
  const config = document.getElementById("__config"), { version, ...others } = JSON.parse(config.textContent);
  config.textContent = JSON.stringify(others);
}</script>"""


def on_files(files: Any, config: Any) -> Any:
    """Add the front page."""
    from mkdocs.structure.files import File

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    files.append(File.generated(config, "index.md", content=linked_pages(text, "", repository())))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Rewrite the links of a page."""
    if page.file.src_uri == "index.md":
        return markdown
    return linked_pages(markdown, f"docs/{posixpath.dirname(page.file.src_uri)}", repository())


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Let the page work from a folder: load no script from elsewhere, and do not look for other versions, which a
    browser refuses there with an error."""
    place = posixpath.relpath("assets/iframe-worker.js", posixpath.dirname(page.file.dest_uri) or ".")
    output = output.replace("https://unpkg.com/iframe-worker/shim", place)
    return _CONFIG.sub(lambda config: config[0] + _NO_VERSIONS_IN_A_FOLDER, output, count=1)


def repository() -> str:
    """The address of the repository, as the package declares it; nothing where it has none yet."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return str(project.get("tool", {}).get("keepwhole", {}).get("repository", "")).rstrip("/")


def linked_pages(markdown: str, folder: str, address: str) -> str:
    """The text with each link as the site needs it; `folder` is where the page is in the repository.

    >>> linked_pages("[a](docs/quickstart.md) [b](tests/x.py) [c](https://d.example)", "", "https://r.example")
    '[a](quickstart.md) [b](https://r.example/blob/main/tests/x.py) [c](https://d.example)'
    >>> linked_pages("[b](../../tests/x.py)", "docs/howto", "")
    'b'
    """

    def link(match: re.Match[str]) -> str:
        image, words, target = match.groups()
        if target.startswith(_OUTSIDE):
            return match[0]
        path, hash_sign, anchor = target.partition("#")
        found = posixpath.normpath(posixpath.join(folder, path))
        is_page = (
            found.startswith("docs/") and not (ROOT / found).is_dir() and not found.endswith((".py", "trace/README.md"))
        )
        if is_page:
            place = posixpath.relpath(found, folder) if folder else found.removeprefix("docs/")
            return f"{image}[{words}]({place}{hash_sign}{anchor})"
        return f"[{words}]({address}/blob/main/{found}{hash_sign}{anchor})" if address else words

    return _LINK.sub(link, markdown)
