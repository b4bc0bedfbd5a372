"""The policies that are compared: their names, how they are made, and the settings that choose them.

Owns: the policies that are compared by default, and how a name becomes a policy.
Must not know: figures.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from keepwhole.errors import UsageError
from keepwhole.policies.auto import Auto
from keepwhole.policies.catalog import BUILT_IN, policy_named
from keepwhole.policies.other_systems import PEERS
from keepwhole.policies.policy import Policy
from keepwhole.policies.settings import LEAN, PRESETS
from keepwhole.recall.names import OFFERED_TOKENS
from keepwhole.replay.oracles import ORACLES, oracle_named
from keepwhole.replay.run_facts import RunFacts
from keepwhole.settings_section import suggestion

Maker: TypeAlias = Callable[[RunFacts], Policy]
"""Makes a policy for one run; oracles use its evidence."""
BOUND = "clairvoyant"
"""The bound: clears a result after its last use, in batches that pay, knowing the rest of the run."""
_BOUND_ORACLE = "oracle_until_it_pays"
LEAN_NAME = "auto-lean"
ARGUMENTS = "+arguments"
"""After the name of a preset: the same, and the long arguments of old calls are cut."""
_PRESETS = {"auto": "careful", LEAN_NAME: "lean"}
DEFAULT_CONTENDERS = ("auto", LEAN_NAME, "truncation", "clear_tool_uses", "langchain", BOUND)
"""The names that are compared by default; sending everything is always compared."""


class Contender(NamedTuple):
    """A policy under its name in the report."""

    name: str
    make: Maker
    settings: str | None = None
    """The content of `keepwhole.yaml` that chooses it."""
    bound: bool = False
    """Whether it knows the future."""
    ours: bool = False
    """Whether its settings may be recommended."""
    tools: int = 0
    """Tokens of the recall tools, where it has them."""


def contender_names() -> tuple[str, ...]:
    """Return every name that `contender_named` accepts."""
    return (*BUILT_IN, LEAN_NAME, *(name + ARGUMENTS for name in _PRESETS), *PEERS, BOUND, *ORACLES)


def contender_named(name: str) -> Contender:
    """Return the policy or oracle of that name; raise a `UsageError` for an unknown name."""
    if name == BOUND:
        return Contender(BOUND, _oracle(_BOUND_ORACLE), bound=True)
    if name in ORACLES:
        return Contender(name, _oracle(name), bound=True)
    if name.endswith(ARGUMENTS) and (preset := _PRESETS.get(name.removesuffix(ARGUMENTS))):
        settings = PRESETS[preset].replace(arguments="old")
        written = f"policy: auto\npreset: {preset}\nauto:\n  arguments: old\n"
        return Contender(name, same_policy(lambda: Auto(settings)), written, tools=OFFERED_TOKENS)
    if name == LEAN_NAME:
        return Contender(
            name, same_policy(lambda: Auto(LEAN)), "policy: auto\npreset: lean\n", ours=True, tools=OFFERED_TOKENS
        )
    if name.endswith((".yaml", ".yml")):
        raise UsageError(f"There is no settings file `{name}`. Check the path.")
    if name not in BUILT_IN and name not in PEERS:
        raise UsageError(f"There is no policy or settings file `{name}`. {suggestion(name, contender_names())}")
    tools = OFFERED_TOKENS if name in BUILT_IN else 0
    return Contender(name, same_policy(lambda: policy_named(name)), _settings(name), ours=name == "auto", tools=tools)


def same_policy(make: Callable[[], Policy]) -> Maker:
    """Return a maker that makes the same policy for every run."""

    def maker(facts: RunFacts) -> Policy:
        return make()

    return maker


def _oracle(name: str) -> Maker:
    return lambda facts: oracle_named(name, facts.evidence, facts.steps)


def _settings(name: str) -> str | None:
    if name == "everything":
        return "mode: off\n"
    return "policy: auto\npreset: careful\n" if name == "auto" else f"policy: {name}\n"
