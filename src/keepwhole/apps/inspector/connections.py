"""The inspector's clients, as the server sees them: like the proxy's, and every answer has the page's headers.

Must not know: what is asked.
"""

import asyncio
from typing import Any

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

from keepwhole.apps.inspector import headers
from keepwhole.apps.proxy.connection import Connection, Connections


class PageConnection(Connection):
    """One client."""

    def handle_error(self, *about: Any, **more: Any) -> web.StreamResponse:
        """The answer to what is no HTTP."""
        answer = super().handle_error(*about, **more)
        answer.headers.update(headers.ALWAYS)
        return answer


class PageConnections(Connections):
    """All clients."""

    def __call__(self) -> RequestHandler:
        """One more client."""
        return PageConnection(self, loop=asyncio.get_running_loop(), **self._kwargs)
