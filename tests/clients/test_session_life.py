"""What happens to a long session of a real client afterwards: it is resumed, forked, compacted, and goes on.

Each is done to the sessions of `test_long_sessions.py`, one after the other, in runs of `keepwhole wrap` of their own.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import pytest

from tests.clients.edits import differences, is_turn, take_apart
from tests.clients.long_run import LongRun, Ran, session_of, turns
from tests.clients.player import DONE, asks_for_summary
from tests.clients.stage import Mark, Stage
from tests.upstream.server import Asked

pytestmark = pytest.mark.clients
RESUME: dict[str, Callable[[str], list[str]]] = {
    "claude": lambda session: ["--resume", session],
    "codex": lambda session: ["resume", session],
    "opencode": lambda session: ["-s", session],
}


FORK: dict[str, Callable[[str], list[str]]] = {
    "claude": lambda session: ["--resume", session, "--fork-session"],
    "opencode": lambda session: ["-s", session, "--fork"],
}
"""Codex forks in its own screen alone."""


class Later(NamedTuple):
    """One more run of the same client."""

    stage: Stage
    stdout: str
    before: Asked
    """The last request of the session before this run."""
    begun: Mark

    @property
    def first(self) -> Asked:
        """The first request of this run."""
        return turns(self.stage.received[self.begun.received :])[0]

    @property
    def shown_anew(self) -> dict[str, tuple[str, str | None]]:
        """Results that the first request shows otherwise than the last one before it, or not at all where no summary
        stands for them."""
        old, new, summary = take_apart(self.before).results, take_apart(self.first).results, self.has_summary
        return {
            call_id: (text, new.get(call_id))
            for call_id, text in old.items()
            if new.get(call_id) != text and not (summary and call_id not in new)
        }

    @property
    def has_summary(self) -> bool:
        """Whether the first request begins with a summary."""
        return b"<keepwhole-summary>" in self.first.data

    def assert_passed_on(self, plan: str) -> None:
        """Assert that the work was done, that nothing was refused, and that nothing but results was edited."""
        assert DONE.format(plan) in self.stdout
        assert self.stage.served.refused == []
        sent, received = self.stage.sent[self.begun.sent :], self.stage.received[self.begun.received :]
        assert differences(sent, received) == []


Again: TypeAlias = Callable[..., Later]


@pytest.fixture
def again(run: LongRun) -> Again:
    """Run the client once more in its long session."""

    def once(plan: str, *more: str, **environ: str) -> Later:
        begun = run.stage.mark()
        before = turns(run.stage.received)[-1]
        done = run.stage.wrap(plan, *more, **environ)
        return Later(run.stage, done.stdout, before, begun)

    return once


def test_a_resumed_session_goes_on_from_the_same_bytes(run: LongRun, client: str, again: Again) -> None:
    later = again("more", *RESUME[client](run.session))
    later.assert_passed_on("more")
    assert session_of(client, later.stdout) == run.session
    assert later.shown_anew == {} or run.record.is_batch(later.first.data)


@pytest.mark.parametrize("client", FORK)
def test_a_fork_sees_what_its_parent_saw(run: LongRun, client: str, again: Again) -> None:
    later = again("forked", *FORK[client](run.session))
    later.assert_passed_on("forked")
    assert session_of(client, later.stdout) != run.session
    assert later.shown_anew == {}
    assert not later.has_summary or "with everything at request" in run.receipt, "only where the client would compact"


def test_a_session_that_its_client_compacts_by_itself_goes_on(run: LongRun, client: str, again: Again) -> None:
    """The client is told of a smaller window than the session has filled."""
    filled = run.bills[-1].tokens
    more: dict[str, list[str]] = {"codex": ["-c", f"model_auto_compact_token_limit={filled * 4 // 5}"]}
    environ = {"claude": {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "100000"}}
    if client == "claude" and filled < 70_000:
        pytest.skip("`STEPS` is so small that Claude Code never compacts")
    run.stage.window = filled + 4_000
    later = again("auto", *more.get(client, []), *RESUME[client](run.session), **environ.get(client, {}))
    later.assert_passed_on("auto")
    asked = [one for one in run.stage.received[later.begun.received :] if is_turn(one)]
    assert any(asks_for_summary(one.body) for one in asked), "the client did not compact"
    assert run.till.bills[-1].tokens < filled


def test_claude_code_is_told_to_compact_and_goes_on(ran: Ran) -> None:
    run = ran("claude", "on")
    begun = run.stage.mark()
    run.stage.wrap("/compact", *RESUME["claude"](run.session))
    done = run.stage.wrap("after", *RESUME["claude"](run.session))
    later = Later(run.stage, done.stdout, turns(run.received)[-1], begun)
    later.assert_passed_on("after")
    asked = turns(run.stage.received[begun.received :])
    assert asks_for_summary(asked[0].body)
    assert "This session is being continued" in asked[-1].data.decode()
