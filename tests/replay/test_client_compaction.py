"""Compaction by a client: when it happens, and which later uses are still shown."""

from keepwhole.logs.run import Run
from keepwhole.replay.client_compaction import SUMMARY, threshold
from keepwhole.replay.evidence_uses import EvidenceUse
from keepwhole.replay.outcome import EvidenceShare, Outcome
from keepwhole.replay.replay import replay
from keepwhole.replay.summary import Compactions, ComparedRun, summarize
from tests.replay.recorded import DROP_ALL, KEEP_ALL, Made, calls, facts, result, run, user

WINDOW = 10_000
ORDER = "order W-2380 of u_77 and u_88"
BIG = "x" * 9_000
RUN = run(
    user("Cancel the order of u_88."),
    calls("a", q="orders"),
    result(ORDER, "a"),
    calls("b", id="W-2380"),
    result(BIG, "b"),
    calls("c", id="W-2380", owner="u_77", user="u_88"),
    result("closed by u_77 today", "c"),
    calls("d", owner="u_77"),
)


def under(policy: Made, one: Run = RUN, window: int = WINDOW) -> Outcome:
    return replay(facts(one), policy, window=window)


def test_a_client_compacts_at_nine_tenths_of_the_window() -> None:
    assert threshold(WINDOW) == 9_000
    assert under(KEEP_ALL).first_compaction == 2
    assert under(KEEP_ALL, window=20_000).first_compaction is None
    total = under(KEEP_ALL).requests[2].total
    assert under(KEEP_ALL, window=round(total / 0.9)).first_compaction == 2, "at the threshold is enough"


def test_after_a_compaction_only_user_messages_and_newer_ones_are_shown() -> None:
    # In step 2 the order and its owner are lost, and the user's own words are not; in step 3 a result shows it again.
    assert under(KEEP_ALL).after_compaction == EvidenceShare(2, 4)


def test_a_policy_that_never_reaches_the_threshold_loses_nothing_by_compaction() -> None:
    small = under(Made(arriving=lambda item: "-" if item.text == BIG else None))
    assert (small.first_compaction, small.after_compaction) == (None, EvidenceShare(4, 4))


def test_what_a_policy_hid_counts_as_lost_unless_it_was_said_before() -> None:
    # The agent said the order in step 1 and the owner in step 2; the user said u_88.
    assert under(DROP_ALL).after_compaction == EvidenceShare(3, 4)


def test_a_list_of_strings_is_no_evidence_after_a_compaction_either() -> None:
    listed = Made(arriving=lambda item: "-" if item.text == BIG else "u_77, W-2380, u_88")
    assert under(listed).after_compaction == EvidenceShare(3, 4)


def test_uses_count_even_if_the_string_was_said_before() -> None:
    full = under(KEEP_ALL)
    assert full.evidence == 2, "first uses nobody had said: the order and its owner"
    assert full.after_compaction.total == 4, "each use after the threshold"
    found = facts(RUN).uses_from(threshold(WINDOW))
    assert found == {
        2: [
            EvidenceUse(2, "W-2380", (0,), by_user=False, said=3),
            EvidenceUse(2, "u_77", (0,), by_user=False, said=-1),
            EvidenceUse(2, "u_88", (0,), by_user=True, said=-1),
        ],
        3: [EvidenceUse(3, "u_77", (0, 2), by_user=False, said=5)],
    }


def test_a_run_that_stays_small_has_no_uses_after_a_compaction() -> None:
    outcome = under(KEEP_ALL, window=20_000)
    row = summarize([ComparedRun(outcome, outcome)])
    assert (row.evidence.after_compaction, row.requests.first_compaction) == (None, Compactions(None, 0.0))


def test_a_client_compacts_again_when_the_window_fills_again() -> None:
    turns = [
        user("Go."),
        calls("a", q="1"),
        result(BIG, "a"),
        calls("b", q="2"),
        result("the id is W-2380 now", "b"),
        calls("c", q="3"),
        result("y" * (8_950 - SUMMARY), "c"),
        calls("d", id="W-2380"),
    ]
    again = under(KEEP_ALL, run(*turns))
    assert (again.first_compaction, again.after_compaction) == (1, EvidenceShare(0, 1))
    turns[6] = result("y" * (8_000 - SUMMARY), "c")
    assert under(KEEP_ALL, run(*turns)).after_compaction == EvidenceShare(1, 1)


def test_the_row_gives_the_median_step_of_the_runs_that_compact() -> None:
    big, small = under(KEEP_ALL), under(DROP_ALL)
    row = summarize([ComparedRun(big, big), ComparedRun(small, big)])
    assert row.requests.first_compaction == Compactions(2, 0.5)
    assert row.evidence.after_compaction == 5 / 8
