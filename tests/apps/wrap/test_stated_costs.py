"""What a session has cost is stated alike by the receipt, `status`, `report` and the inspector, and adds up."""

import json
import re
import sys
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from keepwhole import config
from keepwhole.apps.inspector import answers
from keepwhole.apps.inspector.answers import PageRequest
from keepwhole.apps.inspector.services import InspectorServices
from keepwhole.exchange.request_log import LoggedRequest, RequestLog
from keepwhole.session import Session
from tests.apps.cli.cli import Cli
from tests.clients.upstream import Call, Script, upstream

AGENT = str(Path(__file__).parent / "fake_client.py")
NAME, WINDOW = "stand-in", 30_000
MODEL = f"models:\n  claude-sonnet-4-5:\n    window: {WINDOW}\n"
EAGER = """
auto:
  start: 4000
  worth: 0
  horizon: 10
  keep_steps: 2
  clear_at_least: 5000
"""


class PrefixBills:
    """Bills the prefix that the request before had as read from the cache, and the rest as written to it."""

    def __init__(self) -> None:
        self._before = ""

    def __call__(self, body: Mapping[str, Any]) -> dict[str, int]:
        text = json.dumps([body["tools"], body["messages"]])
        pairs = enumerate(zip(text, self._before, strict=False))
        same = next((at for at, (one, other) in pairs if one != other), min(len(text), len(self._before)))
        self._before = text
        read, written = same // 4, (len(text) - same) // 4
        return {
            "input_tokens": 0,
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": written,
            "output_tokens": 5,
        }


def listing(number: int, lines: int = 170) -> str:
    return f"seq -f 'row %g of listing {number}, as the tool has printed it' 1 {lines}"


def read_back(newest: str) -> Call:
    """The call that reads a part of the newest result again."""
    name = re.search(r"art_\w+", newest)
    assert name, "the result is shown cut"
    return "get_artifact", {"id": name[0], "lines": "1-40"}


def wrapped(folder: Path, script: Script, settings: str) -> tuple[Cli, str]:
    """Run an agent under `wrap`; return the command line of its record, and the receipt."""
    cli = Cli(folder)
    (folder / "keepwhole.yaml").write_text(settings)
    with upstream(script, usage=PrefixBills()) as port:
        cli.environ["ANTHROPIC_BASE_URL"] = f"http://127.0.0.1:{port}"
        done = cli("wrap", "--", sys.executable, AGENT, "0", "go")
    assert done.stdout == b"All done.\n", done.stderr.decode()
    return cli, done.stderr.decode()


def amounts(words: str) -> list[Decimal]:
    """The amounts of money in a text, in order."""
    found = re.findall(r"(−?)\$([\d,]+\.\d+)", words)
    return [Decimal(sign.replace("−", "-") + number.replace(",", "")) for sign, number in found]


def in_inspector(cli: Cli) -> list[str]:
    """The three figures in the list of sessions, and on the session's own page."""
    settings = config.load(folder=str(cli.folder), environ=cli.environ)
    store = config.open_record(settings)
    services = InspectorServices(settings, store)
    try:
        row = answers.list_sessions(services, PageRequest())["sessions"][0]
        summary = answers.one_session(services, PageRequest((NAME,)))
        return [" ".join(one["cost"][key] for key in ("paid", "off", "saved")) for one in (row, summary)]
    finally:
        services.close()
        store.close()


def stated(cli: Cli, receipt: str) -> set[tuple[Decimal, ...]]:
    """The three figures as each place states them; what is lost is a negative saving."""
    line = next(line for line in receipt.splitlines() if line.startswith("  input"))
    status = cli("status", "--session", NAME).stdout.decode()
    rows = cli("report").stdout.decode().splitlines()
    report = [row for row in rows if re.match(r"paid|would have paid|saved", row)]
    return {
        tuple(amounts(text.replace("lost ≈ ", "saved ≈ −")))
        for text in (line, status, " ".join(report), *in_inspector(cli))
    }


def requests(cli: Cli) -> list[LoggedRequest]:
    with Session(NAME, store=str(cli.folder / "home")) as session:
        return RequestLog(session).all()


def test_every_place_states_the_same_three_figures_and_they_add_up(tmp_path: Path) -> None:
    script: Any = [(listing(number),) for number in range(40)]
    script[3:3] = [(listing(100, 900),), (read_back,)]
    cli, receipt = wrapped(tmp_path, script, MODEL + EAGER)
    sent = requests(cli)
    assert len(sent) == len(script) + 1, "each call was one request, the hidden round too"
    assert any(step.request.decisions > 2 for step in sent), "results aged in a batch"
    assert max(step.request.tokens_whole for step in sent) > WINDOW, "with `mode: off` the client would have compacted"
    ((paid, off, saved),) = stated(cli, receipt)
    assert paid + saved == off
    assert saved > 0
    assert cli.json("status", "--session", NAME)["input"] == cli.json("report")["groups"]["viewed"]["input"]


def test_a_session_that_cost_more_than_with_mode_off_states_the_loss_everywhere(tmp_path: Path) -> None:
    cli, receipt = wrapped(tmp_path, [(listing(number),) for number in range(12)], "policy: rolling\n")
    ((paid, off, saved),) = stated(cli, receipt)
    assert paid + saved == off
    assert saved < 0
    assert re.search(r": lost ≈ \$[\d.]+, \d+ % more", receipt)
    assert cli.json("status", "--session", NAME)["input"]["saved"] == float(saved)


def test_what_a_hidden_round_costs_is_paid_by_keepwhole_alone(tmp_path: Path) -> None:
    """With `mode: off` there is nothing to read back, so the client would have paid the same without any."""
    costs: list[dict[str, float]] = []
    for name, moves in (("plain", ()), ("recalling", ((read_back,),))):
        (tmp_path / name).mkdir()
        script: Any = [move for number in range(8) for move in ((listing(number, 400),), *moves)]
        cli, receipt = wrapped(tmp_path / name, script, "policy: auto\n")
        assert len(requests(cli)) == len(script) + 1
        assert len(stated(cli, receipt)) == 1
        assert f"8 results in full, {'read back 8 times' if moves else 'nothing was read back'}" in receipt
        costs.append(cli.json("status", "--session", NAME)["input"])
    plain, recalling = costs
    assert recalling["mode_off"] == pytest.approx(plain["mode_off"], rel=0.05)
    assert recalling["paid"] > 1.2 * plain["paid"]
