"""`keepwhole demo`: keeps results, shows a view, reads the rest back, and kills a writer without any loss.

Everything happens in a temporary folder, with no network and no model, in a few seconds.
"""

import argparse
import os
import shutil
import signal
import tempfile
import time

from keepwhole.apps.cli import screen
from keepwhole.apps.cli.samples import SAMPLES
from keepwhole.record.kept_result import KeptResult
from keepwhole.session import Session
from keepwhole.store.sqlite.store import SqliteStore
from keepwhole.store.verify import verify
from keepwhole.truncation.notice import size_text

_KILL_AFTER = 0.4


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command."""
    parser.set_defaults(act=demo)


def demo(args: argparse.Namespace) -> int:
    """Show the three verbs on outputs of real size, then kill a writer and prove that nothing was lost."""
    began = time.monotonic()
    folder = tempfile.mkdtemp(prefix="keepwhole-demo-")
    try:
        with Session("demo", agent="demo", store=folder, policy="truncation", recall="tools") as session:
            kept = _keep(session)
            _view(kept["execute_command"])
            same = _recall(session, kept["execute_command"])
        whole = _kill(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    screen.say(f"\nThat took {time.monotonic() - began:.1f} s in a temporary folder that is gone again. Next:")
    screen.say("  keepwhole run -- make test        keep a command's output, print what fits")
    screen.say("  keepwhole artifacts list          what was cut, and the ids that bring it back")
    return 0 if same and whole else 1


def _keep(session: Session) -> dict[str, KeptResult]:
    screen.say(screen.bold("1  keep: every result is stored in full before anything else happens\n"))
    kept: dict[str, KeptResult] = {}
    rows: list[tuple[object, ...]] = []
    for tool, arguments, make in SAMPLES:
        shown = session.keep(tool, arguments, make())
        kept[tool] = shown
        about = shown.metadata
        rows.append(
            (
                tool,
                size_text(about.original_bytes),
                f"{about.original_lines:,}",
                f"{about.original_tokens:,}",
                f"{about.truncated_tokens:,}",
                about.strategy_used,
            )
        )
    screen.print_table(("Tool", "Kept", "Lines", "≈ Tokens", "≈ Shown", "Strategy"), rows, right=(1, 2, 3, 4))
    numbers = session.metrics
    share = screen.percent(numbers.chars_out_total / numbers.chars_in_total, 1)
    screen.say(f"\nThe model sees {share} of {numbers.chars_in_total:,} characters; all of them are on disk.")
    return kept


def _view(shown: KeptResult) -> None:
    screen.say(screen.bold("\n2  view: what the model gets of the test run\n"))
    lines = shown.content.splitlines()
    for line in (*lines[:4], "⋮", *lines[-8:]):
        screen.say("  │ " + screen.line(line, 140))


def _recall(session: Session, shown: KeptResult) -> bool:
    screen.say(screen.bold("\n3  recall: one call brings back what was left out\n"))
    first = shown.content.rsplit("\nLines ", 1)[1].split("-")[0].replace(",", "")
    answer = session.call_tool("get_artifact", {"id": shown.artifact_id, "lines": f"{first}-{int(first) + 2}"})
    screen.say(f'  get_artifact(id="{shown.artifact_id}", lines="{first}-{int(first) + 2}")')
    for line in answer.content.splitlines():
        screen.say("  │ " + screen.line(line, 140))
    same = session.recall(shown.artifact_id or "") == next(
        make() for tool, _, make in SAMPLES if tool == "execute_command"
    )
    screen.say(f"\n  {'✓' if same else '✗'} the whole result equals what the tool printed, byte for byte")
    return same


def _kill(folder: str) -> bool:
    """Kill a process in the middle of writing, and check every result that it had acknowledged."""
    screen.say(screen.bold("\n4  kill -9 in the middle of writing"))
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _write_forever(folder, writing)
    os.close(writing)
    time.sleep(_KILL_AFTER)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with open(reading, encoding="ascii") as pipe:
        acknowledged = [line.strip() for line in pipe if line.endswith("\n")]
    store = SqliteStore(folder)
    lost = [trace_id for trace_id in acknowledged if store.find("victim", trace_id) is None]
    reports = [verify(store, info.name) for info in store.sessions()]
    store.close()
    whole = not lost and all(report.whole for report in reports)
    words = f"killed after {len(acknowledged)} acknowledged results: {len(lost)} lost"
    screen.say(f"\n  {'✓' if not lost else '✗'} {words}")
    entries, size = sum(report.entries for report in reports), sum(report.bytes for report in reports)
    screen.say(
        f"  {'✓' if whole else '✗'} verify: {entries:,} entries, {size_text(size)}, every byte and view as recorded"
    )
    return whole


def _write_forever(folder: str, acknowledge: int) -> None:
    """Write results until killed; write the id of each to `acknowledge` once it is durable."""
    session = Session("victim", store=folder)
    for number in range(1_000_000):
        shown = session.keep("write", {"number": number}, f"result {number}\n" * (10 if number % 3 else 9_000))
        os.write(acknowledge, f"{shown.trace_id}\n".encode("ascii"))
    os._exit(0)
