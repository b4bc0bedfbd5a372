"""A computer-use loop of 200 screenshots through the proxy: every promise holds for images, in every dialect."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from keepwhole import Session, SqliteStore
from keepwhole.config import Settings
from keepwhole.policies.settings import CAREFUL, LEAN, AutoSettings
from keepwhole.store.protocol import result_of
from tests.apps.proxy.screenshots import MODELS, Loop, LoopResult, request_body
from tests.build import in_memory
from tests.long_run import one_in
from tests.promises.dialect_bodies import ALL as DIALECTS
from tests.upstream.pictures import pictures_in
from tests.upstream.spelling import Dialect

WINDOW = 200_000
SCRIPT = 1_500
"""Characters that the model writes into each call."""


def run(
    dialect: Dialect, home: Path, mode: str, steps: int, window: int, script: int = SCRIPT, auto: AutoSettings = CAREFUL
) -> tuple[Loop, LoopResult]:
    settings = Settings(
        home=str(home),
        models={MODELS[dialect]: {"window": window, "images": "claude", "read": 0.1}},
        auto=auto.replace(arguments="old"),
    )
    loop = Loop(dialect, script=script)
    with closing(SqliteStore(str(home))) as store:
        return loop, loop.run(store, settings, steps, mode, window if mode == "on" else 10_000_000)


_LONG = (pytest.mark.torture, pytest.mark.timeout(0))


@pytest.mark.parametrize(
    ("dialect", "steps", "auto"),
    [
        ("anthropic", 56, LEAN),
        *(pytest.param(dialect, 56, LEAN, marks=_LONG) for dialect in DIALECTS if dialect != "anthropic"),
        *(pytest.param(dialect, 200, CAREFUL, marks=_LONG) for dialect in DIALECTS),
    ],
)
def test_a_long_loop_of_screenshots_keeps_every_promise(
    dialect: Dialect, steps: int, auto: AutoSettings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loop, on = run(dialect, tmp_path / "on", "on", steps, WINDOW, auto=auto)
    _, off = run(dialect, tmp_path / "off", "off", steps, WINDOW)
    with capsys.disabled():
        print(f"\n{dialect}: {steps} screenshots cost {off.cost:,.0f} with `mode: off`, {on.cost:,.0f} with `on`")
    assert not on.refused  # every request is valid: pairs, base64, types, arguments
    assert len(on.bodies) == steps + len(on.reads)
    assert {"image", "arguments"} <= set(on.reads), "the model has read both back"
    assert max(on.sizes) <= WINDOW
    assert on.cost < (0.8 if steps == 200 else 1.0) * off.cost
    changes = [number for number, changed in enumerate(_changed_fronts(on.bodies)) if changed]
    # Batches pay, as the costs say, but are rare: between them every request begins as the last one.
    assert 1 <= len(changes) <= len(on.bodies) // 6
    check_record(tmp_path / "on", loop, steps)


def check_record(home: Path, loop: Loop, steps: int) -> None:
    """Every image and all arguments can be read back byte for byte."""
    with closing(SqliteStore(str(home))) as store:
        (info,) = store.sessions()
        session = Session(info.name, store=store)
        results = [result_of(row) for row in store.rows(session.id, kind="result")]
        kept = [one for one in results if str(one.call_id).startswith("call_")]
        images = [one for one in kept if one.media_type == "image/png"]
        # The last screenshot was never sent.
        assert [session.recall_bytes(one.trace_id) for one in images] == loop.pictures[: steps - 1]
        assert {(one.width, one.height) for one in images} == {(1280, 800)}
        given = [json.loads(session.recall(one.trace_id, part="arguments")) for one in kept if one.width is None]
        assert given == [loop.arguments(number) for number in range(steps - 1)]
        assert not session.verify().findings


def _changed_fronts(bodies: list[bytes]) -> list[bool]:
    """For each request whether it changes something that the one before it has sent."""
    found: list[bool] = []
    before: list[object] = []
    for body in bodies:
        fields = json.loads(body)
        messages = [_spelled_out(_unmarked(message)) for message in messages_of(fields)]
        found.append(messages[: len(before)] != before)
        before = messages
    return found


def messages_of(fields: Any) -> list[Any]:
    return fields.get("messages", fields.get("input", fields.get("contents")))


def _spelled_out(message: Any) -> Any:
    """A message whose text is a part, as providers read it: a marker needs one."""
    text = message.get("content")
    return {**message, "content": [{"type": "text", "text": text}]} if isinstance(text, str) else message


def _unmarked(value: object) -> object:
    if isinstance(value, list):
        return [_unmarked(part) for part in value if not isinstance(part, dict) or "cachePoint" not in part]
    if isinstance(value, dict):
        return {key: _unmarked(part) for key, part in value.items() if key != "cache_control"}
    return value


@pytest.mark.parametrize("dialect", one_in(3, ((dialect,) for dialect in DIALECTS)))
def test_the_newest_screenshots_stay(dialect: Dialect, tmp_path: Path) -> None:
    loop, on = run(dialect, tmp_path, "on", 48, WINDOW, script=0, auto=LEAN)
    last = json.loads(on.bodies[-1])
    shown = [data for _, data in pictures_in(messages_of(last))]
    assert 3 <= len(shown) < 47
    whole = [data for _, data in pictures_in(loop.messages[:-1])]  # the last result came after the last request
    assert set(whole[-3:]) <= set(shown)


@pytest.mark.parametrize("dialect", one_in(2, ((dialect,) for dialect in DIALECTS[1:])))
def test_a_small_window_is_held(dialect: Dialect, tmp_path: Path) -> None:
    loop, on = run(dialect, tmp_path, "on", 30, 32_000)
    assert not on.refused
    assert max(on.sizes) <= 32_000 < 30 * 1_800
    check_record(tmp_path, loop, 30)


def test_no_summary_follows_right_after_a_batch_that_the_window_forced() -> None:
    loop, model = Loop("anthropic", script=1_500), MODELS["anthropic"]
    profile = {"window": 100_000, "images": "claude", "read": 0.1}
    auto = CAREFUL.replace(arguments="old", horizon=0.001)
    session = in_memory(settings=Settings(home="unused", models={model: profile}, auto=auto))
    decided: list[int] = []
    compacted: list[int] = []
    for number in range(46):
        loop.step(number)
        account = session.projection(json.dumps(request_body("anthropic", loop.messages)).encode()).account
        decided.append(account.new_decisions)
        compacted.append(account.compacted)
    summaries = [at for at in range(1, 46) if compacted[at] > compacted[at - 1]]
    assert summaries
    assert all(decided[at - 1] == 0 for at in summaries)
