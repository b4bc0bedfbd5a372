"""A computer-use loop of 200 screenshots through the proxy: every promise holds for images, in every dialect."""

import json
from contextlib import closing
from pathlib import Path

import pytest

from keepwhole import Session, SqliteStore
from keepwhole.config import Settings
from keepwhole.store.protocol import result_of
from tests.apps.proxy.proxy_server import DIALECTS
from tests.apps.proxy.screenshots import MODELS, Loop, LoopResult
from tests.upstream.pictures import pictures_in
from tests.upstream.spelling import Dialect

STEPS = 200
WINDOW = 100_000


def run(dialect: Dialect, home: Path, mode: str, steps: int = STEPS, window: int = WINDOW) -> tuple[Loop, LoopResult]:
    settings = Settings(home=str(home), models={MODELS[dialect]: {"window": window, "images": "claude"}})
    loop = Loop(dialect)
    with closing(SqliteStore(str(home))) as store:
        return loop, loop.run(store, settings, steps, mode, window if mode == "on" else 10_000_000)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_long_loop_of_screenshots_keeps_every_promise(
    dialect: Dialect, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loop, on = run(dialect, tmp_path / "on", "on")
    _, off = run(dialect, tmp_path / "off", "off")
    with capsys.disabled():
        print(f"\n{dialect}: {STEPS} screenshots cost {off.cost:,.0f} with `mode: off`, {on.cost:,.0f} with `on`")
    assert not on.refused  # every request is valid: pairs, base64, types
    assert len(on.bodies) == STEPS
    assert max(on.sizes) <= WINDOW < max(off.sizes)
    assert on.cost < 0.8 * off.cost
    changes = [number for number, changed in enumerate(_changed_fronts(on.bodies)) if changed]
    assert 1 <= len(changes) <= STEPS // 10  # rare batches: between them every request begins as the last one
    with closing(SqliteStore(str(tmp_path / "on"))) as store:
        (info,) = store.sessions()
        session = Session(info.name, store=store)
        kept = [result_of(row) for row in store.rows(session.id, kind="result")]
        images = [result for result in kept if result.media_type == "image/png"]
        assert [session.recall_bytes(result.trace_id) for result in images] == loop.pictures
        assert {(result.width, result.height) for result in images} == {(1280, 800)}
        assert not session.verify().findings


def _changed_fronts(bodies: list[bytes]) -> list[bool]:
    """For each request whether it changes something that the one before it has sent."""
    found: list[bool] = []
    before: list[object] = []
    for body in bodies:
        fields = json.loads(body)
        messages = [_unmarked(message) for message in fields.get("messages", fields.get("input"))]
        found.append(messages[: len(before)] != before)
        before = messages
    return found


def _unmarked(value: object) -> object:
    if isinstance(value, list):
        return [_unmarked(part) for part in value]
    if isinstance(value, dict):
        return {key: _unmarked(part) for key, part in value.items() if key != "cache_control"}
    return value


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_newest_screenshots_stay(dialect: Dialect, tmp_path: Path) -> None:
    loop, on = run(dialect, tmp_path, "on", steps=80)
    last = json.loads(on.bodies[-1])
    shown = [data for _, data in pictures_in(last.get("messages", last.get("input")))]
    assert 3 <= len(shown) < 80
    whole = json.loads(json.dumps(loop.messages))
    assert shown == [data for _, data in pictures_in(whole)][-len(shown) :]
