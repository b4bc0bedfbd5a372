"""A relay in front of a PostgreSQL server that counts the round trips of a client."""

import os
import shutil
import socket
import tempfile
import threading

_NAME = ".s.PGSQL.5432"


class RoundTripRelay:
    """Listens on a socket, forwards everything to the server, and counts the round trips."""

    def __init__(self, server_folder: str) -> None:
        self.folder = tempfile.mkdtemp(prefix="trips-")
        self.count = 0
        """What was sent to the server since it last answered is one trip."""
        self._target = os.path.join(server_folder, _NAME)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(os.path.join(self.folder, _NAME))
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> "RoundTripRelay":
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()
        shutil.rmtree(self.folder)

    def _accept(self) -> None:
        while True:
            client, _ = self._listener.accept()
            server = socket.socket(socket.AF_UNIX)
            server.connect(self._target)
            answered = threading.Event()
            answered.set()
            threading.Thread(target=self._forth, args=(client, server, answered), daemon=True).start()
            threading.Thread(target=self._back, args=(client, server, answered), daemon=True).start()

    def _forth(self, client: socket.socket, server: socket.socket, answered: threading.Event) -> None:
        while data := client.recv(1 << 20):
            if answered.is_set():
                answered.clear()
                self.count += 1
            server.sendall(data)
        server.shutdown(socket.SHUT_WR)

    def _back(self, client: socket.socket, server: socket.socket, answered: threading.Event) -> None:
        while data := server.recv(1 << 20):
            answered.set()
            client.sendall(data)
