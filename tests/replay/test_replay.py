"""Replay: what is visible under a policy, and what the requests are."""

from keepwhole.logs.run import Run
from keepwhole.models.profiles import DEFAULT
from keepwhole.policies.auto import Auto
from keepwhole.policies.policy import Choice, Choices, Situation
from keepwhole.policies.settings import CAREFUL
from keepwhole.policies.transcript import Transcript
from keepwhole.replay.oracles import ORACLES, oracle_named
from keepwhole.replay.outcome import EvidenceShare, Outcome
from keepwhole.replay.replay import replay
from keepwhole.replay.summary import ComparedRun, summarize
from tests.replay.recorded import DROP_ALL, KEEP_ALL, Made, calls, facts, once_read, result, run, says, user

ORDER = "the order W-2380 is open, and its owner is u_77"
RUN = run(
    user("Cancel my order."),
    calls("a", q="orders"),
    result(ORDER, "a"),
    calls("b", q="rules"),
    result("rule R-94: refunds take 5 days", "b"),
    calls("d", id="W-2380"),
    result("cancelled", "d"),
    says("Cancelled by rule R-94."),
)


def under(policy: Made, run: Run = RUN) -> Outcome:
    return replay(facts(run), policy)


def test_keeping_all_shows_all_at_the_full_price() -> None:
    full = under(KEEP_ALL)
    row = summarize([ComparedRun(full, full)])
    assert (row.evidence.visible, row.evidence.in_context.value, row.evidence.steps_ok) == (1, 1, 1)
    assert (row.cost.tokens, row.cost.all_in) == (1, 1)
    assert set(row.cost.by_price.values()) == {1.0}
    assert (row.cost.tail, row.cost.explicit, row.cost.rerun, row.requests.rewrites) == (1, 1, 1, 0)


def test_dropping_all_shows_nothing_and_buys_all_back() -> None:
    full, none = under(KEEP_ALL), under(DROP_ALL)
    row = summarize([ComparedRun(none, full)])
    evidence = row.evidence
    assert (evidence.visible, evidence.in_context.value, evidence.steps_ok, evidence.pieces) == (0, 0, 0, 2)
    assert row.cost.tokens < 1
    assert row.cost.all_in > row.cost.by_price[".10"]
    assert [(loss.step, loss.source) for loss in none.losses] == [(2, 0), (3, 1)]


def test_a_request_is_the_messages_before_a_step() -> None:
    sizes = facts(RUN).sizes
    assert [request.total for request in under(KEEP_ALL).requests] == [sum(sizes[:at]) for at in (1, 3, 5, 7)]


def test_an_edit_on_arrival_rewrites_nothing_and_a_later_one_does() -> None:
    assert under(DROP_ALL).rewrites == 0
    aged = under(once_read("gone"))
    assert aged.rewrites == 2
    sizes = facts(RUN).sizes
    first, second = sizes[0], sizes[0] + sizes[1]
    assert [request.prefix for request in aged.requests] == [0, first, second, second + len("gone") + 4 + sizes[3]]
    assert [request.tail for request in aged.requests] == [0, first, first, first]


def test_a_result_is_visible_while_any_source_is_shown() -> None:
    twice = run(calls("a"), result("W-2380", "a"), calls("b"), result("W-2380 too", "b"), calls("c", id="W-2380"))
    assert under(once_read("gone"), twice).visible == 1
    assert under(DROP_ALL, twice).visible == 0


def test_a_digest_that_lists_strings_scores_no_recall_in_context() -> None:
    digest = under(Made(arriving=lambda item: "left out; mentions W-2380, u_77, R-94"))
    assert (digest.visible, digest.in_context) == (2, 0)
    assert digest.losses == ()
    assert len(digest.losses_in_context) == 2
    row = summarize([ComparedRun(digest, under(KEEP_ALL))])
    assert (row.evidence.visible, row.evidence.in_context.value) == (1.0, 0.0)
    assert row.cost.all_in == row.cost.by_price[".10"] < row.cost.all_in_context.value, (
        "what is only listed must be bought back too"
    )


def test_a_quotation_with_its_surroundings_counts_in_context() -> None:
    quoted = under(Made(arriving=lambda item: f"…{item.text[:40]}…"))
    assert quoted.in_context == 2


def test_one_missing_string_fails_its_step() -> None:
    both = run(calls("a"), result(ORDER, "a"), calls("b", id="W-2380", owner="u_77"))
    half = under(Made(arriving=lambda item: "the order W-2380 is open"), both)
    assert (half.evidence, half.visible, half.steps, half.steps_ok) == (2, 1, 1, 0)


def test_old_evidence_is_reported_apart() -> None:
    idle = [turn for number in range(6) for turn in (calls(f"i{number}"), result("ok", f"i{number}"))]
    late = run(calls("a"), result(ORDER, "a"), *idle, calls("z", id="W-2380"))
    assert under(once_read("gone"), late).kinds == {"args": EvidenceShare(0, 1), "old": EvidenceShare(0, 1)}


def test_choosing_the_same_again_changes_nothing() -> None:
    again = under(Made(ageing=lambda transcript, item: "same" if item.number == 0 else None))
    assert again.rewrites == 0


def test_results_have_the_same_names_in_every_replay() -> None:
    seen: list[str] = []
    under(Made(arriving=lambda item: seen.append(item.name.artifact_id if item.name else "")))
    assert seen == [f"art_0_{number:022d}" for number in range(3)]


def test_no_oracle_loses_anything_in_context() -> None:
    whole = facts(RUN)
    for name in ORACLES:
        outcome = replay(whole, oracle_named(name, whole.evidence, whole.steps))
        assert (outcome.policy, outcome.in_context) == (name, outcome.evidence)


def test_an_oracle_clears_what_is_never_used_again_as_soon_as_it_was_read() -> None:
    whole = facts(RUN)
    outcome = replay(whole, oracle_named("oracle_until_last_use", whole.evidence, whole.steps))
    saved = [full.total - one.total for full, one in zip(under(KEEP_ALL).requests, outcome.requests, strict=True)]
    assert saved == [0, 0, 0, len(ORDER) - len("[cleared]")]


def test_an_oracle_lets_every_result_be_read_once_unless_it_clears_on_arrival() -> None:
    useless = "a long line that nobody needs"
    whole = facts(run(calls("a"), result(useless, "a"), calls("b"), result("ok", "b"), says("Done.")))
    full = [sum(whole.sizes[:at]) for at in (0, 2, 4)]
    saved = len(useless) - len("[cleared]")
    for name, totals in (
        ("oracle_until_last_use", [full[0], full[1], full[2] - saved]),
        ("oracle_results_on_arrival", [full[0], full[1] - saved, full[2] - saved]),
    ):
        outcome = replay(whole, oracle_named(name, whole.evidence, whole.steps))
        assert [request.total for request in outcome.requests] == totals


def test_an_oracle_that_counts_the_cost_does_not_rewrite_at_the_very_end() -> None:
    whole = facts(RUN)
    outcome = replay(whole, oracle_named("oracle_until_it_pays", whole.evidence, whole.steps))
    assert outcome.rewrites == 0


def test_an_oracle_by_lines_keeps_the_line_that_is_used() -> None:
    listing = "first line of many\nthe id is W-2380 here\nlast line of many"
    whole = facts(run(calls("a"), result(listing, "a"), calls("b", id="W-2380")))
    outcome = replay(whole, oracle_named("oracle_lines_on_arrival", whole.evidence, whole.steps))
    kept = whole.sizes[0] + len("the id is W-2380 here\n") + 4
    assert outcome.requests[1].total == kept


def test_runs_that_only_use_what_they_have_just_read_are_flagged_as_recorded_under_masking() -> None:
    def read(number: int) -> list[dict[str, object]]:
        return [calls(f"c{number}", id=f"W-{number:04}"), result(f"next is W-{number + 1:04}", f"c{number}")]

    just_read = run(*(turn for number in range(40) for turn in read(number)))
    remembers = run(
        calls("a"),
        result(" ".join(f"W-{number:04}" for number in range(40)), "a"),
        *(turn for number in range(40) for turn in (calls(f"c{number}", id=f"W-{number:04}"), result("ok"))),
    )
    for one, flagged in ((just_read, True), (remembers, False)):
        outcome = under(KEEP_ALL, one)
        assert summarize([ComparedRun(outcome, outcome)] * 5).evidence.recorded_under_masking is flagged


def test_a_policy_is_told_when_the_cache_has_gone_cold_where_the_run_has_times() -> None:
    texts: list[bool] = []

    class Asks(Made):
        def age(self, transcript: Transcript, decided: Choices, situation: Situation) -> list[Choice]:
            texts.append(situation.cold)
            return []

    times = (0.0, 1.0, 2.0, 3.0, 4.0, 900.0, 901.0, 902.0)
    under(Asks(), RUN.replace(times=times))
    assert texts == [False, False, True, False]


def test_a_policy_is_told_the_window_when_results_arrive() -> None:
    one = run(user("go"), calls("a", q="x"), result("many words of a file\n" * 2_000, "a"), calls("b", q="y"))
    policy = Auto(CAREFUL.replace(arrival_least={"other": 100_000}))
    texts = [DEFAULT.replace(window=window) for window in (10_000, 200_000)]
    shown = [replay(facts(one), policy, profile).requests[1].total for profile in texts]
    assert shown[0] < 20_000 < shown[1], "half of what is left of a small window, and whole in a large one"
