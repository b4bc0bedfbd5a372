"""The page of a live run: what each arm solved and paid, and what so many pairs can show, in words."""

from collections import Counter
from collections.abc import Iterable, Sequence

from bench.live.runner import UNFINISHED
from bench.live.statistics import Comparison, Figure, compare, is_solved
from bench.live.wires.wire import Json

_FEW_TASKS = 10
"""Tasks below which an interval says too little for a claim."""
_ORACLE = (
    "**No model was asked.** The `{name}` oracle is a script that knows the plan of each task and answers only from "
    "what a request contains. It never misreads, tires or runs a tool again: what it solves is an upper bound of what "
    "a model would solve, and what it pays a lower bound."
)


def write_report(rows: Sequence[Json], base: str) -> str:
    """Return the page in Markdown; arms are compared with `base`."""
    if not rows:
        return "# Live proof\n\nNo run has been made.\n"
    first = rows[0]
    arms = sorted({row["arm"] for row in rows}, key=lambda arm: (arm != base, arm))
    compared = [found for arm in arms if arm != base and (found := compare(rows, base, arm))]
    about = f"Model `{first['model']}`, {first['dialect']}, length {first['length']}, Keepwhole {first['keepwhole']}."
    parts = ["# Live proof", about]
    if first.get("oracle"):
        parts.append(_ORACLE.format(name=first["oracle"]))
    parts += [_arms_table(rows, arms), _dollars_words(rows)]
    parts += ["## What this many pairs can show", *(_words(one) for one in compared)]
    parts += ["## By family", _families_table(rows, arms)]
    return "\n\n".join(parts) + "\n"


def _arms_table(rows: Sequence[Json], arms: Sequence[str]) -> str:
    heads = ("arm", "runs", "solved", "dollars", "dollars per solved task", "input tokens", "of these cached", "steps")
    heads = (*heads, "recalls", "repeated calls", "seconds", "other outcomes")
    return _table(heads, (_arm_cells(arm, [row for row in rows if row["arm"] == arm]) for arm in arms))


def _arm_cells(arm: str, rows: Sequence[Json]) -> tuple[str, ...]:
    done = [row for row in rows if row["outcome"] != UNFINISHED]
    solved, dollars = sum(map(is_solved, done)), sum(row["dollars"] for row in done)
    given, cached = sum(row["input"] for row in done), sum(row["cached"] for row in done)
    others = Counter(row["outcome"] for row in rows if not is_solved(row))
    return (
        f"`{arm}`",
        str(len(done)),
        str(solved),
        f"{dollars:.4f}",
        f"{dollars / solved:.4f}" if solved else "–",
        f"{given:,}",
        f"{cached / given:.0%}" if given else "–",
        *(f"{sum(row[name] for row in done):,}" for name in ("steps", "recalls", "repeated")),
        f"{sum(row['seconds'] - row['waited'] for row in done):.0f}",
        ", ".join(f"{count} {name}" for name, count in others.most_common()) or "–",
    )


def _dollars_words(rows: Sequence[Json]) -> str:
    unknown = sum(row["unknown"] for row in rows)
    words = "Dollars are by the usage of every reply, hidden rounds of proxies included; runs that failed are charged."
    if unknown:
        words += f" The bill of {unknown} requests is not known; they are charged at the most that they can cost."
    unfinished = [row for row in rows if row["outcome"] == UNFINISHED]
    if unfinished:
        spent = sum(row["dollars"] for row in unfinished)
        words += f" The budget ended {len(unfinished)} runs, which are in no comparison (${spent:.4f})."
    return words


def _words(compared: Comparison) -> str:
    """Return what may be said of two arms, and what may not."""
    pairs, tasks = len(compared.pairs), len({pair.task for pair in compared.pairs})
    solved, dollars = compared.solved, compared.dollars
    gained = sum(is_solved(pair.other) and not is_solved(pair.base) for pair in compared.pairs)
    lost = sum(is_solved(pair.base) and not is_solved(pair.other) for pair in compared.pairs)
    lines = [
        f"**`{compared.other}` against `{compared.base}`**, {pairs} pairs of {tasks} tasks. Only the first solved "
        f"{gained}, only the second {lost}.",
        f"- Tasks solved: {_points(solved.value)} [{_points(solved.low)}, {_points(solved.high)}]. So many pairs can "
        f"show a difference of {solved.smallest * 100:.0f} points or more. {_claim(solved, tasks, 'solves', 'tasks')}",
        f"- Dollars: {dollars.value:+.1%} [{dollars.low:+.1%}, {dollars.high:+.1%}]. So many pairs can show a "
        f"difference of {dollars.smallest:.1%} or more. {_claim(dollars, tasks, 'costs', 'dollars')}",
        _dearest_words(compared),
    ]
    return "\n".join(lines)


def _dearest_words(compared: Comparison) -> str:
    """Return how many single runs cost more, which sums do not tell, and the one that did by most."""
    paid = [(pair.base["dollars"], pair.other["dollars"], pair.task) for pair in compared.pairs]
    dearer = [(other - base, base, other, task) for base, other, task in paid if other > max(base * 1.05, base + 0.01)]
    words = f"- Cost more by both a twentieth and a cent: {len(dearer)} of {len(paid)} runs."
    if dearer:
        _, base, other, task = max(dearer)
        words += f" By most: `{task}`, ${other:.4f} in place of ${base:.4f}."
    return words


def _claim(figure: Figure, tasks: int, verb: str, what: str) -> str:
    if tasks < _FEW_TASKS:
        return f"An interval of fewer than {_FEW_TASKS} tasks says too little: **no claim**."
    if not figure.is_shown:
        return "What was measured is below that, or its interval includes 0: **no claim**."
    return f"**It {verb} {'more' if figure.value > 0 else 'fewer'} {what}.**"


def _points(share: float) -> str:
    return f"{share * 100:+.0f} points"


def _families_table(rows: Sequence[Json], arms: Sequence[str]) -> str:
    families = sorted({row["family"] for row in rows})

    def cell(family: str, arm: str) -> str:
        own = [row for row in rows if (row["family"], row["arm"]) == (family, arm) and row["outcome"] != UNFINISHED]
        return f"{sum(map(is_solved, own))} of {len(own)}, ${sum(row['dollars'] for row in own):.3f}"

    heads = ("family", *(f"`{arm}`" for arm in arms))
    return _table(heads, ((family, *(cell(family, arm) for arm in arms)) for family in families))


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
