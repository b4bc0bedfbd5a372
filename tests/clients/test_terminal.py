"""The clients in their own screens, as people use them, under `keepwhole wrap` in a terminal."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.clients.edits import differences, is_turn, take_apart
from tests.clients.long_run import turns
from tests.clients.plan import short_plan
from tests.clients.player import DONE, prompt_for
from tests.clients.stage import CLAUDE_TOOLS, Stage, stage, wrap
from tests.clients.terminal import Terminal, terminal

pytestmark = pytest.mark.clients


class Screen(NamedTuple):
    """How a client is used in a terminal."""

    command: list[str]
    ready: str
    """What is on the screen when it waits for a prompt."""
    leave: Callable[[Terminal], None]


def _exit(screen: Terminal) -> None:
    screen.type("/exit")


def _interrupt(screen: Terminal) -> None:
    screen.press("C-c")


SCREENS = {
    "claude": Screen(
        ["claude", "--model", "claude-sonnet-4-5", "--tools", CLAUDE_TOOLS, "--allowedTools", "Bash Read Write Edit"],
        "? for shortcuts",
        _exit,
    ),
    "codex": Screen(["codex"], "Ask Codex to do anything", _exit),
    "opencode": Screen(["opencode"], "Ask anything", _interrupt),
}


def _write_onboarding(stage: Stage) -> None:
    """What Claude Code remembers of a person who has used it in this folder before."""
    project = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
    known = {"approved": ["sk-ant-fake"], "rejected": []}
    told = {"hasCompletedOnboarding": True, "theme": "dark", "customApiKeyResponses": known}
    (stage.home / ".claude.json").write_text(json.dumps({**told, "projects": {str(stage.work): project}}))


@pytest.mark.parametrize("client", SCREENS)
def test_a_client_in_its_own_screen_works_through_wrap(client: str, tmp_path: Path) -> None:
    own = SCREENS[client]
    with stage(client, tmp_path, {"first": short_plan("first"), "second": short_plan("second")}) as (set_up, _):
        _write_onboarding(set_up)
        start = set_up.behind_relay(set_up.start("first", port=set_up.served.port))
        environ = {**start.environ, "HOME": str(tmp_path)}
        with terminal(set_up.work, [*wrap(), *own.command], environ) as screen:
            screen.wait_for(own.ready)
            for plan in ("first", "second"):
                screen.type(prompt_for(plan))
                screen.wait_for(DONE.format(plan))
            own.leave(screen)
            screen.wait_for("[ended 0]")
            receipt = screen.screen
        assert set_up.served.refused == []
        assert differences(set_up.sent, set_up.received) == []
        results = [take_apart(asked).results for asked in turns(set_up.received)]
        shown = [found["toolu_first_0_0"] for found in results if found]  # the others are first or beside the session
        assert len(set(shown)) == 1
        assert "left out" in shown[0]
    assert f"keepwhole: {sum(map(is_turn, set_up.received))} requests" in receipt, receipt
    assert "read back 2 times" in receipt, receipt
