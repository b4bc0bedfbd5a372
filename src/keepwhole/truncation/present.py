"""What is shown of one result: all of it, a cut with its reference, or a reference with a preview.

Owns: the three forms of a view, which strategy cuts, and the budget, notices included.
Must not know: how the artifact is stored; it is given the id and the facts.

Theory of operation. The length of a text and three limits choose the form (defaults in brackets):

    up to `inline_limit` [8,000]           the text itself, imitated notices in it marked
    up to `artifact_threshold` [50,000]    the cut, then the reference and the call that fetches what is left out
    longer                                 the reference and how to read it, then a cut of `preview_limit` [2,000]

For the second form and a text of 20,000 characters the view looks like this:

    first lines …                                        ┐
    ... [310 lines / 12,340 chars omitted] ...           │ the cut, by a strategy that is given a budget
    … last lines                                         ┘
    [Artifact: art_1_x] bash: {"cmd": "make"} (19.5 KB)  ┐ `below`, for which room is reserved before the cut
    Lines 96-405 of 512 are left out: get_artifact(…)    ┘

`choose` names the strategy. Its cut is checked, imitated notices are marked, the view is rendered and measured. Where
marks or notices made it too long, the strategy is asked again with a smaller budget, at most `_TRIES` times.

What a strategy does wrong costs the strategy its turn, never the result: after an exception, an invalid cut, a cut that
keeps nothing or cuts that never fit, `head_tail` cuts instead. Only of a JSON value or an XML document no fragment is
shown: where its structure does not fit, and where nothing fits at all, the reference alone is shown.

Invariants: a view is never longer than `inline_limit` nor as long as the original; every cut that is shown covers the
original; a view of JSON by a strategy that `keeps_json` parses.
"""

import json
from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

from keepwhole.canonical.value import Value
from keepwhole.errors import StoreError
from keepwhole.truncation import notice
from keepwhole.truncation.configuration import Limits
from keepwhole.truncation.cut import Cut, Inserted, Segment, Source, check_cut, length, nothing, render_body, whole
from keepwhole.truncation.noise import without_noise
from keepwhole.truncation.notice import neutralized
from keepwhole.truncation.question import called_name, hidden_name
from keepwhole.truncation.recall_link import RecallLink
from keepwhole.truncation.result import TruncationMetadata, TruncationResult
from keepwhole.truncation.strategy import STRATEGIES, ITruncationStrategy, Strategy, strategy_for, strategy_named

_SUMMARY = 100
_TRIES = 6
_LARGEST = 32_000_000
"""A text of more characters is cut only by strategies that do not read all of it."""
_LARGEST_SEARCHED = 1_000_000
"""Of a longer text nobody looks for what was asked and is hidden: that takes a millisecond for each megabyte."""
_STAND_IN = STRATEGIES["head_tail"]
"""Cuts where the chosen strategy cannot: it takes any text of any size."""


class Artifact(Value):
    """What a view says about the stored original."""

    artifact_id: str
    summary: str
    size: int
    media_type: str = "text/plain"
    digest: bytes = b""
    reachable: RecallLink | None = None
    """How it is read back; by `get_artifact` if not given."""
    is_stored: bool = True
    """Whether there is anything to read back; if not, a view names no way."""

    @property
    def link(self) -> RecallLink:
        """How it is read back."""
        return self.reachable or RecallLink(self.artifact_id)

    @cached_property
    def reference(self) -> str:
        """The line that names it, or says what is left out where it is not stored."""
        if not self.is_stored:
            return notice.left_out(self.summary, self.size)
        return notice.reference(self.artifact_id, self.summary, self.size)

    @property
    def is_text(self) -> bool:
        """Whether its text can be shown at all."""
        return self.media_type.startswith("text/")


def show_whole(source: Source, text: str, size: int) -> TruncationResult:
    """Return the view that shows all of a result of `size` bytes; `text` is what can be shown of it."""
    return TruncationResult(
        content=text,
        body=text,
        cut=whole(source.chars),
        metadata=TruncationMetadata(
            original_size=source.chars,
            truncated_size=len(text),
            strategy_used="none",
            was_truncated=False,
            original_lines=source.lines,
            original_bytes=size,
        ),
    )


def summarize(tool: str, arguments: str | None) -> str:
    """Return one line of at most 100 characters that says which call a result came from.

    >>> summarize("read_file", '{"path": "a.txt"}')
    'read_file: {"path": "a.txt"}'
    """
    text = tool if not arguments or arguments in ("{}", "null") else f"{tool}: {arguments}"
    line = text[: 4 * _SUMMARY]
    if not line.isprintable():
        line = "".join(char if char.isprintable() else " " for char in line)
    return line if len(line) <= _SUMMARY else line[: _SUMMARY - 1] + "…"


def choose(source: Source, limits: Limits, strategies: Mapping[str, ITruncationStrategy] = STRATEGIES) -> str:
    """Return the name of the strategy for `source`: the one rule, first match first.

    1. the user's: the override of the tool, or for a tool without a job the `default_strategy` that was set
    2. for data (JSON, also broken off, NDJSON, CSV, XML) the strategy that keeps it valid
    3. for a tool that reads files or shows diffs, its job's: `head_tail`
    4. the strategy for what the text looks like: `log`, `diff`, `code`, `element` for searches and listings
    5. the tool's job's: `tail` for shells, `element` for listing and searching
    6. `default_strategy`
    """
    if limits.chosen_by_user:
        return limits.strategy
    from keepwhole.truncation.sniff import DATA, sniff  # its patterns are compiled only where something is cut

    kind = sniff(source)
    if limits.firm and kind not in DATA:
        return limits.strategy
    return strategy_for(kind, strategies) or limits.strategy  # of the job, else `default_strategy`


def reason(source: Source, limits: Limits) -> str:
    """Say in words why `choose` chooses its strategy."""
    if limits.chosen_by_user:
        return "you asked for it"
    from keepwhole.truncation.sniff import DATA, sniff

    kind = sniff(source)
    if kind == "wrapped":
        return "it is JSON after what a shell says of its command, cut by structure"
    if kind == "broken":
        return "it is JSON that was broken off, cut by structure as far as it is whole"
    if kind in DATA:
        return f"it is {kind.upper()}, cut by structure so that what is left stays valid"
    if limits.firm:
        return "that is how results of this tool are cut"
    return "it is plain text" if strategy_for(kind) is None else f"it looks like {kind}"


def needs_artifact(chars: int, limits: Limits, is_text: bool = True) -> bool:
    """Whether a result is shown cut or replaced, so that it needs an id."""
    return not is_text or chars > limits.inline_limit


def present(
    source: Source,
    artifact: Artifact,
    limits: Limits,
    strategies: Mapping[str, ITruncationStrategy],
) -> TruncationResult:
    """Return the view of `source` under `limits`; `UnknownStrategy` where they name a strategy that is not there.

    A strategy that fails is reported in the view's `strategy_failure`.
    """
    if not artifact.is_text:
        return _binary_view(source, artifact)
    if not needs_artifact(source.chars, limits):
        uncut = whole(source.chars) if limits.trusted else neutralized(whole(source.chars), source)
        if length(uncut.pieces) <= limits.inline_limit:
            return _view("none", uncut, "", "", source, artifact)
    frame = _frame(source, artifact, limits)
    chosen = strategy_named(choose(source, limits, strategies), strategies)
    failure = ""
    for strategy in (chosen,) if chosen is _STAND_IN else (chosen, _STAND_IN):
        try:
            view = _view_by(strategy, frame)
        except StoreError:
            raise  # the text cannot be read: no strategy is at fault, and no other could help
        except Exception as error:  # a strategy of anybody's may raise anything
            failure = failure or f"{strategy.name}: {type(error).__name__}"
            continue
        if view is not None:
            return view.replace(strategy_failure=failure) if failure else view
    bare = _bare_view(frame)
    return bare.replace(strategy_failure=failure) if failure else bare


class _Frame(NamedTuple):
    """What is the same for every strategy that is tried on a result."""

    source: Source
    artifact: Artifact
    limits: Limits
    above: str
    """The reference and the calls above a preview, without a search; empty where they follow the cut."""
    budget: int
    """Characters that the cut itself may have."""


def _frame(source: Source, artifact: Artifact, limits: Limits) -> _Frame:
    if not artifact.is_stored:
        return _Frame(source, artifact, limits, "", limits.inline_limit - 1)
    if source.chars > limits.artifact_threshold:
        above = _above(source, artifact)
        return _Frame(source, artifact, limits, above, min(limits.preview_limit, limits.inline_limit - len(above)) - 1)
    # The call that will follow the cut depends on the cut. Room is reserved for the longest one it can be.
    digits = int("9" * len(str(source.chars)))
    longest = f"Characters {digits:,}-{digits:,} of {source.chars:,} are left out in part: "
    reserved = len(artifact.reference) + 1 + len(longest) + len(artifact.link.longest(digits))
    return _Frame(source, artifact, limits, "", limits.inline_limit - reserved - 1)


def _view_by(strategy: Strategy, frame: _Frame) -> TruncationResult | None:
    """Return the view by one strategy; None where another should try, the bare reference where none should.

    Raises what the strategy raises, and `InvalidCut`.
    """
    source, artifact, limits, _, budget = frame
    if strategy.reads_all and source.chars > _LARGEST:
        return None
    most = min(limits.inline_limit, source.chars - 1)
    budget = min(budget, most)  # a text that fits, but no longer does once it is marked, is cut too
    for _ in range(_TRIES):
        if budget <= 0:
            return None
        if strategy.is_text:
            cut = without_noise(strategy, source, budget, limits.options)
        else:
            cut = strategy(source, budget, limits.options)
        check_cut(cut, source.chars)
        if not cut.left_out:
            return None
        if not any(part.stop > part.start for part in cut.kept):
            break
        unmarked = length(cut.pieces) + len(cut.below)
        cut = neutralized(cut, source)
        above, below = _around(frame, cut)
        view = _view(strategy.name, cut, above, below, source, artifact)
        over = len(view.content) - most
        if over <= 0:
            if not strategy.keeps_json or _parses(view.body) or not _is_document(source, "json"):
                return view
            break
        # Half as much again as is missing: the next cut has other gaps, whose notices may be longer. Off what this cut
        # took of its budget: a strategy that keeps whole rows would else return the same cut again and again.
        budget = min(budget, unmarked) - over - over // 2
    return _bare_view(frame) if strategy.keeps_json and _is_document(source, "json", "xml") else None


def _is_document(source: Source, *kinds: str) -> bool:
    """Whether a text is one value of JSON or one document of XML, so that a fragment of it would mislead."""
    from keepwhole.truncation.sniff import sniff

    kind = sniff(source)
    if kind not in kinds:
        return False
    text = source.text(0, source.chars)
    if kind == "json":
        return _parses(text)
    from keepwhole.truncation.xml_element import is_xml

    return is_xml(text)


def _parses(text: str) -> bool:
    """Whether a text is JSON."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _above(source: Source, artifact: Artifact, name: str = "") -> str:
    """The reference and the calls that stand above a preview."""
    return f"{artifact.reference}\n\n{notice.preview(artifact.link, source, name)}\n\n"


def _around(frame: _Frame, cut: Cut) -> tuple[str, str]:
    """What stands above and below a cut."""
    if frame.above:
        return _above(frame.source, frame.artifact, _hidden_name(frame, cut)), cut.below
    return "", cut.below + _below(frame, cut) if frame.artifact.is_stored else cut.below


def _below(frame: _Frame, cut: Cut) -> str:
    """The reference, the call that searches for what was asked, and the one that fetches everything left out."""
    gaps, source, artifact = cut.left_out, frame.source, frame.artifact
    missing = Segment("gap", gaps[0].start, gaps[-1].stop)
    name = _hidden_name(frame, cut)
    call = notice.how_to_fetch(artifact.link, missing, source, in_part=len(gaps) > 1, name=name)
    return f"{artifact.reference}\n{call}"


def _hidden_name(frame: _Frame, cut: Cut) -> str:
    """What the question names and the cut hides, else what the call names."""
    source, options = frame.source, frame.limits.options
    if not (options.question or options.names) or source.chars > _LARGEST_SEARCHED:
        return ""
    hidden = "\n".join([source.text(gap.start, gap.stop) for gap in cut.left_out])
    asked = hidden_name(options.question, hidden, render_body(cut, source)) if options.question else ""
    return asked or called_name(options.names, hidden)


def _bare_view(frame: _Frame) -> TruncationResult:
    """The reference alone, its summary shortened as far as it must be."""
    artifact = frame.artifact
    line = artifact.reference
    over = len(line) - frame.limits.inline_limit
    if over > 0:
        line = artifact.replace(summary=artifact.summary[: -over - 1] + "…").reference
    return _view("reference", nothing(frame.source.chars), line, "", frame.source, artifact)


def _binary_view(source: Source, artifact: Artifact) -> TruncationResult:
    words = notice.binary(artifact.media_type, artifact.size, artifact.digest)
    cut = Cut((Inserted(words), Segment("gap", 0, source.chars)))
    return _view("binary", cut, "", artifact.reference, source, artifact)


def _view(strategy: str, cut: Cut, above: str, below: str, source: Source, artifact: Artifact) -> TruncationResult:
    """Render a cut between the notices above and below it."""
    body = render_body(cut, source)
    if below and not body.endswith("\n"):
        below = "\n" + below
    shown = Cut(tuple(cut.pieces), above, below)
    content = above + body + below
    truncated = strategy != "none"
    return TruncationResult(
        content=content,
        body=body,
        cut=shown,
        artifact_id=artifact.artifact_id if truncated else None,
        artifact_reference=artifact.reference if truncated else None,
        metadata=TruncationMetadata(
            original_size=source.chars,
            truncated_size=len(content),
            strategy_used=strategy,
            was_truncated=truncated,
            artifact_id=artifact.artifact_id if truncated else None,
            original_lines=source.lines,
            original_bytes=artifact.size,
        ),
    )
