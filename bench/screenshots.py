"""`python -m bench.screenshots`: what a computer-use loop costs with `mode: off` and with `on`, in every dialect.

A scripted loop acts by a script and takes a screenshot at every step, through the proxy, with the provider's own SDK;
the model reads images and scripts back now and then. The provider is simulated: it bills images by their pixels and
keeps a prompt cache. `on` cuts the arguments of old calls too. Costs are in tokens at the input price. `stored` is what
the record takes for each byte of the screenshots.
"""

import argparse
import tempfile
from collections.abc import Sequence
from contextlib import closing

from keepwhole import SqliteStore
from keepwhole.config import Settings
from keepwhole.policies.settings import CAREFUL
from tests.apps.proxy.proxy_server import DIALECTS
from tests.apps.proxy.screenshots import MODELS, Loop, LoopResult

_NO_LIMIT = 100_000_000


def main(argv: Sequence[str] | None = None) -> None:
    """Run the loops and print the table."""
    found = argparse.ArgumentParser(prog="python -m bench.screenshots", description=__doc__)
    found.add_argument("--steps", type=int, default=200)
    found.add_argument("--bytes", type=int, default=2_000, help="bytes of a screenshot, about")
    found.add_argument("--script", type=int, default=1_500, help="characters that the model writes into each call")
    found.add_argument("--window", type=int, default=200_000)
    args = found.parse_args(argv)
    print(f"{'dialect':18}{'mode':6}{'cost':>14}{'tokens sent':>14}{'largest':>10}{'stored':>10}")
    for dialect in DIALECTS:
        for mode in ("off", "on"):
            loop = Loop(dialect, args.bytes, args.script)
            took, stored = _run(loop, mode, args.steps, args.window)
            share = stored / sum(map(len, loop.pictures))
            print(f"{dialect:18}{mode:6}{took.cost:14,.0f}{took.tokens:14,}{max(took.sizes):10,}{share:10.2f}")


def _run(loop: Loop, mode: str, steps: int, window: int) -> tuple[LoopResult, int]:
    """Run a loop; return what it took, and the bytes of the record's bodies."""
    with tempfile.TemporaryDirectory() as home, closing(SqliteStore(home)) as store:
        profile = {"window": window, "images": "claude", "read": 0.1}
        settings = Settings(home=home, models={MODELS[loop.dialect]: profile}, auto=CAREFUL.replace(arguments="old"))
        took = loop.run(store, settings, steps, mode, window if mode == "on" else _NO_LIMIT)
        return took, sum(store.stored(info.name) for info in store.sessions())


if __name__ == "__main__":
    main()
