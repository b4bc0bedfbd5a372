"""What is shown of one result: all of it, a cut with its reference, or a reference with a preview.

Owns: the three bands and the budget, notices included.
Must not know: how the artifact is stored; it is given the id and the facts.
"""

from collections.abc import Mapping

from holdfast.canonical.value import Value
from holdfast.truncation import notice
from holdfast.truncation.configuration import Limits
from holdfast.truncation.cut import Cut, Inserted, Segment, Source, render_body, whole
from holdfast.truncation.result import TruncationMetadata, TruncationResult
from holdfast.truncation.strategy import ITruncationStrategy, strategy_named

_SUMMARY = 100


class Artifact(Value):
    """What a view needs to know of the stored original."""

    artifact_id: str
    summary: str
    size: int
    media_type: str = "text/plain"
    digest: bytes = b""

    @property
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
        return _result("none", whole(source.chars), "", "", source, artifact)
    if source.chars > limits.artifact_threshold:
        above = artifact.reference + "\n\n" + notice.preview(artifact.artifact_id) + "\n\n"
        room = min(limits.preview_limit, limits.inline_limit - len(above))
        return _present_cut(source, artifact, limits, strategies, room, above)
    return _present_cut(source, artifact, limits, strategies, limits.inline_limit, "")


def _present_cut(
    source: Source,
    artifact: Artifact,
    limits: Limits,
    strategies: Mapping[str, ITruncationStrategy],
    room: int,
    above: str,
) -> TruncationResult:
    """The strategy's cut; the longest notice is reserved first, and the true one is never longer."""
    strategy = strategy_named(limits.strategy, strategies)
    everything = Segment("gap", 0, source.chars)
    widest = "" if above else _below(artifact, [everything], source, _longest_fetch(artifact, source))
    budget = room - len(widest) - 1
    cut = strategy(source, budget, limits.options) if budget > 0 else None
    if cut is None or not cut.covers(source.chars) or not any(part.stop > part.start for part in cut.kept):
        return _bare(source, artifact, limits)
    below = "" if above else _below(artifact, cut.gaps, source)
    shown = _result(limits.strategy, cut, above, below, source, artifact)
    if len(shown.content) > limits.inline_limit or len(shown.content) >= source.chars:
        return _bare(source, artifact, limits)
    return shown


def _below(artifact: Artifact, gaps: list[Segment], source: Source, fetch: str | None = None) -> str:
    """The reference and the one call that fetches what is left out."""
    missing = Segment("gap", gaps[0].start, gaps[-1].stop)
    call = fetch or notice.how_to_fetch(artifact.artifact_id, missing, source)
    return f"{artifact.reference}\n{call}"


def _longest_fetch(artifact: Artifact, source: Source) -> str:
    """A fetch line at least as long as any that `source` can need."""
    digits = "9" * len(str(source.chars))
    return (
        f"Characters {int(digits):,}-{int(digits):,} of {source.chars:,} are left out: "
        f'get_artifact(id="{artifact.artifact_id}", start_char={digits}, length={digits})'
    )


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
    shown = cut.replace(above=above, below=below)
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
