"""Seeing to it that what a notice names is there before anything is left out for it, and which results are ours."""

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress

from keepwhole.canonical.utf8 import encode
from keepwhole.errors import NotFound, StoreError
from keepwhole.policies.transcript import Item
from keepwhole.recall.names import is_recall
from keepwhole.record.arrival import Keeping
from keepwhole.store.protocol import Draft
from keepwhole.truncation.cut import Cut


def is_of_recall(item: Item) -> bool:
    """Whether one of our tools said it: bounded already, and never an artifact of an artifact."""
    return item.call is not None and is_recall(item.call.tool)


def is_reachable(keeping: Keeping, item: Item, on_record: bool) -> bool:
    """Lay a result out where notices name its file; whether that could be done."""
    if item.name is None or item.name.reachable is None:
        return True
    try:
        if on_record:
            keeping.ways.lay_out_kept(keeping.store, item.name.trace_id)
        else:
            keeping.ways.lay_out(item.name.trace_id, lambda: (encode(item.text)[0],))
    except (StoreError, NotFound):
        return False
    return True


def keep_in_reach(keeping: Keeping, trace_id: str, cut: Cut) -> None:
    """Lay a result out here too, where a notice names a file of it that another machine has laid out."""
    files = keeping.ways.files
    if files is None:
        return
    path = files.path_of(keeping.ways.session, trace_id)
    if path in cut.above + cut.below and not os.path.exists(path):
        with suppress(StoreError, NotFound):
            keeping.ways.lay_out_kept(keeping.store, trace_id)


def are_reachable(keeping: Keeping, summary: Sequence[Draft], items: Iterable[Item]) -> bool:
    """The same for a summary on its way into the record, and for every result that it may stand for."""
    for draft in summary[:1]:
        with keeping.store.open(draft.body) as reader:
            keeping.ways.lay_out(draft.header.trace_id, reader.stream)
    return not summary or all(is_reachable(keeping, item, on_record=True) for item in items)
