"""A record on a server with TLS, behind PgBouncer with our file: real programs, as `make production` installs them."""

import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("psycopg_pool", reason="needs the extra `postgres`")

import psycopg

from keepwhole import Session, config
from keepwhole.errors import StoreRefused
from keepwhole.store.postgres.server import migrate
from keepwhole.store.postgres.store import PostgresStore
from keepwhole.store.verify import verify

DEPLOY = Path(__file__).parents[2] / "deploy"
PASSWORD = "of a test"
_BIN = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
POSTGRES = _BIN[-1].parent if _BIN else None
AS = "postgres" if os.getuid() == 0 else os.getuid()
"""The server refuses to run as root. A user need not have a name."""

pytestmark = [
    pytest.mark.production,
    pytest.mark.skipif(POSTGRES is None or not shutil.which("pgbouncer"), reason="`make production` installs them"),
]


def run(*words: object, **options: object) -> str:
    command = [str(word) for word in words]
    if os.getuid() == 0 and options.pop("as_server", False):
        command = ["runuser", "-u", str(AS), "--", *command]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def certificate(folder: Path) -> Path:
    """A certificate of the server for 127.0.0.1, which signs itself."""
    names = ("-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1")
    files = ("-keyout", folder / "server.key", "-out", folder / "server.crt")
    run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", 2, *names, *files)
    return folder / "server.crt"


@contextmanager
def server(folder: Path) -> Iterator[int]:
    """PostgreSQL that takes nothing but TLS and passwords over the network; yields its port."""
    assert POSTGRES is not None
    data, port = folder / "data", free_port()
    folder.chmod(0o755)
    (folder / "password").write_text(PASSWORD)
    certificate(folder)
    for name in ("server.key", "server.crt", "password"):
        (folder / name).chmod(0o600)
        shutil.chown(folder / name, AS)
    shutil.chown(folder, AS)
    options = ("--encoding=UTF8", "--locale=C", "--auth=scram-sha-256", "--data-checksums", "--no-sync")
    run(POSTGRES / "initdb", "-D", data, "-U", "owner", f"--pwfile={folder}/password", *options, as_server=True)
    tls = f"-c ssl=on -c ssl_cert_file={folder}/server.crt -c ssl_key_file={folder}/server.key"
    (data / "pg_hba.conf").write_text("hostssl all all 127.0.0.1/32 scram-sha-256\n")
    started = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c max_connections=100 {tls}"
    run(POSTGRES / "pg_ctl", "-D", data, "-w", "-l", folder / "log", "-o", started, "start", as_server=True)
    try:
        yield port
    finally:
        run(POSTGRES / "pg_ctl", "-D", data, "-m", "immediate", "stop", as_server=True)


@contextmanager
def pooler(folder: Path, upstream: int) -> Iterator[int]:
    """PgBouncer with our file, but for the places; yields its port."""
    port = free_port()
    text = (DEPLOY / "pgbouncer.ini").read_text(encoding="utf-8")
    text = text.replace("port=5432 dbname=team", f"port={upstream} dbname=postgres")
    text = re.sub(r"listen_port = .*", f"listen_port = {port}", text)
    text = text.replace("/etc/pgbouncer/userlist.txt", str(folder / "users"))
    text += f"server_tls_sslmode = verify-full\nserver_tls_ca_file = {folder}/server.crt\n"
    (folder / "users").write_text(f'"owner" "{PASSWORD}"\n')
    (folder / "bouncer.ini").write_text(text)
    for name in ("users", "bouncer.ini"):
        shutil.chown(folder / name, AS)
    (folder / "server.crt").chmod(0o644)
    command = ["pgbouncer", str(folder / "bouncer.ini")]
    process = subprocess.Popen(["runuser", "-u", str(AS), "--", *command] if os.getuid() == 0 else command)
    try:
        for _ in range(100):
            with socket.socket() as tried:
                if tried.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield port
    finally:
        process.terminate()
        process.wait()


@pytest.fixture(scope="module")
def place() -> Iterator[tuple[Path, int]]:
    """A folder with the server's certificate, and its port. pytest's own folders are closed to other users, again and
    again, by each run that starts."""
    with tempfile.TemporaryDirectory(prefix="keepwhole-server-") as name, server(Path(name)) as port:
        yield Path(name), port


def address(port: int, more: str = "") -> str:
    return f"postgresql://owner:{PASSWORD.replace(' ', '%20')}@127.0.0.1:{port}/postgres{more}"


def test_a_record_is_read_and_written_over_tls_whose_certificate_is_checked(
    place: tuple[Path, int], tmp_path: Path
) -> None:
    folder, port = place
    url = address(port, f"?schema=tls&sslmode=verify-full&sslrootcert={folder}/server.crt")
    migrate(url)
    store = PostgresStore(url, str(tmp_path))
    shown = Session("s", store=store).keep("bash", None, "x" * 100_000)
    assert len(Session("s", store=store).recall(str(shown.trace_id))) == 100_000
    assert verify(store, "s").whole
    used = "SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'keepwhole'"
    assert {row[0] for row in store.server.select(used)} == {True}
    store.close()


def test_a_server_with_another_certificate_is_refused(place: tuple[Path, int], tmp_path: Path) -> None:
    other = certificate(tmp_path)
    url = address(place[1], f"?schema=tls&sslmode=verify-full&sslrootcert={other}")
    with pytest.raises(StoreRefused, match="certificate verify failed"):
        PostgresStore(url, str(tmp_path), patience=2.0).sessions()


def test_forty_processes_share_the_pooler_and_everything_is_stored(place: tuple[Path, int], tmp_path: Path) -> None:
    folder, port = place
    with pooler(folder, port) as pooled:
        url = address(pooled, "?schema=pooled").replace("/postgres?", "/team?")
        migrate(url)
        settings = config.load(store=url).replace(store_connections=2)
        stores = [config.open_record(settings.replace(home=str(tmp_path / str(number)))) for number in range(40)]
        for number, store in enumerate(stores):
            session = Session(f"agent-{number}", store=store, settings=settings)
            assert session.keep("bash", None, f"{number}\n" * 2_000).trace_id is not None
        assert all(verify(stores[0], f"agent-{number}").whole for number in range(40))
        for store in stores:
            store.close()
    with psycopg.connect(address(port, f"?sslmode=verify-full&sslrootcert={folder}/server.crt")) as connection:
        row = connection.execute("SELECT count(*) FROM pooled.entries WHERE kind = 'result'").fetchone()
        assert row == (40,)
