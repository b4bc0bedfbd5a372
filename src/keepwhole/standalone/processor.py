"""The processor: takes a tool's text, returns what to show. Strategies, storage and configuration are injected.

It is the arrival rule of the policy `truncation` (`policies.arrival`) for text in memory, with a storage of the
caller in place of a session: which limits apply, which strategy cuts and what a notice says are decided there, for
`keep`, views, the command line and the processor alike. `keepwhole.record.artifact_storage.ArtifactStorage` is the
storage that puts originals into the record.

Owns: storing the original before less than all of it is shown. Must not know: how a result is cut.
"""

from collections.abc import Mapping
from typing import Protocol

from keepwhole.canonical.utf8 import encode
from keepwhole.events import log_processed
from keepwhole.policies.arrival import ArrivalRule, Arriving, show_within
from keepwhole.truncation.configuration import Limits, TruncationConfiguration
from keepwhole.truncation.cut import TextSource, length, whole
from keepwhole.truncation.notice import neutralized
from keepwhole.truncation.present import Artifact, needs_artifact, summarize
from keepwhole.truncation.result import TruncationResult
from keepwhole.truncation.strategy import ITruncationStrategy


class IArtifactStorage(Protocol):
    """Where the processor puts an original before it shows less than all of it."""

    def create(self, content: str, tool_name: str) -> str:
        """Store `content` in full and return its artifact id; by then it is durable."""
        ...

    def get(self, artifact_id: str, *, lines: tuple[int, int] | None = None) -> str:
        """Return the stored content, or the lines asked for; `NotFound` for an unknown id."""
        ...


class TruncationProcessor:
    """Shows a result within its limits; the original is in `storage` before anything is left out."""

    def __init__(
        self,
        strategies: Mapping[str, ITruncationStrategy],
        storage: IArtifactStorage,
        configuration: TruncationConfiguration | None = None,
    ) -> None:
        self._strategies = strategies
        self._storage = storage
        self._rule = ArrivalRule(configuration, strategies)

    def process(
        self,
        content: str,
        tool_name: str,
        config: TruncationConfiguration | None = None,
        *,
        arguments: str = "",
        question: str | None = None,
    ) -> TruncationResult:
        """Return what to show of `content`, the result of `tool_name`.

        `arguments` are those of the call, as JSON: notices name them, and what they ask or search for is kept first,
        unless a `question` is given. Raises `NotStored` where the original could not be stored: nothing is hidden then.
        """
        rule = self._rule if config is None else ArrivalRule(config, self._strategies)
        source = TextSource(content)
        artifact = Artifact(artifact_id="", summary=summarize(tool_name, arguments), size=len(encode(content)[0]))
        arriving = Arriving(source, tool_name, arguments, artifact, question)
        limits = rule.limits(arriving)
        if needs_artifact(len(content), limits) or _too_long_when_quoted(source, limits):
            artifact = artifact.replace(artifact_id=self._storage.create(content, tool_name))
        shown = show_within(limits, arriving._replace(artifact=artifact), self._strategies)
        if artifact.artifact_id:
            about = shown.metadata
            log_processed(artifact.artifact_id, tool_name, artifact.size, about.truncated_size, about.strategy_used)
        return shown.replace(artifact_id=artifact.artifact_id or None)


def _too_long_when_quoted(source: TextSource, limits: Limits) -> bool:
    """Return whether a text that fits no longer does once imitated notices in it are marked."""
    return needs_artifact(length(neutralized(whole(source.chars), source).pieces), limits)
