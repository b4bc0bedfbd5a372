"""The overview of one result: what the tool returned, and what was shown of it."""

from typing import Any

from keepwhole.apps.cli import screen
from keepwhole.canonical.utf8 import showable
from keepwhole.record.arrival import CLIENT_CUT
from keepwhole.session import Session
from keepwhole.store.protocol import Row, decision_of, entry_of, result_of
from keepwhole.truncation.notice import size_text

_EXCERPT = 2_000


def print_overview(session: Session, row: Row, as_json: bool) -> None:
    """Print a result, its facts and its view, for people or for programs."""
    report = _report(session, row)
    if as_json:
        screen.print_json(report)
    else:
        _print(report)


def _report(session: Session, row: Row) -> dict[str, Any]:
    result, facts = result_of(row), entry_of(row).facts
    decided = session.store.decision(row.session, row.trace_id)
    with session.open(row.trace_id) as reader:
        returned = showable(reader.text(0, _EXCERPT)) if result.media_type == "text/plain" else None
    report: dict[str, Any] = {
        "session": row.session,
        "seq": row.seq,
        "tool": result.tool,
        "arguments": result.arguments,
        "call_id": result.call_id,
        "at": result.at,
        "is_error": result.is_error,
        "exit_code": result.exit_code,
        "trace_id": result.trace_id,
        "artifact_id": result.artifact_id,
        "media_type": result.media_type,
        "flags": list(result.flags),
        "bytes": facts.size,
        "chars": facts.chars,
        "lines": facts.lines,
        "digest": facts.digest.hex(),
        "chain": row.chain.hex(),
        "returned": returned,
        "frame": None if result.frame is None else {"before": result.frame[0], "behind": result.frame[1]},
        "shown": session.shown(row.trace_id).content if decided is not None else None,
    }
    if decided is not None:
        decision = decision_of(decided)
        report |= {"rule": decision.rule, "strategy": decision.strategy, "shown_chars": decision.shown_chars}
    return report


def _print(report: dict[str, Any]) -> None:
    how = "error" if report["is_error"] else "ok"
    code = "" if report["exit_code"] is None else f", exit code {report['exit_code']}"
    screen.say(f"{screen.bold(screen.line(str(report['tool'])))}  {screen.line(str(report['arguments'] or ''))}")
    screen.say(f"entry {report['seq']} of {report['session']}, {screen.format_time(report['at'])}, {how}{code}")
    screen.say(f"trace {report['trace_id']}, artifact {report['artifact_id']}")
    if report["flags"]:
        screen.say(f"flags: {', '.join(report['flags'])}")
    size = size_text(report["bytes"])
    is_cut = CLIENT_CUT in report["flags"]
    what = "What the client left of what the tool returned" if is_cut else "What the tool returned"
    screen.say(f"\n{screen.bold(what)}  {size}, {report['chars']:,} characters, {report['lines']:,} lines")
    screen.say(screen.dim(f"digest {report['digest']}, verified"))
    returned = report["returned"]
    screen.say(screen.safe(str(returned)) if returned is not None else f"(not text: {report['media_type']})")
    if returned is not None and report["chars"] > _EXCERPT:
        rest = f"the first {_EXCERPT:,} characters; all of it: keepwhole artifacts show {report['artifact_id']} --raw"
        screen.say(screen.dim(f"… {rest}"))
    if report["frame"] is not None:
        screen.say(f"\n{screen.bold('What the client put around it')}")
        for where, text in report["frame"].items():
            if text:
                screen.say(f"{where}: {screen.safe(text.strip())}")
    if report["shown"] is None:
        screen.say(f"\n{screen.bold('What was shown')}  all of it")
        return
    words = f"{report['shown_chars']:,} characters, rule {report['rule']}, strategy {report['strategy']}"
    screen.say(f"\n{screen.bold('What was shown')}  {words}")
    screen.say(screen.safe(str(report["shown"])))
