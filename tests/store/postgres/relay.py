"""A relay between us and the server that cuts a connection at its commit: before the server heard of it, or after."""

import os
import shutil
import socket
import tempfile
import threading
from contextlib import suppress
from types import TracebackType
from urllib.parse import urlencode

_NAME = ".s.PGSQL.5432"


class Relay:
    """Listens on a socket of its own and passes everything on. `cut` names what happens to the next commits."""

    def __init__(self, server_folder: str) -> None:
        self.folder = tempfile.mkdtemp(prefix="relay-")
        self.cuts: list[str] = []
        """One of `before` and `after` for each of the commits to come that is not to be answered."""
        self._target = os.path.join(server_folder, _NAME)
        self._open: list[socket.socket] = []
        self.back()

    def __enter__(self) -> "Relay":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.away()
        shutil.rmtree(self.folder)

    def url(self, schema: str) -> str:
        """The address of a record through this relay."""
        return "postgresql://postgres@/postgres?" + urlencode({"host": self.folder, "schema": schema})

    def away(self) -> None:
        """Be as a server that was stopped: nobody is let in, and who was is thrown out."""
        with suppress(FileNotFoundError):
            os.unlink(os.path.join(self.folder, _NAME))
        _shut(self._listener)
        self._listener.close()
        for end in self._open:
            _shut(end)
        self._open.clear()

    def back(self) -> None:
        """Be as one that was started."""
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(os.path.join(self.folder, _NAME))
        self._listener.listen()
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            self._open.append(client)
            server = socket.socket(socket.AF_UNIX)
            try:
                server.connect(self._target)
            except OSError:  # the server is down
                client.close()
                server.close()
                continue
            threading.Thread(target=self._forth, args=(client, server), daemon=True).start()
            threading.Thread(target=self._back, args=(client, server), daemon=True).start()

    def _forth(self, client: socket.socket, server: socket.socket) -> None:
        with client, server:
            while data := _received(client):
                cut = self.cuts.pop(0) if self.cuts and _commits(data) else None
                if cut is not None:
                    _shut(client)
                if cut == "before" or not _passed_on(server, data):
                    break
                if cut == "after":  # the server does what it was told, and hears only then that nobody listens
                    server.shutdown(socket.SHUT_WR)
                    while _received(server):
                        pass
                    return
            _shut(server)

    def _back(self, client: socket.socket, server: socket.socket) -> None:
        while data := _received(server):
            if not _passed_on(client, data):
                return
        _shut(client)


def _commits(data: bytes) -> bool:
    """Whether the server commits when it has read this: it is told so, or to run the prepared `append`."""
    return b"COMMIT" in data or b"\0keepwhole_" in data


def _received(end: socket.socket) -> bytes:
    try:
        return end.recv(65_536)
    except OSError:
        return b""


def _passed_on(end: socket.socket, data: bytes) -> bool:
    """Pass something on; whether there was anybody."""
    try:
        end.sendall(data)
        return True
    except OSError:
        return False


def _shut(end: socket.socket) -> None:
    try:
        end.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
