"""`python -m bench.peers.live`: the tasks of live proof through other projects, against the oracles.

Each peer runs in its own environment (`README.md` says how to make it), between the agent and the meter, in the dialect
that all of them take, Chat Completions. The oracles know how each of them says what it left out, and follow that as
they follow Keepwhole's notices. Peers that clear by size begin at half of the task's length, as the arm `clear` does:
by their defaults (100,000 and 200,000 tokens) they change nothing at this length.
"""

import argparse
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from bench.live.budget import Budget
from bench.live.families import FAMILIES, task_ids
from bench.live.meter import Provider
from bench.live.oracle_provider import serve_oracle
from bench.live.prices import prices_of
from bench.live.runner import Plan, read_rows, run_all
from bench.live.task import LENGTHS
from bench.live.wires.wire import Json
from bench.support.setup import say
from keepwhole.version import VERSION

_DIALECT, _MODEL = "openai_chat", "gpt-5"
_RELAY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "live_relay.py")
_ORACLES = ("plan", "blind")
_PATIENCE = 600.0


class Peer(NamedTuple):
    """A peer: its package, and the command that starts it, in words with {port}, {meter}, {tokens} and {relay}."""

    package: str
    what: str
    command: str


PEERS: Mapping[str, Peer] = {
    "headroom": Peer(
        "headroom-ai", "`headroom proxy`", "headroom proxy --port {port} --no-rate-limit --openai-api-url {meter}"
    ),
    "distil": Peer(
        "distil-llm", "`distil proxy`", "distil proxy --port {port} --upstream {meter} --expand --shadow 0 --no-record"
    ),
    "litellm": Peer("litellm", "`litellm.compress`", "python -I {relay} litellm {port} {meter} {tokens}"),
    "langchain": Peer("langchain", "`ContextEditingMiddleware`", "python -I {relay} langchain {port} {meter} {tokens}"),
}
_OFFLINE = {
    "HEADROOM_BEACON": "off",
    "HEADROOM_TELEMETRY": "off",
    "HEADROOM_UPDATE_CHECK": "off",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "HF_HUB_OFFLINE": "1",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run every oracle in every arm; print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.peers.live", description=__doc__)
    parser.add_argument(
        "--environments", default="/tmp/keepwhole-peers", help="the folder with an environment for each"
    )
    parser.add_argument("--length", choices=LENGTHS, default="64k")
    parser.add_argument("--seeds", type=int, default=1, help="tasks of each family (default: 1)")
    parser.add_argument("--families", default=",".join(FAMILIES))
    parser.add_argument("--peers", default=",".join(PEERS))
    args = parser.parse_args(argv)
    tasks = task_ids(args.length, tuple(args.families.split(",")), tuple(range(1, args.seeds + 1)))
    names = [name for name in args.peers.split(",") if name]
    with tempfile.TemporaryDirectory(prefix="keepwhole-peers-") as folder, ExitStack() as stack:
        port = free_port()
        meter = f"http://127.0.0.1:{port}"
        found = {
            name: stack.enter_context(_started(name, Path(args.environments) / name, meter, args.length, folder))
            for name in names
        }
        arms = {
            "direct": "direct",
            "keepwhole": "keepwhole",
            "keepwhole:lean": "keepwhole:lean",
            "head-tail": "head-tail",
        }
        arms |= {name: f"proxy:{url}" for name, (url, _) in found.items()}
        rows = {
            oracle: _run(oracle, list(arms.values()), tasks, args.length, port, Path(folder)) for oracle in _ORACLES
        }
    labels = {arm: _label(name, found[name][1] if name in found else VERSION) for name, arm in arms.items()}
    print(table(rows, labels))
    return 0


def table(rows: Mapping[str, Sequence[Json]], labels: Mapping[str, str]) -> str:
    """Return a row for each arm: what each oracle solved, recalls, input tokens and dollars."""
    heads = ["arm", "version"]
    for oracle in rows:
        heads += [f"`{oracle}`: solved", "input tokens", "of these cached", "read back", "dollars"]
    lines = [heads, ["---", "---", *["--:"] * (len(heads) - 2)]]
    for arm, label in labels.items():
        cells = label.split("|")
        for found in rows.values():
            cells += _cells([row for row in found if row["arm"] == arm])
        lines.append(cells)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cells(rows: Sequence[Json]) -> list[str]:
    solved, given = sum(row["outcome"] == "solved" for row in rows), sum(row["input"] for row in rows)
    cached, recalls = sum(row["cached"] for row in rows), sum(row["recalls"] for row in rows)
    failed = sum(row["outcome"] == "error" for row in rows)
    errors = f" ({failed} failed)" if failed else ""
    share = f"{cached / given:.0%}" if given else "–"
    return [
        f"{solved} of {len(rows)}{errors}",
        f"{given:,}",
        share,
        f"{recalls}",
        f"{sum(row['dollars'] for row in rows):.2f}",
    ]


def _label(name: str, version: str) -> str:
    if name in PEERS:
        return f"{PEERS[name].what}|{PEERS[name].package} {version}"
    return f"`{name}`|{version if name.startswith('keepwhole') else '–'}"


def _run(oracle: str, arms: Sequence[str], tasks: Sequence[str], length: str, port: int, folder: Path) -> list[Json]:
    out = folder / f"{oracle}.jsonl"
    with serve_oracle(oracle, _DIALECT, _MODEL) as provider:
        plan = Plan(_MODEL, length, arms, tasks, oracle=oracle)
        where = Provider(provider.url, _DIALECT, prices_of(_MODEL), "none", pause=0)
        run_all(plan, where, Budget(1_000), out, say, port)
    found = read_rows(out)
    for row in found:
        if row["problem"]:
            say(f"{row['task']} {row['arm']}: {row['problem']}")
    return found


@contextmanager
def _started(name: str, folder: Path, meter: str, length: str, home: str) -> Generator[tuple[str, str]]:
    """Start a peer; yield where it listens and its version."""
    port = free_port()
    words = PEERS[name].command.format(port=port, meter=meter, tokens=LENGTHS[length] // 2, relay=_RELAY).split()
    binary = folder / "bin" / words[0]
    if not binary.exists():
        sys.exit(f"error: `{binary}` is not there. bench/peers/README.md says how to make the environments.")
    asked = f"import importlib.metadata as metadata; print(metadata.version({PEERS[name].package!r}))"
    told = subprocess.run([str(folder / "bin" / "python"), "-c", asked], capture_output=True, text=True, check=True)
    environment = {"PATH": os.environ["PATH"], "HOME": home, **_OFFLINE}
    with (
        open(Path(home) / f"{name}.log", "wb") as log,
        subprocess.Popen(
            [str(binary), *words[1:]], env=environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        ) as process,
    ):
        try:
            _wait_for(port, process, Path(home) / f"{name}.log")
            yield f"http://127.0.0.1:{port}", told.stdout.strip()
        finally:
            os.killpg(process.pid, signal.SIGTERM)  # with the processes that it has started


def _wait_for(port: int, process: "subprocess.Popen[bytes]", log: Path) -> None:
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until and process.poll() is None:
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    sys.exit(f"error: a peer did not start:\n{log.read_text(errors='replace')[-2_000:]}")


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


if __name__ == "__main__":
    sys.exit(main())
