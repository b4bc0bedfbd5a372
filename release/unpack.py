"""Unpacking an archive into a folder, never outside of it."""

import tarfile
from pathlib import Path


def unpack(archive: tarfile.TarFile, folder: Path) -> None:
    """Put all that is in an archive into a folder; Python before 3.11.4 cannot check where its members go."""
    safe = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
    archive.extractall(folder, **safe)  # type: ignore[arg-type]
