"""The policies by name: Keepwhole's own, those of other systems, and those of installed packages.

A package offers a policy by an entry point; whatever it names is called without arguments and gives the policy:

    [project.entry-points."keepwhole.policies"]
    frugal = "my_package.policies:Frugal"
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from keepwhole import plugins
from keepwhole.errors import UsageError
from keepwhole.policies.settings import BUILT_IN, CAREFUL, AutoSettings, RetentionSettings, RollingContext
from keepwhole.settings_section import suggestion
from keepwhole.truncation.configuration import TruncationConfiguration
from keepwhole.truncation.strategy import STRATEGIES, ITruncationStrategy

if TYPE_CHECKING:
    from keepwhole.policies.arrival import ShowsArrivals
    from keepwhole.policies.policy import Policy

_ROLLING, _RETENTION = RollingContext(), RetentionSettings()


def known_policies() -> tuple[str, ...]:
    """Return every name that `policy_named` knows."""
    from keepwhole.policies.other_systems import PEERS

    return (*BUILT_IN, *PEERS, *plugins.names("policies"))


def policy_named(
    name: str,
    *,
    auto: AutoSettings = CAREFUL,
    rolling: RollingContext = _ROLLING,
    retention: RetentionSettings = _RETENTION,
    truncation: TruncationConfiguration | None = None,
    strategies: Mapping[str, ITruncationStrategy] = STRATEGIES,
    question: str | None = None,
) -> "Policy":
    """Return the policy called `name` under these settings; `UsageError` lists the names there are.

    >>> policy_named("auto").name
    'auto'
    """
    # Each policy is imported when it is asked for: most commands use one, and start sooner without the others.
    if name == "auto":
        from keepwhole.policies.auto import Auto

        return Auto(auto, question, truncation, strategies)
    if name == "truncation":
        from keepwhole.policies.truncation import Truncation

        return Truncation(truncation, strategies, question)
    if name == "rolling":
        from keepwhole.policies.rolling import Rolling

        return Rolling(rolling, truncation or TruncationConfiguration(), strategies)
    if name == "retention":
        from keepwhole.policies.retention import Retention

        return Retention(retention)
    from keepwhole.policies.other_systems import PEERS
    from keepwhole.policies.policy import missing_part

    make = PEERS.get(name) or plugins.load("policies", name)
    if make is None:
        raise UsageError(f"There is no policy `{name}`. {suggestion(name, known_policies())}")
    policy = make()
    if missing := missing_part(policy):
        raise UsageError(
            f"`{name}` is not a policy: it has no `{missing}`. Update or uninstall the package it is from."
        )
    return policy


def shows_arrivals(
    name: str,
    auto: AutoSettings,
    truncation: TruncationConfiguration,
    strategies: Mapping[str, ITruncationStrategy],
) -> "ShowsArrivals | None":
    """Return how the policy called `name` shows one new result; None where only the policy itself can say.

    A hook shows one result, and starts sooner without what ages the others.
    """
    if name != "auto":
        return None
    from keepwhole.policies.arrival import auto_rule

    return auto_rule(auto, truncation, strategies)
