"""The arms: what is between the agent and the provider, and what is changed of requests.

direct                  nothing
keepwhole               `keepwhole proxy` with its default settings
keepwhole:lean          the same with `preset: lean`
keepwhole:KEY=VALUE+…   the same with any settings, as in `keepwhole:lean+auto.start=30000`
clear[:TOKENS]          Anthropic's context editing, from so many tokens on (half of the task's length)
rules-only              a few sentences that ask the model to be frugal
head-tail               results over 8,000 characters are cut to their first and last 4,000; nothing is kept
proxy:URL               any proxy, whose upstream is the meter (`--meter-port`)
"""

import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from bench.live.task import LENGTHS, Returned
from bench.live.wires.wire import Json
from tests.apps.proxy.agent_proxy import proxy

_CUT = 8_000
_RULES = (
    "Be frugal. Call no tool twice for the same thing. Say nothing between calls. Note ids, codes and rules that you "
    "will need later in one short line when you see them. Answer as soon as you know the answer."
)


class Arm(NamedTuple):
    """One arm, ready to be used."""

    url: str
    """Where the agent sends its requests."""
    system: str = ""
    """What is added to the system prompt."""
    cut: Callable[[Returned], Returned] = lambda returned: returned
    """What the agent makes of a result before it sends it."""
    fields: Json = {}  # noqa: RUF012 - a NamedTuple's default is never changed
    """What is added to each request."""
    headers: dict[str, str] = {}  # noqa: RUF012
    names_session: bool = False
    """Whether requests name their run as a session of Keepwhole."""


@contextmanager
def open_arm(name: str, meter: str, dialect: str, length: str) -> Generator[Arm]:
    """Make an arm ready whose requests reach the provider through the meter at this URL."""
    kind, _, given = name.partition(":")
    if kind == "keepwhole":
        with (
            tempfile.TemporaryDirectory(prefix="keepwhole-live-") as folder,
            proxy(Path(folder), meter, **keepwhole_settings(given)) as running,
        ):
            yield Arm(running.url, names_session=True)
    else:
        yield _plain_arm(kind, given, meter, dialect, length)


def check_arm(name: str, dialect: str) -> None:
    """Raise `ValueError` for an arm that does not exist, or not in this dialect."""
    kind, _, given = name.partition(":")
    if kind == "keepwhole":
        keepwhole_settings(given)
    else:
        _plain_arm(kind, given, "", dialect, "16k")


def _plain_arm(kind: str, given: str, meter: str, dialect: str, length: str) -> Arm:
    if kind == "proxy" and given.startswith("http"):
        return Arm(given.rstrip("/"))
    if kind == "clear" and (not given or given.isdigit()):
        if dialect != "anthropic":
            raise ValueError("`clear` is Anthropic's context editing: it needs a model of Anthropic.")
        return _clear_arm(meter, int(given) if given else LENGTHS[length] // 2)
    if kind == "direct" and not given:
        return Arm(meter)
    if kind == "rules-only" and not given:
        return Arm(meter, system=_RULES)
    if kind == "head-tail" and not given:
        return Arm(meter, cut=head_tail)
    arms = "`direct`, `keepwhole`, `keepwhole:lean`, `clear`, `rules-only`, `head-tail`, `proxy:URL`"
    raise ValueError(f"There is no arm `{kind}{':' if given else ''}{given}`. Arms: {arms}.")


def _clear_arm(meter: str, tokens: int) -> Arm:
    edit = {"type": "clear_tool_uses_20250919", "trigger": {"type": "input_tokens", "value": tokens}}
    fields = {"context_management": {"edits": [{**edit, "keep": {"type": "tool_uses", "value": 3}}]}}
    return Arm(meter, fields=fields, headers={"anthropic-beta": "context-management-2025-06-27"})


def keepwhole_settings(given: str) -> dict[str, Any]:
    """Return the settings that an arm names.

    >>> keepwhole_settings("lean+auto.start=30000")
    {'proxy': {'tenants': 'one'}, 'preset': 'lean', 'auto': {'start': 30000}}
    """
    settings: dict[str, Any] = {"proxy": {"tenants": "one"}}
    for part in filter(None, given.split("+")):
        key, _, value = part.partition("=") if "=" in part else ("preset", "", part)
        *sections, name = key.split(".")
        place = settings
        for section in sections:
            place = place.setdefault(section, {})
        place[name] = yaml.safe_load(value)
    return settings


def head_tail(returned: Returned) -> Returned:
    """Return a result with its middle cut out, for good."""
    text = returned.text
    if len(text) <= _CUT:
        return returned
    gap = f"\n... [{len(text) - _CUT:,} characters omitted] ...\n"
    return returned._replace(text=text[: _CUT // 2] + gap + text[-_CUT // 2 :])
