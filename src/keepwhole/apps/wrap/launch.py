"""What a client is, and how it is started so that it uses the proxy for one run.

A client is one `Client`: its name, and a function from the command that the user typed (`ClientCommand`) to the changes
of its environment and its arguments (`Launch`).

Owns: these three types, the most common case (addresses in environment variables), a client's file for one run, and
that requests to loopback do not go through the network's own proxy.
Must not know: ports and tokens; `BASE` is replaced by the proxy's address when that is known.
"""

import os
import re
import tempfile
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from keepwhole.errors import ConfigError
from keepwhole.proxy_settings import check_upstream

BASE = "{base}"
"""Placeholder for the proxy's address with its token."""
FILE = "{file}"
"""Placeholder for the path of `Launch.file`."""
ADDRESSES = "addresses"
"""What is approved of a client's file: the addresses in it."""
ANTHROPIC, OPENAI = "ANTHROPIC_BASE_URL", ("OPENAI_BASE_URL", "OPENAI_API_BASE")
_LOOPBACK = ("127.0.0.1", "localhost")
_NAME = re.compile(r"[A-Za-z][\w.-]*")
_TAKEN = ("v1", "healthz", "metrics")
_NOTHING: Mapping[str, str] = MappingProxyType({})


class ClientCommand(NamedTuple):
    """The command that the user typed, and its environment."""

    argv: Sequence[str]
    environ: Mapping[str, str]
    results: str
    """The folder with the files of results that notices name."""


class Launch(NamedTuple):
    """The changes with which a client uses the proxy."""

    upstreams: Mapping[str, str] = _NOTHING
    """The providers behind the proxy that the client's own settings name, by name."""
    environ: Mapping[str, str] = _NOTHING
    """Variables that are set; a value may contain `BASE` and `FILE`."""
    words: Sequence[str] = ()
    """Arguments that are inserted after the command's name; they may contain `BASE` and `FILE`."""
    own: Sequence[str] | None = None
    """The user's arguments, where they change; those that are new may contain `BASE` and `FILE`."""
    file: str | None = None
    """The text of a file that only the user can read and that exists during the run; it may contain `BASE`."""
    file_name: str = "settings.json"
    """The name of that file."""

    def apply(self, command: ClientCommand, base: str, file: str = "") -> tuple[list[str], dict[str, str]]:
        """The arguments and the environment, with the proxy at `base` and the launch's file at `file`."""

        def filled(text: str) -> str:
            return text.replace(BASE, base).replace(FILE, file)

        words = [filled(word) for word in self.words]
        given = {name: filled(value) for name, value in self.environ.items()}
        users = command.argv[1:]
        own = users if self.own is None else self.own
        own = [word if word in users else filled(word) for word in own]
        return [command.argv[0], *words, *own], {**command.environ, **_no_proxy_variables(command.environ), **given}


@contextmanager
def prepared(launch: Launch, command: ClientCommand, base: str) -> Generator[tuple[list[str], dict[str, str]]]:
    """The arguments and the environment, with the proxy at `base`; the file of the launch is removed on leaving."""
    with _file_of(launch, base) as path:
        yield launch.apply(command, base, path)


@contextmanager
def _file_of(launch: Launch, base: str) -> Generator[str]:
    """The path of the launch's file; empty where it has none."""
    if launch.file is None:
        yield ""
        return
    with tempfile.TemporaryDirectory(prefix="keepwhole-") as folder:
        path = os.path.join(folder, launch.file_name)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(launch.file.replace(BASE, base))
        yield path


FolderAddresses: TypeAlias = Iterable[tuple[str, Mapping[str, str]]]
"""Files or folders that came with the working folder, each with the addresses of providers that it names."""


def _no_addresses(command: ClientCommand, folder: str) -> FolderAddresses:
    return ()


class Client(NamedTuple):
    """A kind of client."""

    name: str
    """The agent's name in the record."""
    launch: Callable[[ClientCommand], Launch]
    """How it is started so that it uses the proxy."""
    recall: str = "tools"
    """How its model reads results back: by `tools`, or by the `path` of a file."""
    reader: str = "Read"
    """With `path`, the client's tool that reads files: `Read`, `read`, `read_file` or `sed`."""
    folder_addresses: Callable[[ClientCommand, str], FolderAddresses] = _no_addresses
    """The providers' addresses that files of the working folder name; they count only once the user approved them."""


def by_environment(
    command: ClientCommand,
    openai: Sequence[str] = OPENAI,
    anthropic: Sequence[str] = (ANTHROPIC,),
    openai_path: str = "/v1",
) -> Launch:
    """Set the variables that most programs read; their values so far are the providers behind the proxy.

    `openai_path` is the part of OpenAI's paths that the value of such a variable ends with.
    """
    environ: dict[str, str] = {}
    upstreams: dict[str, str] = {}
    for name, variables, path in (("anthropic", anthropic, ""), ("openai", openai, openai_path)):
        former = next((command.environ[variable] for variable in variables if command.environ.get(variable)), None)
        if former is not None:
            upstreams[name], path = check_upstream(name, former), f"/{name}"
        environ |= dict.fromkeys(variables, BASE + path)
    return Launch(upstreams, environ)


def own_upstreams(found: Mapping[str, object]) -> dict[str, str]:
    """The addresses that the proxy can serve under `/NAME`; the others stay unchanged."""
    upstreams: dict[str, str] = {}
    for name, url in found.items():
        if _NAME.fullmatch(name) and name not in _TAKEN:
            try:
                upstreams[name] = check_upstream(name, url)
            except ConfigError:
                continue
    return upstreams


def _no_proxy_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that keep requests to this machine away from the network's own proxy."""
    direct: dict[str, str] = {}
    for variable in ("NO_PROXY", "no_proxy"):
        named = [host for host in environ.get(variable, "").split(",") if host.strip()]
        direct[variable] = ",".join([*named, *(host for host in _LOOPBACK if host not in named)])
    return direct
