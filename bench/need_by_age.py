"""`python -m bench.need_by_age PATH…`: how often results are still used, by their age and kind, on recorded runs.

For results of at least 200 tokens, prints the number of turns with a first use of some part, per thousand tokens and
thousand turns in the context, by age in turns. Takes the options of `python -m bench.frontier`.
"""

from collections import Counter
from collections.abc import Iterator

from bench.frontier import parser, read_job
from keepwhole.policies.transcript import Transcript
from keepwhole.replay.run_facts import RunFacts
from keepwhole.replay.run_sample import batches, read_batch

_LEAST = 200
_AGES = (5, 10, 20, 40, 80, 160)
_KINDS = ("read", "report", "search", "shell", "other")
Cell = tuple[str, bool, int]
"""A kind, whether the user has written since, and the least age."""


def main() -> None:
    """Count and print the table."""
    job = read_job(parser().parse_args())
    used: Counter[Cell] = Counter()
    carried: Counter[Cell] = Counter()
    for batch in batches(job.runs, 1):
        for run in read_batch(batch):
            _count(RunFacts(run, job.frequencies[run.source], job.counter), used, carried)
    print(f"| kind | user spoke since | {' | '.join(f'from {age} turns' for age in _AGES)} |")
    print(f"|{'---|' * (2 + len(_AGES))}")
    for kind in _KINDS:
        for since in (False, True):
            cells = (_cell(used[kind, since, age], carried[kind, since, age]) for age in _AGES)
            print(f"| {kind} | {'yes' if since else 'no'} | {' | '.join(cells)} |")


def _count(facts: RunFacts, used: Counter[Cell], carried: Counter[Cell]) -> None:
    transcript = Transcript()
    transcript.extend(facts.run.messages)
    uses: dict[int, set[int]] = {}
    for one in facts.evidence:
        uses.setdefault(one.sources[-1], set()).add(one.step)
    asked = [(item, transcript.next_user_turn(item)) for item in transcript.items]
    for item, spoke in asked:
        tokens = facts.result_tokens[item.number]
        if tokens >= _LEAST:
            for age, turn in _turns(item.turn, facts.steps):
                cell = item.kind, spoke is not None and spoke < turn, age
                carried[cell] += tokens
                used[cell] += turn in uses.get(item.number, ())


def _turns(first: int, last: int) -> Iterator[tuple[int, int]]:
    """Each turn in which a result is at least five turns old, with the age at which its column begins."""
    for turn in range(first + _AGES[0] - 1, last):
        yield max(age for age in _AGES if age <= turn - first + 1), turn


def _cell(used: int, carried: int) -> str:
    return f"{used / carried * 1e6:.2f} ({used})" if carried else "–"


if __name__ == "__main__":
    main()
