"""`store: postgresql://…`: from the constructor, the environment and the file, and by every command."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import keepwhole
from keepwhole.apps.cli.main import main
from keepwhole.config import flattened, load
from keepwhole.errors import ConfigError, StoreRefused
from tests.build import numbered_lines, run_python
from tests.postgres import fresh_url, running

SECRET = "postgresql://me:s3cret@db.example/keepwhole?schema=team"


@pytest.fixture
def url(monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of a new record, which the environment names."""
    url = fresh_url()
    monkeypatch.setenv("KEEPWHOLE_STORE", url)
    return url


def test_a_session_at_an_address_keeps_shows_and_gives_back(tmp_path: Path) -> None:
    url, text = fresh_url(), numbered_lines(20_000)
    with keepwhole.session("work", store=url) as session:
        shown = session.keep("read_file", {"path": "a"}, text)
        assert len(shown.content) < len(text)
    with keepwhole.session("work", store=url) as again:
        assert again.recall_bytes(str(shown.trace_id)) == text.encode()
        assert again.verify().whole
    assert not (tmp_path / "home" / "record.db").exists()


def test_commands_work_on_the_record_that_the_environment_names(
    url: str, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run = [sys.executable, "-m", "keepwhole", "run", "--", "echo", "hello server"]
    subprocess.run(run, check=True, capture_output=True)  # a process of its own, for it takes signals
    assert main(["sessions", "verify", "--all"]) == 0
    assert main(["doctor", "--full"]) == 0
    capfd.readouterr()
    assert main(["sessions", "list", "--json"]) == 0
    (listed,) = json.loads(capfd.readouterr().out)
    assert listed["entries"] >= 1
    assert not (tmp_path / "home" / "record.db").exists()


def test_a_folder_that_is_named_is_over_an_address_in_the_settings(url: str, tmp_path: Path) -> None:
    with keepwhole.session("here", store=tmp_path / "mine") as session:
        session.keep("tool", None, "text")
    assert (tmp_path / "mine" / "record.db").exists()


def scripts_there() -> int:
    from keepwhole.store.postgres.schema import scripts  # only where there is a server to ask

    return len(scripts())


def test_store_migrate_makes_the_record_and_says_so_without_the_password(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    url = fresh_url() + "_cli"
    monkeypatch.setenv("KEEPWHOLE_STORE", url.replace("postgres:@", "postgres:s3cret@"))
    assert main(["sessions", "list"]) == 4
    assert "keepwhole store migrate" in capfd.readouterr().err
    assert main(["store", "migrate"]) == 0
    said = capfd.readouterr().out
    assert f"ran {scripts_there()} scripts" in said
    assert "s3cret" not in said
    assert main(["store", "migrate", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["ran"] == 0
    assert main(["sessions", "list"]) == 0


def test_store_migrate_without_an_address_says_what_to_set(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["store", "migrate"]) == 2
    assert "KEEPWHOLE_STORE" in capfd.readouterr().err


def test_the_settings_name_the_store_and_show_it_without_its_password(tmp_path: Path) -> None:
    file = tmp_path / "keepwhole.yaml"
    file.write_text(f"store: {SECRET}\n", encoding="utf-8")
    settings = load(str(file))
    assert settings.store == SECRET
    shown = {key: value for key, value, _ in flattened(settings)}
    assert shown["store"] == "postgresql://me@db.example/keepwhole?schema=team"
    assert "s3cret" not in repr(settings)


def test_what_is_no_address_is_refused_and_not_repeated(tmp_path: Path) -> None:
    file = tmp_path / "keepwhole.yaml"
    for wrong in ("postgres//me:s3cret@h/db", "5", "[s3cret]"):
        file.write_text(f"store: {wrong}\n", encoding="utf-8")
        with pytest.raises(ConfigError, match="not an address") as refused:
            load(str(file))
        assert "s3cret" not in str(refused.value)


def test_a_server_that_cannot_be_reached_says_what_to_check() -> None:
    running()
    session = keepwhole.session("s", store="postgresql://me:s3cret@127.0.0.1:1/db")
    with pytest.raises(StoreRefused, match="cannot be reached") as refused:
        session.store.sessions()
    assert "s3cret" not in str(refused.value)


def test_without_the_extra_the_error_names_it() -> None:
    code = (
        "import sys; sys.modules['psycopg'] = None\n"
        "import keepwhole\n"
        "try: keepwhole.session('s', store='postgresql://h/db')\n"
        "except keepwhole.KeepwholeError as error: print(error)"
    )
    assert "psycopg[binary,pool]" in run_python(code)


def test_a_record_in_a_folder_never_imports_the_driver() -> None:
    code = "import keepwhole, sys; keepwhole.session('s').keep('t', None, 'x'); print('psycopg' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
