"""The contract of adapters: a class that inherits `AdapterContract` and names its harness tests that adapter.

Owns: what every adapter promises about the record and about what the model receives.
Must not know: any framework, nor a test runner; pytest collects the class, and a plain call of a method works too.

    class TestMine(AdapterContract):
        def harness(self) -> Harness:
            return MyHarness()
"""

import asyncio
import unittest

from keepwhole.config import Settings
from keepwhole.models.tokens import estimate
from keepwhole.recall.names import NAMES
from keepwhole.session import Session
from keepwhole.store.memory import MemoryStore
from keepwhole.store.protocol import Store
from keepwhole.testing.look import broken_prefixes, find_unpaired, recorded_results, results_in, tokens_of
from keepwhole.testing.model import printed_calls
from keepwhole.testing.script import Harness, OneCall, Step, newest_result
from keepwhole.testing.stage import NEEDLE, FullStore, Stage

WINDOW = 24_000
"""Tokens of the window in the long run."""
STEPS = 100
_LIMIT = 8_000
"""Most characters that the policy `truncation` shows."""


class AdapterContract:
    """The promises of an adapter. Inherit, implement `harness`, and declare what the framework cannot do."""

    sees_requests = True
    """Whether the adapter edits messages before they are sent, and not only results as they arrive."""
    holds_truth = True
    """Whether the framework's own history keeps results as the tools returned them."""
    continues = True
    """Whether a second run of a harness continues the conversation."""

    def harness(self) -> Harness:
        """A new harness for each check."""
        raise NotImplementedError("Give `harness`: it returns what runs an agent with the adapter.")

    def session(self, policy: str = "truncation", *, window: int = 200_000, store: Store | None = None) -> Session:
        """A session with known settings, independent of this machine's."""
        settings = Settings(home="unused", policy=policy, models={"default": {"window": window}})
        return Session("contract", store=store or MemoryStore(), settings=settings)

    def test_the_record_has_what_the_tools_returned(self) -> None:
        """Lossless: every byte, once, with the tool's name and the call's id."""
        session, stage = self.session(), Stage()
        ran = stage.run(self.harness(), session, *(("run_command", {"command": name}) for name in stage.kinds))
        assert ran.text == "done"
        assert recorded_results(session) == stage.returned, "the record is not what the tools returned"
        assert session.verify().whole

    def test_the_framework_keeps_what_the_tools_returned(self) -> None:
        """Lossless in the framework's own state too: only what is sent is cut."""
        self._needs("holds_truth")
        stage = Stage()
        ran = stage.run(self.harness(), self.session(), ("run_command", {"command": "long"}))
        assert [text for _, text in results_in(ran.history)] == [text for _, text in stage.returned]

    def test_the_model_receives_no_more_than_the_limit(self) -> None:
        """Within budget: a long result is sent as its view, a short one unchanged."""
        stage = Stage()
        ran = stage.run(
            self.harness(),
            self.session(),
            ("run_command", {"command": "long"}),
            ("run_command", {"command": "short"}),
        )
        long, short = (text for _, text in results_in(ran.requests[-1]))
        assert len(long) <= _LIMIT < len(stage.returned[0][1]), f"{len(long)} characters were sent"
        assert printed_calls(long), "what was sent does not say how to read the rest"
        assert short == stage.returned[1][1]

    def test_every_call_has_its_result_and_every_result_its_call(self) -> None:
        """Valid, with one call, with several at once, and with words between."""
        stage = Stage()
        parallel: list[OneCall] = [("run_command", {"command": name}) for name in ("long", "short", "unicode")]
        ran = stage.run(self.harness(), self.session(), parallel, ("read_file", {"path": "a"}), [*parallel])
        for request in ran.requests:
            assert find_unpaired(request) == set()
        assert find_unpaired(ran.history) == set()

    def test_results_of_parallel_calls_go_to_their_own_calls(self) -> None:
        """The order of results does not depend on which tool ends first."""
        session, stage = self.session(), Stage()
        names = ("long", "short", "unicode", "json")
        ran = stage.run(self.harness(), session, [("run_command", {"command": name}) for name in names])
        sent = dict(results_in(ran.requests[-1]))
        assert len(sent) == len(names)
        for call_id, name in zip(sorted(sent), names, strict=True):
            text = stage.kinds[name]
            assert sent[call_id] == text or (len(text) > _LIMIT and text.splitlines()[-1] in sent[call_id])
        assert sorted(recorded_results(session)) == sorted(stage.returned)

    def test_what_was_sent_is_sent_again_unchanged(self) -> None:
        """Prefix-stable: each request begins with exactly the one before, and offers the same tools."""
        stage = Stage()
        steps = [("run_command", {"command": name}) for name in (*stage.kinds, *stage.kinds)]
        ran = stage.run(self.harness(), self.session(), *steps)
        assert broken_prefixes(ran.requests) == []
        assert len(set(stage.script.offered)) == 1

    def test_the_model_reads_back_what_was_left_out(self) -> None:
        """Recovery: the call that a notice prints, made exactly so, returns what is missing."""
        stage = Stage()
        ran = stage.run(
            self.harness(), self.session(), ("run_command", {"command": "long"}), lambda text: printed_calls(text)[-1]
        )
        assert NEEDLE in stage.kinds["long"]
        assert NEEDLE not in newest_result(ran.requests[1])
        assert NEEDLE in newest_result(ran.requests[2]), newest_result(ran.requests[2])[:500]
        if any(stage.script.offered):
            assert set(NAMES) <= set(stage.script.offered[0]), "the recall tools are not offered from the first request"

    def test_an_id_that_is_made_up_is_answered_and_raises_nothing(self) -> None:
        """A wrong id is answered with what exists instead."""
        stage = Stage()
        asked: Step = ("get_artifact", {"id": "art_1_madeup"})
        ran = stage.run(self.harness(), self.session(), ("run_command", {"command": "long"}), asked)
        assert "404" in newest_result(ran.requests[2])
        assert ran.text == "done"

    def test_a_tool_that_raises_is_not_swallowed(self) -> None:
        """The framework raises it or tells the model, as it would without the adapter; the session goes on."""
        session, stage, harness = self.session(), Stage(), self.harness()
        try:
            ran = stage.run(harness, session, ("fail", {"reason": "boom 42"}))
        except Exception as error:
            assert "boom 42" in f"{error!r} {error.__cause__!r}"  # noqa: PT017 - no test runner here
        else:
            assert "boom 42" in newest_result(ran.requests[-1])
        self._goes_on(harness, session, stage)

    def test_a_run_that_is_cancelled_leaves_the_session_whole(self) -> None:
        """A canceled call is not recorded, a returned one is, and the next run is valid."""
        session, stage, harness = self.session(), Stage(), self.harness()
        try:
            stage.run(harness, session, ("run_command", {"command": "long"}), ("cancel", {"reason": "stop"}))
        except (asyncio.CancelledError, Exception):
            pass
        assert ("run_command", stage.kinds["long"]) in recorded_results(session)
        assert [tool for tool, _ in recorded_results(session)].count("run_command") == 1
        self._goes_on(harness, session, stage)

    def test_a_second_run_goes_on_where_the_first_ended(self) -> None:
        """A resumed run sends the same bytes, and nothing is recorded twice."""
        self._needs("continues")
        session, stage, harness = self.session(), Stage(), self.harness()
        first = stage.run(harness, session, ("run_command", {"command": "long"}))
        second = stage.run(harness, session, ("run_command", {"command": "short"}))
        assert broken_prefixes([first.requests[-1], *second.requests]) == []
        assert recorded_results(session) == stage.returned

    def test_what_cannot_be_stored_is_sent_whole(self) -> None:
        """A failing store costs tokens, never data or the conversation."""
        stage = Stage()
        session = self.session(store=FullStore())
        ran = stage.run(self.harness(), session, ("run_command", {"command": "long"}))
        assert newest_result(ran.requests[-1]) == stage.kinds["long"]
        assert ran.text == "done"

    def test_a_hundred_steps_stay_under_the_window(self) -> None:
        """Several windows of results: every request fits, is valid, and seldom changes what was sent."""
        self._needs("sees_requests")
        session, stage = self.session("auto", window=WINDOW), Stage()
        steps = [("read_file", {"path": f"file_{number}"}) for number in range(STEPS)]
        ran = stage.run(self.harness(), session, *steps)
        assert ran.text == "done"
        assert len(ran.requests) == STEPS + 1
        sizes = [tokens_of(request) for request in ran.requests]
        assert max(sizes) <= WINDOW, f"request {sizes.index(max(sizes)) + 1} takes {max(sizes)} tokens of {WINDOW}"
        assert sum(estimate(text) for _, text in stage.returned) > 4 * WINDOW
        assert all(find_unpaired(request) == set() for request in ran.requests)
        assert len(broken_prefixes(ran.requests)) <= STEPS // 4
        assert [text for tool, text in recorded_results(session) if tool == "read_file"] == [
            t for _, t in stage.returned
        ]
        assert session.verify().whole

    def _goes_on(self, harness: Harness, session: Session, stage: Stage) -> None:
        """Whether the session can be used as before, in the same conversation where the framework can."""
        ran = stage.run(harness if self.continues else self.harness(), session, ("run_command", {"command": "short"}))
        assert ran.text == "done"
        assert all(find_unpaired(request) == set() for request in ran.requests)
        assert ("run_command", stage.kinds["short"]) in recorded_results(session)
        assert session.verify().whole

    def _needs(self, ability: str) -> None:
        if not getattr(self, ability):
            raise unittest.SkipTest(f"{type(self).__name__} says `{ability} = False`.")
