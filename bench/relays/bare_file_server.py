"""`python -m bench.relays.bare_file_server FILE`: serves ranges of a file, nothing else; prints its port."""

import asyncio
import os
import sys

from aiohttp import web


async def _main(path: str) -> None:
    fd = os.open(path, os.O_RDONLY)

    async def page(request: web.BaseRequest) -> web.StreamResponse:
        start, stop = int(request.query["start"]), int(request.query["stop"])
        return web.Response(body=os.pread(fd, stop - start, start))

    runner = web.ServerRunner(web.Server(page, access_log=None))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1]))
