"""The file with the MCP servers behind a gateway: the only source of commands and addresses.

Owns: the file's form, the one clients use (`mcpServers`), and `${VAR}` in it.
Must not know: how a server is spoken to.
"""

import hashlib
import json
import os
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, cast

from keepwhole.canonical.value import Value
from keepwhole.errors import ConfigError

Kind: TypeAlias = Literal["stdio", "http", "sse"]
Pinning: TypeAlias = Literal["warn", "block"]
_KINDS: dict[str, Kind] = {"stdio": "stdio", "http": "http", "streamable-http": "http", "sse": "sse"}
_VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")
_OURS = "KEEPWHOLE_"


class ServerSpec(Value):
    """One server as the file describes it."""

    name: str
    kind: Kind
    command: str = ""
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    cwd: str | None = None
    url: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    mode: Literal["auto", "legacy"] = "auto"
    """`legacy` for a server that must hear `initialize` first, before it is asked which revisions it knows."""
    timeout: float | None = None
    """Seconds that an answer may take; None for the gateway's defaults."""

    @property
    def identity(self) -> str:
        """The key of the server's pins: its name and a hash of its command or address, without anything secret."""
        run = json.dumps([self.command, *self.args, self.url], ensure_ascii=False)
        return f"{self.name}@{hashlib.sha256(run.encode()).hexdigest()[:12]}"


class ServersFile(Value):
    """The content of a file."""

    servers: tuple[ServerSpec, ...]
    pins: Pinning = "warn"
    allow: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    """The tools that each client may use, by the client's name: patterns of names as the gateway lists them."""


def read_servers(
    path: str, only: str | None = None, inherit: bool = False, environ: Mapping[str, str] = os.environ
) -> ServersFile:
    """The servers of a file, or the one called `only`. `inherit` hands them this process's environment."""
    raw = _object(path)
    entries: Any = raw.get("mcpServers", raw.get("servers"))
    if not isinstance(entries, dict) or not entries:
        raise ConfigError(f"`{path}` names no servers. It needs `mcpServers`, by name, as clients write it.")
    named = cast("dict[str, Any]", entries)
    if only is not None and only not in named:
        raise ConfigError(f"`{path}` has no server `{only}`. It has {', '.join(f'`{name}`' for name in named)}.")
    passed = _passed(environ) if inherit else {}
    wanted = named if only is None else {only: named[only]}
    specs = tuple(_spec(path, name, entry, environ, passed) for name, entry in wanted.items())
    return ServersFile(servers=specs, pins=_pinning(path, raw), allow=_allow_lists(path, raw))


def _object(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            raw: Any = json.load(file)
    except OSError as error:
        raise ConfigError(f"`{path}` cannot be read ({error.strerror}). Check the path.") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"`{path}` is not JSON ({error}). Fix it, or name another file.") from error
    if not isinstance(raw, dict):
        raise ConfigError(f"`{path}` is not a JSON object. It needs `mcpServers`, by name, as clients write it.")
    return cast("dict[str, Any]", raw)


def _own_settings(raw: dict[str, Any]) -> dict[str, Any]:
    own: Any = raw.get("keepwhole")
    return cast("dict[str, Any]", own) if isinstance(own, dict) else {}


def _pinning(path: str, raw: dict[str, Any]) -> Pinning:
    said: Any = _own_settings(raw).get("pins", "warn")
    if said not in ("warn", "block"):
        raise ConfigError(f"`keepwhole.pins` in `{path}` must be `warn` or `block`.")
    return said


def _allow_lists(path: str, raw: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    said: Any = _own_settings(raw).get("allow", {})
    lists = cast("dict[str, Any]", said) if isinstance(said, dict) else None
    if lists is None or not all(map(_is_list_of_names, lists.values())):
        raise ConfigError(
            f"`keepwhole.allow` in `{path}` must be a list of tools for each client, "
            'such as `{"claude-code": ["git__*"], "*": ["git__git_log"]}`.'
        )
    return {client: tuple(names) for client, names in lists.items()}


def _is_list_of_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in cast("list[Any]", value))


def _passed(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment for servers that inherit it, without Keepwhole's variables."""
    return {key: value for key, value in environ.items() if not key.startswith(_OURS)}


def _spec(path: str, name: str, entry: Any, environ: Mapping[str, str], passed: dict[str, str]) -> ServerSpec:
    fields = cast("dict[str, Any]", entry) if isinstance(entry, dict) else {}
    said = str(fields.get("type", "http" if "url" in fields else "stdio"))
    kind = _KINDS.get(said)
    if kind is None or not isinstance(fields.get("command" if kind == "stdio" else "url"), str):
        raise ConfigError(f"Server `{name}` in `{path}` needs a `command`, or a `url` and a `type` (`http`, `sse`).")

    def filled(value: Any) -> str:
        return _filled(path, name, str(value), environ)

    def pairs(key: str) -> dict[str, str]:
        found: Any = fields.get(key) or {}
        return {str(word): filled(value) for word, value in cast("dict[str, Any]", found).items()}

    timeout: Any = fields.get("timeout")
    return ServerSpec(
        name=name,
        kind=kind,
        command=filled(fields.get("command", "")),
        args=tuple(filled(word) for word in cast("list[Any]", fields.get("args") or [])),
        env=tuple({**passed, **pairs("env")}.items()),
        cwd=filled(fields["cwd"]) if fields.get("cwd") else None,
        url=filled(fields.get("url", "")),
        headers=tuple(pairs("headers").items()),
        mode="legacy" if fields.get("protocol") == "handshake" else "auto",
        timeout=float(timeout) if isinstance(timeout, int | float) else None,
    )


def _filled(path: str, name: str, text: str, environ: Mapping[str, str]) -> str:
    """The text with `${VAR}` and `${VAR:-otherwise}` filled in, as clients do."""

    def value(match: re.Match[str]) -> str:
        variable, otherwise = match[1], cast("str | None", match[2])
        if variable.startswith(_OURS) or (variable not in environ and otherwise is None):
            raise ConfigError(
                f"Server `{name}` in `{path}` needs `${{{variable}}}`, which the environment does not have."
            )
        return environ.get(variable, otherwise or "")

    return _VARIABLE.sub(value, text)
