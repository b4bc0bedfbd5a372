"""Everything of one record into another, of whichever kind, each entry with the hash it had.

Owns: that a copy that was stopped anywhere goes on where it was, and that equal heads are looked at, not assumed.
Must not know: how a record is opened, who watches.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from itertools import zip_longest
from typing import NamedTuple

from keepwhole.canonical.entry import Entry, parse_header
from keepwhole.errors import Damaged, NotFound
from keepwhole.store.protocol import Body, SessionInfo, Store, Tombstone, entry_of
from keepwhole.transfer.entry_writer import Incoming
from keepwhole.transfer.sync_state import (
    Standing,
    Stones,
    Verdict,
    chain_at,
    record_head,
    standing_of,
    stones_of,
    verdict_on,
)

OnEntry = Callable[[Entry], None]


class Step(NamedTuple):
    """One session to copy: what is known of it, where it stands on both sides, and what is to be done."""

    name: str
    info: SessionInfo | None
    """None where only a tombstone is left of it."""
    stone: Tombstone | None
    there: Standing
    here: Standing
    verdict: Verdict

    @property
    def entries(self) -> int:
        """How many entries are to be brought; none of a session that is left alone."""
        if self.verdict in ("ahead", "differs"):
            return 0
        return self.there.entries if self.verdict in ("begin", "erase") else self.there.seq - self.here.seq

    @property
    def is_kept_erased(self) -> bool:
        """Whether entries that are there were erased here, and stay so."""
        return self.verdict == "go on" and self.here.began > self.there.began


class Difference(NamedTuple):
    """A session that is not the same on both sides, and why."""

    name: str
    why: str


class Comparison(NamedTuple):
    """How two records compare."""

    differences: list[Difference]
    entries: int
    head: str
    """One hash for the heads of all sessions in the source; that of the copy too, where nothing differs."""


def plan(source: Store, target: Store, only: Collection[str] = ()) -> list[Step]:
    """What there is to do for every session, or for those named; the one written to last comes last.

    `NotFound` for a name that the source does not know.
    """
    there, here = stones_of(source), stones_of(target)
    infos = {info.name: info for info in reversed(source.sessions())}
    names = [*(name for name in there if name not in infos), *infos]
    known = {info.name for info in target.sessions()}
    for name in only:
        if name not in infos and name not in there:
            raise NotFound(f"There is no session `{name}` to copy. `keepwhole sessions list` shows those there are.")
    steps: list[Step] = []
    for name in names:
        if not only or name in only:
            step = _step(source, target, name, infos.get(name), there, here)
            if step.info is None and step.verdict == "go on" and name in known:
                step = step._replace(verdict="erase" if step.here.entries else "begin")
            steps.append(step)
    return steps


def _step(source: Store, target: Store, name: str, info: SessionInfo | None, there: Stones, here: Stones) -> Step:
    from_, to = standing_of(source, name, there), standing_of(target, name, here)
    verdict = verdict_on(from_, to, lambda seq: chain_at(source, name, from_, seq))
    return Step(name, info, there.get(name), from_, to, verdict)


def carry_out(source: Store, target: Store, step: Step, on_entry: OnEntry = lambda entry: None) -> None:
    """Do what there is to do for one session. `Damaged` if what the source has is not what was kept there."""
    if step.verdict in ("ahead", "differs"):
        return
    if step.verdict == "erase":
        assert step.stone is not None
        left = target.purge(step.name, step.stone.at)
        if (left.seq, left.chain) != (step.stone.seq, step.stone.chain):
            bury(target, step.info, step.stone)
    elif step.verdict == "begin":
        assert step.stone is not None
        bury(target, step.info, step.stone)
    if step.info is not None and (step.entries or step.here.entries or not step.is_kept_erased):
        _copy(source, target, step.info, step, on_entry)


def bury(target: Store, info: SessionInfo | None, stone: Tombstone) -> None:
    """Put a tombstone where there is no entry of its session."""
    target.open_session(info or SessionInfo(name=stone.name, created_at=stone.at))
    target.restart(stone.name, stone.seq, stone.chain)
    target.purge(stone.name, stone.at)


def _copy(source: Store, target: Store, info: SessionInfo, step: Step, on_entry: OnEntry) -> None:
    """Bring the entries that are missing, then what is known of the session's end."""
    found = target.open_session(info.replace(entries=0, stored=0, ended_at=None))
    begin = step.verdict in ("begin", "erase")
    seq, chain = (step.there.began, step.there.origin) if begin else (step.here.seq, step.here.chain)
    try:
        with Incoming(target, info.name, chain, on_entry) as incoming:
            for row in source.rows(info.name, after=seq):
                header, facts = parse_header(row.header, row.digest, row.blocks)
                output = partial(_read, source, Body(facts, row.inline, row.blob)) if row.inline is None else row.inline
                incoming.add(row.header, header, facts, row.chain, output)
            incoming.finish()
    except ValueError as error:
        raise Damaged(
            f"Session `{info.name}` is not what was kept ({error}). Run `keepwhole sessions verify`."
        ) from error
    if info.ended_at is not None and found.ended_at is None:
        target.end(info.name, info.ended_at)


def _read(source: Store, body: Body) -> Iterator[bytes]:
    with source.open(body) as reader:
        yield from reader.stream()


def compare(source: Store, target: Store, names: Iterable[str], *, quick: bool = False) -> Comparison:
    """Look whether sessions have the same head on both sides; unless `quick`, every hash of both is looked at."""
    there, here = stones_of(source), stones_of(target)
    found: list[Difference] = []
    heads: list[tuple[str, Standing]] = []
    for name in names:
        one, other = standing_of(source, name, there), standing_of(target, name, here)
        heads.append((name, one))
        why = _why(source, name, one, other)
        if why is None and not quick:
            why = _first_difference(source, target, name, other.began)
        if why is not None:
            found.append(Difference(name, why))
    return Comparison(found, sum(one.entries for _, one in heads), record_head(heads))


def _why(source: Store, name: str, there: Standing, here: Standing) -> str | None:
    """Why heads are not the same; None if they are."""
    if here.entries and here.began < there.began:
        return f"it was erased in the source, and entries up to {here.seq:,} are still in the copy"
    if (there.seq, there.chain) == (here.seq, here.chain):
        return None
    if here.seq > there.seq:
        return f"the copy has gone on to entry {here.seq:,}, the source is at {there.seq:,}"
    if here.seq < there.began or chain_at(source, name, there, here.seq) == here.chain:
        return f"the source has gone on to entry {there.seq:,}, the copy is at {here.seq:,}"
    return f"the copy has another entry {here.seq}"


def _first_difference(source: Store, target: Store, name: str, began: int) -> str | None:
    """The first entry that is not the same on both sides, or is not what its hash says."""
    pairs = zip_longest(source.rows(name, after=began, light=True), target.rows(name, light=True))
    for one, other in pairs:
        if one is None or other is None or (one.seq, one.chain) != (other.seq, other.chain):
            row = other or one
            return f"entry {row.seq if row else 0} is not the same on both sides"
        try:
            entry_of(other)
        except Damaged as error:
            return str(error)
    return None
