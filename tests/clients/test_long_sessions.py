"""Sessions of 300 steps by the real clients, through `keepwhole wrap`, at a provider as strict as the real ones."""

import os
import subprocess
import sys
from itertools import pairwise

import pytest

from keepwhole.session import Session
from keepwhole.store.protocol import result_of
from tests.apps.proxy.agent_model import turns_of
from tests.clients.edits import differences, is_turn, take_apart
from tests.clients.long_run import LongRun, Ran, turns
from tests.clients.plan import LARGE, ReadBack, listing
from tests.clients.player import DONE
from tests.clients.stage import conversations
from tests.clients.test_wrap import said
from tests.upstream.server import Asked

pytestmark = pytest.mark.clients
DEAREST = 1.05
"""What a session may cost, at most, of what it costs with `mode: off`."""
UNCUT = len(listing("large 0", LARGE).prints)
"""Characters of output that no client cuts."""


def test_the_work_is_done_and_the_provider_refuses_nothing(run: LongRun) -> None:
    assert DONE.format("main") in run.stdout
    assert run.stage.served.failed == []
    assert run.stage.served.refused == []
    assert len(turns(run.received)) > len(run.plan)


def test_outside_the_edits_every_request_is_what_the_client_sent(run: LongRun) -> None:
    assert differences(run.sent, run.received) == []


def test_what_is_shown_otherwise_says_where_the_whole_is(run: LongRun) -> None:
    given, folder = _results(run.sent), str(run.stage.home / ".keepwhole" / "results")
    shown = {item for asked in turns(run.received) for item in take_apart(asked).results.items()}
    edited = [(call_id, text) for call_id, text in shown if text != given[call_id]]
    assert len(edited) >= 2
    assert [text for _, text in edited if folder not in text] == []


def test_every_output_is_on_record_as_its_tool_printed_it(run: LongRun) -> None:
    kept = run.record.outputs
    moves = {f"toolu_main_{step}_{at}": move for step, made in enumerate(run.plan) for at, move in enumerate(made)}
    wanted = {call_id: move.prints for call_id, move in moves.items() if 0 < len(move.prints) <= UNCUT}
    assert len(wanted) > len(run.plan) // 2
    assert [call_id for call_id, prints in wanted.items() if prints.rstrip("\n") not in kept.get(call_id, "")] == []


@pytest.mark.parametrize("client", ["claude", "opencode"])
def test_an_output_that_the_client_cut_is_recalled_whole(run: LongRun, client: str) -> None:
    """Claude Code sends 2 KB of it and opencode the end; what they leave out is in files of theirs. Codex has none.

    On a busy machine opencode 1.18.33 loses the end of an output, and its first piece, in its own file too: more than
    that nobody has.
    """
    saved = [path.read_text() for path in run.stage.home.glob(".local/share/opencode/tool-output/*")]
    steps = [step for step, moves in enumerate(run.plan) if len(moves[0].prints) > UNCUT]
    assert steps
    given = _results(run.sent)
    with Session(run.session, store=run.stage.home / ".keepwhole") as session:
        known = [result_of(row) for row in session.store.rows(session.id, kind="result", light=True)]
        traces = {result.call_id: result.trace_id for result in known}
        for step in steps:
            call_id, prints = f"toolu_main_{step}_0", run.plan[step][0].prints
            assert len(prints) > 290 * 1_024 > 5 * len(given[call_id])
            recalled = session.recall_bytes(traces[call_id]).decode()
            assert recalled.rstrip() == prints.rstrip() or (recalled in saved and recalled in prints)


def test_what_was_sent_is_sent_again_except_where_a_batch_is_on_record(run: LongRun) -> None:
    record, breaks = run.record, 0
    for asked in conversations(run.received):
        for before, after in pairwise(asked):
            if said(after.body)[: len(said(before.body))] != said(before.body):
                assert record.is_batch(after.data), "what was sent was changed without a decision on record"
                breaks += 1
    assert breaks <= len(run.plan) // 20, "batches are rare"


def test_what_is_read_back_is_what_was_left_out(run: LongRun) -> None:
    given, looked = _results(run.sent), 0
    for step, moves in enumerate(run.plan):
        if moves != [ReadBack()] or len(run.plan[step - 1][0].prints) > UNCUT:
            continue
        shown = next(
            found[f"toolu_main_{step - 1}_0"]
            for asked in turns(run.received)
            if f"toolu_main_{step - 1}_0" in (found := take_apart(asked).results)
        )
        whole = run.plan[step - 1][0].prints.splitlines()
        back = [line for line in whole if line in given[f"toolu_main_{step}_0"]]
        assert set(back) - set(shown.splitlines()), f"step {step} read back nothing new"
        looked += 1
    assert looked > len(run.plan) // 150


def test_the_record_is_verified(run: LongRun) -> None:
    command = [sys.executable, "-m", "keepwhole", "sessions", "verify", "--all"]
    environ = {**os.environ, "KEEPWHOLE_HOME": str(run.stage.home / ".keepwhole")}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, cwd=run.stage.work)
    assert done.returncode == 0, done.stdout[-2_000:] + done.stderr[-2_000:]


def test_the_receipt_says_what_the_provider_counted(run: LongRun) -> None:
    asked = [one for one in run.received if is_turn(one)]
    billed = [bill for bill, one in zip(run.bills, asked, strict=True) if one.body.get("tools")]
    cached, total = sum(bill.read for bill in billed), sum(bill.tokens for bill in billed)
    assert f"keepwhole: {len(asked):,} requests" in run.receipt
    assert f"{_short(cached)} of {_short(total)} input tokens came from it" in run.receipt
    calls = {
        call_id: str(given)
        for one in turns(run.sent)
        for turn in turns_of(one.body)
        for call_id, _, given in turn.calls
    }
    backs = sum(".keepwhole/results" in given for given in calls.values())
    assert backs > 1
    assert f"read back {backs} times" in run.receipt


def test_it_costs_no_more_than_with_mode_off(run: LongRun, client: str, ran: Ran) -> None:
    plain = ran(client, "off")
    assert DONE.format("main") in plain.stdout
    assert plain.stage.served.refused == []
    assert [asked.data for asked in plain.sent] == [asked.data for asked in plain.received]
    assert run.cost <= DEAREST * plain.cost


def _results(asked: list[Asked]) -> dict[str, str]:
    """Every result that was ever in these requests, by its call id."""
    return {call_id: text for one in turns(asked) for call_id, text in take_apart(one).results.items()}


def _short(number: int) -> str:
    return f"{number:,}" if number < 10_000 else f"{number / 1_000:,.0f}k"
