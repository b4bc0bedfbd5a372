"""Within the window: no request of the default policy is longer than the model's window, in any language.

Nothing here is billed, so nothing corrects the estimate; what bills do to margins is in `tests/record/test_bills.py`.
"""

import json
import random
from collections import Counter
from collections.abc import Sequence
from itertools import product
from typing import Any, Literal

import pytest

from keepwhole.config import Settings
from keepwhole.models import tokens
from keepwhole.policies.settings import CAREFUL
from keepwhole.session import Session
from tests.apps.proxy.screenshots import step_messages, text_part
from tests.build import in_memory
from tests.long_run import one_in
from tests.promises.conversations import DIALECTS, call_messages, result_messages, result_texts, user_message
from tests.promises.languages import TOKENS_PER_CHAR, WRITERS
from tests.upstream.media_parts import MediaKind, media_part
from tests.upstream.pictures import media_tokens, without_pictures
from tests.upstream.prompt import strings_in
from tests.upstream.spelling import Dialect

WINDOWS = (32_000, 128_000, 200_000)
READS, CHARS = 60, 12_000
SPREAD = 1.03
"""How much denser a text may be than others of its kind."""
BESIDE = 40
"""Tokens of a call, its arguments and its ids; of a notice, a third of its characters."""
SPOKEN = (
    *("Polish", "Japanese", "Arabic", "Chinese", "Korean", "Russian", "Hindi", "Thai"),
    *("emoji", "base64", "minified code"),
)


LOOKED_AT: tuple[MediaKind, ...] = ("screenshot", "icon", "photo", "jpeg", "document", "image by URL")
"""Not documents of which only a URL or a file's id is known: how many pages they have, the first bill tells."""
MEDIA_DIALECTS: tuple[Dialect, ...] = ("anthropic", "openai_chat", "openai_responses")


def session(window: int) -> Session:
    """A session for a model with that window, in which nothing ages before the window forces it."""
    auto = CAREFUL.replace(horizon=0.001)
    return in_memory(settings=Settings(home="unused", auto=auto, models={"default": {"window": window}}))


def no_reserve(_sample: str, _tokens: float, _text: str) -> float:
    """The margins switched off."""
    return 0.0


class Reader:
    """An agent that reads one file after the other and is never told what it is billed."""

    def __init__(self, dialect: str, kinds: Sequence[str], window: int) -> None:
        self.dialect, self.kinds, self.window = dialect, kinds, window
        self.session = session(window)
        self.messages: list[dict[str, Any]] = [user_message("Read everything.")]
        self.aged: Counter[str] = Counter()

    def sizes(self, reads: int = READS) -> list[int]:
        """The tokens of each request, as the provider counts them."""
        return [self._read(number) for number in range(reads)]

    def _read(self, number: int) -> int:
        kind = self._kind(number)
        text = f"{number}\n" + WRITERS[kind](random.Random(f"{kind} {number}"), CHARS)
        name = f"call_{number}"
        self.messages += call_messages(self.dialect, [(name, "read_file", {"path": f"{number}.txt"})])
        self.messages += result_messages(self.dialect, [(name, text)])
        sent = self.session.view(self.messages)
        found = result_texts(self.dialect, sent)
        self.aged = Counter(text[:10] for _, text in found if len(text) < 200)
        return round(sum(self._count(name, text) + BESIDE for name, text in found))

    def _kind(self, number: int) -> str:
        return self.kinds[number % len(self.kinds)]

    def _count(self, name: str, text: str) -> float:
        if len(text) < 200:
            return len(text) / 3
        return SPREAD * TOKENS_PER_CHAR[self._kind(int(name.removeprefix("call_")))] * len(text)


@pytest.mark.parametrize(("kind", "dialect", "window"), one_in(17, product(SPOKEN, DIALECTS, WINDOWS)))
def test_no_request_in_any_language_exceeds_the_window(kind: str, dialect: str, window: int) -> None:
    assert max(Reader(dialect, [kind], window).sizes()) <= window


def reads_that_fill_it_twice(kind: str, window: int) -> int:
    """The first request that is too long without margins is among these, for all kinds that have one in all reads."""
    return min(READS, 3 + round(2.2 * window / (TOKENS_PER_CHAR[kind] * CHARS)))


@pytest.mark.parametrize("all_reads", [False, pytest.param(True, marks=pytest.mark.torture)])
@pytest.mark.parametrize("kind", sorted(WRITERS.keys() - set(SPOKEN)))
def test_no_request_in_any_script_or_encoding_exceeds_the_window(kind: str, all_reads: bool) -> None:
    reads = READS if all_reads else reads_that_fill_it_twice(kind, 128_000)
    assert max(Reader("openai_chat", [kind], 128_000).sizes(reads)) <= 128_000


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize(
    "seed", [0, pytest.param(1, marks=pytest.mark.torture), pytest.param(2, marks=pytest.mark.torture)]
)
def test_no_request_with_all_of_them_exceeds_the_window(seed: int, window: int) -> None:
    kinds = random.Random(seed).sample(sorted(WRITERS), len(WRITERS))
    assert max(Reader(DIALECTS[seed], kinds, window).sizes(90)) <= window


class Looker:
    """An agent whose every result has two images or documents beside its text, and which writes long arguments."""

    def __init__(self, dialect: Dialect, kind: MediaKind, window: int, arguments: Literal["off", "old"]) -> None:
        self.dialect, self.kind, self.window = dialect, kind, window
        made = Settings(
            home="unused",
            models={"default": {"window": window, "images": "claude"}},
            auto=CAREFUL.replace(arguments=arguments),
        )
        self.session = in_memory(settings=made)
        self.messages: list[dict[str, Any]] = [user_message("Look at everything.")]
        self.number = 0

    def sizes(self) -> list[int]:
        """The tokens of each request, as the provider counts them, until what came would fill the window twice."""
        found: list[int] = []
        while media_tokens(self.messages) + self.number * 800 < 2 * self.window:
            found.append(self._look())
        return found

    def _look(self) -> int:
        self.number += 1
        text = WRITERS["English"](random.Random(self.number), 1_500)
        given = {"script": WRITERS["English"](random.Random(f"a{self.number}"), 1_500)}
        media = [media_part(self.dialect, self.kind, 2 * self.number + place) for place in range(2)]
        parts = [text_part(self.dialect, text), *media]
        self.messages += step_messages(self.dialect, f"call_{self.number}", "computer", given, parts)
        key = "input" if self.dialect == "openai_responses" else "messages"
        sent = json.loads(self.session.view(json.dumps({"model": "m", key: self.messages}).encode()))[key]
        return media_tokens(sent) + round(sum(map(self._count, strings_in(without_pictures(sent)))))

    def _count(self, text: str) -> float:
        return len(text) / 3 if len(text) < 400 else SPREAD * TOKENS_PER_CHAR["English"] * len(text)


@pytest.mark.parametrize(
    ("arguments", "window", "kind", "dialect"),
    one_in(11, product(("off", "old"), WINDOWS[1::-1], LOOKED_AT, MEDIA_DIALECTS)),
)
def test_no_request_with_images_and_long_arguments_exceeds_the_window(
    kind: MediaKind, dialect: Dialect, window: int, arguments: Literal["off", "old"]
) -> None:
    assert max(Looker(dialect, kind, window, arguments).sizes()) <= window


def test_without_counting_images_requests_exceed_the_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keepwhole.policies.transcript.media_tokens", lambda *_: 10)
    assert max(Looker("anthropic", "photo", 32_000, "old").sizes()) > 32_000


@pytest.mark.parametrize("kind", ["Polish", "Finnish", "Chinese, traditional", "Ukrainian", "letters in words"])
def test_without_margins_requests_exceed_the_window(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "reserve_of", no_reserve)
    assert max(Reader("openai_chat", [kind], 128_000).sizes()) > 128_000


@pytest.mark.parametrize("window", WINDOWS)
def test_english_loses_no_room(window: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with_margins = Reader("openai_chat", ["English"], window)
    sizes = with_margins.sizes()
    monkeypatch.setattr(tokens, "reserve_of", no_reserve)
    without = Reader("openai_chat", ["English"], window)
    assert max(without.sizes()) == pytest.approx(max(sizes), rel=0.05), "the ids in notices may have a margin"
    assert abs(without.aged.total() - with_margins.aged.total()) <= 2
    assert with_margins.aged or window > 100_000


@pytest.mark.parametrize("kind", WRITERS)
def test_the_reserve_covers_what_the_text_takes(kind: str) -> None:
    for size in (2_000, CHARS, 60_000):
        text = WRITERS[kind](random.Random(f"{kind} {size}"), size)
        estimated, reserve = tokens.measure(text)
        assert 0.9 * TOKENS_PER_CHAR[kind] * len(text) <= estimated + reserve


def test_the_densities_are_exact() -> None:
    pytest.importorskip("splintr")
    count = tokens.exact_counter()
    assert count is not None
    for kind, write in WRITERS.items():
        text = write(random.Random(kind), CHARS)
        assert count(text) / len(text) == pytest.approx(TOKENS_PER_CHAR[kind], abs=0.001)
