"""The policies by name: Keepwhole's own, those of other systems, and those of installed packages.

A package offers a policy by an entry point; whatever it names is called without arguments and gives the policy:

    [project.entry-points."keepwhole.policies"]
    frugal = "my_package.policies:Frugal"
"""

from collections.abc import Mapping

from keepwhole import plugins
from keepwhole.errors import UsageError
from keepwhole.policies.policy import Policy, missing_part
from keepwhole.policies.settings import BUILT_IN, CAREFUL, AutoSettings, RetentionSettings, RollingContext
from keepwhole.settings_section import suggestion
from keepwhole.truncation.configuration import TruncationConfiguration
from keepwhole.truncation.strategy import STRATEGIES, ITruncationStrategy

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
) -> Policy:
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

    make = PEERS.get(name) or plugins.load("policies", name)
    if make is None:
        raise UsageError(f"There is no policy `{name}`. {suggestion(name, known_policies())}")
    policy = make()
    if missing := missing_part(policy):
        raise UsageError(
            f"`{name}` is not a policy: it has no `{missing}`. Update or uninstall the package it is from."
        )
    return policy
