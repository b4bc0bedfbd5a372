"""A made-up coding session, recorded as the proxy would have done, so that a new user sees something at once.

Owns: a client that sends the whole conversation each time, and a model that follows a script.
Must not know: how requests are edited and recorded. No network, no clock but its own.
"""

import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from keepwhole.canonical.round_times import RoundTimes
from keepwhole.config import Settings
from keepwhole.exchange.exchange import Exchange
from keepwhole.exchange.router import SessionRouter
from keepwhole.models.profiles import profile_for
from keepwhole.replay.samples.coding_agent import coding_session
from keepwhole.replay.samples.files import anthropic_messages
from keepwhole.replay.samples.session import NOUNS, PARTS, SampleTurn
from keepwhole.store.protocol import Store
from keepwhole.wire.content import fields_of, parts_of

NAME = "sample-harbour"
_BUGS = 16
_SECONDS = 8.0
"""Between two requests."""
_RECALLED = 5
"""Requests with a cut result after which the model reads one of them back."""
_WORTH = 4_000
"""What evidence is worth in it: made-up outputs are full of names and the session is short, so that with the default
nothing would be left out, and nothing of that could be seen."""
_BUILD_AT = 2
_COMPILED = 700
"""The turn before which the project is built, and the files of it. The log of that is long and its lines are of one
shape, so that it is cut when it arrives, with the default settings too."""
_MODEL = "claude-sonnet-4-5"
_LEAST_CACHED = profile_for(_MODEL).minimum
_SYSTEM = (
    "You are a coding agent in the repository of a harbour's software. Run the tests, find what is wrong, fix it with "
    "the smallest change, and run the test again. Say at the end what was wrong."
)
_TOOLS: list[dict[str, Any]] = [
    {"name": name, "description": words, "input_schema": {"type": "object", "properties": {}}}
    for name, words in (
        ("Bash", "Run a command in the repository's folder."),
        ("Read", "Read a file, with numbered lines."),
        ("Grep", "Search all files for a pattern."),
        ("Edit", "Replace a text in a file with another."),
    )
]


class _Clock(NamedTuple):
    """A clock that moves only when it is advanced."""

    at: list[float]

    def __call__(self) -> float:
        return self.at[0]

    def advance(self, seconds: float) -> None:
        self.at[0] += seconds


def _always() -> bool:
    return True


def play(
    settings: Settings, store: Store, now: float, bugs: int = _BUGS, keeps_going: Callable[[], bool] = _always
) -> str:
    """Record the session as if its last request had been answered just now; return its name."""
    script = coding_session(1, "claude-code", bugs)
    script = script._replace(turns=[*script.turns[:_BUILD_AT], _build(), *script.turns[_BUILD_AT:]])
    messages = list(anthropic_messages(script))
    asked = sum(message["role"] == "assistant" for message in messages)
    clock = _Clock([now - asked * _SECONDS - 1])
    settings = settings.replace(auto=settings.auto.replace(worth=_WORTH))
    router = SessionRouter(NAME, store=store, settings=settings, agent="sample", workspace="/srv/harbour", clock=clock)
    model = _Model(itertools.count())
    for at, message in enumerate(messages):
        if not keeps_going():
            break
        if message["role"] == "assistant":
            clock.advance(_SECONDS)
            _ask(router, _request(messages[:at]), model, message)
    router.session(NAME).end()
    router.close()
    return NAME


def _build() -> SampleTurn:
    """A build with a long log, and one warning in the middle of it."""
    lines: list[str] = []
    for at in range(_COMPILED):
        part, noun = PARTS[at % len(PARTS)], NOUNS[at // len(PARTS) % len(NOUNS)]
        lines.append(
            f"[{at + 1:3d}/{_COMPILED}] cc -O2 -Wall -c native/{part}/{noun}_{at:03d}.c -o build/{part}_{at:03d}.o"
        )
        if at == _COMPILED // 2:
            lines.append(f"native/{part}/{noun}_{at:03d}.c:41:9: warning: unused variable 'hours' [-Wunused-variable]")
    lines.append(f"make: {_COMPILED} files compiled, 1 warning, 0 errors")
    return SampleTurn("assistant", "I'll build it once.", "Bash", {"command": "make native"}, "\n".join(lines))


def _ask(router: SessionRouter, body: bytes, model: "_Model", answer: dict[str, Any]) -> None:
    """Send one request of the client, with all rounds it takes."""
    exchange = router.begin("POST", "/v1/messages", {}, body)
    assert isinstance(exchange, Exchange)
    for number in itertools.count():
        answered = model.answer(exchange, answer)
        client = exchange.read_answer(answered)
        usage = exchange.learn_bill(200, answered, complete=True)
        exchange.record(
            number,
            200,
            answered,
            "complete",
            usage,
            RoundTimes(1, 4, 335 + 7 * (len(answered) % 90), 860 + len(answered)),
        )
        if client is not None:
            return


class _Model(NamedTuple):
    """Answers by the script; once it reads back a part that was left out."""

    hidden: Iterator[int]

    def answer(self, exchange: Exchange, scripted: dict[str, Any]) -> bytes:
        """The answer to a request, billed as predicted."""
        content = scripted["content"]
        name = _cut_result(exchange.body) if not exchange.count else None
        if name is not None and next(self.hidden) == _RECALLED:
            call = {
                "type": "tool_use",
                "id": "toolu_recall",
                "name": "get_artifact",
                "input": {"id": name, "lines": "1-60"},
            }
            content = [{"type": "text", "text": "Let me read what was left out of an earlier result."}, call]
        stop = "tool_use" if any(part["type"] == "tool_use" for part in content) else "end_turn"
        message = {"id": scripted["id"], "type": "message", "role": "assistant", "model": _MODEL, "content": content}
        return json.dumps(message | {"stop_reason": stop, "usage": _bill(exchange, content)}).encode()


def _bill(exchange: Exchange, content: object) -> dict[str, int]:
    expected = exchange.expected
    total = exchange.account.tokens_sent
    cached = min(expected.cached, total) if expected is not None else 0
    written = total - cached if total >= _LEAST_CACHED else 0
    return {
        "input_tokens": total - cached - written,
        "cache_read_input_tokens": cached,
        "cache_creation_input_tokens": written,
        "output_tokens": len(json.dumps(content)) // 4,
    }


def _cut_result(body: bytes) -> str | None:
    """The id of a result that a request shows cut."""
    at = body.find(b'get_artifact(id=\\"')
    return body[at + 18 : body.index(b'\\"', at + 18)].decode() if at >= 0 else None


def _request(messages: list[dict[str, Any]]) -> bytes:
    """The whole conversation, with a cache marker at its end, as coding agents send it."""
    mark = {"cache_control": {"type": "ephemeral"}}
    last = messages[-1]
    parts = parts_of(last["content"]) or [{"type": "text", "text": last["content"]}]
    marked = {**last, "content": [*parts[:-1], {**fields_of(parts[-1]), **mark}]}
    sent = [{key: message[key] for key in ("role", "content")} for message in (*messages[:-1], marked)]
    about: dict[str, Any] = {"model": _MODEL, "max_tokens": 8_192, "tools": _TOOLS}
    return json.dumps(about | {"system": [{"type": "text", "text": _SYSTEM, **mark}], "messages": sent}).encode()
