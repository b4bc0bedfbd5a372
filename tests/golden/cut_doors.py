"""The doors into `truncation`: one strategy at a time, one view, and what single functions say of a text."""

from typing import Any

from keepwhole.canonical import guard, utf8
from keepwhole.canonical.media import media_type
from keepwhole.truncation import log, notice, question
from keepwhole.truncation.configuration import TruncationConfiguration
from keepwhole.truncation.cut import TextSource, render
from keepwhole.truncation.imitation import imitations
from keepwhole.truncation.present import Artifact, choose, present, reason
from keepwhole.truncation.sniff import sniff
from keepwhole.truncation.strategy import STRATEGIES, StrategyOptions
from tests.golden.doors import plain

STRATEGY_NAMES = tuple(STRATEGIES)
_ARTIFACT = "art_1700000000_" + "0" * 22


def cut(strategy: str, text: str, budget: int, **options: Any) -> Any:
    """What a strategy keeps, and the text of it."""
    source = TextSource(text)
    found = STRATEGIES[strategy](source, budget, StrategyOptions(**options))
    return [
        [[piece.part, piece.start, piece.stop] if hasattr(piece, "part") else piece.text for piece in found.pieces],
        render(found, source),
    ]


def chosen_for(text: str) -> str:
    """The strategy that is chosen for a text."""
    return choose(TextSource(text), TruncationConfiguration(inline_limit=256).for_tool("tool"))


def view(text: str, limit: int, trusted: bool = False, question: str = "", **settings: Any) -> Any:
    """What is shown of a result."""
    limits = TruncationConfiguration(inline_limit=limit, **settings).for_tool("tool").replace(trusted=trusted)
    limits = limits.replace(options=limits.options.replace(question=question))
    artifact = Artifact(
        artifact_id=_ARTIFACT, summary="tool", size=len(text), media_type="text/plain", digest=b"\0" * 32
    )
    return plain(present(TextSource(text), artifact, limits, STRATEGIES))


def about(text: str) -> Any:
    """What kind of text it is, what would cut it and why, what is rare in it, what imitates a notice."""
    source, limits = TextSource(text), TruncationConfiguration(inline_limit=256).for_tool("tool")
    return {
        "kind": sniff(source),
        "choice": choose(source, limits),
        "reason": reason(source, limits),
        "ends": [source.lines, source.eol, [source.ends_before(at) for at in range(0, len(text), 97)]],
        "bytes": [source.byte_at(at) for at in range(0, len(text), 89)],
        "errors": log.error_lines(text.lower(), source.eol),
        "terms": question.terms(text[:400]),
        "literals": question.literals(text[:200]),
        "folded": question.fold(text),
        "imitations": imitations(text),
        "imitates": notice.imitates(text),
        "quoted": notice.quoted(text),
        "guard": [guard.is_blank(text), guard.is_cleared(text), guard.truncation_mark(utf8.encode(text)[0])],
        "encoded": plain(utf8.encode(text)),
        "media": media_type(utf8.encode(text)[0]),
    }
