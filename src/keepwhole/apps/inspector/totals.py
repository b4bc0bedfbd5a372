"""The counts of a session, kept up to date with every entry, so that none of them takes longer in a long session.

Owns: what is counted. A count that would need all steps again for every look does not belong on the page.
Must not know: how entries become steps (`timeline`), what a request costs (`request_figures`).
"""

from collections import Counter
from typing import TYPE_CHECKING

from keepwhole.apps import kept_words
from keepwhole.apps.conversations import ANSWERED, MainAgent
from keepwhole.apps.kept_words import KeptCounts, count_one, shown_tokens
from keepwhole.apps.request_figures import bill_scale, sizes_of
from keepwhole.canonical.entry import OWN_TOOLS, Decision, Request, Response
from keepwhole.canonical.utf8 import showable

if TYPE_CHECKING:
    from keepwhole.apps.inspector.timeline import TimelineResult, TimelineStep

_BILLED = ("input", "cached", "written", "output")


def is_of_tool(kept: "TimelineResult") -> bool:
    """Whether a result is that of a tool, and not a note of Keepwhole's own."""
    return not kept.result.tool.startswith(OWN_TOOLS)


class SessionTotals:
    """The counts of one session so far."""

    def __init__(self, folder: str = "") -> None:
        """Clients read results back from `folder`."""
        self.results = self.whole = 0
        """Results of tools, and their estimated tokens as they are kept; without Keepwhole's own notes."""
        self.tool_tokens: Counter[str] = Counter()
        """Estimated tokens of these results as they are shown now, by tools."""
        self.flagged = self.failed = self.unanswered = 0
        """Results that came cut, results that are errors, requests without an answer."""
        self.outcomes: Counter[str] = Counter()
        """How many answers ended how."""
        self.billed: Counter[str] = Counter(dict.fromkeys(_BILLED, 0))
        self.shadow: list[int] = [0, 0, 0]
        """Requests in `mode: shadow`, the tokens that they had, and those that they would have had."""
        self.limits: Response | None = None
        """The newest answer that told the rate limits."""
        self._folder = folder
        self._kept: Counter[KeptCounts] = Counter()
        self.main: MainAgent[TimelineStep] = MainAgent()
        """Whose window is the session's."""

    @property
    def kept(self) -> KeptCounts:
        """How many results are on record, and how many of them the client had cut."""
        return kept_words.sum_of(self._kept)

    @property
    def errors(self) -> int:
        """Results that are errors, and requests that were refused or not answered."""
        return self.failed + self.unanswered + self.outcomes["refused"]

    def add_result(self, kept: "TimelineResult") -> None:
        """Count a result."""
        own = kept.result
        self.failed += bool(own.is_error)
        self.flagged += bool(own.flags)
        if not is_of_tool(kept):
            return
        tokens = kept.whole_tokens
        self.results += 1
        self.whole += tokens
        self.tool_tokens[showable(own.tool)] += tokens
        self._kept[count_one(own, self._folder)] += 1

    def change_view(self, kept: "TimelineResult", decision: Decision) -> None:
        """Count that a result is shown otherwise; to be told before the decision is among those of the result."""
        if is_of_tool(kept):
            self.tool_tokens[showable(kept.result.tool)] += shown_tokens(decision) - kept.shown_tokens

    def add_request(self, step: "TimelineStep") -> None:
        """Count the request of a step."""
        request = step.request
        if request is None:
            return
        self.unanswered += 1
        self._count_shadow(request, None, 1)
        self.main.add(step)

    def add_response(self, step: "TimelineStep", response: Response) -> None:
        """Count the answer to the request of a step; to be told before the step has it."""
        request, before = step.request, step.response
        if request is None:
            return
        if before is None:
            self.unanswered -= 1
        else:
            self.outcomes[before.outcome] -= 1
            self.billed.subtract({key: getattr(before, key) or 0 for key in _BILLED})
        self._count_shadow(request, before, -1)
        self._count_shadow(request, response, 1)
        self.outcomes[response.outcome] += 1
        for key in _BILLED:
            self.billed[key] += getattr(response, key) or 0
        if response.limits and (self.limits is None or response.at >= self.limits.at):
            self.limits = response
        if response.outcome in ANSWERED:
            self.main.answer(step)

    def _count_shadow(self, request: Request, response: Response | None, by: int) -> None:
        if request.would_send is not None:
            sent, _ = sizes_of(request, response)
            would = request.would_send * bill_scale(request, response)
            for at, count in enumerate((1, round(sent), round(would))):
                self.shadow[at] += by * count
