"""`python -m bench.relays.strict_provider`: a provider that checks and bills every request; prints its port."""

import signal

from tests.upstream.prompt_cache import Breakpoints, Clock
from tests.upstream.server import upstream
from tests.upstream.spelling import Text

if __name__ == "__main__":
    with upstream(lambda _: [Text("x" * 200)], Breakpoints(Clock(), window=1_000_000)) as served:
        print(served.port, flush=True)
        signal.pause()
