"""`blobs: s3://…` or a folder: from the environment and the file, with keys in no place where they are seen."""

from pathlib import Path

import pytest

from keepwhole import Session
from keepwhole.apps.cli.main import main
from keepwhole.config import flattened, load
from keepwhole.errors import ConfigError
from keepwhole.store.blobs import bucket_address
from keepwhole.store.blobs.bucket_address import bucket_of
from keepwhole.store.postgres.address import redacted
from tests.build import numbered_lines

PLAIN = "s3://team/agents/prod?endpoint=https://s3.example:9000&region=eu-central-1"
KEYS = f"{PLAIN}&access_key_id=AKSECRET&secret_access_key=s3cret%2Fkey&session_token=t0ken"


def test_an_address_says_bucket_prefix_and_where_the_store_is() -> None:
    bucket = bucket_of(PLAIN)
    assert (bucket.name, bucket.prefix) == ("team", "agents/prod")
    assert bucket.options == {"endpoint": "https://s3.example:9000", "region": "eu-central-1"}
    assert bucket_of("s3://team")[:3] == ("team", "", {})
    assert bucket_of("s3://team/")[:3] == ("team", "", {})


@pytest.mark.parametrize(
    "address",
    [
        "s3://",
        "s3://AKSECRET:s3cret@team/x",
        "s3://AKSECRET:s3cret/x",
        "s3://team/x#s3cret",
        "s3://team/../s3cret",
        "s3://team/x?secret=s3cret",
        "s3://team/x?s3cret",
        "s3://team/x?endpoint=s3cret",
        "s3://team/x?endpoint=https://AKSECRET:s3cret@host",
        "s3://team/x y s3cret",
        "s3://[team/s3cret",
    ],
)
def test_an_odd_address_is_refused_and_not_repeated(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEEPWHOLE_BLOBS", address)
    with pytest.raises(ConfigError, match="blobs") as refused:
        load()
    assert "s3cret" not in str(refused.value)
    assert "AKSECRET" not in str(refused.value)


@pytest.mark.parametrize("value", ["relative/folder", "gs://team/x", "https://s3.example/team", "file:///tmp"])
def test_what_is_neither_a_bucket_nor_an_absolute_path_is_refused(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEEPWHOLE_BLOBS", value)
    with pytest.raises(ConfigError, match="absolute path"):
        load()


def test_keys_in_an_address_are_used_and_never_shown(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KEEPWHOLE_BLOBS", KEYS)
    settings = load()
    assert bucket_of(settings.blobs).options["secret_access_key"] == "s3cret/key"
    main(["config", "show"])
    said = repr(settings) + str(flattened(settings)) + redacted(settings.blobs) + repr(bucket_of(settings.blobs))
    said += "".join(capfd.readouterr())
    assert PLAIN in said
    for hidden in ("AKSECRET", "s3cret", "t0ken"):
        assert hidden not in said


def test_the_file_and_the_environment_name_the_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "keepwhole.yaml"
    file.write_text(f"blobs: {PLAIN}\n")
    assert load(str(file)).blobs == PLAIN
    monkeypatch.setenv("KEEPWHOLE_BLOBS", "~/bodies")
    assert load(str(file)).blobs == str(tmp_path / "bodies")
    assert load(str(file), store="postgresql://db.example/team").blobs == str(tmp_path / "bodies")


def test_who_names_a_folder_means_the_record_in_it_with_all_its_bodies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEEPWHOLE_BLOBS", str(tmp_path / "elsewhere"))
    with Session("s", store=tmp_path / "named") as session:
        kept = session.keep("t", None, numbered_lines(9_000))
        assert session.recall_bytes(kept.trace_id) == numbered_lines(9_000).encode()
    assert not (tmp_path / "elsewhere").exists()
    with Session("s") as session:
        kept = session.keep("t", None, numbered_lines(9_000))
        assert session.recall_bytes(kept.trace_id) == numbered_lines(9_000).encode()
    assert len([path for path in (tmp_path / "elsewhere").rglob("*") if path.is_file()]) == 1


def test_the_doctor_tries_a_folder_for_large_bodies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KEEPWHOLE_BLOBS", str(tmp_path / "elsewhere"))
    Session("s").keep("t", None, "x")
    assert main(["doctor"]) == 0
    assert f"large bodies are in {tmp_path / 'elsewhere'}" in capfd.readouterr().out
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("KEEPWHOLE_BLOBS", str(tmp_path / "file"))
    assert main(["doctor"]) == 1
    assert "cannot be used" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("s3://b/x?endpoint=http://h:1&region=r&secret=no", "s3://b/x?endpoint=http://h:1&region=r"),
        ("s3://key:secret@b/x", "s3://…"),
        ("s3://key:secret/x", "s3://…"),
        ("s3://b/x#secret", "s3://…"),
        ("s3://[b/x?secret=no", "s3://…"),
    ],
)
def test_an_address_is_shown_without_what_may_be_a_key(address: str, shown: str) -> None:
    assert bucket_address.redacted(address) == shown
