"""The size of a core install: a new virtual environment, the source tree, its dependencies."""

import os
import subprocess
import time

from bench import floors
from bench.support.row import Row, row_with_floor, row_without_floor
from bench.support.setup import PYTHON, ROOT, Setup, plain_environment, say

_OFFLINE = ("No matching distribution found", "Temporary failure", "Could not find a version", "NewConnectionError")


def install(setup: Setup) -> list[Row]:
    folder = setup.path("install")
    python = os.path.join(folder, "bin", "python")
    say("install: making a virtual environment")
    subprocess.run((PYTHON, "-m", "venv", folder), env=plain_environment(), check=True)
    packages = _packages(python)
    before, there = _size(packages), set(os.listdir(packages))
    say("install: installing the core from the source tree")
    started = time.monotonic()
    pip = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", ROOT)
    done = subprocess.run(pip, env=plain_environment(), cwd=setup.folder, capture_output=True, text=True, check=False)
    seconds = time.monotonic() - started
    if done.returncode != 0:
        return [_skip_row(done.stderr)]
    grown = (_size(packages) - before) / 1e6
    what = "core install with dependencies"
    new = sorted(name for name in os.listdir(packages) if name.endswith(".dist-info") and name not in there)
    brought = ", ".join(new).replace(".dist-info", "")
    return [
        row_with_floor(f"{what}: size", f"{grown:.1f} MB", brought, [grown], floors.INSTALL_SIZE),
        row_without_floor(
            f"{what}: time, building and downloading included", f"{seconds:.1f} s", "–", [seconds], " s", 1
        ),
    ]


def _skip_row(errors: str) -> Row:
    lines = errors.strip().splitlines() or ["pip failed without a word"]
    why = "no network" if any(sign in errors for sign in _OFFLINE) else "pip failed"
    say(f"install: skipped, {why}: {lines[-1]}")
    return Row("core install with dependencies: size", f"skipped: {why}", floor=str(floors.INSTALL_SIZE))


def _packages(python: str) -> str:
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    return subprocess.run((python, "-c", code), capture_output=True, text=True, check=True).stdout.strip()


def _size(folder: str) -> int:
    """Bytes of all files, compiled ones included."""
    return sum(os.lstat(os.path.join(place, name)).st_size for place, _, names in os.walk(folder) for name in names)
