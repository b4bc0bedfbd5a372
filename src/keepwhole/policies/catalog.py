"""The policies by name."""

from collections.abc import Callable

from keepwhole.errors import UsageError
from keepwhole.policies.auto import Auto
from keepwhole.policies.auto_settings import CAREFUL, AutoSettings
from keepwhole.policies.peers import PEERS
from keepwhole.policies.policy import Policy
from keepwhole.policies.retention import Retention
from keepwhole.policies.rolling import Rolling
from keepwhole.policies.truncation import Truncation
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
