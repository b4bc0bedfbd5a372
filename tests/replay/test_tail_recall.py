"""Recall at the tail in a replay: what would be appended to requests, and whether the agent used it."""

from keepwhole.logs.run import Run
from keepwhole.replay.replay import replay
from keepwhole.replay.tail_recall import AppendedUnit, tail_recall_line
from tests.replay.recorded import DROP_ALL, KEEP_ALL, Made, calls, facts, result, run, says, user

ORDERS = "order W-2380 belongs to u_7719\n\n" + "nothing else of note here\n" * 5
NEEDS_IT = (
    user("Cancel my order."),
    calls("a", q="orders"),
    result(ORDERS, "a"),
    calls("b", id="W-2380"),
    result("please give the owner", "b"),
)


def appended(run: Run, policy: Made = DROP_ALL) -> tuple[AppendedUnit, ...]:
    found = replay(facts(run), policy, tail=True).appended
    assert found is not None
    return found


def test_a_unit_of_which_the_next_step_uses_something_hidden_is_used() -> None:
    (unit,) = appended(run(*NEEDS_IT, calls("c", owner="u_7719"), result("done", "c"), says("Done.")))
    assert (unit.step, unit.source, unit.is_pointer, unit.used) == (2, 0, False, True)
    assert unit.tokens > 10


def test_naming_again_what_asked_for_the_unit_is_no_use_of_it() -> None:
    (unit,) = appended(run(*NEEDS_IT, calls("c", id="W-2380", sure="yes"), result("done", "c"), says("Done.")))
    assert not unit.used


def test_what_is_used_after_three_steps_or_was_shown_again_meanwhile_does_not_count() -> None:
    later = [part for n in range(3) for part in (calls(f"d{n}", n="x"), result("ok", f"d{n}"))]
    (late,) = appended(run(*NEEDS_IT, *later, calls("c", owner="u_7719"), result("done", "c"), says("Done.")))
    again = (calls("d", q="owners"), result("the owner is u_7719", "d"))
    (shown, *_) = appended(run(*NEEDS_IT, *again, calls("c", owner="u_7719"), result("done", "c"), says("Done.")))
    assert (late.used, shown.used) == (False, False)


def test_an_appended_unit_is_sent_in_all_later_requests_and_not_appended_again() -> None:
    more = [part for n in range(3) for part in (calls(f"d{n}", id="W-2380"), result("ok", f"d{n}"))]
    assert len(appended(run(*NEEDS_IT, *more, says("Done.")))) == 1


def test_at_a_users_turn_a_pointer_is_counted_by_itself() -> None:
    run_ = run(
        *NEEDS_IT[:3], says("I see."), user("And W-2380?"), calls("c", owner="u_7719"), result("ok", "c"), says("Done.")
    )
    (pointer, *_) = appended(run_)
    assert (pointer.is_pointer, pointer.used) == (True, True)


def test_nothing_is_appended_where_nothing_is_hidden_and_nothing_is_looked_at_unless_asked() -> None:
    run_ = run(*NEEDS_IT, says("Done."))
    assert appended(run_, KEEP_ALL) == ()
    assert replay(facts(run_), DROP_ALL).appended is None


def test_the_line_for_people_says_how_many_and_which_share_was_used() -> None:
    found = [
        AppendedUnit(1, 0, 200, False, True),
        AppendedUnit(2, 0, 100, False, False),
        AppendedUnit(3, 0, 9, True, False),
    ]
    assert tail_recall_line("auto", [found[:1], found[1:]]) == (
        "recall at the tail under auto: 2 units of 150 tokens would be appended, 50.0% used within 3 steps; "
        "1 pointers at a user's turn, 0.0% used"
    )
