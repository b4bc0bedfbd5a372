"""The processor: takes a tool's text, returns what to show. Strategies, storage and configuration are injected."""

from collections.abc import Mapping
from typing import Protocol

from keepwhole.canonical.utf8 import encode
from keepwhole.truncation.configuration import Limits, TruncationConfiguration
from keepwhole.truncation.cut import TextSource, length, whole
from keepwhole.truncation.notice import neutralized
from keepwhole.truncation.present import Artifact, needs_artifact, present, summarize
from keepwhole.truncation.result import TruncationResult
from keepwhole.truncation.strategy import ITruncationStrategy


class IArtifactStorage(Protocol):
    """Where the processor puts an original before it shows less than all of it."""

    def create(self, content: str, tool_name: str) -> str:
        """Store `content` whole and return its artifact id; on return it is durable."""
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
        self._configuration = configuration or TruncationConfiguration()

    def process(self, content: str, tool_name: str, config: TruncationConfiguration | None = None) -> TruncationResult:
        """Return what to show of `content`, the result of `tool_name`.

        Raises `NotStored` where the original could not be stored: nothing is hidden then.
        """
        limits = (config or self._configuration).for_tool(tool_name)
        source = TextSource(content)
        hidden = needs_artifact(len(content), limits) or _too_long_when_quoted(source, limits)
        artifact = Artifact(
            artifact_id=self._storage.create(content, tool_name) if hidden else "",
            summary=summarize(tool_name, None),
            size=len(encode(content)[0]),
        )
        shown = present(source, artifact, limits, self._strategies)
        return shown.replace(artifact_id=artifact.artifact_id if hidden else None)


def _too_long_when_quoted(source: TextSource, limits: Limits) -> bool:
    """Return whether a text that fits no longer does once imitated notices in it are marked."""
    return needs_artifact(length(neutralized(whole(source.chars), source).pieces), limits)
