"""A client that is newer than all versions that were tried: one warning, and everything works as before."""

import logging

import pytest

from keepwhole.clients.claude_code import CLAUDE_CODE
from keepwhole.wire.identity import client_of
from tests.exchange.checked_proxy import CheckedProxy, long_log, result_texts
from tests.wire.clients import ClaudeCode, Json, Sent

NEWER = "99.0.1"


def request(version: str, history: list[Json], client: ClaudeCode) -> Sent:
    sent = client.request(history)
    return sent._replace(headers={**sent.headers, "user-agent": f"claude-cli/{version} (external, sdk-cli)"})


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


def test_an_untried_version_is_warned_of_once_and_served_all_the_same(caplog: pytest.LogCaptureFixture) -> None:
    client, proxy = ClaudeCode(), CheckedProxy()
    history = [client.prompt("go"), *client.calls("c1"), *client.results(c1=long_log("c1"))]
    for _ in range(3):
        shown = result_texts(proxy.send(request(NEWER, history, client)))
    assert "left out" in shown["c1"]
    newest = CLAUDE_CODE.versions[-1]
    assert warnings(caplog) == [f"untried version: client=claude-code version={NEWER} newest_tried={newest}"]


@pytest.mark.parametrize("version", [*CLAUDE_CODE.versions, "1.0", "", "next", "2"])
def test_a_version_that_was_tried_or_cannot_be_compared_is_not_warned_of(
    version: str, caplog: pytest.LogCaptureFixture
) -> None:
    client = ClaudeCode()
    CheckedProxy().send(request(version, [client.prompt("go"), *client.calls("c1"), *client.results(c1="x")], client))
    assert warnings(caplog) == []


@pytest.mark.parametrize(
    ("headers", "client"),
    [
        ({"user-agent": "codex_exec/0.166.0 (Debian 12.0.0; x86_64) dumb (codex_exec; 0.166.0)"}, ("codex", "0.166.0")),
        ({"user-agent": "codex_cli_rs/0.166.0"}, ("codex", "0.166.0")),
        ({"user-agent": "opencode/1.18.33 ai-sdk/provider-utils/4.0.23 runtime/bun/1.3.14"}, ("opencode", "1.18.33")),
        ({"user-agent": "python/3", "x-claude-code-session-id": "s"}, ("claude-code", "")),
        ({"user-agent": "my-claude-cli/2.1"}, ("", "")),
        ({"user-agent": "claude-cli/"}, ("claude-code", "")),
        ({}, ("", "")),
    ],
)
def test_a_client_is_known_by_its_headers(headers: dict[str, str], client: tuple[str, str]) -> None:
    assert client_of(headers) == client
