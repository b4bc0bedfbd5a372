"""What the user has approved counts exactly as it was approved, and from a list that nobody else could write."""

import json
import os
from pathlib import Path

import pytest

from keepwhole import trust


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path)}


def listed(home: dict[str, str]) -> Path:
    return Path(home["HOME"], ".keepwhole", "trusted.json")


def test_exactly_what_was_approved_counts(home: dict[str, str], tmp_path: Path) -> None:
    path = str(tmp_path / "keepwhole.yaml")
    assert not trust.is_approved(path, {"mode": "on"}, home)
    trust.approve(path, {"mode": "on", "home": "x"}, home)
    assert trust.is_approved(path, {"home": "x", "mode": "on"}, home)
    assert not trust.is_approved(path, {"mode": "on"}, home)
    assert not trust.is_approved(str(tmp_path / "other.yaml"), {"mode": "on", "home": "x"}, home)
    assert not trust.is_approved(path, {"mode": "on", "home": "x"}, {"HOME": str(tmp_path / "nobody")})


def test_a_later_approval_takes_the_place_of_the_first_and_leaves_others(home: dict[str, str], tmp_path: Path) -> None:
    first, second = str(tmp_path / "b"), str(tmp_path / "a")
    trust.approve(first, 1, home)
    trust.approve(second, 1, home)
    trust.approve(first, 2, home)
    assert [trust.is_approved(first, what, home) for what in (1, 2)] == [False, True]
    assert trust.is_approved(second, 1, home)
    assert trust.approved_paths(home) == [second, first]


def test_a_path_is_known_by_where_it_leads(home: dict[str, str], tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    trust.approve(str(link), "x", home)
    assert trust.approved_paths(home) == [str(real)]
    assert trust.is_approved(str(real), "x", home)
    assert trust.is_approved(f"{real}/../link", "x", home)


def test_what_is_revoked_counts_no_more(home: dict[str, str], tmp_path: Path) -> None:
    path, other = str(tmp_path / "a"), str(tmp_path / "b")
    assert not trust.revoke(path, home)
    assert not listed(home).exists()
    trust.approve(path, 1, home)
    trust.approve(other, 1, home)
    assert trust.revoke(path, home)
    assert not trust.revoke(path, home)
    assert trust.approved_paths(home) == [other]


@pytest.mark.parametrize(("mode", "counts"), [(0o600, True), (0o644, True), (0o620, False), (0o602, False)])
def test_a_list_that_others_can_write_says_nothing(
    home: dict[str, str], tmp_path: Path, mode: int, counts: bool
) -> None:
    trust.approve(str(tmp_path), 1, home)
    listed(home).chmod(mode)
    assert trust.is_approved(str(tmp_path), 1, home) is counts


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"approved": []}', '{"approved": null}', "[" * 100_000])
def test_a_list_that_cannot_be_read_says_nothing(home: dict[str, str], content: str) -> None:
    listed(home).parent.mkdir()
    listed(home).write_text(content)
    assert trust.approved_paths(home) == []
    trust.approve("/x", 1, home)
    assert json.loads(listed(home).read_text())["approved"].keys() == {"/x"}


def test_what_belongs_to_another_user_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not trust.is_of_another_user(str(tmp_path))
    if os.geteuid() == 0:
        os.chown(tmp_path, 1, 1)
        assert trust.is_of_another_user(str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    assert trust.is_of_another_user(str(tmp_path))
    assert not trust.is_of_another_user("/")


def test_a_list_of_another_user_says_nothing(
    home: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trust.approve(str(tmp_path), 1, home)
    own = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: own + 1)
    assert trust.approved_paths(home) == []
