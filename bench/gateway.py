"""What `keepwhole mcp-gateway` adds to a call of a server: all the CPU that its process uses meanwhile.

The server and the client are other processes; neither does more than without the gateway.
"""

import asyncio
import json
import os
from importlib.util import find_spec
from statistics import median
from typing import Any

from bench import floors
from bench.support.row import Row, row_with_floor
from bench.support.setup import PYTHON, ROOT, Setup

_ROUNDS = 9
_WHAT = "a call through the MCP gateway"


def gateway(setup: Setup) -> list[Row]:
    if find_spec("mcp") is None or not os.path.exists("/proc/self/stat"):
        return [Row(_WHAT, "–", "needs the extra `mcp` and /proc")]
    measured = asyncio.run(_measure(setup, 20 if setup.quick else 100))
    return [
        row_with_floor(f"{_WHAT}, {what}", f"{median(values):.2f} ms CPU", "the server alone", values, floors.GATEWAY)
        for what, values in measured.items()
    ]


async def _measure(setup: Setup, calls: int) -> dict[str, list[float]]:
    from mcp import Client, StdioServerParameters

    file, noted = setup.path("servers.json"), setup.path("gateway.pid")
    own = {"command": PYTHON, "args": ["-m", "bench.support.gateway_server"], "cwd": ROOT}
    with open(file, "w", encoding="utf-8") as written:
        json.dump({"mcpServers": {"measured": own}}, written)
    start = f'echo $$ > "{noted}"; exec "{PYTHON}" -m keepwhole mcp-gateway --config "{file}"'
    environ = dict(setup.environment(setup.path("gateway")))
    words = StdioServerParameters(command="sh", args=["-c", start], env=environ, cwd=setup.folder)
    async with Client(words) as client:
        with open(noted, encoding="ascii") as found:
            process = int(found.read())
        measured: dict[str, list[float]] = {}
        for what, tool in (("1 KB", "short"), ("150 KB cut to fit", "long")):
            measured[what] = [await _cpu_a_call(client, process, tool, calls) for _ in range(_ROUNDS)]
        return measured


async def _cpu_a_call(client: Any, process: int, tool: str, calls: int) -> float:
    """CPU milliseconds of the gateway's process per call."""
    before = _cpu(process)
    for _ in range(calls):
        await client.call_tool(tool)
    return (_cpu(process) - before) * 1_000 / calls


def _cpu(process: int) -> float:
    """CPU seconds that a process has used, in user mode and in the kernel."""
    with open(f"/proc/{process}/stat", encoding="utf-8") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
