"""Cuts the texts of a recipe in every way, and counts the needles that are left."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from bench.probes.recipe import Recipe
from keepwhole.truncation.configuration import ToolOverride, TruncationConfiguration
from keepwhole.truncation.cut import TextSource
from keepwhole.truncation.present import Artifact, present
from keepwhole.truncation.result import TruncationResult
from keepwhole.truncation.strategy import STRATEGIES

BUDGETS = (2_000, 8_000)
_DEFAULT, _UNASKED = "ours", "ours, not asked"
COLUMNS = (_DEFAULT, *STRATEGIES, _UNASKED)
_ARTIFACT = Artifact(artifact_id="art_1700000000_" + "0" * 22, summary="probe", size=1)


@dataclass
class Line:
    """The shares of one variant at one budget."""

    kind: str
    variant: str
    budget: int
    chose: set[str] = field(default_factory=set[str])
    kept: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COLUMNS, 0))
    needles: int = 0

    def share(self, column: str) -> float:
        """The share of needles kept in one column."""
        return self.kept[column] / self.needles if self.needles else 0.0


def measure(recipes: Iterable[Recipe], seeds: Iterable[int]) -> list[Line]:
    """A line for each recipe and budget."""
    return [_line(recipe, budget, seeds) for recipe in recipes for budget in BUDGETS]


def _line(recipe: Recipe, budget: int, seeds: Iterable[int]) -> Line:
    line = Line(recipe.kind, recipe.variant, budget)
    for probe in map(recipe.probe, seeds):
        line.needles += len(probe.needles)
        for column in COLUMNS:
            question = "" if column == _UNASKED else probe.question
            seen = _view(probe.text, budget, question, column if column in STRATEGIES else None)
            line.kept[column] += sum(needle in seen.content for needle in probe.needles)
            if column == _DEFAULT:
                line.chose.add(seen.metadata.strategy_used)
    return line


def _view(text: str, budget: int, question: str, strategy: str | None) -> TruncationResult:
    """What a model would see."""
    overrides = {"probe": ToolOverride(strategy=strategy)} if strategy else {}
    policy = TruncationConfiguration(inline_limit=budget, artifact_threshold=10**9, overrides=overrides)
    limits = policy.for_tool("probe")
    limits = limits.replace(options=limits.options.replace(question=question))
    return present(TextSource(text), _ARTIFACT, limits, STRATEGIES)


def totals(lines: Sequence[Line], name: str) -> list[Line]:
    """All variants together at each budget; every needle counts the same."""
    return [_total([line for line in lines if line.budget == budget], name, budget) for budget in BUDGETS]


def _total(lines: Sequence[Line], name: str, budget: int) -> Line:
    summed = Line("all", name, budget, needles=sum(line.needles for line in lines))
    for column in COLUMNS:
        summed.kept[column] = sum(line.kept[column] for line in lines)
    return summed
