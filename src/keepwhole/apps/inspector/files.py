"""The page's own files, in memory: no name in a request becomes a path.

Owns: the files, their types, and that a browser does not load them twice.
Must not know: who asks.
"""

import gzip
import hashlib
from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import NamedTuple

from aiohttp import web

from keepwhole.apps.inspector import headers

_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
    "md": "text/plain; charset=utf-8",
}


class _File(NamedTuple):
    data: bytes
    compressed: bytes
    type: str
    mark: str


class PageFiles:
    """The files of the page by name."""

    def __init__(self) -> None:
        self._files = dict(_read_files(files("keepwhole.apps.inspector") / "page"))

    def answer(self, name: str, asked: Mapping[str, str]) -> web.Response | None:
        """The answer with a file, or 304 where the browser has it already; None where there is no such file."""
        file = self._files.get(name)
        if file is None:
            return None
        own = {**headers.ALWAYS, "Cache-Control": "no-cache", "ETag": file.mark, "Vary": "Accept-Encoding"}
        if asked.get("if-none-match") == file.mark:
            return web.Response(status=304, headers=own)
        own["Content-Type"] = file.type
        if "gzip" not in asked.get("accept-encoding", ""):
            return web.Response(body=file.data, headers=own)
        return web.Response(body=file.compressed, headers={**own, "Content-Encoding": "gzip"})


def _read_files(folder: Traversable, before: str = "") -> list[tuple[str, _File]]:
    found: list[tuple[str, _File]] = []
    for entry in folder.iterdir() if folder.is_dir() else ():
        ending = entry.name.rpartition(".")[2]
        if entry.is_dir():
            found += _read_files(entry, f"{before}{entry.name}/")
        elif ending in _TYPES:
            data = entry.read_bytes()
            mark = f'"{hashlib.sha256(data).hexdigest()[:32]}"'
            found.append((before + entry.name, _File(data, gzip.compress(data, 9, mtime=0), _TYPES[ending], mark)))
    return found
