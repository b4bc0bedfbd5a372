"""Builds the two archives of a release, twice, and refuses them if one byte differs.

`python -m release.build [--into dist]` copies the tracked files into two folders of different names, builds each under
another umask, time zone and hash seed, and compares. Beside the archives it writes `SHA256SUMS` and `sbom.cdx.json`.
"""

import argparse
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from release.sbom import sbom

ROOT = Path(__file__).parents[1]
LARGEST_WHEEL = 1_500_000
_ADDED = "PKG-INFO"
"""The file of a source archive that is in no repository."""
_SURROUNDINGS = (
    ("first", "022", {"TZ": "UTC", "PYTHONHASHSEED": "1", "LANG": "C"}),
    ("a second place", "077", {"TZ": "Asia/Kathmandu", "PYTHONHASHSEED": "2", "LANG": "C.UTF-8"}),
)


def tracked(root: Path = ROOT) -> list[str]:
    """Return the files of the repository, those that are not committed yet too, without what is ignored.

    An unpacked source archive is no repository: there it is everything that is not ignored and not added by the build.
    """
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    with tempfile.TemporaryDirectory() as empty:
        if not (root / ".git").exists():
            command[1:1] = [f"--git-dir={empty}", f"--work-tree={root}"]
            subprocess.run(["git", "init", "--quiet", "--bare", empty], check=True)
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    return sorted(name for name in done.stdout.splitlines() if (root / name).is_file() and name != _ADDED)


def copy_tree(target: Path, root: Path = ROOT) -> None:
    """Copy the tracked files."""
    for name in tracked(root):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / name, target / name)
        (target / name).chmod(0o755 if os.access(root / name, os.X_OK) else 0o644)
    shutil.copyfile(ROOT / ".gitignore", target / ".gitignore")


def build_in(folder: Path, umask: str, environ: dict[str, str]) -> list[Path]:
    """Build the archives of the tree in a folder; return them."""
    command = f"umask {umask} && exec {shlex.quote(sys.executable)} -m hatchling build --directory ../out"
    surroundings = {**os.environ, "SOURCE_DATE_EPOCH": "1767225600", **environ}
    out = folder.parent / "out"
    shutil.rmtree(out, ignore_errors=True)
    subprocess.run(["sh", "-c", command], cwd=folder, env=surroundings, capture_output=True, check=True)
    return sorted(out.iterdir())


def digests(files: list[Path]) -> dict[str, str]:
    """Return the SHA-256 of files by name."""
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def build(into: Path) -> dict[str, str]:
    """Build twice, compare, and put the archives into a folder; return their digests."""
    with tempfile.TemporaryDirectory() as name:
        seen: list[dict[str, str]] = []
        made: list[Path] = []
        for place, umask, environ in _SURROUNDINGS:
            folder = Path(name) / place / "tree"
            folder.mkdir(parents=True)
            copy_tree(folder)
            made = build_in(folder, umask, environ)
            seen.append(digests(made))
        if seen[0] != seen[1]:
            raise SystemExit(f"Two builds of one tree differ: {seen[0]} and {seen[1]}.")
        into.mkdir(parents=True, exist_ok=True)
        for file in made:
            shutil.copyfile(file, into / file.name)
    sums = "".join(f"{digest}  {name}\n" for name, digest in sorted(seen[0].items()))
    (into / "SHA256SUMS").write_text(sums, encoding="utf-8")
    wheel = next(name for name in seen[0] if name.endswith(".whl"))
    (into / "sbom.cdx.json").write_text(sbom(seen[0][wheel]), encoding="utf-8")
    return seen[0]


def main() -> int:
    """Build and say what was made."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", default="dist", type=Path, help="where to put the archives (default: dist)")
    into = parser.parse_args().into
    for name, digest in build(into).items():
        print(f"{(into / name).stat().st_size:>9,} bytes  {digest[:16]}  {name}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
