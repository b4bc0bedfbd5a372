"""`python -m bench.relays.provider`: answers every request of Anthropic Messages at once, prints its port.

A request whose `max_tokens` is 200 gets a stream of 200 events of 160 bytes, all at once; one whose `max_tokens` is 201
gets them one by one, as a model writes; any other one gets a few.
"""

import asyncio
import json

_PAUSE = 0.002
_USAGE = {"input_tokens": 50_000, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "output_tokens": 1}


def _event(name: str, fields: dict[str, object]) -> bytes:
    return f"event: {name}\ndata: {json.dumps({'type': name, **fields})}\n\n".encode()


def _stream(deltas: int) -> list[bytes]:
    message: dict[str, object] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-5",
        "content": [],
    }
    block = {"type": "text", "text": ""}
    delta = {"type": "text_delta", "text": "x" * 50}
    return [
        _event("message_start", {"message": {**message, "stop_reason": None, "usage": _USAGE}}),
        _event("content_block_start", {"index": 0, "content_block": block}),
        *[_event("content_block_delta", {"index": 0, "delta": delta})] * deltas,
        _event("content_block_stop", {"index": 0}),
        _event("message_delta", {"delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": _USAGE}),
        _event("message_stop", {}),
    ]


def _as_chunks(events: list[bytes]) -> list[bytes]:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    return [head, *(b"%x\r\n%b\r\n" % (len(event), event) for event in events), b"0\r\n\r\n"]


_SHORT, _LONG = _as_chunks(_stream(3)), _as_chunks(_stream(195))


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
            body = await reader.readexactly(int(length or b"0"))
            is_slow = b'"max_tokens": 201' in body[:200]
            for chunk in _LONG if is_slow or b'"max_tokens": 200' in body[:200] else _SHORT:
                writer.write(chunk)
                await asyncio.sleep(_PAUSE if is_slow else 0)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def _main() -> None:
    server = await asyncio.start_server(_serve, "127.0.0.1", 0, limit=2**24)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_main())
