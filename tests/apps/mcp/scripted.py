"""A server that answers with prepared lines, valid or not. `python scripted.py FILE`; imports nothing of the project.

The file maps a method, or `tools/call NAME`, to the lines to write; `@ID@` in them is the id of the request.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

SERVER = {"protocolVersion": "2025-11-25", "serverInfo": {"name": "scripted", "version": "1"}}
HANG = "@HANG@"
"""A line at which the server stops reading and writing."""
EVERYTHING: dict[str, Any] = {"tools": {}, "prompts": {}, "resources": {}, "logging": {}}


def lines_for(script: dict[str, list[str]], request: dict[str, Any]) -> list[str]:
    method = request["method"]
    name = (request.get("params") or {}).get("name", "")
    cursor = (request.get("params") or {}).get("cursor", "")
    for key in (f"{method} {name or cursor}", method):
        if key in script:
            return script[key]
    if method == "initialize":
        return [answer({**SERVER, "capabilities": EVERYTHING, "instructions": script.get("instructions", [""])[0]})]
    error = {"code": -32601, "message": "Method not found"}
    return [json.dumps({"jsonrpc": "2.0", "id": "@ID@", "error": error})]


def answer(result: Any) -> str:
    """The line of a result, as valid JSON."""
    return json.dumps({"jsonrpc": "2.0", "id": "@ID@", "result": result})


def tool(name: str, description: str = "Does it.", **more: Any) -> dict[str, Any]:
    return {"name": name, "description": description, "inputSchema": {"type": "object"}, **more}


def main(path: str) -> None:
    for line in sys.stdin:
        request = json.loads(line)
        if "method" in request and "id" in request:
            script = json.loads(Path(path).read_text())
            for each in lines_for(script, request):
                if each == HANG:
                    time.sleep(60)
                print(each.replace('"@ID@"', json.dumps(request["id"])), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
