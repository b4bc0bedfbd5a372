"""The commands of the runbook are those there are; done in its order they bring a record back byte for byte."""

import re
import shlex
import threading
from pathlib import Path

import pytest

from keepwhole import Session, config
from keepwhole.apps.cli.main import GROUPS
from keepwhole.apps.cli.parser import parser_for
from tests.apps.cli.cli import Cli
from tests.postgres import fresh_url

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("howto/production.md", "reference/privacy.md", "goals/langgraph-postgres.md")
BACKUP = "/backups/keepwhole-2026-11-18"
"""The place that the page names."""
BODIES = {"text": "é\r\n" * 3_000, "binary": bytes(range(256)) * 400, "short": "done", "empty": ""}


def commands(page: str) -> list[str]:
    """The commands of a page that have more than a name."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(r"(?:^|`)keepwhole ([a-z]+ [^`\n]+|doctor)", text, re.M)


@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_a_page_for_operators_is_one_there_is(page: str) -> None:
    found = [shlex.split(command) for command in commands(page)]
    assert len(found) >= 3
    for words in found:
        if words != ["sessions", "export"]:  # named as a whole, without a session
            assert parser_for(words[0], GROUPS).parse_args(words).act is not None


def keep_all(url: str, session: str, home: Path) -> dict[str, bytes]:
    """Keep every body in a session; return what a restore must bring back, by its id."""
    store = config.open_record(config.load(store=url).replace(home=str(home)))
    agent = Session(session, store=store)
    kept = {str(agent.keep(name, None, body).trace_id): body for name, body in BODIES.items()}
    store.close()
    return {trace: body if isinstance(body, bytes) else body.encode() for trace, body in kept.items()}


def recalled(url: str, session: str, traces: dict[str, bytes], home: Path) -> dict[str, bytes]:
    store = config.open_record(config.load(store=url).replace(home=str(home)))
    agent = Session(session, store=store)
    found = {trace: agent.recall_bytes(trace) for trace in traces}
    store.close()
    return found


def test_the_runbook_brings_a_record_on_a_server_back_while_agents_go_on(tmp_path: Path) -> None:
    """Each step is a command of the page, with the places of this test."""
    page = commands(PAGES[0])
    cli, url, other, file = Cli(tmp_path), fresh_url(), fresh_url(), str(tmp_path / "backup")

    def step(command: str, **places: str) -> str:
        assert command in page, f"the runbook does not say `{command}` any more"
        for word, place in places.items():
            command = command.replace(word, place)
        return cli.said(*shlex.split(command))

    kept = keep_all(url, "done", tmp_path / "a")
    cli.environ["KEEPWHOLE_STORE"] = url
    working = threading.Event()

    def work() -> None:
        for number in range(50):
            keep_all(url, f"at-work-{number}", tmp_path / "b")
            if working.is_set():
                return

    agent = threading.Thread(target=work)
    agent.start()
    try:
        step(f"store backup {BACKUP}", **{BACKUP: file})
    finally:
        working.set()
        agent.join()
    cli.environ["KEEPWHOLE_STORE"] = other
    step("store restore FILE --into FOLDER", FILE=file, FOLDER=other)
    assert "done" in step("sessions verify --all")
    step("doctor")
    assert recalled(other, "done", kept, tmp_path / "c") == kept
    step("sessions purge --older-than 90d --yes")
    assert recalled(other, "done", kept, tmp_path / "c") == kept, "nothing is as old as that"
