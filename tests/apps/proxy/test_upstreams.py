"""Where requests go: by path, by name, and by the way that the network asks for."""

import http.client
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from keepwhole.apps.proxy.destination import UnknownUpstream, Upstreams
from keepwhole.errors import ConfigError
from tests.apps.proxy.agent_proxy import proxy

_OWN = {"openai": "http://one.example", "anthropic": "http://two.example/base", "router": "http://three.example/api/v1"}


@pytest.mark.parametrize(
    ("path", "headers", "url"),
    [
        ("/v1/messages?beta=true", {}, "http://two.example/base/v1/messages?beta=true"),
        ("/v1/chat/completions", {}, "http://one.example/v1/chat/completions"),
        ("/v1/responses", {}, "http://one.example/v1/responses"),
        ("/v1/models", {}, "http://one.example/v1/models"),
        ("/v1/models", {"x-api-key": "k"}, "http://two.example/base/v1/models"),
        ("/router/v1/chat/completions", {}, "http://three.example/api/v1/chat/completions"),
        ("/router/chat/completions", {}, "http://three.example/api/v1/chat/completions"),
        ("/anthropic/v1/chat/completions", {}, "http://two.example/base/v1/chat/completions"),
        ("/v1/a%2Fb?q=%20", {}, "http://one.example/v1/a%2Fb?q=%20"),
    ],
)
def test_a_path_belongs_to_one_upstream_and_keeps_every_sign(path: str, headers: dict[str, str], url: str) -> None:
    upstreams = Upstreams(_OWN)
    assert str(upstreams.url(*upstreams.target(path, headers))) == url


_CLOUDS = {name: f"http://{name}.example" for name in ("openai", "anthropic", "gemini", "azure", "vertex", "bedrock")}
_PROJECT = "/v1beta1/projects/p/locations/us-east5"
_KEY, _GOOGLE = {"api-key": "k"}, {"x-goog-api-client": "genai"}


@pytest.mark.parametrize(
    ("path", "headers", "name"),
    [
        ("/openai/deployments/d/embeddings?api-version=2024-10-21", _KEY, "azure"),
        ("/openai/deployments/d/images/generations", _KEY, "azure"),
        ("/openai/responses?api-version=2025-04-01-preview", _KEY, "azure"),
        ("/openai/responses/resp_1?api-version=2025-04-01-preview", _KEY, "azure"),
        ("/openai/v1/chat/completions?api-version=preview", _KEY, "azure"),
        ("/openai/files?after=1&api-version=2024-10-21", _KEY, "azure"),
        ("/models/chat/completions?api-version=2024-05-01-preview", _KEY, "azure"),
        ("/azure/openai/files?api-version=2024-10-21", _KEY, "azure"),
        (f"{_PROJECT}/cachedContents", _GOOGLE, "vertex"),
        (f"{_PROJECT}/publishers/google/models/text-embedding-005:predict", {}, "vertex"),
        (f"{_PROJECT}/publishers/mistralai/models/mistral-large:rawPredict", {}, "vertex"),
        (f"{_PROJECT}/endpoints/openapi/chat/completions", {}, "vertex"),
        ("/v1beta/openai/chat/completions", {}, "gemini"),
        ("/v1beta/openai/embeddings", {}, "gemini"),
        ("/v1beta/cachedContents?key=k", {}, "gemini"),
        ("/v1beta/models?key=k", {}, "gemini"),
        ("/model/amazon.titan-embed-text-v2%3A0/invoke", {}, "bedrock"),
        ("/model/cohere.command-r-v1%3A0/invoke-with-response-stream", {}, "bedrock"),
    ],
)
def test_what_only_one_cloud_has_goes_there_whether_it_is_read_or_not(
    path: str, headers: dict[str, str], name: str
) -> None:
    upstreams = Upstreams(_CLOUDS)
    bare = path.removeprefix(f"/{name}")
    assert str(upstreams.url(*upstreams.target(path, headers))) == f"http://{name}.example{bare}"
    if name in ("azure", "bedrock"):
        others = Upstreams({own: url for own, url in _CLOUDS.items() if own != name})
        with pytest.raises(UnknownUpstream):
            others.target(bare, headers)


@pytest.mark.parametrize(
    "path", ["/openai/v1/responses", "/openai/v1/embeddings", "/openai/responses", "/v1/files?after=api-version"]
)
def test_openais_own_paths_go_to_openai(path: str) -> None:
    upstreams = Upstreams(_CLOUDS)
    url = str(upstreams.url(*upstreams.target(path, {})))
    assert url == "http://openai.example" + path.removeprefix("/openai")


@pytest.mark.parametrize("url", ["ftp://x", "example.com", "https://key@example.com", "https://x/?key=1", 7])
def test_an_upstream_that_is_no_address_is_refused(url: Any) -> None:
    with pytest.raises(ConfigError):
        Upstreams({"openai": url})


def test_the_proxy_of_a_network_is_used_unless_it_is_to_be_bypassed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://proxy.example:3128")
    monkeypatch.setenv("no_proxy", "two.example,127.0.0.1")
    upstreams = Upstreams({**_OWN, "near": "http://127.0.0.1:9"})
    ways = [upstreams.network_proxy(name) for name in ("openai", "anthropic", "near")]
    assert ways == ["http://proxy.example:3128", None, None]


def test_requests_go_through_the_networks_proxy(tmp_path: Path) -> None:
    asked: list[bytes] = []

    class Network(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.raw_requestline)
            self.send_response(200)
            self.send_header("content-length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Network) as network:
        threading.Thread(target=network.handle_request, daemon=True).start()
        environ = {"http_proxy": f"http://127.0.0.1:{network.server_port}", "no_proxy": ""}
        with proxy(tmp_path, "http://far.example", environ) as running:
            client = http.client.HTTPConnection(running.url.removeprefix("http://"))
            client.request("GET", "/v1/models")
            assert client.getresponse().read() == b"{}"
            client.close()
    assert asked == [b"GET http://far.example/v1/models HTTP/1.1\r\n"]
