"""Completes the package's metadata when it is built: addresses of the project, and a README whose links are absolute.

The one place that names the repository is `tool.keepwhole.repository` in `pyproject.toml`; `make repository
URL=https://github.com/OWNER/keepwhole` writes it. While it is empty, the package has no addresses and relative links.
"""

import re
import tomllib
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(r"(!?\[[^\]]*\]\()(?!https?://|#|mailto:)([^)\s]+)(\))")


def addresses(repository: str) -> dict[str, str]:
    """Return the addresses that package indexes show."""
    if not repository:
        return {}
    return {
        "Homepage": repository,
        "Documentation": f"{repository}/tree/main/docs",
        "Source": repository,
        "Issues": f"{repository}/issues",
        "Changelog": f"{repository}/blob/main/CHANGELOG.md",
        "Security": f"{repository}/security/policy",
    }


def registry_mark(repository: str) -> str:
    """Return the comment by which the MCP registry sees that the package and its `server.json` have one owner."""
    owner = repository.split("/")[3].lower() if repository else ""
    return f"\n<!-- mcp-name: io.github.{owner}/keepwhole -->\n" if owner else ""


def absolute_links(text: str, repository: str, version: str) -> str:
    """Return the README with links that lead to the files of this version, wherever it is shown."""
    if not repository:
        return text

    def lead(found: re.Match[str]) -> str:
        kind = "raw" if found[1].startswith("!") else "blob"
        return f"{found[1]}{repository}/{kind}/v{version}/{found[2]}{found[3]}"

    return _LINK.sub(lead, text)


class MetadataHook(MetadataHookInterface):
    """Called by hatchling for `readme` and `urls`, which are dynamic."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        """Add what depends on the repository's address."""
        root = Path(self.root)
        project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
        repository = project["tool"]["keepwhole"]["repository"].rstrip("/")
        version = re.search(r'VERSION = "([^"]+)"', (root / "src/keepwhole/version.py").read_text(encoding="utf-8"))
        text = (root / "README.md").read_text(encoding="utf-8")
        metadata["urls"] = addresses(repository)
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": absolute_links(text, repository, version[1] if version else "") + registry_mark(repository),
        }
