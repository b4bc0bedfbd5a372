# pyright: basic
"""LiteLLM's `compress` on standard input: requests as JSON lines in, what it would send as JSON lines out.

Runs in LiteLLM's own environment, offline.
"""

import json
import os
import sys

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

from litellm.compression import compress  # pyright: ignore[reportMissingImports]


def main() -> None:
    """Answer each line: `messages`, the retrieval tool in `tools`, and the text that it can retrieve in `cache`."""
    for line in sys.stdin:
        asked = json.loads(line)
        done = compress(asked["messages"], asked["model"], asked["call_type"], compression_trigger=asked["trigger"])
        print(json.dumps({name: done[name] for name in ("messages", "tools", "cache")}), flush=True)


main()
