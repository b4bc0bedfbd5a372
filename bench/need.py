"""`python -m bench.need PATH…`: fits the weights of need, and judges them on each source without having seen it.

For each source the weights are fitted to all the others. The first table has the weights. The second says how well they
order the results of that source: the chance that a result which is used has more need than one which is not (AUC), and
the share of evidence that is lost if the least needed results go, beside ordering by age and size alone. The third
replays `auto` with these weights on the long runs of the source, beside the same with the weights in use, other systems
and the clairvoyant bound. Sources with fewer than ten long runs or 300 pieces of evidence are shown and not judged.
Neither side compacts unless a window is given: every request is sent, so that what a policy does is all that differs.

    python -m bench.need PATH --exact                            long runs
    python -m bench.need PATH --exact --arguments                the same with `auto.arguments: old`
    python -m bench.need PATH --exact --least 0 --most 50000     short runs, by weights that were fitted to long ones
    python -m bench.need PATH --exact --window 128000            with a window, where both sides compact
    python -m bench.need PATH --exact --worth 20000 26000        `careful` at other rates between evidence and cost too

Takes the options of `python -m bench.frontier`.
"""

import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from functools import partial

from bench.frontier import parser, read_job
from keepwhole.models.profiles import profile_for
from keepwhole.policies.auto import Auto
from keepwhole.policies.need import need_of
from keepwhole.policies.settings import CAREFUL, PRESETS, AutoSettings, NeedWeights
from keepwhole.policies.uses import ResultUse
from keepwhole.recall.names import OFFERED_TOKENS
from keepwhole.replay.contenders import BOUND, Contender, contender_named, same_policy
from keepwhole.replay.need_fit import auc, fit, lost_at
from keepwhole.replay.need_samples import NeedSample, samples
from keepwhole.replay.processes import map_in_processes
from keepwhole.replay.run_facts import RunFacts
from keepwhole.replay.run_sample import Batch, batches, read_batch
from keepwhole.replay.runner import ReplayJob, replay_all
from keepwhole.replay.summary import ComparedRun, PolicySummary, summarize

_MODEL = "claude-sonnet-5"
_NO_COMPACTION = 1 << 40
_SHARES = (0.4, 0.6, 0.75)
_JUDGED_RUNS, _JUDGED_EVIDENCE = 10, 300
_SAMPLES = 40_000
"""Samples that weights are fitted to: every so many of those there are."""
_FITTED_FROM = 50_000
"""Fewest tokens of a run that weights are fitted to."""
_OTHERS = ("clear_tool_uses", "langchain", "opencode")
_COLUMNS = (
    "source",
    "policy",
    "in context (95%)",
    "all-in (95%)",
    "of the bound's saving",
    "highest",
    "overflow",
    "again",
)


def main() -> None:
    """Fit, judge and print."""
    options = parser()
    options.add_argument("--no-replay", action="store_true", help="only fit, without replaying")
    options.add_argument("--worth", type=float, nargs="*", default=(), help="other rates of exchange for `careful`")
    options.add_argument("--arguments", action="store_true", help="with the arguments of old calls cut too")
    args = options.parse_args()
    args.all = True
    job = read_job(args)
    profile = profile_for(_MODEL)
    job = job._replace(
        window=args.window or _NO_COMPACTION, profile=profile.replace(window=args.window or profile.window)
    )
    by_source = _samples(job, args.jobs)
    whole, fitted = fit(_thinned(by_source)), {source: fit(_thinned(by_source, source)) for source in by_source}
    _print_weights({"all": whole, **{f"all but {source}": one for source, one in fitted.items()}})
    _print_order(by_source, fitted)
    if not args.no_replay:
        sources = sorted({run.source for run in job.runs})
        _judge(job, {source: fitted.get(source, whole) for source in sources}, args)


def _samples(job: ReplayJob, jobs: int) -> dict[str, list[NeedSample]]:
    def of_batch(batch: Batch) -> Iterator[tuple[str, list[NeedSample]]]:
        for run in read_batch(batch):
            facts = RunFacts(run, job.frequencies[run.source], job.counter)
            if facts.tokens >= max(job.least, _FITTED_FROM):
                yield run.source, list(samples(facts))

    found: dict[str, list[NeedSample]] = {}
    for source, those in map_in_processes(of_batch, batches(job.runs, 4 * jobs), jobs):
        found.setdefault(source, []).extend(those)
    return dict(sorted(found.items()))


def _thinned(by_source: dict[str, list[NeedSample]], without: str = "") -> list[NeedSample]:
    those = [sample for source, found in by_source.items() if source != without for sample in found]
    return those[:: max(1, len(those) // _SAMPLES)]


def predicted(sample: NeedSample, weights: NeedWeights) -> float:
    """Return the need of a sample."""
    use = ResultUse(turn=1)
    use.unsaid, use.again, use.written = max(0, sample.unsaid), sample.again, sample.written
    return need_of(use, sample.turns, sample.messages, weights=weights)


def _by_age(sample: NeedSample) -> float:
    return sample.tokens / sample.turns


def _print_weights(weights: dict[str, NeedWeights]) -> None:
    print(f"| fitted to | {' | '.join(NeedWeights.fields)} |\n|{'---|' * (1 + len(NeedWeights.fields))}")
    for name, one in weights.items():
        print(f"| {name} | {' | '.join(str(getattr(one, field)) for field in NeedWeights.fields)} |")


def _print_order(by_source: dict[str, list[NeedSample]], fitted: dict[str, NeedWeights]) -> None:
    lost = " | ".join(f"lost at {share:.0%} (by turns)" for share in _SHARES)
    print(f"\n| source | samples | AUC (by turns) | {lost} |\n|{'---|' * (3 + len(_SHARES))}")
    for source, those in by_source.items():
        need = partial(predicted, weights=fitted[source])
        cells = [f"{auc(those, need):.3f} ({auc(those, _by_age):.3f})"]
        cells += [f"{lost_at(those, need, share):.3f} ({lost_at(those, _by_age, share):.3f})" for share in _SHARES]
        print(f"| {source} | {len(those):,} | {' | '.join(cells)} |")


def _judge(job: ReplayJob, fitted: dict[str, NeedWeights], args: Namespace) -> None:
    print(f"\n| {' | '.join(_COLUMNS)} |\n|{'---|' * len(_COLUMNS)}")
    found: list[list[ComparedRun]] = []
    judged: list[list[PolicySummary]] = []
    for source, weights in fitted.items():
        one = job._replace(runs=[run for run in job.runs if run.source == source])
        runs = [compared for compared in replay_all(one, [*_contenders(weights, args)], args.jobs) if compared]
        if not runs:
            continue
        is_judged = len(runs) >= _JUDGED_RUNS and sum(run[0].baseline.evidence for run in runs) >= _JUDGED_EVIDENCE
        rows = _summaries(runs, job.window)
        _print_rows(source if is_judged else f"{source} (not judged)", rows)
        found += runs
        judged += [rows] if is_judged else []
        sys.stdout.flush()
    _print_rows("all", _summaries(found, job.window))
    _print_means(judged)


def _contenders(without: NeedWeights, args: Namespace) -> Iterator[Contender]:
    need = {name: getattr(without, name) for name in NeedWeights.fields}
    for preset, given in PRESETS.items():
        settings = given.replace(arguments="old") if args.arguments else given
        yield _ours(f"{preset}, source left out", settings.replace(need=need))
        yield _ours(f"{preset}, weights in use", settings)
    for worth in args.worth:
        yield _ours(f"careful at {worth:,.0f}, source left out", CAREFUL.replace(need=need, worth=worth))
    yield from map(contender_named, (*_OTHERS, BOUND))


def _ours(name: str, settings: AutoSettings) -> Contender:
    return Contender(name, same_policy(partial(Auto, settings)), None, tools=OFFERED_TOKENS)


def _summaries(runs: Sequence[Sequence[ComparedRun]], window: int) -> list[PolicySummary]:
    """Return the figures of each policy, the bound last; sending everything is left out."""
    return [summarize(list(pairs), window=window) for pairs in zip(*runs, strict=True)][1:]


def _print_rows(source: str, rows: Sequence[PolicySummary]) -> None:
    for row in rows:
        print(f"| {source} | {_cells(row, rows[-1].cost.all_in_context.value)} |")


def _print_means(judged: Sequence[Sequence[PolicySummary]]) -> None:
    """Print for each policy the mean cost of the judged sources, and the least that it keeps in one of them."""
    print("\n| policy | least source, in context | mean of sources, all-in |\n|---|---|---|")
    for rows in zip(*judged, strict=True):
        least = min(row.evidence.in_context.value for row in rows)
        mean = sum(row.cost.all_in_context.value for row in rows) / len(rows)
        print(f"| {rows[0].policy} | {least:.3f} | {mean:.3f} |")


def _cells(row: PolicySummary, bound: float) -> str:
    kept, cost = row.evidence.in_context, row.cost.all_in_context
    saved = (1 - cost.value) / (1 - bound) if bound < 1 else 1.0
    shown = (f"{one.value:.3f} ({one.low:.2f}-{one.high:.2f})" for one in (kept, cost))
    overflow = f"{row.requests.overflow:.1%}" if row.requests.overflow else "none"
    again = str(row.requests.repeated.hidden)
    return " | ".join((row.policy, *shown, f"{saved:.0%}", f"{row.cost.highest:.3f}", overflow, again))


if __name__ == "__main__":
    main()
