"""How long a request took is one clock's, phase by phase; rate limits and plans are on record beside it."""

import time
from pathlib import Path
from typing import Any

import pytest

from keepwhole import config
from keepwhole.exchange.request_log import LoggedRequest, RequestLog
from keepwhole.session import Session
from keepwhole.wire.rate_limits import parse_limits, read_limits
from tests.apps.proxy.proxy_server import PATHS, ask, proxy
from tests.upstream.scripted import Scripted, serving
from tests.upstream.spelling import SPELLINGS, Part, Text, Tool

WAIT = 0.06
REQUEST = {
    "model": "claude-sonnet-5",
    "max_tokens": 9,
    "messages": [{"role": "user", "content": "go"}],
    "tools": [{"name": "Bash", "description": "Run.", "input_schema": {"type": "object"}}],
}


class Slow(Scripted):
    """Waits before the head of each answer, and again before its body."""

    said: list[list[Part]]

    def events(self, path: str, body: dict[str, Any]) -> list[bytes]:
        time.sleep(WAIT)
        return list(SPELLINGS["anthropic"].events(self.said.pop(0), 1, None))

    def answer(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("anthropic-ratelimit-unified-5h-utilization", "0.42")
        self.end_headers()
        self.wfile.write(body[:10])
        self.wfile.flush()
        time.sleep(WAIT)
        self.wfile.write(body[10:])


def asked(folder: Path, said: list[list[Part]], **headers: str) -> list[LoggedRequest]:
    with (
        serving(Slow, said=said) as port,
        proxy(f"http://127.0.0.1:{port}", settings=config.load(home=str(folder)), tenants="one") as running,
    ):
        answer = ask(running.port, PATHS["anthropic"], REQUEST, {"x-keepwhole-session": "s", **headers})
        assert answer.status == 200
        running.rest()
    with Session("s", store=str(folder)) as session:
        return RequestLog(session).all()


def test_the_phases_of_every_round_add_up_to_its_total_and_none_is_longer(tmp_path: Path) -> None:
    recall = Tool("get_artifact", {"id": "art_0_none"})
    sent = asked(tmp_path, [[recall], [Text("done")]])
    assert len(sent) == 2, "the second is a hidden round"
    for step in sent:
        assert step.response is not None
        times = step.response.times
        assert times is not None
        assert sum(times) == times.total == step.response.total_ms
        assert min(times.first, times.stream) >= WAIT * 1000 / 2
        assert times.first + times.stream >= 2 * WAIT * 1000 - 2
    later = sent[1].response
    assert later is not None
    assert later.queue_ms == 0, "a hidden round waits for nobody"


def test_limits_and_a_plan_are_on_record_with_the_request(tmp_path: Path) -> None:
    (step,) = asked(tmp_path, [[Text("done")]], authorization="Bearer sk-ant-oat01-secret-of-a-plan")
    assert step.request.by_plan is True
    assert step.response is not None
    assert [(limit.name, limit.used) for limit in parse_limits(step.response.limits)] == [("5h", 0.42)]


@pytest.mark.parametrize(
    ("headers", "limits"),
    [
        ({"x-codex-primary-used-percent": "12.5", "x-codex-primary-window-minutes": "300"}, [("5h", 0.125, None)]),
        (
            {"x-codex-secondary-used-percent": "50", "x-codex-secondary-reset-after-seconds": "9"},
            [("secondary", 0.5, 10_009_000)],
        ),
        (
            {
                "anthropic-ratelimit-input-tokens-limit": "200",
                "anthropic-ratelimit-input-tokens-remaining": "50",
                "anthropic-ratelimit-input-tokens-reset": "1970-01-01T00:00:07Z",
            },
            [("input tokens", 0.75, 7_000)],
        ),
        (
            {
                "x-ratelimit-limit-tokens": "100",
                "x-ratelimit-remaining-tokens": "90",
                "x-ratelimit-reset-tokens": "1m30s",
            },
            [("tokens", pytest.approx(0.1), 10_090_000)],
        ),
        ({"anthropic-ratelimit-unified-7d-utilization": "much"}, []),
        ({"x-ratelimit-limit-tokens": "0", "x-ratelimit-remaining-tokens": "0"}, []),
    ],
)
def test_limits_are_read_as_each_provider_spells_them(headers: dict[str, str], limits: list[Any]) -> None:
    assert [tuple(limit) for limit in read_limits(headers, 10_000.0)] == limits
