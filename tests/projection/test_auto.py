"""The policy `auto`: what it leaves alone, what it cuts, what it ages and when."""

from holdfast.projection.auto import Auto
from holdfast.projection.policy import Choice, Situation
from holdfast.projection.presets import CAREFUL, AutoSettings
from holdfast.projection.profiles import DEFAULT
from holdfast.projection.transcript import Call, Message, Name, Returned, Transcript

SMALL = CAREFUL.replace(start=1_000, clear_at_least=100, min_tokens=20, horizon=10_000, keep={"shell": 1, "read": 2})
HERE = Situation(DEFAULT)


def words(seed: int, lines: int = 60) -> str:
    return "".join(f"part {seed} has line {line} of plain words\n" for line in range(lines))


def transcript(*texts: str, tool: str = "bash", task: str = "Find out.") -> Transcript:
    made = Transcript()
    made.extend([Message("user", task)])
    for number, text in enumerate(texts):
        made.extend([Message("assistant", calls=(Call(f"c{number}", tool, f'{{"command": "step {number}"}}'),))])
        made.extend([Message("tool", returned=(Returned(f"c{number}", ("content",), text),))])
    for item in made.items:
        item.name = Name(f"trace_{item.number:022}", f"art_1_{item.number:022}")
    return made


def aged(made: Transcript, settings: AutoSettings = SMALL, decided: dict[int, Choice] | None = None) -> list[int]:
    return [choice.number for choice in Auto(settings).age(made, decided or {}, HERE)]


def test_nothing_ages_below_the_budget() -> None:
    made = transcript(*map(words, range(6)))
    assert aged(made, SMALL.replace(start=made.tokens + 1)) == []
    assert aged(made, SMALL.replace(start=made.tokens)) != []


def test_the_newest_of_a_kind_stay() -> None:
    assert aged(transcript(*map(words, range(5)))) == [0, 1, 2, 3]
    assert aged(transcript(*map(words, range(5)), tool="read_file")) == [0, 1, 2]


def test_a_batch_that_frees_too_little_or_never_pays_is_not_made() -> None:
    made = transcript(*map(words, range(5)))
    assert aged(made, SMALL.replace(clear_at_least=made.tokens)) == []
    assert aged(made, SMALL.replace(horizon=1)) == []


def test_small_pinned_and_unnamed_results_stay() -> None:
    made = transcript(words(0), "short", words(2), words(3), words(4))
    made.items[2].pinned = True
    made.items[3].name = None
    assert aged(made) == [0]


def test_an_open_error_stays_until_the_same_call_succeeds() -> None:
    error = words(0) + "Error: the disk is full\n"
    made = transcript(error, *map(words, range(1, 5)))
    assert 0 not in aged(made)
    made.extend([Message("assistant", calls=(Call("again", "bash", '{"command": "step 0"}'),))])
    made.extend([Message("tool", returned=(Returned("again", ("content",), words(9)),))])
    assert 0 in aged(made)


def test_what_the_user_took_up_stays() -> None:
    made = transcript(words(0) + "ticket INV-20431-77\n", *map(words, range(1, 5)))
    assert 0 in aged(made)
    made.extend([Message("user", "What about INV-20431-77?")])
    assert 0 not in aged(made)


def test_reads_are_whole_on_arrival_and_shells_are_capped() -> None:
    long = words(0, 600)
    for tool, cut in (("read_file", False), ("bash", True), ("Task", False)):
        made = transcript(long, tool=tool)
        assert bool(Auto().arrive(made, made.items, {}, HERE)) is cut, tool


def test_a_repeat_points_to_an_earlier_result_only_while_that_is_whole() -> None:
    made = transcript(words(1), words(1))
    (choice,) = Auto(SMALL).arrive(made, made.items[1:], {}, HERE)
    assert (choice.number, choice.rule) == (1, "repeat")
    hidden = {0: Auto(SMALL).age(transcript(*map(words, range(1, 6))), {}, HERE)[0]}
    assert Auto(SMALL).arrive(made, made.items[1:], hidden, HERE) == []


def test_a_result_that_others_point_to_does_not_age_before_them() -> None:
    made = transcript(words(1), words(2), words(3), words(4), words(1))
    (pointer,) = [c for c in Auto(SMALL).arrive(made, made.items[4:], {}, HERE) if c.rule == "repeat"]
    assert 0 not in aged(made, decided={4: pointer})


def test_the_window_forces_what_the_budget_would_not() -> None:
    made = transcript(*map(words, range(6)))
    tight = Situation(DEFAULT.replace(window=made.tokens))
    assert Auto(SMALL.replace(clear_at_least=10**9)).age(made, {}, tight)
