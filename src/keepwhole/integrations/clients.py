"""`http_client` and `async_http_client`: what to give an SDK so that its conversations go through Keepwhole.

httpx2 is imported only when a client is made.
"""

from typing import TYPE_CHECKING, Any, cast

from keepwhole.errors import UsageError
from keepwhole.session import Session

if TYPE_CHECKING:
    import httpx2

_MOST = {"max_connections": 1_000, "max_keepalive_connections": 100}
"""The most connections, the same as in the SDKs."""


def http_client(
    session: Session | str | None = None,
    *,
    transport: "httpx2.BaseTransport | None" = None,
    store: Any = None,
    agent: str | None = None,
    recall: Any = None,
    **options: Any,
) -> "httpx2.Client":
    """A client for `OpenAI(http_client=…)` or `Anthropic(http_client=…)`: tool results are kept, views are sent.

    `session` is a session or its id; without one, a conversation with a name has a session of that name, and all
    others share one per client. `transport` sends the requests; other options are those of `httpx2.Client`.
    """
    from keepwhole.exchange.router import SessionRouter
    from keepwhole.integrations.transport import Transport, httpx2

    router = SessionRouter(session, **router_options(session, store, agent, recall))
    limits, verify = httpx2.Limits(**_MOST), options.pop("verify", True)

    def wrap(proxy: str | None = None) -> Transport:
        return Transport(httpx2.HTTPTransport(limits=limits, proxy=proxy, verify=verify), router)

    routes = _routes(options) if transport is None else {}
    mounts = {pattern: wrap(proxy) if proxy else None for pattern, proxy in routes.items()}
    own = wrap(options.pop("proxy", None)) if transport is None else Transport(transport, router)
    return httpx2.Client(transport=own, mounts=mounts, **cast("dict[str, Any]", {"follow_redirects": True, **options}))


def async_http_client(
    session: Session | str | None = None,
    *,
    transport: "httpx2.AsyncBaseTransport | None" = None,
    store: Any = None,
    agent: str | None = None,
    recall: Any = None,
    **options: Any,
) -> "httpx2.AsyncClient":
    """An asynchronous client for `AsyncOpenAI(http_client=…)` or `AsyncAnthropic(http_client=…)`; see `http_client`."""
    from keepwhole.exchange.router import SessionRouter
    from keepwhole.integrations.transport import AsyncTransport, httpx2

    router = SessionRouter(session, **router_options(session, store, agent, recall))
    limits, verify = httpx2.Limits(**_MOST), options.pop("verify", True)

    def wrap(proxy: str | None = None) -> AsyncTransport:
        return AsyncTransport(httpx2.AsyncHTTPTransport(limits=limits, proxy=proxy, verify=verify), router)

    routes = _routes(options) if transport is None else {}
    mounts = {pattern: wrap(proxy) if proxy else None for pattern, proxy in routes.items()}
    own = wrap(options.pop("proxy", None)) if transport is None else AsyncTransport(transport, router)
    return httpx2.AsyncClient(
        transport=own, mounts=mounts, **cast("dict[str, Any]", {"follow_redirects": True, **options})
    )


def router_options(session: Session | str | None, store: Any, agent: str | None, recall: Any) -> dict[str, Any]:
    """The options of a session router for what a user gives; a session that is given has them already."""
    if isinstance(session, Session):
        if store is not None or agent is not None or recall is not None:
            raise UsageError("A session has its own `store`, `agent` and `recall`: give these, or the session.")
        return {"store": session.store, "settings": session.settings, "recall": session.recall_by}
    return {"store": store, "agent": agent, "recall": recall}


def _routes(options: dict[str, Any]) -> dict[str, str | None]:
    """Patterns of addresses, each with its proxy from the environment; None for those that need no proxy.

    A client with a transport of its own does not read these variables itself.
    """
    if not options.get("trust_env", True):
        return {}
    from urllib.request import getproxies

    named = getproxies()
    spared = [host.strip() for host in named.get("no", "").split(",") if host.strip()]
    if "*" in spared:
        return {}
    routes: dict[str, str | None] = {
        f"{scheme}://": named[scheme] if "://" in named[scheme] else f"http://{named[scheme]}"
        for scheme in ("http", "https", "all")
        if named.get(scheme)
    }
    return {**routes, **{_pattern(host): None for host in spared}} if routes else {}


def _pattern(host: str) -> str:
    """The pattern of addresses for an entry of `no_proxy`: a name means all names that end with it."""
    if "://" in host:
        return host
    is_one = host.lower() == "localhost" or host.replace(".", "").isdigit() or ":" in host
    return f"all://{host}" if is_one else f"all://*{host}"
