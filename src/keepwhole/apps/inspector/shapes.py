"""What the page is given of steps, results and decisions: plain values, and no more of a text than it shows.

Owns: the names of the fields.
Must not know: stores, sockets.
"""

from collections.abc import Mapping
from typing import Any

from keepwhole.apps.inspector.timeline import Kept, Step
from keepwhole.canonical.entry import Decision, Request, Response
from keepwhole.canonical.utf8 import showable
from keepwhole.exchange.request_log import NO_ANSWER
from keepwhole.models.tokens import estimate_from_length
from keepwhole.policies.policy import rule_meaning

_ARGUMENTS = 200
_LISTED = 50
"""Results and decisions of a step that are listed; a step may have many more."""
_LARGE_REWRITE = 8_192
"""Bytes that have to be sent anew before a request counts as one that rewrote the prompt, where no rule did."""


def step(of: Step) -> dict[str, Any]:
    """One step."""
    request, response = of.request, of.response
    return {
        "index": of.index,
        "seq": of.seq,
        "last": of.last,
        "at": of.at,
        **_sent(request, response),
        "rewritten": rewritten(of),
        "rounds": of.rounds,
        "results": [result(kept) for kept in of.results[:_LISTED]],
        "results_more": max(0, len(of.results) - _LISTED),
        "decisions": [_decided(kept, decision) for kept, decision in of.decisions[:_LISTED]],
        "decisions_more": max(0, len(of.decisions) - _LISTED),
    }


def _sent(request: Request | None, response: Response | None) -> dict[str, Any]:
    """What was sent and what came of it; nothing but `null` where there was no request."""
    keys = ("branch", "model", "purpose", "policy", "mode", "tokens_whole", "tokens_sent", "predicted")
    about = {key: _said(getattr(request, key, None)) for key in keys}
    timed = {key: getattr(response, key, None) for key in ("first_ms", "total_ms")}
    outcome = None if request is None else NO_ANSWER if response is None else response.outcome
    name = None if request is None else request.trace_id
    size = None if request is None else request.size
    return {"id": name, "size": size, **about, "usage": usage(response), "outcome": outcome, **timed}


def _said(value: object) -> object:
    return showable(value) if isinstance(value, str) else value


def usage(response: Response | None) -> dict[str, int | None] | None:
    """What a provider billed; None where it said nothing."""
    if response is None or response.input is None:
        return None
    return {key: getattr(response, key) for key in ("input", "cached", "written", "output")}


def rewritten(of: Step) -> dict[str, int] | None:
    """What a request sent otherwise than the one before it had, where that was more than its end.

    Bytes alone do not tell: clients move their cache markers. So where no rule of ours rewrote, what was foreseen of
    the cache has to say so too.
    """
    request, base = of.request, of.base
    if request is None or base is None:
        return None
    anew = max(0, base.size - request.same)
    foreseen = request.tokens_sent if request.predicted is None else request.predicted
    by_rule = request.decisions > 0 and request.mode == "on"
    if not by_rule and (anew < _LARGE_REWRITE or 2 * anew < base.size or 2 * foreseen > base.tokens_sent):
        return None
    tokens = (
        estimate_from_length(anew)
        if request.predicted is None
        else max(0, min(base.tokens_sent, request.tokens_sent) - foreseen)
    )
    return {"bytes": anew, "tokens": tokens}


def result(kept: Kept) -> dict[str, Any]:
    """One result in a list."""
    own, facts = kept.result, kept.facts
    return {
        "number": kept.number,
        "seq": kept.seq,
        "step": kept.step.index if kept.step is not None else None,
        "trace_id": own.trace_id,
        "artifact_id": own.artifact_id,
        "tool": showable(own.tool),
        "arguments": _short(own.arguments),
        "at": own.at,
        "chars": facts.chars,
        "tokens": estimate_from_length(facts.chars),
        "lines": facts.lines,
        "is_error": own.is_error,
        "exit_code": own.exit_code,
        "shown": _shown(kept),
        "pinned": bool(kept.decisions) and kept.decisions[-1].rule == "pin",
    }


def whole_result(kept: Kept) -> dict[str, Any]:
    """One result with everything that is known of it."""
    own, facts = kept.result, kept.facts
    return result(kept) | {
        "arguments": showable(own.arguments or ""),
        "call_id": _said(own.call_id),
        "turn": own.turn,
        "digest": facts.digest.hex(),
        "size": facts.size,
        "encoding": facts.encoding,
        "media_type": own.media_type,
        "flags": list(own.flags),
    }


def decisions(kept: Kept) -> list[dict[str, Any]]:
    """All decisions about a result, the oldest first."""
    return [_decided(kept, decision) for decision in kept.decisions]


def _shown(kept: Kept) -> dict[str, Any] | None:
    if not kept.decisions:
        return None
    return shown(kept.decisions[-1])


def shown(decision: Decision) -> dict[str, Any]:
    """How a result is shown by a decision."""
    return {
        "rule": decision.rule,
        "strategy": decision.strategy,
        "chars": decision.shown_chars,
        "tokens": estimate_from_length(decision.shown_chars),
    }


def _decided(kept: Kept | None, decision: Decision) -> dict[str, Any]:
    saved = 0 if kept is None else estimate_from_length(kept.facts.chars) - estimate_from_length(decision.shown_chars)
    return {
        "trace_id": decision.trace_id,
        "artifact_id": None if kept is None else kept.result.artifact_id,
        "rule": decision.rule,
        "strategy": decision.strategy,
        "why": rule_meaning(decision.rule),
        "saved": saved,
        "at": decision.at,
    }


def _short(arguments: str | None) -> str:
    text = showable((arguments or "")[:_ARGUMENTS])
    return text if len(arguments or "") <= _ARGUMENTS else text[: _ARGUMENTS - 1] + "…"


def number(query: Mapping[str, str], key: str, default: int, least: int, most: int) -> int:
    """A number that the page asks with, kept within what is served."""
    text = query.get(key, "")
    return max(least, min(most, int(text))) if text.isascii() and text.lstrip("-").isdecimal() else default
