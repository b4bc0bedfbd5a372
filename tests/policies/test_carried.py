"""What `auto` keeps from one request to the next gives the same numbers as working them out from the beginning."""

import random
import time
from collections.abc import Iterable, Iterator

import pytest

from keepwhole.canonical.message import Call, Message, ResultText
from keepwhole.models.ledger import last_end
from keepwhole.policies.auto import age_choice
from keepwhole.policies.carried import CarriedResults
from keepwhole.policies.images import is_superseded
from keepwhole.policies.need import need_of, need_table
from keepwhole.policies.policy import Choices, TrackedChoices
from keepwhole.policies.settings import CAREFUL, AutoSettings
from keepwhole.policies.transcript import Item, Name, Transcript
from tests.policies.builders import image_result

SMALL = CAREFUL.replace(min_tokens=20)
TOOLS = ("bash", "read_file", "grep", "lookup", "screenshot")
WORTH = 500.0


class MadeUpSession:
    """A conversation that grows by random messages and choices."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)
        self.transcript, self.decided = Transcript(), TrackedChoices()
        self.ends: list[int] = []

    def grow(self) -> None:
        """One more step; sometimes the user writes, a result ages, is pinned or is shown in part."""
        draw, made = self._draw, self.transcript
        self._take_back_newest()
        if not made.messages or draw.random() < 0.1:
            made.extend([Message("user", f"look at {self._name()}")])
        calls = [Call(f"c{made.steps}_{at}", draw.choice(TOOLS), f'{{"path": "{self._name()}"}}') for at in (0, 1)]
        made.extend([Message("assistant", f"{self._name()} it is", calls=tuple(calls[: draw.choice((1, 1, 2))]))])
        for call in made.messages[-1].calls:
            made.extend([Message("tool", returned=(self._result(call),))])
            item = made.items[-1]
            item.name = Name(f"t{item.number}", f"a{item.number}") if draw.random() < 0.95 else None
            self.decided.open[item.number] = None
        self.ends.append(len(made.messages))
        self._choose()

    def _take_back_newest(self) -> None:
        """Let the newest messages come again, as where a client has moved a mark in them, or others in their place."""
        made, back = self.transcript, self._draw.choice((*(0, 0, 1, 2, 3) * 8, 20))
        gone = made.messages[max(0, len(made.messages) - back) :]
        left = len(made.messages) - len(gone)
        for item in [item for item in made.items if item.index >= left]:
            self.decided.drop(item)
            self.decided.open.pop(item.number, None)
        made.cut_back(left)
        self.ends = [end for end in self.ends if end <= left]
        if back < 20:
            made.extend(gone)
            for item in [item for item in made.items if item.index >= left]:
                item.name = Name(f"t{item.number}", f"a{item.number}")
                self.decided.open[item.number] = None

    def _result(self, call: Call) -> ResultText:
        if call.tool == "screenshot":
            return image_result(call.call_id, self._draw.randrange(3))
        text = "\n".join(
            f"{self._name()}:{self._draw.randrange(99)} SlotError" for _ in range(self._draw.randrange(30))
        )
        return ResultText(call.call_id, ("content",), text)

    def _choose(self) -> None:
        item = self._draw.choice(self.transcript.items)
        if item.name is None or item.number not in self.decided.open:
            return
        if self._draw.random() < 0.2:
            self.decided.hold(item, age_choice(item))
        elif self._draw.random() < 0.2:
            self.decided.hold(item, age_choice(item)._replace(rule="arrival", tokens=item.tokens // 3))
        item.pinned = self._draw.random() < 0.1

    def _name(self) -> str:
        return f"src/part_{self._draw.randrange(40)}.py"


def plain_numbers(session: MadeUpSession, settings: AutoSettings) -> Iterator[tuple[int, int, float, int]]:
    """What `CarriedResults` says, each result by itself and from the beginning."""
    made, decided = session.transcript, session.decided
    for item in sorted(plain_may_age(made, decided, settings), key=lambda item: -item.number):
        choice = decided.get(item.number)
        shown = item.tokens if choice is None else choice.tokens
        need = need_of(
            made.uses.of[item.number],
            made.turns,
            made.user_messages_after(item),
            shown / max(1, item.tokens),
            is_superseded(made, item),
            settings.weights,
        )
        frees, first = max(0, shown - 30), last_end(session.ends, item.index)
        if frees > WORTH * need:
            saved = sum(
                made.items[number].tokens - other.tokens
                for number, other in decided.items()
                if made.items[number].index >= first
            )
            yield item.number, frees, frees - WORTH * need, made.tokens_from(first) - saved


def plain_may_age(made: Transcript, decided: Choices, settings: AutoSettings, hard: bool = False) -> Iterator[Item]:
    """The results that may age; with `hard` only the newest step is spared."""
    seen: dict[str, int] = {}
    for item in reversed(made.items):
        choice = decided.get(item.number)
        if choice is not None and choice.rule == "aged":
            continue
        seen[item.kind] = seen.get(item.kind, 0) + 1
        is_kept = not hard and seen[item.kind] <= settings.keep[item.kind]
        is_young = is_kept or item.step > made.steps - (1 if hard else settings.keep_steps)
        is_small = (item.tokens if choice is None else choice.tokens) < settings.min_tokens
        if not (is_young or is_small or item.pinned or item.name is None):
            yield item


def kept_numbers(session: MadeUpSession, settings: AutoSettings) -> list[tuple[int, int, float, int]]:
    """The same from what is kept."""
    carried = CarriedResults(session.transcript, session.decided, settings, need_table(settings.weights), None)
    behind = carried.behind(session.ends)
    return [(number, frees, saves, behind(number)) for number, frees, saves in carried.not_worth(WORTH)]


def about(numbers: Iterable[tuple[int, int, float, int]]) -> list[tuple[int, int, float, int]]:
    return [(number, frees, round(saves, 6), behind) for number, frees, saves, behind in numbers]


@pytest.mark.parametrize("seed", range(6))
def test_numbers_that_are_kept_are_those_that_are_worked_out_anew(seed: int) -> None:
    session = MadeUpSession(seed)
    found = 0
    for step in range(60):
        session.grow()
        if step == 40:  # a fork: what was kept of the messages that are gone is forgotten
            session.transcript.cut_back(50)
            session.decided = TrackedChoices()
            session.decided.open.update(dict.fromkeys(range(len(session.transcript.items))))
            session.ends = [end for end in session.ends if end <= 50]
        kept = kept_numbers(session, SMALL)
        assert about(kept) == about(plain_numbers(session, SMALL))
        found += len(kept)
    assert found > 100


@pytest.mark.parametrize("seed", range(3))
def test_the_newest_results_are_spared_unless_only_the_newest_step_can_be(seed: int) -> None:
    session = MadeUpSession(seed)
    more = 0
    for _ in range(60):
        session.grow()
        made, decided = session.transcript, session.decided
        carried = CarriedResults(made, decided, SMALL, need_table(SMALL.weights), None)
        plain = [item.number for item in plain_may_age(made, decided, SMALL)]
        assert [item.number for item, *_ in carried.may_age()] == sorted(plain)
        everything = sorted(item.number for item in plain_may_age(made, decided, SMALL, hard=True))
        assert [item.number for item, *_ in carried.may_age(hard=True)] == everything
        more += len(everything) - len(plain)
    assert more > 100


def test_other_settings_are_not_answered_with_what_was_kept_for_the_first() -> None:
    session = MadeUpSession(1)
    for _ in range(30):
        session.grow()
    for settings in (SMALL, SMALL.replace(min_tokens=200), SMALL.replace(need={**SMALL.need, "base": 0.5})):
        assert about(kept_numbers(session, settings)) == about(plain_numbers(session, settings))


def test_one_more_step_is_weighed_many_times_as_fast_as_from_the_beginning() -> None:
    session = MadeUpSession(2)
    for _ in range(600):
        session.grow()
    ratios: list[float] = []
    for _ in range(10):
        session.grow()
        carried = CarriedResults(session.transcript, session.decided, SMALL, need_table(SMALL.weights), None)
        began = time.thread_time()
        carried.not_worth(WORTH)
        kept = time.thread_time()
        for item in session.transcript.items:
            need_of(session.transcript.uses.of[item.number], session.transcript.turns)
            session.transcript.user_messages_after(item)
        ratios.append((kept - began) / (time.thread_time() - kept))
    assert min(ratios) < 1, "with everything else beside need, less than the need of each result by itself alone"
