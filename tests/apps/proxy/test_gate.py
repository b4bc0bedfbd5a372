"""Who may speak to the proxy, and where what they say goes: a page, a stranger and a clever path get nowhere."""

import inspect
import re
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from keepwhole.apps.listener import ALIVE, HEALTH, READY
from keepwhole.apps.proxy.proxy import Proxy
from tests.apps.proxy.proxy_server import PATHS, Answered, Served, Talk, ask, proxy, request, status_of, written
from tests.upstream.answer import Answer
from tests.upstream.server import Upstream, upstream
from tests.upstream.spelling import Text

TOKEN = "t0ken-" + "x" * 30
ROUTES = {
    # Every route of the proxy's own, and who may see it; a route that is not here fails below.
    ("GET", "/healthz"): "open",
    ("GET", "/livez"): "open",
    ("GET", "/readyz"): "open",
    ("GET", "/metrics"): "token",
    ("POST", "/v1/messages"): "token",
    ("POST", "/v1/chat/completions"): "token",
    ("POST", "/v1/responses"): "token",
    ("POST", "/v1/messages/count_tokens"): "token",
    ("GET", "/v1/models"): "token",
    ("HEAD", "/"): "token",
    ("DELETE", "/v1/files/1"): "token",
    ("OPTIONS", "/v1/messages"): "token",
}
every_route = pytest.mark.parametrize(("method", "path"), ROUTES, ids=" ".join)


class World(NamedTuple):
    """A provider and the proxy in front of it."""

    upstream: Upstream
    proxy: Served

    def ask(self, method: str = "POST", path: str = "/v1/messages", **headers: str) -> Answered:
        body = request("anthropic") if method == "POST" else None
        own = {name.replace("_", "-"): value for name, value in headers.items()}
        return ask(self.proxy.port, path, body, own, method)


@pytest.fixture(scope="module")
def one_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with pytest.MonkeyPatch.context() as patch, upstream(lambda _: [Text("hello")]) as served:
        patch.setenv("KEEPWHOLE_HOME", str(tmp_path_factory.mktemp("home")))
        with proxy(served.url, TOKEN) as running:
            yield World(served, running)


@pytest.fixture
def world(one_world: World) -> World:
    one_world.upstream.asked.clear()
    return one_world


@every_route
@pytest.mark.parametrize("given", ["", "wrong", TOKEN[:-1], TOKEN + "x", TOKEN.upper(), "é" * 36])
def test_without_the_token_nothing_is_served(world: World, method: str, path: str, given: str) -> None:
    is_open = ROUTES[method, path] == "open"
    by_header = {"x_keepwhole_token": given} if given.isascii() else {}
    for at, headers in ((path, by_header), (f"/kw-{given}{path}", {}) if given.isascii() else (path, {})):
        answer = world.ask(method, at, **headers)
        assert answer.status == (200 if is_open else 401)
        assert TOKEN.encode() not in answer.data
    assert not world.upstream.asked


@pytest.mark.parametrize("path", [one for (_, one), who in ROUTES.items() if who != "open"])
def test_with_the_token_in_the_path_or_in_a_header_all_is_served(world: World, path: str) -> None:
    for answer in (world.ask("GET", f"/kw-{TOKEN}{path}"), world.ask("GET", path, x_keepwhole_token=TOKEN)):
        assert answer.status in (200, 404)
    for asked in world.upstream.asked:
        assert TOKEN not in asked.path + repr(asked.headers)


@pytest.mark.parametrize("tag", ["kw-", "hf-", "zz-"])
def test_base_urls_written_under_an_earlier_name_keep_working(world: World, tag: str) -> None:
    assert world.ask("POST", f"/{tag}{TOKEN}/v1/messages").status == 200
    assert [asked.path for asked in world.upstream.asked] == ["/v1/messages"]


@pytest.mark.parametrize("tag", ["hf", "hf_", "Hf-", "h-", "hfx-", "h1-", "-hf", "hf--"])
def test_a_tag_is_two_small_letters_and_a_dash(world: World, tag: str) -> None:
    assert world.ask("POST", f"/{tag}{TOKEN}/v1/messages").status == 401
    assert not world.upstream.asked


def test_a_path_that_only_looks_like_a_tagged_token_stays_a_path(world: World) -> None:
    assert world.ask("POST", "/ai-gateway/v1/messages").status == 401
    world.ask("POST", "/ai-gateway/v1/messages", x_keepwhole_token=TOKEN)
    assert [asked.path for asked in world.upstream.asked] == ["/ai-gateway/v1/messages"]


HOSTS = {
    "127.0.0.1:{port}": True,
    "localhost:{port}": True,
    "LOCALHOST:{port}": True,
    "[::1]:{port}": True,
    "127.0.0.1": False,
    "localhost": False,
    "[::1]": False,
    "::1:{port}": False,
    "127.0.0.1:1": False,
    "evil.example:{port}": False,
    "127.0.0.1.evil.example:{port}": False,
    "localhost.evil.example:{port}": False,
    "evil.example": False,
    "127.0.0.1:{port}@evil.example": False,
    "127.0.0.1:{port},evil.example": False,
    "0.0.0.0:{port}": False,
    "api.openai.com": False,
    "": False,
}


@every_route
def test_only_hosts_of_this_machine_are_served(world: World, method: str, path: str) -> None:
    for host, is_served in HOSTS.items():
        with Talk(world.proxy.port) as talk:
            headers = {"host": host.format(port=world.proxy.port), "connection": "close", "x-keepwhole-token": TOKEN}
            status = status_of(talk.say(written(method, path, world.proxy.port, headers)).hear())
        assert (status not in (400, 403)) == is_served or (is_served and path == "/v1/messages"), host
    assert all("evil" not in repr(asked.headers) for asked in world.upstream.asked)


def test_a_request_without_a_host_or_with_two_is_refused(world: World) -> None:
    line, token = b"GET /healthz HTTP/1.1\r\n", f"x-keepwhole-token: {TOKEN}\r\nconnection: close\r\n\r\n".encode()
    good, evil = f"host: 127.0.0.1:{world.proxy.port}\r\n".encode(), b"host: evil.example\r\n"
    for hosts in (b"", good + evil, evil + good):
        with Talk(world.proxy.port) as talk:
            assert status_of(talk.say(line + hosts + token).hear()) in (400, 403), hosts


@every_route
@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://evil.example:443", "file://", ""])
def test_no_page_of_another_origin_is_served(world: World, method: str, path: str, origin: str) -> None:
    assert world.ask(method, path, x_keepwhole_token=TOKEN, origin=origin).status == 403
    assert not world.upstream.asked


@every_route
@pytest.mark.parametrize("site", ["cross-site", "same-site", "Cross-Site", ""])
def test_no_page_of_another_site_is_served(world: World, method: str, path: str, site: str) -> None:
    assert world.ask(method, path, x_keepwhole_token=TOKEN, sec_fetch_site=site).status == 403
    assert not world.upstream.asked


def test_an_own_page_is_served_and_nothing_is_said_of_other_origins(world: World) -> None:
    own = f"http://127.0.0.1:{world.proxy.port}"
    answer = world.ask(x_keepwhole_token=TOKEN, origin=own, sec_fetch_site="same-origin")
    assert answer.status == 200
    assert not [name for name in answer.headers if name.lower().startswith("access-control")]


@pytest.mark.parametrize(
    "line",
    [
        "GET http://evil.example/v1/models HTTP/1.1",
        "POST http://127.0.0.1/v1/messages HTTP/1.1",
        "CONNECT evil.example:443 HTTP/1.1",
        "CONNECT 127.0.0.1:22 HTTP/1.1",
        "OPTIONS * HTTP/1.1",
        "GET evil.example HTTP/1.1",
    ],
)
def test_it_is_no_proxy_for_other_hosts(world: World, line: str) -> None:
    head = f"{line}\r\nhost: 127.0.0.1:{world.proxy.port}\r\nx-keepwhole-token: {TOKEN}\r\nconnection: close\r\n\r\n"
    with Talk(world.proxy.port) as talk:
        assert status_of(talk.say(head.encode()).hear()) in (400, 403, 404, 405)
    assert not world.upstream.asked


PATHS_ELSEWHERE = [
    "//{evil}/v1/messages",
    "/@{evil}/v1/messages",
    "/openai@{evil}/v1/messages",
    "/openai/@{evil}/v1/messages",
    "/anthropic//{evil}/v1/messages",
    "/anthropic/..//{evil}/v1/messages",
    "/%2f%2f{evil}%2fv1%2fmessages",
    "/anthropic/%2f%2f{evil}/v1/messages",
    "/http://{evil}/v1/messages",
    "/anthropic/http://{evil}/v1/messages",
    "/\\\\{evil}/v1/messages",
    "/v1/messages?base_url=http://{evil}",
    "/v1/messages?x=@{evil}/",
    "/v1/messages#@{evil}/",
    "/:80@{evil}/v1/messages",
    "/anthropic:80@{evil}/v1/messages",
    "/%0d%0aHost:%20{evil}/v1/messages",
]


@pytest.mark.parametrize("path", PATHS_ELSEWHERE)
def test_no_path_leads_elsewhere(path: str) -> None:
    with upstream(lambda _: []) as evil, upstream(lambda _: [Text("hello")]) as served:
        with proxy(served.url, TOKEN) as running:
            at = path.format(evil=f"127.0.0.1:{evil.port}")
            for prefix in (f"/kw-{TOKEN}", ""):
                with Talk(running.port) as talk:
                    headers = {"x-keepwhole-token": TOKEN, "connection": "close"}
                    status = status_of(talk.say(written("GET", prefix + at, running.port, headers)).hear())
                    assert 200 <= status < 500, f"{prefix + at}: {status}"
        assert not evil.connections
        assert all(asked.headers["host"] == f"127.0.0.1:{served.port}" for asked in served.asked)


def test_no_header_and_no_field_leads_elsewhere() -> None:
    with upstream(lambda _: []) as evil, upstream(lambda _: [Text("hello")]) as served:
        with proxy(served.url) as running:
            there = f"127.0.0.1:{evil.port}"
            names = (
                "x-forwarded-host",
                "x-forwarded-for",
                "forwarded",
                "x-original-url",
                "x-rewrite-url",
                "x-base-url",
            )
            headers = {name: f"http://{there}" for name in (*names, "x-keepwhole-upstream", "x-api-base", "proxy")}
            fields = {"api_base": f"http://{there}", "base_url": f"http://{there}", "user_config": {"api_base": there}}
            for dialect in PATHS:
                answer = ask(running.port, PATHS[dialect], request(dialect, **fields), headers)
                assert answer.status == 200
        assert not evil.connections
        assert [asked.body["api_base"] for asked in served.asked] == [f"http://{there}"] * 3


def test_no_redirect_is_followed_or_passed_on() -> None:
    with upstream(lambda _: []) as evil:
        moved = (("location", f"{evil.url}/v1/messages"),)
        with upstream(lambda _: Answer(status=307, body=b"", headers=moved)) as served, proxy(served.url) as running:
            for dialect in PATHS:
                for streamed in (False, True):
                    answer = ask(running.port, PATHS[dialect], request(dialect, streamed), {"x-api-key": "k"})
                    assert answer.status == 502
                    assert "location" not in answer.headers
                    assert "redirect" in answer.body["error"]["message"]
        assert not evil.connections


def test_headers_between_neighbours_and_our_own_go_no_further(world: World) -> None:
    headers = {
        "x-keepwhole-token": TOKEN,
        "x-keepwhole-session": "s",
        "X-Keepwhole-Anything": "s",
        "connection": "keep-alive, x-private, close",
        "x-private": "between us",
        "keep-alive": "timeout=5",
        "proxy-authorization": "Basic abc",
        "proxy-connection": "keep-alive",
        "te": "trailers",
        "trailer": "x-sum",
        "upgrade": "h2c",
        "x-mine": "end to end",
        "anthropic-beta": "a,b",
    }
    assert ask(world.proxy.port, "/v1/messages", request("anthropic"), headers).status == 200
    sent = world.upstream.asked[0].headers
    gone = {name.lower() for name in headers} - {"x-mine", "anthropic-beta", "connection"}
    assert not gone & set(sent)
    assert not [name for name in sent if name.startswith("x-keepwhole")]
    assert (sent["x-mine"], sent["anthropic-beta"]) == ("end to end", "a,b")


def test_every_route_of_the_proxys_own_has_a_rule() -> None:
    """A route that the proxy answers itself has to stand in `ROUTES`: everything else is the upstream's."""
    assert set(re.findall(r'"(/[a-z]+)"', inspect.getsource(Proxy))) == {"/metrics"}
    assert {path for (_, path), who in ROUTES.items() if who == "open"} == {ALIVE, HEALTH, READY}


def test_who_is_turned_away_is_told_in_the_dialects_own_words(world: World) -> None:
    for path in PATHS.values():
        answer = ask(world.proxy.port, path, request("anthropic"))
        assert answer.status == 401
        assert (answer.body.get("type") == "error") == (path == PATHS["anthropic"])


def test_who_is_turned_away_is_counted_by_status(world: World) -> None:
    def counted() -> int:
        lines = world.ask("GET", "/metrics", x_keepwhole_token=TOKEN).data.decode().splitlines()
        return next((int(line.split()[-1]) for line in lines if 'turned_away_total{status="401"}' in line), 0)

    before = counted()
    assert world.ask().status == 401
    assert counted() == before + 1
