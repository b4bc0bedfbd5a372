"""Fits the weights of need to samples of recorded runs.

Owns: the regression, and how well a prediction orders samples. Must not know: where samples come from.

Theory of operation. Need is a product of powers, so its logarithm is linear in the logarithms of what is known, and
what is used is a count: a Poisson regression. Its log-likelihood has one maximum, which Newton's method finds in about
ten steps. A small penalty keeps a weight near no effect where samples say nothing of it. Weights are kept within the
ranges of `NeedWeights` in the end.
"""

from collections.abc import Callable, Sequence
from math import exp, log

from keepwhole.policies.settings import NeedWeights
from keepwhole.replay.need_samples import NeedSample

_PENALTY = 1.0
_STEPS = 30
_EXACT = 1e-5


def fit(samples: Sequence[NeedSample]) -> NeedWeights:
    """Return the weights that make what was used most likely."""
    rows = [_row(sample) for sample in samples]
    counts = [sample.used for sample in samples]
    weights = [log(max(1e-9, sum(counts) / max(1, len(counts)))), *[0.0] * 5]
    for _ in range(_STEPS):
        step = _newton_step(rows, counts, weights)
        weights = [one + max(-1.0, min(1.0, change)) for one, change in zip(weights, step, strict=True)]
        if max(map(abs, step)) < _EXACT:
            break
    base, unsaid, turns, user, again, written = weights
    return NeedWeights(
        base=round(exp(base), 4),
        unsaid=round(min(0.9, max(0.0, unsaid)), 3),
        turns=round(min(0.0, turns), 3),
        user=round(min(0.0, max(-1.0, user)), 3),
        again=round(min(1.0, exp(again)), 4),
        written=round(min(1.0, exp(written)), 3),
    )


def _row(sample: NeedSample) -> tuple[float, ...]:
    logs = (log(1 + max(0, sample.unsaid)), log(sample.turns), log(1 + sample.messages))
    return 1.0, *logs, float(sample.again), float(sample.written)


def _newton_step(rows: Sequence[tuple[float, ...]], counts: Sequence[int], weights: list[float]) -> list[float]:
    size = len(weights)
    slope = [0.0] + [-_PENALTY * weight for weight in weights[1:]]
    curve = [[_PENALTY if row == column and row else 0.0 for column in range(size)] for row in range(size)]
    for row, count in zip(rows, counts, strict=True):
        expected = exp(max(-20.0, min(6.0, sum(map(float.__mul__, row, weights)))))
        for i, value in enumerate(row):
            if value:
                slope[i] += value * (count - expected)
                scaled, line = value * expected, curve[i]
                for j in range(i, size):
                    line[j] += scaled * row[j]
    for i in range(size):
        for j in range(i):
            curve[i][j] = curve[j][i]
    return _solved(curve, slope)


def _solved(matrix: list[list[float]], right: list[float]) -> list[float]:
    """Return the solution of a positive definite system, by elimination."""
    size = len(right)
    rows = [[*line, value] for line, value in zip(matrix, right, strict=True)]
    for i in range(size):
        for below in rows[i + 1 :]:
            factor = below[i] / rows[i][i]
            for j in range(i, size + 1):
                below[j] -= factor * rows[i][j]
    found = [0.0] * size
    for i in reversed(range(size)):
        known = sum(rows[i][j] * found[j] for j in range(i + 1, size))
        found[i] = (rows[i][size] - known) / rows[i][i]
    return found


def lost_at(samples: Sequence[NeedSample], need: Callable[[NeedSample], float], share: float) -> float:
    """Return the share of what was used that is lost if the results that are needed least for their size go, as many as
    have `share` of all tokens."""
    total, used = sum(sample.tokens for sample in samples), sum(sample.used for sample in samples) or 1
    gone = lost = 0
    for sample in sorted(samples, key=lambda sample: need(sample) / sample.tokens):
        if gone > share * total:
            break
        gone += sample.tokens
        lost += sample.used
    return lost / used


def auc(samples: Sequence[NeedSample], need: Callable[[NeedSample], float]) -> float:
    """Return how likely a result that is used has more need than one that is not."""
    ordered = sorted(samples, key=need)
    used = [place for place, sample in enumerate(ordered, 1) if sample.used]
    unused = len(ordered) - len(used)
    if not used or not unused:
        return 0.5
    return (sum(used) - len(used) * (len(used) + 1) / 2) / (len(used) * unused)
