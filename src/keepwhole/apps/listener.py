"""Where a listener is reached, and who may send requests to it.

A loopback address is no protection: a page in a browser reaches it, and so does every other user of the machine.
So each listener checks the host, the origin and a token of its own.

Owns: addresses, tokens and their files, the accepted hosts, and the proxy's gate.
Must not know: what is served, or by which server.
"""

import errno
import hmac
import os
import re
import secrets
import socket
import stat
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import NamedTuple
from urllib.parse import unquote

from keepwhole.canonical.value import Value
from keepwhole.errors import StoreError, UsageError
from keepwhole.store.durable import make_folder, write_file

TOKEN_TAG = "kw-"
TOKEN_HEADER = "x-keepwhole-token"
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_ANY_TAG = re.compile("[a-z]{2}-")
ALIVE, HEALTH, READY = "/livez", "/healthz", "/readyz"
"""The paths that need no token: whether the process answers, whether everything is well, whether to send requests."""
_LONGEST_SECRET = 4_096


class Address(Value):
    """The host and port of a listener."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return self.host in _LOOPBACK

    @property
    def hosts(self) -> frozenset[str]:
        """The accepted values of the `Host` header."""
        names = _LOOPBACK if self.is_loopback else (self.host,)
        written = [f"[{name}]" if ":" in name else name for name in names]
        return frozenset([f"{name}:{self.port}" for name in written] + (written if self.port == 80 else []))

    @property
    def url(self) -> str:
        """The URL for clients on this machine."""
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    def base_url(self, token: str | None) -> str:
        """The URL with the token in its path: an agent's own headers carry its provider's key instead."""
        return f"{self.url}/{TOKEN_TAG}{token}" if token else self.url


class Refusal(NamedTuple):
    """The status and the reason with which a listener refuses a request."""

    status: int
    message: str


class Gate:
    """Checks the host, the origin and the token of each request to the proxy."""

    def __init__(self, address: Address, token: str | None, hosts: tuple[str, ...] = ()) -> None:
        """Without a `token` none is asked for; `hosts` are accepted besides those of the address."""
        self._token = token
        self.asks_for_token = token is not None
        self._hosts = address.hosts | frozenset(hosts) if address.is_loopback or hosts else None
        self._origins = frozenset(f"{scheme}://{host}" for host in self._hosts or () for scheme in ("http", "https"))

    def admit(self, target: str, headers: Mapping[str, str]) -> str | Refusal:
        """Return the requested path and query without the token, or why the request is refused."""
        host, origin = headers.get("host", ""), headers.get("origin")
        if not target.startswith("/"):
            return Refusal(400, "Request a path: this server relays nothing to other hosts.")
        if self._hosts is not None and host.lower() not in self._hosts:
            return Refusal(403, "This host is not served here. If it should be, add it to `proxy.hosts`.")
        if origin is not None and origin not in self._origins:
            return Refusal(403, "Pages of this origin are not served here.")
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return Refusal(403, "Pages of other sites are not served here.")
        return self._without_token(target, headers.get(TOKEN_HEADER))

    def _without_token(self, target: str, given: str | None) -> str | Refusal:
        first, slash, rest = target[1:].partition("/")
        if self._is_token(first):
            given, target = first[len(TOKEN_TAG) :], slash + rest or "/"
        probe = probe_of(target)
        if probe is not None:
            return probe
        if self._token is None or is_same(given or "", self._token):
            return target
        return Refusal(
            401,
            "The proxy's token is missing or wrong. It belongs in the base URL, as `keepwhole proxy` prints it, or "
            f"into the header `{TOKEN_HEADER}`.",
        )

    def _is_token(self, segment: str) -> bool:
        """Whether the first segment of a path is a tagged token, right or wrong."""
        if segment.startswith(TOKEN_TAG):
            return True
        # Base URLs that were written under the product's earlier name (`/hf-TOKEN`) keep working; any other segment
        # of this form, such as `/ai-gateway`, is part of the path.
        tag, shown = segment[: len(TOKEN_TAG)], segment[len(TOKEN_TAG) :]
        return self._token is not None and bool(_ANY_TAG.fullmatch(tag)) and is_same(shown, self._token)


def probe_of(target: str) -> str | None:
    """Return the probe that a path asks for, however it is spelled: with a query, a slash more, escaped."""
    path = "/" + unquote(target.partition("?")[0]).lower().strip("/")
    return path if path in (ALIVE, HEALTH, READY) else None


@contextmanager
def usage_error_if_taken(address: Address, option: str = "--port") -> Generator[None]:
    """Turn an `OSError` of listening at the address into a `UsageError` that names the option to change."""
    try:
        yield
    except OSError as error:
        of_name = isinstance(error, socket.gaierror)  # its numbers are not those of `errno`
        why = os.strerror(error.errno) if error.errno is not None and not of_name else error.strerror or str(error)
        if error.errno == errno.EADDRINUSE:
            what = f"Port {address.port} is in use. Choose another with `{option}`, or 0 for any free one."
        elif error.errno in (errno.EACCES, errno.EPERM):
            what = f"Port {address.port} needs more rights than you have. Choose one above 1023 with `{option}`."
        else:
            what = f"Keepwhole cannot listen on {address.host}:{address.port} ({why}). Give an address of this machine."
        raise UsageError(what) from error


def parse_address(text: str, public: bool = False) -> Address:
    """Parse `HOST:PORT`, `:PORT` or `PORT`; a host that other machines can reach needs `public`."""
    host, _, port = text.rpartition(":")
    host = host.strip("[]") or "127.0.0.1"
    if not port.isdecimal() or not 0 < int(port) < 65_536:
        raise UsageError(f"`{text}` is not an address to listen on. Give HOST:PORT, for example 127.0.0.1:7411.")
    return checked_address(Address(host=host, port=int(port)), public)


def checked_address(address: Address, public: bool) -> Address:
    """Return the address; `UsageError` where other machines can reach it and `public` does not allow that."""
    if not address.is_loopback and not public:
        raise UsageError(
            f"`{address.host}` is not a loopback address, so other machines may reach it. If that is what you want, "
            "add `--public`."
        )
    return address


def read_token(home: str, name: str, variable: str) -> tuple[str, str]:
    """Return a listener's token and where it was read: the environment variable, else a file in `home`."""
    given = os.environ.get(variable)
    if given is not None:
        if len(given) < 16:
            raise UsageError(f"`${variable}` is shorter than 16 characters. Unset it, and Keepwhole makes one.")
        return given, f"${variable}"
    path = os.path.join(home, f"{name}.token")
    return read_secret(path), path


def read_secret(path: str) -> str:
    """Read the secret in a file that only its owner can read; write a new one where the file is missing."""
    try:
        try:
            with open(path, encoding="ascii", opener=_open_unlinked) as file:
                _refuse_shared(path, os.fstat(file.fileno()))
                return file.read(_LONGEST_SECRET).strip() or _write_secret(path, replaces=True)
        except FileNotFoundError:
            return _write_secret(path)
    except UnicodeDecodeError as error:
        raise StoreError(f"`{path}` is damaged. Delete it; a new one is made.") from error
    except OSError as error:
        raise StoreError(
            f"`{path}` cannot be used ({error.strerror}). Set `KEEPWHOLE_HOME` to a folder that is yours."
        ) from error


def _open_unlinked(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def _refuse_shared(path: str, held: os.stat_result) -> None:
    """Refuse a secret that somebody else could have written, or can read."""
    if not stat.S_ISREG(held.st_mode) or held.st_uid != os.geteuid() or held.st_mode & 0o077:
        raise StoreError(
            f"`{path}` is not used as a secret, because it is not a file of yours that only you can read (mode 0600). "
            "Find out where it came from, then delete it; a new one is made."
        )


def _write_secret(path: str, *, replaces: bool = False) -> str:
    make_folder(os.path.dirname(path))
    secret = secrets.token_urlsafe(32)
    try:
        write_file(path, [secret.encode() + b"\n"], 0o600, replaces=replaces)
    except FileExistsError:  # two processes that start at the same time need the same one
        return read_secret(path)
    return secret


def is_same(given: str, wanted: str) -> bool:
    """Compare two secrets in a time that does not depend on where they differ."""
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), wanted.encode())
