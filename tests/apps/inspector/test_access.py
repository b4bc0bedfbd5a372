"""Nobody sees the record without permission: every route with every wrong request, taken from the route table."""

import json
import logging
import os
import re
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from keepwhole.apps.inspector.access import Rule
from keepwhole.apps.inspector.headers import ALWAYS
from keepwhole.apps.inspector.routes import ROUTES, Route
from keepwhole.apps.inspector.services import InspectorServices
from keepwhole.apps.listener import read_secret
from keepwhole.errors import StoreError
from keepwhole.store.protocol import Store
from tests.apps.inspector.inspector_server import OURS, TOKEN, Served

NAMES = {"{name}": "s", "{id}": "x", "{index}": "0", "{file}": "index.html", "{folder}": "vendor"}
every_route = pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
WITH_DATA = [route for route in ROUTES if route.rule in (Rule.READ, Rule.CHANGE)]
every_route_with_data = pytest.mark.parametrize("route", WITH_DATA, ids=lambda route: f"{route.method} {route.path}")


def path_of(route: Route) -> str:
    return re.sub(r"\{\w+\}", lambda found: NAMES[found[0]], route.path)


def allowed(page: Served, route: Route) -> dict[str, str]:
    return {"cookie": page.cookie} | (OURS if route.method == "POST" else {})


def is_refused(page: Served, route: Route, status: int, headers: dict[str, str], method: str | None = None) -> None:
    answer = page.ask(method or route.method, path_of(route), headers)
    assert answer.status == status, answer.body
    assert set(answer.json) == {"error"}


def snapshot(store: Store) -> list[object]:
    return [(info, [row.chain for row in store.rows(info.name)]) for info in store.sessions()]


def test_the_data_routes_are_all_but_the_page_and_the_login() -> None:
    others = {route.path for route in ROUTES if route not in WITH_DATA}
    assert others == {"/", "/static/{file}", "/static/{folder}/{file}", "/api/enter"}
    assert all(route.path.startswith("/api/") for route in WITH_DATA)
    assert all((route.rule is Rule.CHANGE) == (route.method == "POST") for route in WITH_DATA)


@every_route_with_data
def test_without_the_cookie_nothing_is_served(door: Served, route: Route) -> None:
    is_refused(door, route, 401, OURS)


@every_route_with_data
@pytest.mark.parametrize(
    "wrong", ["", "x", TOKEN, "0" * 64, "é"], ids=["empty", "short", "token", "zeros", "not ascii"]
)
def test_a_wrong_cookie_is_refused(door: Served, route: Route, wrong: str) -> None:
    name = door.inspector.guard.cookie
    is_refused(door, route, 401, {**OURS, "cookie": f"{name}={wrong}".encode().decode("latin-1")})


@every_route
@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "127.0.0.1.evil.example", ""])
def test_another_host_is_refused(door: Served, route: Route, host: str) -> None:
    is_refused(door, route, 403, {**allowed(door, route), "host": host})


@every_route
@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1", "http://127.0.0.1:1"])
def test_a_page_of_another_origin_is_refused(door: Served, route: Route, origin: str) -> None:
    is_refused(door, route, 403, {**allowed(door, route), "origin": origin})


@every_route
@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_page_of_another_site_is_refused(door: Served, route: Route, site: str) -> None:
    is_refused(door, route, 403, {**allowed(door, route), "sec-fetch-site": site})


@every_route
def test_the_other_method_is_refused(door: Served, route: Route) -> None:
    other = "GET" if route.method == "POST" else "POST"
    if any(each.path == route.path and each.method == other for each in ROUTES):
        return  # both are routes of their own
    is_refused(door, route, 405, {"cookie": door.cookie, **OURS}, other)


@pytest.mark.parametrize("route", [route for route in ROUTES if route.method == "POST"], ids=lambda route: route.path)
def test_a_form_of_another_page_cannot_send_our_header(door: Served, route: Route) -> None:
    is_refused(door, route, 403, {"cookie": door.cookie})


@every_route
def test_every_answer_tells_the_browser_what_it_may_do(door: Served, route: Route) -> None:
    for headers in (allowed(door, route), {}):
        if route.answer == "live" and headers:
            continue  # it never ends; its headers are those of `test_live`
        answer = door.ask(route.method, path_of(route), headers)
        for name in ALWAYS:
            assert name in answer.headers, name
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert "require-trusted-types-for 'script'" in answer.headers["Content-Security-Policy"]
        assert "unsafe" not in answer.headers["Content-Security-Policy"]


def test_bytes_that_are_no_http_get_the_same_headers_and_are_not_echoed(door: Served) -> None:
    with socket.create_connection(("127.0.0.1", door.port), 10) as client:
        client.sendall(b"GET / HTTP/1.1\r\nsecret-header-without-colon\r\n\r\n")
        said = client.recv(65_536)
    assert said.split()[1] == b"400"
    assert b"Content-Security-Policy: default-src 'none'" in said
    assert b"secret" not in said


def test_our_own_page_is_served(page: Served, session: object, kept: str) -> None:
    origin = {"origin": f"http://127.0.0.1:{page.port}", "sec-fetch-site": "same-origin"}
    assert page.get("/api/sessions", **origin).status == 200
    assert page.ask("GET", "/api/sessions", {"cookie": page.cookie, "host": f"localhost:{page.port}"}).status == 200


def test_the_token_is_swapped_for_a_cookie_that_scripts_cannot_read(page: Served) -> None:
    answer = page.ask("POST", "/api/enter", OURS, json.dumps({"token": TOKEN}).encode())
    assert answer.status == 204
    cookie = answer.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert TOKEN not in cookie
    assert page.ask("GET", "/api/sessions", {"cookie": cookie.partition(";")[0]}).status == 200


@pytest.mark.parametrize("token", ["", "x", TOKEN[:-1], TOKEN + "t", None, 1, [TOKEN]])
def test_another_token_opens_nothing(page: Served, token: object) -> None:
    answer = page.ask("POST", "/api/enter", OURS, json.dumps({"token": token}).encode())
    assert answer.status == 401
    assert "Set-Cookie" not in answer.headers


def test_a_token_is_256_random_bits_in_a_file_of_its_owner(tmp_path: Path) -> None:
    import base64

    path = tmp_path / "inspector.token"
    made = read_secret(str(path))
    assert len(base64.urlsafe_b64decode(made + "=")) == 32
    assert path.stat().st_mode & 0o777 == 0o600


def test_processes_that_start_at_the_same_time_have_the_same_secret(tmp_path: Path) -> None:
    """Whose sessions are whose is told by it: with another one an agent would not find its own again."""
    together = threading.Barrier(4)

    def read(path: str) -> str:
        together.wait()
        return read_secret(path)

    with ThreadPoolExecutor(4) as pool:
        for number in range(10):
            path = str(tmp_path / f"{number}" / "tenants.secret")
            assert len(set(pool.map(read, [path] * 4))) == 1
            assert os.listdir(os.path.dirname(path)) == ["tenants.secret"]


def test_a_secret_that_is_damaged_is_named(tmp_path: Path) -> None:
    path = tmp_path / "tenants.secret"
    path.touch(0o600)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(StoreError, match="is damaged"):
        read_secret(str(path))


def test_secrets_are_compared_in_constant_time(page: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    import hmac

    compared: list[bytes] = []
    real = hmac.compare_digest
    monkeypatch.setattr(hmac, "compare_digest", lambda a, b: compared.append(b) or real(a, b))
    page.get("/api/sessions")
    page.ask("POST", "/api/enter", OURS, b'{"token": "x"}')
    assert compared == [page.cookie.partition("=")[2].encode(), TOKEN.encode()]


def test_no_log_line_has_the_token(
    page: Served, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    page.ask("POST", "/api/enter", OURS, json.dumps({"token": TOKEN}).encode())
    page.ask("POST", "/api/enter", OURS, b'{"token": broken')
    page.get("/api/sessions")
    said = caplog.text + "".join(capfd.readouterr())
    assert TOKEN not in said
    assert page.cookie.partition("=")[2] not in said


def test_looking_changes_nothing(page: Served, services: InspectorServices, kept: str, played: str) -> None:
    before = snapshot(services.record.store)
    request = page.get(f"/api/sessions/{played}/steps").json["steps"][0]["id"]
    for route in ROUTES:
        if route.method == "GET" and route.answer != "live":
            path = route.path.replace("{name}", "s").replace("{id}", kept).replace("{index}", "0")
            if "requests" in path:
                path = route.path.replace("{name}", played).replace("{id}", request).replace("{index}", "0")
            assert page.get(path + "?text=line").status in (200, 404), path
    assert snapshot(services.record.store) == before


def test_a_path_that_climbs_gets_nothing(page: Served) -> None:
    for path in ("/static/..%2f..%2fserver.py", "/static/../server.py", "/static/%2e%2e/server.py", "/etc/passwd"):
        assert page.get(path).status == 404


def test_a_body_that_is_too_large_or_no_object_is_refused(page: Served) -> None:
    headers = {"cookie": page.cookie, **OURS}
    assert page.ask("POST", "/api/sessions/s/play", headers, b"[" * 100_000).status == 400
    assert page.ask("POST", "/api/sessions/s/play", headers, b"[]").status == 400
