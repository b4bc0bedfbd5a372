"""How one new result is shown by itself: as the session's policy shows it on arrival.

Owns: which results are shown in full without asking the policy, and what the policy is told of the others.
Must not know: how a result is stored (`arrival`), messages.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from keepwhole import events
from keepwhole.canonical.entry import Result
from keepwhole.canonical.media import TEXT
from keepwhole.canonical.utf8 import showable
from keepwhole.recall.links import RecallLinks
from keepwhole.recall.names import is_recall
from keepwhole.record.kept_result import artifact_of
from keepwhole.store.reader import BodyReader
from keepwhole.truncation.configuration import SMALLEST_INLINE_LIMIT
from keepwhole.truncation.cut import TextSource
from keepwhole.truncation.notice import imitates
from keepwhole.truncation.present import show_whole
from keepwhole.truncation.result import TruncationResult

if TYPE_CHECKING:
    from keepwhole.policies.arrival import AdjustLimits, ShowsArrivals
    from keepwhole.policies.policy import Policy

_READ_AT_ONCE = 1 << 20
"""Characters of a text that is read whole before it is shown; of a longer one only what is needed is read."""


class Display:
    """Shows the new results of one session."""

    def __init__(self, links: RecallLinks, policy: "Callable[[], Policy | ShowsArrivals]") -> None:
        """The `policy` is asked for a result that may have to be cut: most short commands never load one."""
        self.links, self._policy = links, policy
        self.adjust: AdjustLimits | None = None
        """Narrows the limits of one result, where who shows it has limits of its own."""

    def show(self, result: Result, reader: BodyReader) -> TruncationResult:
        """The view of a result that has just been stored."""
        is_short = reader.chars <= SMALLEST_INLINE_LIMIT and result.media_type == TEXT  # no policy cuts so little
        # What a recall tool returned is bounded already, and never an artifact of an artifact.
        if is_recall(result.tool) or (is_short and not imitates(reader.text())):
            return show_whole(reader, showable(reader.text()), reader.facts.size)
        from keepwhole.policies.arrival import Arriving, show_arriving

        is_read_at_once = reader.chars <= _READ_AT_ONCE and reader.facts.encoding == "utf-8"
        source = TextSource(reader.text(), reader.facts) if is_read_at_once else reader
        link = self.links.of(result.trace_id, result.artifact_id, result.media_type)
        artifact = artifact_of(result, reader, link)
        arguments = result.arguments or ""
        arriving = Arriving(source, result.tool, arguments, artifact, result.question, result.is_error, self.adjust)
        view = show_arriving(self._policy(), arriving)
        if view.strategy_failure:
            events.log_strategy_failed(self.links.session, result.trace_id, view.strategy_failure)
        return view
