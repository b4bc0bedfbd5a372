"""Other systems' policies do what their originals document: which results go at which step, and by which words."""

import copy
from collections.abc import Callable, Mapping

import pytest

from keepwhole.canonical.message import Call, Message, ResultText
from keepwhole.errors import UsageError
from keepwhole.models.profiles import DEFAULT
from keepwhole.models.tokens import estimate
from keepwhole.policies.other_systems import (
    PEERS,
    Capped,
    ClearToolUses,
    HalfWatermark,
    LangChain,
    Masked,
    NewestImages,
    Pruned,
    peer_named,
)
from keepwhole.policies.policy import Choice, Policy, Situation, sent_tokens, shown_text
from keepwhole.policies.transcript import Transcript
from tests.policies.builders import image_result

SITUATION = Situation(DEFAULT.replace(window=20_000))
K = "word line\n" * 350
"""About a thousand tokens."""
ONE = estimate(K)
TEN = 10 * ONE + ONE // 2
"""Ten steps do not exceed it, eleven do: a step's arguments take a few tokens too."""
every_peer = pytest.mark.parametrize("make", PEERS.values(), ids=PEERS)


def step(number: int, text: str = K, tool: str = "Bash", is_error: bool = False, pinned: bool = False) -> list[Message]:
    """A call and its result."""
    call_id = f"call {number}"
    returned = ResultText(call_id, ("content",), text, is_error)
    return [
        Message("assistant", calls=(Call(call_id, tool, "{}"),)),
        Message("tool", returned=(returned,), pinned=pinned),
    ]


class Run:
    """A conversation under a policy, which is called before every request."""

    def __init__(self, policy: Policy, situation: Situation = SITUATION) -> None:
        self.policy, self.situation = policy, situation
        self.transcript = Transcript()
        self.decided: dict[int, Choice] = {}

    def send(self, *messages: Message) -> list[int]:
        """Add messages, call the policy, and return the numbers of the results in its choices."""
        known = len(self.transcript.items)
        self.transcript.extend(messages)
        new = self.transcript.items[known:]
        chosen = self.policy.arrive(self.transcript, new, self.decided)
        self.decided |= {choice.number: choice for choice in chosen}
        aged = self.policy.age(self.transcript, self.decided, self.situation)
        self.decided |= {choice.number: choice for choice in aged}
        return [choice.number for choice in (*chosen, *aged)]

    def steps(self, count: int, text: str = K) -> list[list[int]]:
        """Repeat the same step; return the choices at each."""
        start = len(self.transcript.items)
        return [self.send(*step(start + number, text)) for number in range(count)]

    def text(self, number: int) -> str:
        return shown_text(self.transcript.items[number], self.decided.get(number))


def test_everything_changes_nothing() -> None:
    assert Run(peer_named("everything")).steps(30) == [[]] * 30


@pytest.mark.parametrize("name", ["head_8000", "head_tail_8000", "head_tail_16000"])
def test_a_cap_cuts_what_is_longer_on_arrival_and_only_then(name: str) -> None:
    run = Run(peer_named(name))
    limit = int(name.rpartition("_")[2])
    long = "".join(f"line {number}\n" for number in range(4_000))
    assert run.send(*step(0, long[:limit])) == []
    assert run.send(*step(1, long)) == [1]
    assert run.steps(3, "short") == [[]] * 3
    assert 0.9 * limit < len(run.text(1)) <= limit
    assert run.text(1).startswith("line 0\n")
    assert "omitted" in run.text(1)


def test_head_shows_no_end_and_head_tail_shows_it() -> None:
    long = "".join(f"line {number}\n" for number in range(4_000))
    ends: dict[str, bool] = {}
    for name in ("head_8000", "head_tail_8000"):
        run = Run(peer_named(name))
        run.send(*step(0, long))
        ends[name] = "line 3999" in run.text(0)
    assert ends == {"head_8000": False, "head_tail_8000": True}


def test_both_ends_get_half_each() -> None:
    run = Run(Capped("both", 2_000))
    run.send(*step(0, "a" * 3_000 + "\n" + "b" * 3_000))
    assert abs(run.text(0).count("a") - run.text(0).count("b")) < 100


def test_masking_slides_one_result_at_every_step() -> None:
    run = Run(Masked("mask", 2))
    assert run.steps(5) == [[], [], [0], [1], [2]]
    assert run.text(0) == "Old environment output: (350 lines omitted)"


@pytest.mark.parametrize(("name", "keep"), [("mask_5", 5), ("mask_10", 10)])
def test_masking_keeps_as_many_as_its_name_says(name: str, keep: int) -> None:
    assert Run(peer_named(name)).steps(keep + 2) == [[]] * keep + [[0], [1]]


def test_the_texts_of_one_call_count_as_one_result() -> None:
    run = Run(Masked("mask", 1))
    parts = tuple(ResultText("call 0", ("content", at, "text"), K) for at in range(3))
    assert run.send(step(0)[0], Message("tool", returned=parts)) == []
    assert run.send(*step(1)) == [0, 1, 2]


def test_clear_tool_uses_clears_in_a_batch_and_then_rests() -> None:
    run = Run(ClearToolUses("clear", trigger=TEN, keep=3, clear_at_least=2 * ONE))
    chosen = run.steps(20)
    assert chosen[:10] == [[]] * 10
    assert chosen[10] == list(range(8))
    assert chosen[11:17] == [[]] * 6
    batches = [batch for batch in chosen if batch]
    assert batches[1][0] == 8
    assert all(len(batch) > 1 for batch in batches)
    assert run.text(0) == "[cleared to save context]"


def test_clear_tool_uses_waits_until_it_frees_enough() -> None:
    run = Run(ClearToolUses("clear", trigger=TEN, keep=3, clear_at_least=9 * ONE))
    chosen = run.steps(14)
    assert [at for at, batch in enumerate(chosen) if batch] == [12]


def test_clear_tool_uses_counts_what_is_sent_beside_the_messages() -> None:
    policy = ClearToolUses("clear", trigger=TEN, keep=3, clear_at_least=ONE)
    run = Run(policy, SITUATION._replace(overhead=5 * ONE))
    assert [at for at, batch in enumerate(run.steps(7)) if batch] == [5]


def test_langchain_clears_another_result_at_every_call_past_the_trigger() -> None:
    run = Run(LangChain("langchain", trigger=TEN, keep=3))
    assert run.steps(14) == [[]] * 10 + [list(range(8)), [8], [9], [10]]
    assert run.text(0) == "[cleared]"


def test_langchain_clears_errors_and_spares_results_without_a_call() -> None:
    run = Run(LangChain("langchain", trigger=ONE, keep=1))
    run.send(step(0)[1], *step(1, is_error=True))
    assert run.send(*step(2)) == [1]


def test_opencode_protects_the_newest_tokens_and_prunes_only_large_amounts() -> None:
    run = Run(Pruned("prune", protect=4 * ONE, minimum=2 * ONE))
    assert run.steps(11) == [[]] * 6 + [[0, 1, 2], [], [], [3, 4, 5], []]
    assert run.text(0) == "[Old tool result content cleared]"


def test_opencode_spares_errors_and_skills() -> None:
    run = Run(Pruned("prune", protect=ONE, minimum=ONE))
    run.send(*step(0, is_error=True), *step(1, tool="skill"), *step(2))
    assert run.send(*step(3), *step(4)) == [2, 3]


def test_opencode_spares_the_users_last_two_turns() -> None:
    run = Run(Pruned("prune", protect=ONE, minimum=ONE, turns=2))
    run.send(Message("user", "first"))
    assert run.steps(6) == [[]] * 6
    assert run.send(Message("user", "second")) == []
    assert run.steps(6) == [[]] * 6
    assert run.send(Message("user", "third")) == [0, 1, 2, 3, 4]
    assert run.send(Message("user", "fourth")) == [5, 6, 7, 8, 9, 10]


def test_half_watermark_clears_oldest_first_down_to_half() -> None:
    run = Run(HalfWatermark("half", mark=TEN / 20_000, keep=2))
    chosen = run.steps(18)
    assert chosen[:11] == [[]] * 10 + [[0, 1, 2, 3, 4, 5]]
    assert chosen[11:15] == [[]] * 4
    assert sum(bool(batch) for batch in chosen) == 2
    assert run.text(0) == "[Old tool result content cleared]"


def test_half_watermark_spares_errors_and_the_newest() -> None:
    run = Run(HalfWatermark("half", mark=2 * ONE / 20_000, keep=2))
    assert run.send(*step(0, is_error=True), *step(1), *step(2), *step(3)) == [1]


def script() -> list[list[Message]]:
    """Forty steps of all sorts, with users between them."""
    sizes = (1, 30, 4, 90, 5)
    moves = [
        step(number, K * sizes[number % 5] if number % 7 else "", is_error=number % 9 == 0, pinned=number % 11 == 0)
        for number in range(40)
    ]
    for at in range(0, 40, 8):
        moves[at].insert(0, Message("user", f"now do {at}"))
    return moves


@every_peer
def test_a_choice_is_made_once_and_holds(make: Callable[[], Policy]) -> None:
    run = Run(make())
    seen: set[int] = set()
    for messages in script():
        chosen = run.send(*messages)
        assert len(chosen) == len(set(chosen))
        assert seen.isdisjoint(chosen)
        seen.update(chosen)
        assert run.policy.age(run.transcript, run.decided, run.situation) == []


@every_peer
def test_what_is_sent_is_what_the_choices_say(make: Callable[[], Policy]) -> None:
    run = Run(make())
    for messages in script():
        run.send(*messages)
    for number, choice in run.decided.items():
        item = run.transcript.items[number]
        assert choice.cut.covers(len(item.text))
        assert choice.tokens == estimate(shown_text(item, choice))
        assert not item.pinned
    assert sent_tokens(run.transcript, run.decided) <= run.transcript.tokens + 20 * len(run.decided)


def snapshot(run: Run) -> tuple[Mapping[str, object], list[dict[str, object]]]:
    items = [{name: getattr(item, name) for name in item.__slots__} for item in run.transcript.items]
    return copy.copy(vars(run.transcript)), items


@every_peer
def test_asking_again_gives_the_same_and_changes_nothing(make: Callable[[], Policy]) -> None:
    run, twin = Run(make()), Run(make())
    assert run.policy == make()
    for messages in script():
        decided, known = dict(run.decided), len(run.transcript.items)
        assert run.send(*messages) == twin.send(*messages)
        new, before = run.transcript.items[known:], snapshot(run)
        for policy in (run.policy, make()):
            arrived = policy.arrive(run.transcript, new, decided)
            after = decided | {choice.number: choice for choice in arrived}
            aged = policy.age(run.transcript, after, run.situation)
            assert after | {choice.number: choice for choice in aged} == run.decided
        assert snapshot(run) == before
    assert run.decided == twin.decided


@every_peer
def test_a_policy_goes_by_the_name_it_is_asked_for(make: Callable[[], Policy]) -> None:
    name = make().name
    assert peer_named(name) == make()


def test_all_but_everything_do_something_in_a_long_conversation() -> None:
    idle: list[str] = []
    for name in PEERS:
        run = Run(peer_named(name))
        for messages in script():
            run.send(*messages)
        idle += [] if run.decided else [name]
    assert idle == ["everything", "newest_images"], "the conversation has no images"


def screenshot(number: int) -> list[Message]:
    """A call, and an image that it returned."""
    called, result = step(number)
    return [called, result._replace(returned=(image_result(f"call {number}", number),))]


def test_the_oldest_images_go_in_chunks_and_texts_stay() -> None:
    run = Run(NewestImages("newest_images", keep=3, chunk=4))
    gone = [run.send(*screenshot(2 * number), *step(2 * number + 1)) for number in range(11)]
    assert gone == [[]] * 6 + [[0, 2, 4, 6]] + [[]] * 3 + [[8, 10, 12, 14]]


def test_an_unknown_name_is_answered_with_those_there_are() -> None:
    with pytest.raises(UsageError) as refused:
        peer_named("masks")
    assert "There is no policy `masks`" in str(refused.value)
    assert all(f"`{name}`" in str(refused.value) for name in PEERS)


@pytest.mark.parametrize(
    ("policy", "kept"), [(Masked("mask"), 5), (peer_named("mask_5"), 5), (peer_named("mask_10"), 10)]
)
def test_a_mask_keeps_as_many_of_the_newest_results_as_its_name_says(policy: Policy, kept: int) -> None:
    assert Run(policy).steps(kept + 2) == [*[[]] * kept, [0], [1]]


@pytest.mark.parametrize(
    ("name", "trigger"),
    [
        *(("clear_tool_uses", 100_000), ("clear_tool_uses_50k", 50_000), ("clear_tool_uses_70k", 70_000)),
        ("clear_tool_uses_150k", 150_000),
    ],
)
def test_uses_are_cleared_with_the_first_request_over_the_trigger_that_the_name_says(name: str, trigger: int) -> None:
    run, text = Run(peer_named(name)), K * 10
    while not run.send(*step(len(run.transcript.items), text)):
        assert run.transcript.tokens <= trigger
    assert trigger < run.transcript.tokens < trigger + 11 * ONE
