"""Everything that can be checked of a release without a network. `make release-check` runs it after checks and tests.

With `--tag v0.1.0`, as the release workflow calls it, it also refuses a tree whose repository has no address, whose
tag is not its version, or whose changelog still says that the version is not released.
"""

import argparse
import json
import re
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from docs.vendor import TARGET
from release.build import LARGEST_WHEEL, ROOT, build, build_in, tracked
from release.install_size import LARGEST, measure
from release.repository import repository
from release.unpack import unpack
from release.vendor import parts

_FRESH_HEADING = "not released yet"
_SERVER = {
    "$schema": r"https://static\.modelcontextprotocol\.io/schemas/\d{4}-\d\d-\d\d/server\.schema\.json",
    "name": r"(?=.{3,200}$)[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+",
    "title": r".{1,100}",
    "description": r".{1,100}",
    "version": r"\d+\.\d+\.\d+[\w.+-]*",
}
"""What the registry takes in the fields that it limits."""


class Wrong(Exception):
    """What is wrong with the tree, and what to do about it."""


def version() -> str:
    """Return the version of the tree."""
    return re.findall(r'VERSION = "([^"]+)"', (ROOT / "src/keepwhole/version.py").read_text(encoding="utf-8"))[0]


def check_versions() -> str:
    """One version everywhere."""
    server = json.loads((ROOT / "server.json").read_text(encoding="utf-8"))
    said = {version(), server["version"], *(package["version"] for package in server["packages"])}
    if len(said) != 1:
        raise Wrong(f"src/keepwhole/version.py and server.json name several versions: {sorted(said)}.")
    newest = re.findall(r"(?m)^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))[0]
    if newest != version():
        raise Wrong(f"CHANGELOG.md begins with {newest}; the version is {version()}.")
    return f"version {version()} in the package, server.json and the changelog"


def check_server(changed: dict[str, Any] | None = None) -> str:
    """What the MCP registry refuses: its schema of 2025-12-11, as far as the file uses it."""
    server: dict[str, Any] = changed or json.loads((ROOT / "server.json").read_text(encoding="utf-8"))
    wrong = [key for key, pattern in _SERVER.items() if not re.fullmatch(pattern, str(server.get(key, "")))]
    for package in server["packages"]:
        given: list[dict[str, str]] = package.get("runtimeArguments", []) + package.get("packageArguments", [])
        wrong += [f"version of {package['identifier']}"] * (package["version"] != server["version"])
        wrong += [f"argument {each}" for each in given if each["type"] == "named" and not each["name"].startswith("-")]
        wrong += [f"argument {each}" for each in given if each["type"] == "positional" and "value" not in each]
        wrong += ["runtimeHint"] * ("runtimeArguments" in package and "runtimeHint" not in package)
    if wrong:
        raise Wrong(f"server.json would be refused by the MCP registry: {', '.join(wrong)}.")
    return f"server.json as the MCP registry takes it, as {server['name']}"


def check_vendored() -> str:
    """The copied parts are the versions whose digests are listed."""
    first = (TARGET / "preact.js").read_text(encoding="utf-8").splitlines()[0]
    licenses = (TARGET / "LICENSES").read_text(encoding="utf-8")
    for part in parts():
        title = f"{part['name']} {part['version']} ({part['license']})"
        if title not in first or title not in licenses:
            raise Wrong(f"{title} is listed in release/vendored.json, and is not what is copied. Run `make vendor`.")
    return f"{len(parts())} copied parts with their licenses and the digests of their sources"


def check_archives() -> str:
    """Two builds are the same, small enough, complete, and run where nothing else is installed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        build(folder)
        wheel, source = next(folder.glob("*.whl")), next(folder.glob("*.tar.gz"))
        if wheel.stat().st_size > LARGEST_WHEEL:
            raise Wrong(f"The wheel has {wheel.stat().st_size:,} bytes; {LARGEST_WHEEL:,} are allowed.")
        missing = sorted(set(tracked()) - set(files_of(source)))
        if missing:
            raise Wrong(f"The source archive lacks {', '.join(missing[:5])}. See `targets.sdist` in pyproject.toml.")
        if wheel_of(source).read_bytes() != wheel.read_bytes():
            raise Wrong("The wheel that is built from the source archive is another one than that of the tree.")
        size = measure(wheel)
        if size.installed > LARGEST:
            raise Wrong(f"A core install has {size.installed:,} bytes; {LARGEST:,} are allowed.")
        return (
            f"two builds equal byte for byte; wheel {wheel.stat().st_size / 1e6:.2f} MB, source archive complete and "
            f"giving the same wheel; core install {size.installed / 1e6:.1f} MB "
            f"({size.compiled / 1e6:.1f} MB with compiled files)"
        )


def files_of(source: Path) -> Iterator[str]:
    """The names of the files in a source archive, without its folder."""
    with tarfile.open(source) as archive:
        yield from (member.name.partition("/")[2] for member in archive.getmembers() if member.isfile())


def wheel_of(source: Path) -> Path:
    """Build the wheel of a source archive, beside it, as an installer does that takes no wheels."""
    folder = source.parent / "of source"
    with tarfile.open(source) as archive:
        unpack(archive, folder)
    (tree,) = folder.iterdir()
    return next(file for file in build_in(tree, "022", {}) if file.suffix == ".whl")


def check_tag(tag: str) -> str:
    """The tree may be published under this tag."""
    if tag != f"v{version()}":
        raise Wrong(f"The tag is {tag}; the version is {version()}.")
    if not repository():
        raise Wrong("The repository has no address yet. Run `make repository URL=https://github.com/OWNER/keepwhole`.")
    if _FRESH_HEADING in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"):
        raise Wrong(f"CHANGELOG.md says “{_FRESH_HEADING}”. Write the date there.")
    return f"{tag} may be published from {repository()}"


def run(checks: list[Callable[[], str]]) -> int:
    """Run checks, print each one's outcome; return the exit code."""
    failed = 0
    for check in checks:
        try:
            print(f"✓ {check()}", flush=True)
        except Wrong as wrong:
            failed += 1
            print(f"✗ {wrong}", flush=True)
    return 1 if failed else 0


def main() -> int:
    """Check, and say what is still to be done by a person."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tag", help="the tag that is to be published")
    tag: str | None = parser.parse_args().tag
    checks: list[Callable[[], str]] = [check_versions, check_server, check_vendored, check_archives]
    if tag:
        checks.append(lambda: check_tag(tag))
    code = run(checks)
    if not tag and not repository():
        print("– before the tag: `make repository URL=https://github.com/OWNER/keepwhole`, the date in CHANGELOG.md")
    return code


if __name__ == "__main__":
    raise SystemExit(main())
