"""`python -m bench.screenshots`: what a computer-use loop costs with `mode: off` and with `on`, in every dialect.

A scripted loop takes a screenshot at every step, through the proxy. The provider is simulated: it bills images by their
pixels and keeps a prompt cache. Costs are in tokens at the input price.
"""

import argparse
import tempfile
from collections.abc import Sequence
from contextlib import closing

from keepwhole import SqliteStore
from keepwhole.config import Settings
from tests.apps.proxy.proxy_server import DIALECTS
from tests.apps.proxy.screenshots import MODELS, Loop, LoopResult
from tests.upstream.spelling import Dialect

_NO_LIMIT = 100_000_000


def main(argv: Sequence[str] | None = None) -> None:
    """Run the loops and print the table."""
    found = argparse.ArgumentParser(prog="python -m bench.screenshots", description=__doc__)
    found.add_argument("--steps", type=int, default=200)
    found.add_argument("--bytes", type=int, default=2_000, help="bytes of a screenshot, about")
    found.add_argument("--window", type=int, default=200_000)
    args = found.parse_args(argv)
    print(f"{'dialect':18}{'mode':6}{'cost':>14}{'tokens sent':>14}{'largest':>10}")
    for dialect in DIALECTS:
        for mode in ("off", "on"):
            took = _run(dialect, mode, args.steps, args.bytes, args.window)
            print(f"{dialect:18}{mode:6}{took.cost:14,.0f}{took.tokens:14,}{max(took.sizes):10,}")


def _run(dialect: Dialect, mode: str, steps: int, size: int, window: int) -> LoopResult:
    with tempfile.TemporaryDirectory() as home, closing(SqliteStore(home)) as store:
        settings = Settings(home=home, models={MODELS[dialect]: {"window": window, "images": "claude"}})
        return Loop(dialect, size).run(store, settings, steps, mode, window if mode == "on" else _NO_LIMIT)


if __name__ == "__main__":
    main()
