"""Scenarios of what seldom happens: races, messages that change in place, objects of SDKs, odd items, other readers."""

import copy
import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from tests.golden import doors
from tests.golden.conversations import DIALECTS, PATHS, Talk, steps
from tests.golden.recorder import Recorder
from tests.golden.setups import Work, settings
from tests.golden.texts import text


def races(out: Recorder) -> None:
    """Another process decides about the same conversation while this one is about to."""
    for dialect in DIALECTS:
        for given in ("eager", "tight", "summed"):
            store = doors.RacingStore()
            work = Work(out, f"rare/race-{dialect}-{given}", given, store=store)
            other, talk = work.again(), Talk(dialect)
            views: list[Any] = []
            for number, step in enumerate(steps(f"race/{given}", 12, 0.7)):
                talk.take(step)
                if number % 2:
                    seen = copy.deepcopy(talk.messages)
                    store.meanwhile = lambda other=other, seen=seen: doors.view(other, seen)
                work.clock.tick()
                views.append(doors.projection(work.session, copy.deepcopy(talk.messages)))
                store.meanwhile = None
            work.record(views[:6], "first")
            work.record(views[6:], "last")
            work.end()


def in_place(out: Recorder) -> None:
    """A client that moves its cache marker in the messages it gave, and adds to them in place."""
    for given in ("truncation", "eager"):
        work = Work(out, f"rare/in-place-{given}", given)
        talk = Talk("anthropic", "blocks")
        for step in steps("in-place", 7):
            talk.take(step)
            for message in talk.messages:
                for part in message["content"]:
                    part.pop("cache_control", None)
            talk.messages[-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
            work.view(talk.messages)
            talk.messages[-1]["content"].append({"type": "text", "text": "One more thing."})
            work.view(talk.messages, "added")
        work.end()


def objects(out: Recorder) -> None:
    """Messages as objects with attributes, as SDKs have them, and tuples."""
    for dialect in DIALECTS:
        work = Work(out, f"rare/objects-{dialect}", "truncation")
        talk = Talk(dialect, "blocks")
        for step in steps("objects", 5):
            talk.take(step)
            work.view([_object(message) for message in talk.messages])
        work.record(work.session.hydrate([_object(message) for message in talk.messages]), "hydrated")
        work.end()


def _object(value: Any) -> Any:
    if isinstance(value, dict):
        return SimpleNamespace(**{key: each if key in ("input",) else _object(each) for key, each in value.items()})
    return [_object(each) for each in value] if isinstance(value, list) else value


def items(out: Recorder) -> None:
    """Items of OpenAI's responses beside function calls, and contents that are lists of strings."""
    long = text("log", 15_000)
    outcome = {"type": "exit", "exit_code": 1}
    given: dict[str, list[Any]] = {
        "shell": [
            {"type": "shell_call", "call_id": "s1", "action": {"commands": ["make"]}},
            {
                "type": "shell_call_output",
                "call_id": "s1",
                "output": [{"stdout": long, "stderr": "no", "outcome": outcome}],
            },
        ],
        "local-shell": [
            {"type": "local_shell_call", "id": "l1", "call_id": "l1", "action": {"type": "exec", "command": ["make"]}},
            {"type": "local_shell_call_output", "id": "l1", "output": long},
        ],
        "custom": [
            {"type": "custom_tool_call", "call_id": "u1", "name": "patch", "input": "*** Begin"},
            {"type": "custom_tool_call_output", "call_id": "u1", "output": long},
        ],
        "apply-patch": [
            {"type": "apply_patch_call", "call_id": "p1", "operation": {"type": "update_file", "path": "a"}},
            {"type": "apply_patch_call_output", "call_id": "p1", "output": long, "status": "failed"},
        ],
        "mcp": [{"type": "mcp_call", "id": "m1", "name": "x", "arguments": "{}", "output": long}],
        "strings": [
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "bash", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": [long, "more"]}]},
        ],
        "function": [
            {"role": "assistant", "content": None, "function_call": {"name": "bash", "arguments": "{}"}},
            {"role": "function", "name": "bash", "content": long},
        ],
    }
    for label, messages in given.items():
        work = Work(out, f"rare/items-{label}", "truncation")
        said = [{"role": "user", "content": "go"}, *messages]
        work.record(doors.projection(work.session, said))
        key = "input" if "type" in messages[0] else "messages"
        work.view(json.dumps({"model": "m", key: said, "tools": []}).encode(), "bytes")
        work.end()


def shown_again(out: Recorder) -> None:
    """Texts with half surrogate pairs and bytes, shown, and come back as shown; and everything that reads back."""
    work = Work(out, "rare/shown", "truncation")
    outputs = {"half": text("surrogates", 600), "long": text("surrogates", 20_000), "bytes": b"ok \xff\xfe\n" * 2_000}
    for label, output in outputs.items():
        shown = doors.kept(work.session, "bash", {}, output, call_id=label)
        call = {"id": label, "type": "function", "function": {"name": "bash", "arguments": "{}"}}
        said = [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": label, "content": shown.content},
        ]
        work.view(said, label)
        work.record(work.session.hydrate(said), f"{label}-hydrated")
        work.record(work.session.recall(shown.trace_id, lines="1-3"), f"{label}-lines")
        work.record(work.session.recall_bytes(shown.trace_id), f"{label}-bytes")
        work.record(b"".join(work.session.stream(shown.trace_id)), f"{label}-stream")
        work.record(doors.plain(work.session.shown(shown.trace_id)), f"{label}-shown")
    work.tried("nobody", lambda: work.session.recall("nobody"))
    work.end()


def left(out: Recorder) -> None:
    """Requests of which no answer came."""
    for dialect in DIALECTS:
        clock, store, talk = doors.Clock(), doors.memory_store(), Talk(dialect)
        desk = doors.open_desk(
            clock=clock, store=store, seed=f"left/{dialect}", settings=settings("eager"), session="s"
        )
        for step in steps("left", 4):
            talk.take(step)
            clock.tick()
            begun = doors.begin(desk, PATHS[dialect], {}, talk.request())
            doors.settle(begun)
            doors.unanswered(begun)
        out.add(f"rare/left-{dialect}/sent", [begun.body, doors.figures(begun)])
        out.add(f"rare/left-{dialect}/record", doors.record(store))


GROUPS: dict[str, list[Callable[[Recorder], None]]] = {"rare": [races, in_place, objects, items, shown_again, left]}
