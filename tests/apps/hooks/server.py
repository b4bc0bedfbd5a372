"""A server of tools on standard input and output that returns a long table."""

import json
import sys

TABLE = "".join(f"row {number} of a table\n" for number in range(1_200))


def answer(method: str, given: dict) -> dict:
    if method == "initialize":
        made = {"name": "big", "version": "1"}
        return {"protocolVersion": given["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": made}
    if method == "tools/list":
        schema = {"type": "object", "properties": {}}
        return {"tools": [{"name": "table", "description": "a table", "inputSchema": schema}]}
    return {"content": [{"type": "text", "text": TABLE}]} if method == "tools/call" else {}


if __name__ == "__main__":
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" in asked:
            result = answer(asked["method"], asked.get("params", {}))
            print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
