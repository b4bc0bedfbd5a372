"""The agents that are known by name: how each is pointed at the proxy, and in whose words notices speak to its model.

Owns: the table. Commands that it does not have get the variables that most programs look at.
Must not know: how a proxy is started, how a command is run.
"""

import os
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from keepwhole.apps.wrap import claude, codex, opencode
from keepwhole.apps.wrap.launch import ANTHROPIC, Pointing, Run, by_environment


class Agent(NamedTuple):
    """One kind of agent."""

    name: str
    """What its sessions go by on record."""
    pointed: Callable[[Run], Pointing]
    recall: str = "tools"
    reader: str = "Read"


def _aider(run: Run) -> Pointing:
    return by_environment(run, anthropic=(ANTHROPIC, "ANTHROPIC_API_BASE"))


AGENTS: Mapping[str, Agent] = MappingProxyType(
    {
        "claude": Agent("claude-code", claude.pointed, "path", "Read"),
        "codex": Agent("codex", codex.pointed, "path", "sed"),
        "opencode": Agent("opencode", opencode.pointed, "path", "read"),
        "aider": Agent("aider", _aider),
    }
)


def agent_for(command: str) -> Agent:
    """The agent that a command starts, by the last part of its path."""
    name = os.path.basename(command)
    return AGENTS.get(name) or Agent(name, by_environment)
