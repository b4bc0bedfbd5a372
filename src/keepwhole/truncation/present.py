"""What is shown of one result: all of it, a cut with its reference, or a reference with a preview.

Owns: the three bands and the budget, notices included.
Must not know: how the artifact is stored; it is given the id and the facts.
"""

import json
from collections.abc import Mapping
from functools import cached_property

from keepwhole.canonical.value import Value
from keepwhole.truncation import notice
from keepwhole.truncation.choice import TEXT_STRATEGIES, choose
from keepwhole.truncation.configuration import Limits
from keepwhole.truncation.cut import Cut, Inserted, Segment, Source, length, render_body, whole
from keepwhole.truncation.hygiene import without_noise
from keepwhole.truncation.neutral import neutralised
from keepwhole.truncation.recall_link import Way
from keepwhole.truncation.result import TruncationMetadata, TruncationResult
from keepwhole.truncation.strategy import ITruncationStrategy, strategy_named

_SUMMARY = 100
_TRIES = 6
_PARSED = frozenset(("element",))
_LARGEST = 32_000_000
"""Longer texts are never read as a whole to be cut."""
_LOCAL = frozenset(("head", "tail", "head_tail", "lines"))
"""Strategies that read only what they keep."""


class Artifact(Value):
    """What a view needs to know of the stored original."""

    artifact_id: str
    summary: str
    size: int
    media_type: str = "text/plain"
    digest: bytes = b""
    reachable: Way | None = None
    """How it is read back; by our tool if not said."""

    @property
    def way(self) -> Way:
        """How it is read back."""
        return self.reachable or Way(self.artifact_id)

    @cached_property
    def reference(self) -> str:
        """The line that names it."""
        return notice.reference(self.artifact_id, self.summary, self.size)

    @property
    def is_text(self) -> bool:
        """Whether its text can be shown at all."""
        return self.media_type.startswith("text/")


def summarise(tool: str, arguments: str | None) -> str:
    """One line of at most 100 characters that says where a result came from.

    >>> summarise("read_file", '{"path": "a.txt"}')
    'read_file: {"path": "a.txt"}'
    """
    text = tool if not arguments or arguments in ("{}", "null") else f"{tool}: {arguments}"
    line = "".join(char if char.isprintable() else " " for char in text[: 4 * _SUMMARY])
    return line if len(line) <= _SUMMARY else line[: _SUMMARY - 1] + "…"


def needs_artifact(chars: int, limits: Limits, is_text: bool = True) -> bool:
    """Whether a result is shown cut or replaced, so that it needs an id."""
    return not is_text or chars > limits.inline_limit


def present(
    source: Source,
    artifact: Artifact,
    limits: Limits,
    strategies: Mapping[str, ITruncationStrategy],
) -> TruncationResult:
    """The view of `source` under `limits`."""
    if not artifact.is_text:
        return _present_binary(source, artifact)
    if not needs_artifact(source.chars, limits):
        plain = whole(source.chars) if limits.trusted else neutralised(whole(source.chars), source)
        if length(plain.pieces) <= limits.inline_limit:
            return _result("none", plain, "", "", source, artifact)
    above, room = "", limits.inline_limit
    if source.chars > limits.artifact_threshold:
        above = artifact.reference + "\n\n" + notice.preview(artifact.way) + "\n\n"
        room = min(limits.preview_limit, limits.inline_limit - len(above))
    chosen = choose(source, limits)
    strategy_named(chosen, strategies)
    for name in dict.fromkeys((chosen, "head_tail")):
        try:
            shown = _present_cut(name, source, artifact, limits, strategies, room, above)
        except _NothingFits:
            break
        if shown is not None:
            return shown
    return _bare(source, artifact, limits)


class _NothingFits(Exception):
    """A strategy that knows its text keeps nothing of it rather than something that misleads."""


def _present_cut(
    name: str,
    source: Source,
    artifact: Artifact,
    limits: Limits,
    strategies: Mapping[str, ITruncationStrategy],
    room: int,
    above: str,
) -> TruncationResult | None:
    """The view that one strategy gives; None where nothing of it fits.

    Room for the longest notice is set aside first, and the true one is never longer.
    """
    if source.chars > _LARGEST and name not in _LOCAL:
        return None
    strategy = strategies.get(name) or strategy_named(name)
    reserved = (
        0
        if above
        else len(_below(artifact, [Segment("gap", 0, source.chars)], source, _longest_fetch(artifact, source)))
    )
    budget = room - reserved - 1
    for _ in range(_TRIES):
        cut = _attempt(name, strategy, source, budget, limits) if budget > 0 else None
        if cut is None:
            return None
        below = cut.below + ("" if above else _below(artifact, cut.left_out, source))
        shown = _result(name, cut, above, below, source, artifact)
        over = len(shown.content) - min(limits.inline_limit, source.chars - 1)
        if over <= 0:
            if name in _PARSED and not _still_parses(shown.body, source):
                raise _NothingFits
            return shown
        budget -= over + over // 2
    if name not in TEXT_STRATEGIES:
        raise _NothingFits
    return None


def _attempt(name: str, strategy: ITruncationStrategy, source: Source, budget: int, limits: Limits) -> Cut | None:
    """One strategy's cut within `budget`, neutralised; None where it keeps nothing, or is no cut of this source."""
    try:
        cut = (
            without_noise(strategy, source, budget, limits.options)
            if name in TEXT_STRATEGIES
            else strategy(source, budget, limits.options)
        )
    except (ValueError, IndexError, KeyError, TypeError, RecursionError):
        return None  # a strategy must never cost the result; another one will do
    if not cut.left_out or not cut.covers(source.chars):
        return None
    if not any(part.stop > part.start for part in cut.kept):
        raise _NothingFits
    return neutralised(cut, source)


def _still_parses(body: str, source: Source) -> bool:
    """Whether what is left of JSON is JSON; anything else is not asked."""
    if source.text(0, _SUMMARY).lstrip("\ufeff \t\r\n")[:1] not in ("", "{", "["):
        return True
    from keepwhole.truncation.sniff import sniff

    if sniff(source) != "json":
        return True
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True


def _below(artifact: Artifact, gaps: list[Segment], source: Source, fetch: str | None = None) -> str:
    """The reference and the one call that fetches what is left out."""
    missing = Segment("gap", gaps[0].start, gaps[-1].stop)
    call = fetch or notice.how_to_fetch(artifact.way, missing, source, in_part=len(gaps) > 1)
    return f"{artifact.reference}\n{call}"


def _longest_fetch(artifact: Artifact, source: Source) -> str:
    """A fetch line at least as long as any that `source` can need."""
    digits = int("9" * len(str(source.chars)))
    call = artifact.way.longest(digits)
    return f"Characters {digits:,}-{digits:,} of {source.chars:,} are left out in part: {call}"


def _bare(source: Source, artifact: Artifact, limits: Limits) -> TruncationResult:
    """Where body and notice do not fit: the reference alone, its summary shortened as far as it must be."""
    line = artifact.reference
    over = len(line) - limits.inline_limit
    if over > 0:
        line = notice.reference(artifact.artifact_id, artifact.summary[: -over - 1] + "…", artifact.size)
    return _result("reference", Cut((Segment("gap", 0, source.chars),)), line, "", source, artifact)


def _present_binary(source: Source, artifact: Artifact) -> TruncationResult:
    words = notice.binary(artifact.media_type, artifact.size, artifact.digest)
    cut = Cut((Inserted(words), Segment("gap", 0, source.chars)))
    return _result("binary", cut, "", artifact.reference, source, artifact)


def _result(strategy: str, cut: Cut, above: str, below: str, source: Source, artifact: Artifact) -> TruncationResult:
    body = render_body(cut, source)
    if below and not body.endswith("\n"):
        below = "\n" + below
    shown = Cut(cut.pieces, above, below)
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
