"""Steps, results and decisions as the page gets them: plain values, and no more of a text than the page shows.

Owns: the names of the fields.
Must not know: stores, sockets.
"""

from collections.abc import Mapping
from typing import Any

from keepwhole.apps.argument_words import telling_argument
from keepwhole.apps.inspector.images import media_fields
from keepwhole.apps.inspector.timeline import TimelineResult, TimelineStep
from keepwhole.apps.kept_words import shown_tokens, tokens_as_sent
from keepwhole.apps.request_figures import bill_scale, sizes_of
from keepwhole.canonical.entry import Decision, Request, Response
from keepwhole.canonical.utf8 import showable
from keepwhole.exchange.request_log import NO_ANSWER
from keepwhole.models.tokens import estimate_from_length
from keepwhole.policies.policy import rule_meaning

_ARGUMENTS = 200
_LISTED = 50
"""Results and decisions of a step that are listed at most."""
_LARGE_REWRITE = 8_192
"""Bytes that must differ before a request counts as a rewrite of the prompt, where no rule rewrote it."""


def step(of: TimelineStep) -> dict[str, Any]:
    """One step."""
    request, response = of.request, of.response
    return {
        "index": of.index,
        "seq": of.seq,
        "last": of.last,
        "at": of.at,
        **_request_fields(request, response),
        "clock": _clock_fields(response),
        "errors": sum(kept.result.is_error for kept in of.results),
        "rewritten": rewrite_of(of),
        "rounds": of.rounds,
        "results": [result(kept) for kept in of.results[:_LISTED]],
        "results_more": max(0, len(of.results) - _LISTED),
        "decisions": [_decision_fields(kept, decision) for kept, decision in of.decisions[:_LISTED]],
        "decisions_more": max(0, len(of.decisions) - _LISTED),
    }


def _request_fields(request: Request | None, response: Response | None) -> dict[str, Any]:
    """The request and its outcome; all values are None where there was no request.

    Its tokens are those that were billed where a bill is known, so that they add up with the bill's own parts.
    """
    keys = ("branch", "model", "purpose", "policy", "mode", "predicted", "would_edit")
    about = {key: _printable(getattr(request, key, None)) for key in keys}
    about |= dict.fromkeys(("tokens_whole", "tokens_sent", "would_send"))
    if request is not None:
        scale = bill_scale(request, response)
        about["tokens_sent"], about["tokens_whole"] = map(round, sizes_of(request, response))
        about["would_send"] = None if request.would_send is None else round(request.would_send * scale)
    timed = {key: getattr(response, key, None) for key in ("first_ms", "total_ms")}
    outcome = None if request is None else NO_ANSWER if response is None else response.outcome
    name = None if request is None else request.trace_id
    size = None if request is None else request.size
    return {"id": name, "size": size, **about, "usage": usage(response), "outcome": outcome, **timed}


def _clock_fields(response: Response | None) -> dict[str, int] | None:
    """How long a request took, phase by phase; None where that is not known."""
    times = None if response is None else response.times
    if times is None:
        return None
    phases = {"queue": times.queue, "keepwhole": times.own, "first": times.first, "stream": times.stream}
    return {**phases, "total": times.total}


def _printable(value: object) -> object:
    return showable(value) if isinstance(value, str) else value


def usage(response: Response | None) -> dict[str, int | None] | None:
    """The usage that a provider reported; None where it reported none."""
    if response is None or response.input is None:
        return None
    return {key: getattr(response, key) for key in ("input", "cached", "written", "output")}


def rewrite_of(of: TimelineStep) -> dict[str, int] | None:
    """How much a request changed before the end of the request that it follows; None where it only added to it.

    Bytes alone do not show that: clients move their cache markers. So where no rule of Keepwhole rewrote, the
    forecast of the cache must show a rewrite too.
    """
    request, base = of.request, of.base
    if request is None or base is None:
        return None
    changed = max(0, base.size - request.same)
    foreseen = request.tokens_sent if request.predicted is None else request.predicted
    by_rule = request.decisions > 0 and request.mode == "on"
    if not by_rule and (changed < _LARGE_REWRITE or 2 * changed < base.size or 2 * foreseen > base.tokens_sent):
        return None
    tokens = (
        estimate_from_length(changed)
        if request.predicted is None
        else max(0, min(base.tokens_sent, request.tokens_sent) - foreseen)
    )
    return {"bytes": changed, "tokens": tokens}


def result(kept: TimelineResult) -> dict[str, Any]:
    """One result in a list."""
    own, facts = kept.result, kept.facts
    media = media_fields(own, facts.size, facts.digest)
    if media is not None:
        media["tokens"] = kept.whole_tokens
    return {
        "number": kept.number,
        "seq": kept.seq,
        "step": kept.step.index if kept.step is not None else None,
        "trace_id": own.trace_id,
        "artifact_id": own.artifact_id,
        "tool": showable(own.tool),
        "arguments": _short(own.arguments),
        "argument": telling_argument(own.arguments),
        "at": own.at,
        "chars": facts.chars,
        "tokens": kept.whole_tokens,
        "lines": facts.lines,
        "media": media,
        "is_error": own.is_error,
        "exit_code": own.exit_code,
        "shown": _newest_view(kept),
        "pinned": bool(kept.decisions) and kept.decisions[-1].rule == "pin",
    }


def whole_result(kept: TimelineResult) -> dict[str, Any]:
    """One result with all of its fields."""
    own, facts = kept.result, kept.facts
    return result(kept) | {
        "arguments": showable(own.arguments or ""),
        "call_id": _printable(own.call_id),
        "turn": own.turn,
        "digest": facts.digest.hex(),
        "size": facts.size,
        "encoding": facts.encoding,
        "media_type": own.media_type,
        "flags": list(own.flags),
    }


def decisions(kept: TimelineResult) -> list[dict[str, Any]]:
    """All decisions about a result, the oldest first."""
    return [_decision_fields(kept, decision) for decision in kept.decisions]


def _newest_view(kept: TimelineResult) -> dict[str, Any] | None:
    if not kept.decisions:
        return None
    return view_fields(kept.decisions[-1])


def view_fields(decision: Decision) -> dict[str, Any]:
    """How a decision shows a result."""
    return {
        "rule": decision.rule,
        "strategy": decision.strategy,
        "chars": decision.shown_chars,
        "tokens": shown_tokens(decision),
    }


def _decision_fields(kept: TimelineResult | None, decision: Decision) -> dict[str, Any]:
    saved = 0 if kept is None else _tokens_before(kept, decision) - shown_tokens(decision)
    return {
        "trace_id": decision.trace_id,
        "artifact_id": None if kept is None else kept.result.artifact_id,
        "tool": None if kept is None else showable(kept.result.tool),
        "arguments": "" if kept is None else _short(kept.result.arguments),
        "rule": decision.rule,
        "strategy": decision.strategy,
        "why": rule_meaning(decision.rule, decision.reason),
        "saved": saved,
        "at": decision.at,
    }


def _tokens_before(kept: TimelineResult, decision: Decision) -> int:
    """Tokens of a result as it was shown until a decision: so what its decisions have saved adds up."""
    at = next((at for at, one in enumerate(kept.decisions) if one is decision), 0)
    return shown_tokens(kept.decisions[at - 1]) if at else _tokens_as_sent(kept)


def _tokens_as_sent(kept: TimelineResult) -> int:
    """Tokens of a result as the client sent it."""
    return tokens_as_sent(kept.result, kept.facts, kept.decisions)


def _short(arguments: str | None) -> str:
    text = showable((arguments or "")[:_ARGUMENTS])
    return text if len(arguments or "") <= _ARGUMENTS else text[: _ARGUMENTS - 1] + "…"


def number(query: Mapping[str, str], key: str, default: int, least: int, most: int) -> int:
    """A number of the query, limited to the allowed range."""
    text = query.get(key, "")
    return max(least, min(most, int(text))) if text.isascii() and text.removeprefix("-").isdecimal() else default
