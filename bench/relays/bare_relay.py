"""`python -m bench.relays.bare_relay URL`: a relay over aiohttp, nothing else; prints its port."""

import asyncio
import sys

import aiohttp
from aiohttp import web

_HOP = frozenset(("connection", "transfer-encoding", "content-length", "host", "keep-alive"))


async def _main(url: str) -> None:
    client = aiohttp.ClientSession(
        timeout=aiohttp.ClientTimeout(total=None), connector=aiohttp.TCPConnector(limit=0), auto_decompress=False
    )

    async def relay(request: web.BaseRequest) -> web.StreamResponse:
        body = await request.read()
        headers = {name: value for name, value in request.headers.items() if name.lower() not in _HOP}
        async with client.request(request.method, url + request.path_qs, data=body, headers=headers) as upstream:
            kept = {name: value for name, value in upstream.headers.items() if name.lower() not in _HOP}
            response = web.StreamResponse(status=upstream.status, headers=kept)
            await response.prepare(request)
            async for chunk in upstream.content.iter_any():
                await response.write(chunk)
            await response.write_eof()
            return response

    def request(*given: object) -> web.BaseRequest:
        return web.BaseRequest(*given, loop=asyncio.get_running_loop(), client_max_size=2**30)  # type: ignore[arg-type]

    runner = web.ServerRunner(web.Server(relay, request_factory=request, access_log=None))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1]))
