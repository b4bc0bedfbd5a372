"""`python -m bench.probes [--markdown]`: which strategy keeps the needle, by kind of text and by budget."""

import argparse
from collections.abc import Sequence

from bench.probes.measure import COLUMNS, Line, measure, totals
from bench.probes.recipes import OTHERS, RECIPES
from keepwhole.truncation.strategy import STRATEGIES

_SEEDS, _OTHER_SEEDS = range(4), range(100, 104)
_PAGE = """<!-- Written by python -m bench.probes --markdown -->

# Needles kept

How much of what matters survives the cut, by kind of text and by strategy. Each text has 40 to 100 KB, facts hidden in
it, and lines around them that share some of their words (*close distractors*: most of them). The question asks for the
facts in other words and word forms. A cell is the share of needles that the view shows, in {seeds} texts each.

- `ours` is what Keepwhole chooses by itself for the result of a tool that it does not know; `chose` names it.
- All strategies are given the question, except in the last column; `head`, `tail` and `lines` make no use of it.
- *One* needle is in the middle; *three* are near the beginning, in the middle and near the end, and are asked for in
  one question; *borders* are the very first and the very last unit. The languages have one needle, in the middle.
- If a strategy cannot cut a text, the view is `head_tail`'s, as it is for users.

The notice is part of the budget; `artifact_threshold` is lifted, so that both budgets are used in full.

## Kinds that the strategies were developed with

{known}

## Kinds that they were not developed with

Other facts, languages and shapes, which were never used to choose between two ways of cutting; and, as *other seeds*,
the kinds above with other random texts.

{others}

## Where Keepwhole's choice loses

Variants in which a needle that is asked for is lost, with the strategy that keeps most of them:

{losses}
"""


def _markdown(lines: Sequence[Line]) -> str:
    rule = ["---"] * 4 + ["---:"] * len(COLUMNS)
    header, *body = _rows(lines)
    return "\n".join(f"| {' | '.join(row)} |" for row in (header, rule, *body))


def _plain(lines: Sequence[Line]) -> str:
    rows = _rows(lines)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)) for row in rows)


def _rows(lines: Sequence[Line]) -> list[list[str]]:
    """A header and the lines, shares in percent."""
    return [
        ["kind", "variant", "budget", "chose", *COLUMNS],
        *(
            [line.kind, line.variant, f"{line.budget:,}", ", ".join(sorted(line.chose))]
            + [f"{line.share(column):.0%}" for column in COLUMNS]
            for line in lines
        ),
    ]


def _losses(lines: Sequence[Line]) -> str:
    """The variants in which not every needle is kept, with the strategy that keeps most."""
    lost = [line for line in lines if line.kind != "all" and line.share(COLUMNS[0]) < 1]
    return "\n".join(map(_loss, lost)) or "None of these. Without a question most of what is in the middle is lost."


def _loss(line: Line) -> str:
    best = max(STRATEGIES, key=line.share)
    shares = f"ours {line.share(COLUMNS[0]):.0%}, `{best}` {line.share(best):.0%}"
    return f"- {line.kind}, {line.variant}, {line.budget:,}: {shares}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.probes", description=__doc__)
    parser.add_argument("--markdown", action="store_true", help="print the page for the docs")
    args = parser.parse_args()
    known, others = measure(RECIPES, _SEEDS), measure(OTHERS, _SEEDS)
    known += totals(known, "")
    others += totals(others, "") + totals(measure(RECIPES, _OTHER_SEEDS), "other seeds")
    if args.markdown:
        print(
            _PAGE.format(
                seeds=len(_SEEDS), known=_markdown(known), others=_markdown(others), losses=_losses(known + others)
            ),
            end="",
        )
    else:
        print(_plain(known), _plain(others), sep="\n\n")


if __name__ == "__main__":
    main()
