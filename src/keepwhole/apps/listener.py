"""Where a listener of ours is reached, and what every request to one has to show.

Owns: addresses, tokens and their files, which hosts and origins are ours. Loopback is no boundary: a page in a browser
reaches it, and so does every other user of the machine.
Must not know: what is served, or by which server.
"""

import hmac
import os
import secrets
from collections.abc import Generator
from contextlib import contextmanager

from keepwhole.canonical.value import Value
from keepwhole.errors import StoreError, UsageError
from keepwhole.store.durable import make_folder, write_file

_LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Address(Value):
    """Where to listen."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return self.host in _LOOPBACK

    @property
    def hosts(self) -> frozenset[str]:
        """What a `Host` header may say."""
        names = _LOOPBACK if self.is_loopback else (self.host,)
        written = [f"[{name}]" if ":" in name else name for name in names]
        return frozenset([f"{name}:{self.port}" for name in written] + (written if self.port == 80 else []))

    @property
    def url(self) -> str:
        """How a client on this machine calls it."""
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


@contextmanager
def listened_at(address: Address, option: str = "--port") -> Generator[None]:
    """`UsageError` where nobody can listen at an address, with the option that chose it."""
    try:
        yield
    except OSError as error:
        why = os.strerror(error.errno) if error.errno is not None else str(error)
        raise UsageError(
            f"{address.host}:{address.port} cannot be listened at: {why}. "
            f"Give another `{option}`, or 0 for any that is free."
        ) from error


def parse_address(text: str, public: bool = False) -> Address:
    """`HOST:PORT`, `:PORT` or `PORT`; any host but this machine's own only if `public` says so."""
    host, _, port = text.rpartition(":")
    host = host.strip("[]") or "127.0.0.1"
    if not port.isdecimal() or not 0 < int(port) < 65_536:
        raise UsageError(f"`{text}` is no address to listen at. Give HOST:PORT, for example 127.0.0.1:7411.")
    address = Address(host=host, port=int(port))
    if not address.is_loopback and not public:
        raise UsageError(f"`{host}` can be reached from other machines. If that is what you want, add `--public`.")
    return address


def token_for(home: str, name: str, variable: str) -> tuple[str, str]:
    """A listener's own token and where it is written: an environment variable, else a file only its owner reads."""
    given = os.environ.get(variable)
    if given is not None:
        if len(given) < 16:
            raise UsageError(f"`${variable}` is shorter than 16 characters. Leave it unset and one is made.")
        return given, f"${variable}"
    path = os.path.join(home, f"{name}.token")
    return secret_in(path), path


def secret_in(path: str) -> str:
    """The secret in a file that only its owner reads; made where there is none. `StoreError` where it cannot be."""
    try:
        return _read(path) or _made(path)
    except OSError as error:
        raise StoreError(
            f"`{path}` cannot be used: {error.strerror}. Set `KEEPWHOLE_HOME` to a folder of yours."
        ) from error


def _read(path: str) -> str | None:
    try:
        with open(path, encoding="ascii") as file:
            return file.read().strip()
    except FileNotFoundError:
        return None


def _made(path: str) -> str:
    make_folder(os.path.dirname(path))
    made = secrets.token_urlsafe(32)
    write_file(path, [made.encode() + b"\n"], 0o600)
    return made


def is_same(given: str, wanted: str) -> bool:
    """Whether two secrets are the same, in a time that says nothing about where they differ."""
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), wanted.encode())
