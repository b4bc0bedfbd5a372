"""Makes the page's copy of Preact and htm anew from their npm packages, whose digests are in `vendored.json`.

`python -m release.vendor` fetches the packages with npm, refuses one whose digest is another, and compares what it
makes with the copy in the repository; `--write` replaces that copy.
"""

import argparse
import base64
import hashlib
import json
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import TypedDict

from docs.vendor import TARGET, licences, vendored
from release.unpack import unpack as unpack_into

LIST = Path(__file__).with_name("vendored.json")


class Part(TypedDict):
    """One package of somebody else's that is copied into this one."""

    name: str
    version: str
    license: str
    integrity: str


def parts() -> list[Part]:
    """Return the packages that are copied."""
    found: list[Part] = json.loads(LIST.read_text(encoding="utf-8"))
    return found


def integrity_of(archive: Path) -> str:
    """Return the digest of a package as npm writes it."""
    return "sha512-" + base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()


def unpack(part: Part, archive: Path, folder: Path) -> None:
    """Unpack a package into a folder of its name; refuse one with another digest."""
    if integrity_of(archive) != part["integrity"]:
        raise SystemExit(f"{archive.name} is not what release/vendored.json lists. Nothing was written.")
    with tarfile.open(archive) as opened:
        unpack_into(opened, folder / "unpacked")
    (folder / "unpacked" / "package").rename(folder / part["name"])


def fetch(folder: Path) -> None:
    """Fetch every package and unpack it."""
    for part in parts():
        command = ["npm", "pack", "--silent", f"{part['name']}@{part['version']}"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
        unpack(part, folder / done.stdout.split()[-1], folder)


def make(folder: Path) -> dict[str, str]:
    """Return the files that follow from unpacked packages, by name."""
    return {"preact.js": vendored(folder), "LICENSES": licences(folder)}


def main() -> int:
    """Compare, or write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="replace the copy in the repository")
    write = parser.parse_args().write
    with tempfile.TemporaryDirectory() as name:
        fetch(Path(name))
        made = make(Path(name))
    other = [name for name, text in made.items() if (TARGET / name).read_text(encoding="utf-8") != text]
    for name in other if write else ():
        (TARGET / name).write_text(made[name], encoding="utf-8")
    words = "written" if write else "differ from what the packages give"
    print(f"{', '.join(other)}: {words}." if other else "The copies are what the packages give.")
    return 1 if other and not write else 0


if __name__ == "__main__":
    raise SystemExit(main())
