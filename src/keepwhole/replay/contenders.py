"""The policies that are compared: by what names, made how, and which settings choose them.

Owns: the ones that are shown unasked, and how a name becomes a maker of policies.
Must not know: figures.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from keepwhole.errors import UsageError
from keepwhole.policies.auto import Auto
from keepwhole.policies.catalog import BUILT_IN, policy_named
from keepwhole.policies.peers import PEERS
from keepwhole.policies.policy import Policy
from keepwhole.policies.settings import LEAN
from keepwhole.replay.oracles import ORACLES, oracle_named
from keepwhole.replay.run_facts import Measured

Maker: TypeAlias = Callable[[Measured], Policy]
"""Makes a policy for one run; oracles look at its evidence."""
BOUND = "clairvoyant"
"""The limit: clears a result for good after its last use, in batches that pay, knowing the rest of the run."""
_BOUND_ORACLE = "oracle_until_it_pays"
LEAN_NAME = "auto-lean"
SHOWN = ("auto", LEAN_NAME, "truncation", "clear_tool_uses", "langchain", BOUND)
"""Compared where nobody says what to compare; sending everything always is."""


class Contender(NamedTuple):
    """A policy under the name that the report gives it."""

    name: str
    make: Maker
    settings: str | None = None
    """What to write in `keepwhole.yaml` to have it."""
    bound: bool = False
    """Whether it knows the future."""
    ours: bool = False
    """Whether its settings may be recommended."""


def names() -> tuple[str, ...]:
    """Every name that `contender` knows."""
    return (*BUILT_IN, LEAN_NAME, *PEERS, BOUND, *ORACLES)


def contender(name: str) -> Contender:
    """The policy of that name, an oracle or any other; an unknown name is refused at once."""
    if name == BOUND:
        return Contender(BOUND, _oracle(_BOUND_ORACLE), bound=True)
    if name in ORACLES:
        return Contender(name, _oracle(name), bound=True)
    if name == LEAN_NAME:
        return Contender(name, same(lambda: Auto(LEAN)), "policy: auto\npreset: lean\n", ours=True)
    if name not in BUILT_IN and name not in PEERS:
        own, others = ", ".join((*BUILT_IN, LEAN_NAME)), ", ".join((*PEERS, BOUND))
        raise UsageError(f"There is no policy `{name}`, nor a settings file. Ours: {own}. Others': {others}.")
    return Contender(name, same(lambda: policy_named(name)), _settings(name), ours=name == "auto")


def same(make: Callable[[], Policy]) -> Maker:
    """The same policy for any run."""

    def maker(measured: Measured) -> Policy:
        return make()

    return maker


def _oracle(name: str) -> Maker:
    return lambda measured: oracle_named(name, measured.evidence, measured.steps)


def _settings(name: str) -> str | None:
    if name == "everything":
        return "mode: off\n"
    return "policy: auto\npreset: careful\n" if name == "auto" else f"policy: {name}\n"
