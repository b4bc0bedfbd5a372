"""How an agent is made to speak to the proxy: what its environment and its command line are to say for one run.

Owns: the form of it, the words for the commonest case (addresses in environment variables), and loopback staying
loopback where a network has a proxy of its own.
Must not know: ports and tokens; where the proxy is, is put in place of `BASE` when that is known.
"""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from keepwhole.errors import ConfigError
from keepwhole.proxy_settings import check_upstream

BASE = "{base}"
"""Stands for the proxy's address, its token in it."""
ANTHROPIC, OPENAI = "ANTHROPIC_BASE_URL", ("OPENAI_BASE_URL", "OPENAI_API_BASE")
_LOOPBACK = ("127.0.0.1", "localhost")
_NAME = re.compile(r"[A-Za-z][\w.-]*")
_TAKEN = ("v1", "healthz", "metrics")
_NOTHING: Mapping[str, str] = MappingProxyType({})


class Run(NamedTuple):
    """What an agent was to be started with."""

    argv: Sequence[str]
    environ: Mapping[str, str]
    results: str
    """The folder of results that notices name."""


class Pointing(NamedTuple):
    """What changes so that an agent speaks to the proxy."""

    upstreams: Mapping[str, str] = _NOTHING
    """Where the proxy passes on to: what the agent's own settings name."""
    environ: Mapping[str, str] = _NOTHING
    words: Sequence[str] = ()
    """Put in after the command's name."""

    def command(self, run: Run, base: str) -> tuple[list[str], dict[str, str]]:
        """The command and its environment, with the proxy at `base`."""
        words = [word.replace(BASE, base) for word in self.words]
        given = {name: value.replace(BASE, base) for name, value in self.environ.items()}
        return [run.argv[0], *words, *run.argv[1:]], {**run.environ, **_direct(run.environ), **given}


def by_environment(run: Run, openai: Sequence[str] = OPENAI, anthropic: Sequence[str] = (ANTHROPIC,)) -> Pointing:
    """The variables that most programs look at; what they said before is where the proxy passes on to."""
    environ: dict[str, str] = {}
    upstreams: dict[str, str] = {}
    for name, variables, path in (("anthropic", anthropic, ""), ("openai", openai, "/v1")):
        former = next((run.environ[variable] for variable in variables if run.environ.get(variable)), None)
        if former is not None:
            upstreams[name], path = check_upstream(name, former), f"/{name}"
        environ |= dict.fromkeys(variables, BASE + path)
    return Pointing(upstreams, environ)


def own_upstreams(found: Mapping[str, object]) -> dict[str, str]:
    """Of addresses by name, those that can be passed on to under `/NAME`; the others stay as they are."""
    upstreams: dict[str, str] = {}
    for name, url in found.items():
        if _NAME.fullmatch(name) and name not in _TAKEN:
            try:
                upstreams[name] = check_upstream(name, url)
            except ConfigError:
                continue
    return upstreams


def _direct(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that keep requests to this machine away from the network's own proxy."""
    direct: dict[str, str] = {}
    for variable in ("NO_PROXY", "no_proxy"):
        named = [host for host in environ.get(variable, "").split(",") if host.strip()]
        direct[variable] = ",".join([*named, *(host for host in _LOOPBACK if host not in named)])
    return direct
