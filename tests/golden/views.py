"""Scenarios of `view` and `projection`: growing conversations under every policy, dialect, style and setting."""

import copy
from collections.abc import Callable
from typing import Any

from tests.golden import doors
from tests.golden.conversations import DIALECTS, MODELS, Talk, cleared, steps
from tests.golden.recorder import Recorder
from tests.golden.setups import Work
from tests.golden.texts import text

Scenario = Callable[[Recorder], None]


def grown(
    name: str,
    dialect: str,
    given: str,
    policy: str | None,
    style: str,
    seed: object,
    count: int,
    joined: bool = False,
) -> Scenario:
    """A conversation that grows step by step, viewed as a list at every step; all views `joined` to one recording."""

    def scenario(out: Recorder) -> None:
        work = Work(out, name, given)
        talk = Talk(dialect, style)
        options: dict[str, Any] = {"policy": policy} if policy else {}
        views: list[Any] = []
        for step in steps(seed, count):
            talk.take(step)
            work.clock.tick()
            views.append(doors.view(work.session, copy.deepcopy(talk.messages), **options))
            if not joined:
                work.record(views[-1])
        if joined:
            work.record(views, "views")
        work.clock.tick()
        work.record(doors.projection(work.session, talk.messages, **options), "projection")
        work.end()

    return scenario


def requested(name: str, dialect: str, given: str, style: str, spelling: str, seed: object, count: int) -> Scenario:
    """The same as the bytes of requests, with cache markers that move, spelled in several ways."""

    def scenario(out: Recorder) -> None:
        work = Work(out, name, given)
        talk = Talk(dialect, style)
        for number, step in enumerate(steps(seed, count)):
            talk.take(step)
            marked = dialect == "anthropic" and number % 3 != 2
            body = talk.request(marked=marked, spelling=spelling)
            if number % 2:
                work.view(body, "count", recorded=False)
            work.view(body)
            if number % 4 == 3:
                work.view(body, "restored", restored=True)
        work.record(doors.projection(work.session, talk.request(spelling=spelling)), "projection")
        work.record(work.session.hydrate(doors.view(work.session, talk.messages)), "hydrated")
        work.end()

    return scenario


def every_policy(dialect: str) -> list[Scenario]:
    """Every policy there is, and the settings, in one dialect."""
    found: list[Scenario] = []
    for at, policy in enumerate(doors.POLICIES):
        style = ("plain", "blocks", "rich")[at % 3]
        name = f"view/{dialect}-{policy}"
        own = policy in ("auto", "truncation", "retention", "rolling", "everything")
        found.append(grown(name, dialect, "default", policy, style, f"{dialect}/{at % 4}", 14, not own))
    sets = (
        "lean",
        "eager",
        "tight",
        "window",
        "lean_window",
        "small",
        "overrides",
        "off",
        "shadow",
        "mode_off",
        "quota",
    )
    for at, given in enumerate(sets):
        style = ("plain", "blocks", "rich")[at % 3]
        found.append(grown(f"view/{dialect}-set-{given}", dialect, given, None, style, f"{dialect}/{given}", 10))
    for given in ("tight", "eager"):
        for policy in ("retention", "rolling", "truncation", "clear_tool_uses_50k", "half_watermark"):
            name = f"view/{dialect}-{given}-{policy}"
            found.append(grown(name, dialect, given, policy, "plain", f"{dialect}/{policy}", 10, joined=True))
    return found


def every_request() -> list[Scenario]:
    """Requests of every dialect under several settings, styles and spellings."""
    found: list[Scenario] = []
    for dialect in DIALECTS:
        for at, given in enumerate(("default", "truncation", "eager", "tight", "lean_window", "shadow", "small")):
            style = ("plain", "blocks", "rich")[(at + 1) % 3]
            spelling = ("plain", "tight", "utf8", "wide")[at % 4]
            name = f"request/{dialect}-{given}-{style}-{spelling}"
            found.append(requested(name, dialect, given, style, spelling, name, 9))
    return found


def modes(out: Recorder) -> None:
    """A projection in each mode, with questions and models, in every dialect."""
    for dialect in DIALECTS:
        talk = Talk(dialect)
        for step in steps(f"modes/{dialect}", 7):
            talk.take(step)
        for given in ("default", "eager"):
            work = Work(out, f"view/modes-{dialect}-{given}", given)
            for mode in ("off", "shadow", "on"):
                for policy in ("auto", "truncation", "rolling"):
                    found = doors.projection(work.session, talk.messages, mode=mode, policy=policy)
                    work.record(found, f"{mode}-{policy}")
            for model in (
                "gpt-5.6",
                "claude-opus-5-5",
                "gemini-3-flash",
                "deepseek-v4",
                "nobody-knows",
                MODELS[dialect],
            ):
                work.record(doors.projection(work.session, talk.messages, model=model), f"model-{model}")
            question = "Which customs invoice has the ValueError?"
            for policy in ("auto", "truncation"):
                fresh = Work(out, f"view/question-{dialect}-{given}-{policy}", given)
                fresh.view(talk.messages, question=question, policy=policy)
            work.tried("nobody", lambda work=work, talk=talk: doors.view(work.session, talk.messages, policy="nobody"))
            work.end()


def odd(out: Recorder) -> None:
    """Things that are no good conversation."""
    work = Work(out, "view/odd", "truncation")
    long = text("log", 20_000)
    given: dict[str, Any] = {
        "empty": [],
        "no-json": b"\xff\xfe no json",
        "half": b'{"messages": [{"role": "user"',
        "twice": b' {"a" :1,"a":2 , "messages" : [ {"role":"user","content":"x"} ,{}, 1E5,-0 ] }\n',
        "number": 7,
        "text": "hello",
        "orphan": [{"role": "tool", "tool_call_id": "x", "content": long}],
        "unanswered": [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "u1", "name": "bash", "input": {}}]},
            {"role": "user", "content": "never mind"},
        ],
        "nones": [{"role": "user", "content": None}, {"role": "assistant"}, {}, {"role": "tool"}],
        "nested": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "n", "content": None}]}],
        "string-input": b'{"model": "gpt-5", "input": "hello", "tools": []}',
        "previous": b'{"model": "gpt-5", "previous_response_id": "resp_1", "input": [{"type": "function_call_output", '
        b'"call_id": "p1", "output": "' + b"line of output " * 2_000 + b'"}], "tools": []}',
    }
    for label, messages in given.items():
        work.tried(label, lambda messages=messages: doors.view(work.session, messages))
        work.tried(
            f"{label}-projection",
            lambda messages=messages: doors.projection(work.session, messages),
        )
    work.end()


def marks(out: Recorder) -> None:
    """Marks of others in place of results that are on record, and repeats."""
    for dialect in DIALECTS:
        for given in ("default", "truncation", "tight"):
            work = Work(out, f"view/marks-{dialect}-{given}", given)
            talk = Talk(dialect)
            for number, step in enumerate(steps(f"marks/{dialect}", 8)):
                talk.take(step)
                if number % 2:
                    work.view(cleared(talk).messages, "cleared")
                    work.view(cleared(talk, "... (truncated)", 3).messages, "other")
                work.view(talk.messages)
            work.record(work.session.hydrate(cleared(talk).messages), "hydrated")
            work.end()


GROUPS: dict[str, list[Scenario]] = {
    **{f"view-{dialect}": every_policy(dialect) for dialect in DIALECTS},
    "view-requests": every_request(),
    "view-odd": [modes, odd, marks],
}
