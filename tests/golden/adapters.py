"""Scenarios of what stands between agents and providers: hooks of clients, the SDKs' transport, an MCP gateway."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.golden import doors
from tests.golden.conversations import DIALECTS, PATHS, Talk, steps
from tests.golden.exchanges import recalls, says, streamed
from tests.golden.recorder import Recorder
from tests.golden.setups import Work, settings
from tests.golden.texts import KINDS, text
from tests.upstream.spelling import SPELLINGS, Text, Tool

Json = dict[str, Any]
_RECORDED = Path(__file__).parents[1] / "apps" / "hooks"
_KINDS = ("plain", "log", "json", "code", "unicode", "surrogates", "huge_lines")
_HOOK_SETTINGS = {
    "default": "",
    "truncation": "policy: truncation\n",
    "tools": "recall: tools\npolicy: truncation\n",
    "shadow": "mode: shadow\n",
    "small": "policy: truncation\nrecall_reader: sed\ntools:\n  truncation:\n    inline_limit: 1200\n",
}


def hooks(out: Recorder) -> None:
    """The hooks of every client: as they were recorded, and with long results."""
    for given, words in _HOOK_SETTINGS.items():
        for client, events in (("claude-code", _claude), ("codex", _codex), ("opencode", _opencode)):
            name = f"hooks/{client}-{given}"
            clock = doors.Clock()
            with doors.folder() as place:
                out.replace(place, doors.PLACEHOLDER)
                out.replace(doors.own_command(), "<command>")
                with doors.hook_place(place, clock, name, words) as answer:
                    said: dict[str, Any] = {}
                    for number, (label, event) in enumerate(events(place), 1):
                        clock.tick()
                        said[f"{number:02d}-{label}"] = answer(client, event)
                if given in ("default", "small"):
                    for label, one in said.items():
                        out.add(f"{name}/{label}", one)
                else:
                    out.add(f"{name}/answers", said)
                store = doors.hook_store(place)
                out.add(f"{name}/record", doors.record(store, bare=True))
                store.close()


def _logged(client: str) -> Iterator[tuple[str, Json]]:
    for line in (_RECORDED / f"{client}.ndjson").read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        yield event.get("tool_name", event["hook_event_name"]), event


def _claude(place: str) -> Iterator[tuple[str, Json]]:
    yield from _logged("claude-code")
    base: Json = {"session_id": "claude-1", "hook_event_name": "PostToolUse"}
    file = os.path.join(place, "output.txt")
    Path(file).write_text(text("log", 60_000), encoding="utf-8")
    for number, kind in enumerate(_KINDS):
        words = text(kind, 13_000)
        about = {**base, "tool_use_id": f"t{number}"}
        shell = {"stdout": words, "stderr": "oops" if number % 2 else "", "interrupted": False, "isImage": False}
        yield f"Bash-{kind}", {**about, "tool_name": "Bash", "tool_input": {"command": kind}, "tool_response": shell}
        page = {"filePath": f"/w/{kind}", "content": words, "numLines": 9, "startLine": 1, "totalLines": 9}
        read = {"tool_name": "Read", "tool_input": {"file_path": f"/w/{kind}"}, "tool_use_id": f"r{number}"}
        yield f"Read-{kind}", {**about, **read, "tool_response": {"type": "text", "file": page}}
        unchanged = {"type": "file_unchanged", "file": {"filePath": f"/w/{kind}"}}
        yield f"Unchanged-{kind}", {**about, **read, "tool_response": unchanged}
    saved = {"stdout": "the beginning", "stderr": "", "persistedOutputPath": file, "persistedOutputSize": 60_000}
    yield "saved", {**base, "tool_name": "Bash", "tool_input": {}, "tool_response": saved}
    gone = {**saved, "persistedOutputPath": file + ".gone"}
    yield "gone", {**base, "tool_name": "Bash", "tool_input": {}, "tool_response": gone}
    names = [f"/w/{n}/{kind}.py" for n in range(600) for kind in _KINDS]
    found = {"mode": "files_with_matches", "filenames": names, "numFiles": len(names)}
    yield "Grep-files", {**base, "tool_name": "Grep", "tool_input": {"pattern": "x"}, "tool_response": found}
    matches = {"mode": "content", "numFiles": 0, "filenames": [], "content": text("grep", 25_000)}
    yield "Grep-content", {**base, "tool_name": "Grep", "tool_input": {"pattern": "x"}, "tool_response": matches}
    globbed = {"filenames": names, "durationMs": 6, "numFiles": len(names), "truncated": False}
    yield "Glob", {**base, "tool_name": "Glob", "tool_input": {"pattern": "*"}, "tool_response": globbed}
    yield "mcp-text", {**base, "tool_name": "mcp__a__b", "tool_input": {}, "tool_response": text("json", 50_000)}
    blocks = [{"type": "text", "text": text("plain", 30_000, n)} for n in range(2)]
    yield "mcp-blocks", {**base, "tool_name": "mcp__a__b", "tool_input": {}, "tool_response": blocks}
    failed = {**base, "hook_event_name": "PostToolUseFailure", "tool_name": "Bash", "tool_input": {}}
    yield "failure", {**failed, "error": text("log", 20_000)}
    yield "agent", {**base, "agent_id": "helper", "tool_name": "Bash", "tool_input": {}, "tool_response": shell}
    reads = {"command": f"cat {os.path.join(place, 'home', 'results')}/x"}
    yield "reads-back", {**base, "tool_name": "Bash", "tool_input": reads, "tool_response": shell}
    yield "odd-session", {**base, "session_id": "a / b", "tool_name": "Bash", "tool_input": {}, "tool_response": shell}
    yield "resume", {"session_id": "claude-1", "hook_event_name": "SessionStart", "source": "resume"}
    yield "stop", {"session_id": "claude-1", "hook_event_name": "Stop"}


def _codex(place: str) -> Iterator[tuple[str, Json]]:
    yield from _logged("codex")
    log = os.path.join(place, "rollout.jsonl")
    base: Json = {"session_id": "codex-1", "hook_event_name": "PostToolUse", "transcript_path": log}
    lines: list[str] = []
    for number, kind in enumerate(_KINDS):
        words = text(kind, 15_000)
        item = {"type": "CommandExecution", "id": f"c{number}", "aggregated_output": words, "exit_code": number % 2}
        lines.append(json.dumps({"type": "event_msg", "payload": {"type": "item_completed", "item": item}}))
        Path(log).write_text("\n".join(lines) + "\n", encoding="utf-8")
        about = {**base, "tool_name": "Bash", "tool_input": {"command": kind}, "tool_use_id": f"c{number}"}
        yield f"Bash-{kind}", {**about, "tool_response": words}
        cut = f"Warning: truncated output (original token count: 9000)\n{words[:500]}"
        yield f"cut-{kind}", {**about, "tool_response": cut}
    yield "unlogged", {**base, "tool_name": "Bash", "tool_use_id": "nobody", "tool_response": text("log", 20_000)}
    yield "mcp", {**base, "tool_name": "mcp__a__b", "tool_response": {"content": [{"type": "text", "text": words}]}}
    yield "compact", {"session_id": "codex-1", "hook_event_name": "PreCompact", "trigger": "auto"}
    yield "resume", {"session_id": "codex-1", "hook_event_name": "SessionStart", "source": "resume"}


def _opencode(place: str) -> Iterator[tuple[str, Json]]:
    base: Json = {"session_id": "ses_1", "event": "returned"}
    file = os.path.join(place, "opencode.txt")
    Path(file).write_text(text("log", 50_000), encoding="utf-8")
    for number, kind in enumerate(_KINDS):
        about = {**base, "tool": "bash", "args": {"command": kind}, "call_id": f"o{number}"}
        yield kind, {**about, "output": text(kind, 12_000), "metadata": {"exit": number % 3}}
    more = {**base, "tool": "bash", "args": {}, "output": "the beginning"}
    yield "saved", {**more, "metadata": {"truncated": True, "outputPath": file}}
    yield "attached", {**more, "output": text("plain", 20_000), "attachments": [{"mime": "image/png"}]}
    yield "compacting", {"session_id": "ses_1", "event": "compacting"}
    yield "other", {"session_id": "ses_1", "event": "news"}


def transports(out: Recorder) -> None:
    """The SDKs' transport, sync and async, whole and streamed, with hidden rounds."""
    for dialect in DIALECTS:
        for streams in (False, True):
            for is_async in (False, True):
                how = f"{'stream' if streams else 'whole'}-{'async' if is_async else 'sync'}"
                _transport(out, f"transport/{dialect}-{how}", dialect, streams, is_async)


def _transport(out: Recorder, name: str, dialect: str, streams: bool, is_async: bool) -> None:
    clock, store = doors.Clock(), doors.memory_store()
    session = doors.open_session("t", store=store, settings=settings("truncation"), clock=clock, seed=name)
    talk = Talk(dialect)
    sent: list[bytes] = []
    rounds = iter(range(10_000))
    begun = [0]

    def handle(path: str, body: bytes) -> tuple[str, list[bytes]]:
        sent.append(body)
        number, begun[0] = begun[0], begun[0] + 1
        script = (
            recalls(2, [Text("It is so."), Tool("bash", {"command": "ls"})])
            if "art_" in body.decode()
            else says(Text("Hm."))
        )
        said = script(body.decode("utf-8", "replace"), number)
        assert isinstance(said, list)
        spelling = SPELLINGS[dialect]  # type: ignore[index]
        answer = next(rounds) + 1
        if streams:
            return "text/event-stream", list(spelling.events(said, answer, None))
        return "application/json", [json.dumps(spelling.whole(said, answer, None)).encode()]

    def requests() -> Iterator[tuple[str, dict[str, str], bytes]]:
        for step in steps(f"transport/{dialect}", 5):
            talk.take(step)
            clock.tick()
            begun[0] = 0
            headers = {"content-type": "application/json"}
            yield PATHS[dialect], headers, talk.request(**({"stream": True} if streams else {}))

    got = doors.send_all(requests(), handle, session, is_async)
    if is_async:
        out.add(f"{name}/sent", sent)
    else:
        for number, body in enumerate(sent, 1):
            out.add(f"{name}/sent-{number:02d}", body)
    for number, (status, headers, data) in enumerate(got, 1):
        out.add(f"{name}/got-{number:02d}", [status, headers, data, streamed(dialect, data) if streams else None])
    out.add(f"{name}/record", doors.record(store))


def gateways(out: Recorder) -> None:
    """Results of MCP servers as a gateway passes them on, and our own server's answers."""
    image = {"type": "image", "data": "AA==", "mimeType": "image/png"}
    for given in ("default", "small", "overrides"):
        for version in ("2025-06-18", "2026-06-30"):
            work = Work(out, f"mcp/{given}-{version}", given)
            results: dict[str, Json] = {}
            for kind in KINDS:
                results[kind] = {"content": [{"type": "text", "text": text(kind, 16_000)}, image]}
            rows = json.loads(text("json", 20_000))
            results["structured"] = {"content": [{"type": "text", "text": "see there"}], "structuredContent": rows}
            both = [{"type": "text", "text": json.dumps(rows)}]
            results["repeated"] = {"content": both, "structuredContent": rows}
            results["many"] = {"content": [{"type": "text", "text": text("plain", 3_000, n)} for n in range(9)]}
            results["error"] = {"content": [{"type": "text", "text": text("log", 12_000)}], "isError": True}
            results["empty"] = {"content": []}
            results["small"] = {"content": [{"type": "text", "text": "ok"}], "structuredContent": {"ok": True}}
            for label, result in results.items():
                passed = doors.gateway_result(work.session, f"srv__{label}", {"q": label}, version, result)
                work.record(passed, label)
            for known in work.session.artifacts()[:4]:
                work.record(doors.mcp_resource(work.session, known.artifact_id), "resource")
                asked = {"id": known.artifact_id, "pattern": "customs"}
                work.record(doors.mcp_recalled(work.session, "get_artifact", asked), "recalled")
            work.end()


GROUPS: dict[str, list[Callable[[Recorder], None]]] = {
    "hooks": [hooks],
    "transport": [transports],
    "mcp": [gateways],
}
