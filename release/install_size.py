"""How large a core install is: the wheel and the two packages it needs, in a folder by themselves, without a network.

`python -m release.install_size WHEEL` prints the bytes of what is installed, and of it compiled as pip compiles it.
The needed packages are taken from the environment that runs this.
"""

import compileall
import shutil
import subprocess
import sys
import tempfile
import zipfile
from importlib.metadata import distribution
from pathlib import Path
from typing import NamedTuple

LARGEST = 10_000_000
NEEDED = ("msgspec", "PyYAML")


class InstallSize(NamedTuple):
    """Bytes of an install."""

    installed: int
    """As a package manager puts the files there."""
    compiled: int
    """With the compiled files that pip adds, and Python otherwise writes when it first imports a module."""


def install(wheel: Path, folder: Path) -> None:
    """Put the wheel and what it needs into a folder from which Python can import."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    for name in NEEDED:
        for file in distribution(name).files or []:
            source = Path(str(file.locate()))
            if ".." not in file.parts and source.suffix != ".pyc":
                (folder / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, folder / file)


def bytes_in(folder: Path) -> int:
    """Return the bytes of all files of a folder."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())


def measure(wheel: Path) -> InstallSize:
    """Install, start, measure, compile, measure again."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        install(wheel, folder)
        installed = bytes_in(folder)
        code = "import sys; from keepwhole.apps.cli.main import main; sys.exit(main(['demo']))"
        command = [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {name!r}); {code}"]
        subprocess.run(command, capture_output=True, check=True)
        compileall.compile_dir(name, quiet=2)
        return InstallSize(installed, bytes_in(folder))


if __name__ == "__main__":
    size = measure(Path(sys.argv[1]))
    print(f"{size.installed / 1e6:.1f} MB installed, {size.compiled / 1e6:.1f} MB with compiled files")
