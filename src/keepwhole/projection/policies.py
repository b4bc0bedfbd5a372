"""The policies by name."""

from collections.abc import Callable

from keepwhole.errors import UsageError
from keepwhole.projection.arrival import Truncation
from keepwhole.projection.auto import Auto
from keepwhole.projection.peers import PEERS
from keepwhole.projection.policy import Policy
from keepwhole.projection.presets import CAREFUL, AutoSettings
from keepwhole.projection.retention import Retention
from keepwhole.projection.rolling import Rolling
from keepwhole.truncation.configuration import TruncationConfiguration

OWN: dict[str, Callable[[], Policy]] = {
    "auto": Auto,
    "truncation": Truncation,
    "retention": Retention,
    "rolling": Rolling,
}
"""Ours, as they are without settings."""


def policy_named(
    name: str,
    *,
    auto: AutoSettings = CAREFUL,
    truncation: TruncationConfiguration | None = None,
    question: str | None = None,
) -> Policy:
    """The policy called `name`, under these settings.

    >>> policy_named("auto").name
    'auto'
    """
    if name == "auto":
        return Auto(auto, question)
    if name == "truncation":
        return Truncation(truncation, question=question)
    known = {**PEERS, **OWN}
    if name not in known:
        raise UsageError(f"There is no policy `{name}`. Ours: {', '.join(OWN)}. Others': {', '.join(PEERS)}.")
    return known[name]()
