"""A server of tools on standard input and output that returns a long table, alone or with an image."""

import base64
import json
import struct
import sys
import zlib

TABLE = "".join(f"row {number} of a table\n" for number in range(1_200))


def picture() -> bytes:
    """A valid PNG, 80x60. This file runs outside of the package of tests."""
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", 80, 60, 8, 0, 0, 0, 0))]
    chunks += [(b"IDAT", zlib.compress(bytes(81) * 60)), (b"IEND", b"")]
    sums = [
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in chunks
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(sums)


def answer(method: str, given: dict) -> dict:
    if method == "initialize":
        made = {"name": "big", "version": "1"}
        return {"protocolVersion": given["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": made}
    if method == "tools/list":
        schema = {"type": "object", "properties": {}}
        return {"tools": [{"name": name, "description": name, "inputSchema": schema} for name in ("table", "shot")]}
    image = {"type": "image", "data": base64.b64encode(picture()).decode(), "mimeType": "image/png"}
    images = [image] if given.get("name") == "shot" else []
    return {"content": [{"type": "text", "text": TABLE}, *images]} if method == "tools/call" else {}


if __name__ == "__main__":
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" in asked:
            result = answer(asked["method"], asked.get("params", {}))
            print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
