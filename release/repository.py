"""Writes the address of the repository, once, to where everything else takes it from.

`make repository URL=https://github.com/OWNER/keepwhole` changes `tool.keepwhole.repository` in `pyproject.toml` and
the two addresses in `server.json`; what a package index shows follows from them when the package is built.
"""

import json
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
_ADDRESS = re.compile(r"https://[\w.-]+/([\w.-]+)/([\w.-]+?)/?(?:\.git)?")
_LINE = re.compile(r'(?m)^repository = ".*"$')


def repository(root: Path = ROOT) -> str:
    """Return the address of the repository; empty while nobody has written it."""
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["keepwhole"]["repository"]


def write(address: str, root: Path = ROOT) -> list[str]:
    """Write the address; return the names of the files that changed."""
    found = _ADDRESS.fullmatch(address)
    if found is None:
        raise SystemExit(f"`{address}` is not the address of a repository. Give https://github.com/OWNER/NAME.")
    address = address.removesuffix(".git").rstrip("/")
    project, server = root / "pyproject.toml", root / "server.json"
    facts = json.loads(server.read_text(encoding="utf-8"))
    facts["name"] = f"io.github.{found[1].lower()}/keepwhole"
    facts["repository"] = {"url": address, "source": "github"}
    new = {
        project: _LINE.sub(f'repository = "{address}"', project.read_text(encoding="utf-8"), count=1),
        server: json.dumps(facts, indent=2) + "\n",
    }
    changed = [path for path, text in new.items() if path.read_text(encoding="utf-8") != text]
    for path in changed:
        path.write_text(new[path], encoding="utf-8")
    return [path.name for path in changed]


if __name__ == "__main__":
    names = write(sys.argv[1] if len(sys.argv) > 1 else "")
    print(f"Changed {', '.join(names)}." if names else "Nothing to change.")
