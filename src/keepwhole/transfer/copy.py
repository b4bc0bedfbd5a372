"""Copying sessions from one record to another, of any back end, each entry with the hash it had.

Owns: that an interrupted copy continues where it stopped, and that equal heads are checked, not assumed.
Must not know: how a record is opened, how progress is shown.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from itertools import zip_longest
from typing import NamedTuple

from keepwhole.canonical.entry import Entry, parse_header
from keepwhole.errors import Damaged, NotFound
from keepwhole.store.protocol import Body, SessionInfo, Store, Tombstone, entry_of, rows_with_forgotten
from keepwhole.transfer.entry_writer import EntryWriter
from keepwhole.transfer.sync_state import (
    SyncState,
    Tombstones,
    Verdict,
    chain_at,
    read_state,
    record_head,
    tombstones_by_name,
    verdict_for,
)

OnEntry = Callable[[Entry], None]


class CopyStep(NamedTuple):
    """One session to copy: its description, its state on both sides, and what is to be done."""

    name: str
    info: SessionInfo | None
    """None if only its tombstone is left."""
    stone: Tombstone | None
    there: SyncState
    here: SyncState
    verdict: Verdict

    @property
    def entries(self) -> int:
        """How many entries are to be copied; none of a session that is left alone."""
        if self.verdict in ("ahead", "differs"):
            return 0
        return self.there.entries if self.verdict in ("begin", "erase") else self.there.seq - self.here.seq

    @property
    def is_kept_erased(self) -> bool:
        """Whether entries of the source were erased in the target, and stay erased."""
        return self.verdict == "go on" and self.here.start_seq > self.there.start_seq


class Difference(NamedTuple):
    """A session that is not the same on both sides, and the reason."""

    name: str
    why: str


class Comparison(NamedTuple):
    """The result of comparing two records."""

    differences: list[Difference]
    entries: int
    head: str
    """One hash for the heads of all sessions in the source; that of the copy too, if nothing differs."""


def plan(source: Store, target: Store, only: Collection[str] = ()) -> list[CopyStep]:
    """Return what is to be done for every session, or for those named; the one written to last comes last.

    Raises `NotFound` for a name that the source does not know.
    """
    there, here = tombstones_by_name(source), tombstones_by_name(target)
    infos = {info.name: info for info in reversed(source.sessions())}
    names = [*(name for name in there if name not in infos), *infos]
    known = {info.name for info in target.sessions()}
    for name in only:
        if name not in infos and name not in there:
            raise NotFound(f"There is no session `{name}` to copy. List them with `keepwhole sessions list`.")
    steps: list[CopyStep] = []
    for name in names:
        if not only or name in only:
            step = _step(source, target, name, infos.get(name), there, here)
            if step.info is None and step.verdict == "go on" and name in known:
                step = step._replace(verdict="erase" if step.here.entries else "begin")
            steps.append(step)
    return steps


def _step(
    source: Store, target: Store, name: str, info: SessionInfo | None, there: Tombstones, here: Tombstones
) -> CopyStep:
    from_, to = read_state(source, name, there), read_state(target, name, here)
    verdict = verdict_for(from_, to, lambda seq: chain_at(source, name, from_, seq))
    return CopyStep(name, info, there.get(name), from_, to, verdict)


def carry_out(source: Store, target: Store, step: CopyStep, on_entry: OnEntry = lambda entry: None) -> None:
    """Carry out one step. Raises `Damaged` if the session in the source was changed."""
    if step.verdict in ("ahead", "differs"):
        return
    if step.verdict == "erase":
        assert step.stone is not None
        left = target.purge(step.name, step.stone.at)
        if (left.seq, left.chain) != (step.stone.seq, step.stone.chain):
            write_tombstone(target, step.info, step.stone)
    elif step.verdict == "begin":
        assert step.stone is not None
        write_tombstone(target, step.info, step.stone)
    if step.info is not None and (step.entries or step.here.entries or not step.is_kept_erased):
        _copy(source, target, step.info, step, on_entry)


def write_tombstone(target: Store, info: SessionInfo | None, stone: Tombstone) -> None:
    """Write a tombstone for a session that has no entries here."""
    target.open_session(info or SessionInfo(name=stone.name, created_at=stone.at))
    target.restart(stone.name, stone.seq, stone.chain)
    target.purge(stone.name, stone.at)


def _copy(source: Store, target: Store, info: SessionInfo, step: CopyStep, on_entry: OnEntry) -> None:
    """Copy the entries that are missing, then the session's end."""
    found = target.open_session(info.replace(entries=0, stored=0, ended_at=None))
    begin = step.verdict in ("begin", "erase")
    seq, chain = (step.there.start_seq, step.there.start_chain) if begin else (step.here.seq, step.here.chain)
    try:
        with EntryWriter(target, info.name, chain, on_entry) as writer:
            for row, is_forgotten in rows_with_forgotten(source, info.name, seq):
                if is_forgotten:
                    ids = row.kind, row.trace_id, row.artifact_id
                    writer.add_forgotten(*ids, row.header, row.digest, row.chain)
                    continue
                header, facts = parse_header(row.header, row.digest, row.blocks)
                output = partial(_read, source, Body(facts, row.inline, row.blob)) if row.inline is None else row.inline
                writer.add(row.header, header, facts, row.chain, output)
            writer.finish()
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
    """Compare the heads of sessions on both sides and, unless `quick`, the hash of every entry."""
    there, here = tombstones_by_name(source), tombstones_by_name(target)
    found: list[Difference] = []
    heads: list[tuple[str, SyncState]] = []
    for name in names:
        one, other = read_state(source, name, there), read_state(target, name, here)
        heads.append((name, one))
        why = _why(source, name, one, other)
        if why is None and not quick:
            why = _first_difference(source, target, name, other.start_seq)
        if why is not None:
            found.append(Difference(name, why))
    return Comparison(found, sum(one.entries for _, one in heads), record_head(heads))


def _why(source: Store, name: str, there: SyncState, here: SyncState) -> str | None:
    """Return why the heads differ; None if they are the same."""
    if here.entries and here.start_seq < there.start_seq:
        return f"it was erased in the source, and entries up to {here.seq:,} are still in the copy"
    if (there.seq, there.chain) == (here.seq, here.chain):
        return None
    if here.seq > there.seq:
        return f"the copy continues up to entry {here.seq:,}, the source ends at {there.seq:,}"
    if here.seq < there.start_seq or chain_at(source, name, there, here.seq) == here.chain:
        return f"the source continues up to entry {there.seq:,}, the copy ends at {here.seq:,}"
    return f"entry {here.seq} differs in the copy"


def _first_difference(source: Store, target: Store, name: str, start_seq: int) -> str | None:
    """Return which entry is the first to differ, or does not have its hash; None if there is none."""
    pairs = zip_longest(source.rows(name, after=start_seq, light=True), target.rows(name, light=True))
    for one, other in pairs:
        if one is None or other is None or (one.seq, one.chain) != (other.seq, other.chain):
            row = other or one
            return f"entry {row.seq if row else 0} is not the same on both sides"
        try:
            entry_of(other)
        except Damaged as error:
            return str(error)
    return None
