"""Agents by other makers, each at a provider directly and then through Keepwhole: the same end, and results whole.

`make clients` installs them; one that is not installed is skipped.
"""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from keepwhole.testing import printed_calls
from tests.apps.proxy.agent_proxy import proxy
from tests.clients.agents import POINTED, WRAPPED, Agent
from tests.clients.plan import LINGER
from tests.clients.test_wrap import ENVIRON, ids, record, said, wrap
from tests.clients.upstream import Move, Script, results, upstream

pytestmark = pytest.mark.clients
LISTING = f"seq -f 'listing {{}} line %06g of many' 1 700; {LINGER}"
CALLS, RESULTS = ("function",), ("tool",)


def read_back(text: str) -> Move:
    """What a notice says to call; a command where nothing was left out."""
    calls = printed_calls(text)
    return calls[-1] if calls else "echo nothing was left out"


def submit(text: str) -> Move:
    """What mini-SWE-agent takes for the end; harmless for the others."""
    return "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"


SCRIPT: Script = [(LISTING.format(0),), (read_back,), (LISTING.format(1),), ("echo end",), (submit,)]


def run(agent: Agent, home: Path, address: str, *before: str) -> str:
    """Run an agent in a home of its own; gives what it wrote on its error stream."""
    home.mkdir(exist_ok=True)
    start = agent.start(home, address)
    return start._replace(environ={**ENVIRON, **start.environ}).run(home, before).stderr


def check(agent: Agent, plain: list[Any], viewed: list[Any], kept: list[str]) -> None:
    """The requests are valid, stable and as many as without Keepwhole; results are whole on record and read back."""
    assert len(viewed) == len(plain)
    for body in viewed:
        assert ids(body, *CALLS) == ids(body, *RESULTS)
    for before, after in pairwise(viewed):
        assert said(after)[: len(said(before))] == said(before)
    whole, shown = results(plain[-1]["messages"]), results(viewed[-1]["messages"])
    assert [_steady(text) for text in kept[:1]] == [_steady(text) for text in whole[:1]]
    assert any("listing 1 line 000700" in text or agent.cuts for text in kept)
    if not agent.cuts:
        names = [tool["function"]["name"] for tool in viewed[-1]["tools"]]
        assert names[:3] == ["get_artifact", "get_task_trace", "search_artifacts"]
        assert sum(map(len, shown)) < sum(map(len, kept))
        assert len(shown[0]) < 0.5 * len(whole[0])
        left_out = set(kept[0].splitlines()) - set(shown[0].splitlines())
        assert len(left_out & set(shown[1].splitlines())) > 100


def _steady(text: str) -> str:
    """A result without what differs from run to run: times, files, and names of processes."""
    return "\n".join(line for line in text.splitlines() if "listing" in line)


@pytest.mark.parametrize("name", WRAPPED)
def test_an_agent_under_wrap_ends_as_without_it(name: str, tmp_path: Path) -> None:
    agent, plain, viewed = WRAPPED[name], list[Any](), list[Any]()
    with upstream(SCRIPT, plain) as port:
        run(agent, tmp_path / "plain", f"http://127.0.0.1:{port}/v1")
    home = tmp_path / "viewed"
    with upstream(SCRIPT, viewed) as port:
        receipt = run(agent, home, f"http://127.0.0.1:{port}/v1", *wrap())
    assert f"go to http://127.0.0.1:{port}" in receipt or name == "openhands"
    (kept,) = record(home).values()
    check(agent, plain, viewed, kept)
    is_cut = bool(printed_calls(results(viewed[1]["messages"])[0]))
    assert is_cut or agent.cuts
    assert ("read back once" in receipt) is is_cut
    assert not [path for path in home.rglob("*") if path.is_file() and "/kw-" in _settings_text(path)]


def _settings_text(path: Path) -> str:
    """The text of a file that may hold an agent's settings; OpenHands writes addresses into its log of a run too."""
    is_settings = path.suffix in (".json", ".yaml", ".toml", ".env") and "conversations" not in path.parts
    return path.read_text(errors="replace") if is_settings else ""


@pytest.mark.parametrize("name", POINTED)
def test_an_agent_that_is_pointed_at_a_proxy_ends_as_without_it(name: str, tmp_path: Path) -> None:
    agent, plain, viewed = POINTED[name], list[Any](), list[Any]()
    with upstream(SCRIPT, plain) as port:
        run(agent, tmp_path / "plain", f"http://127.0.0.1:{port}/v1")
    home = tmp_path / "viewed"
    with upstream(SCRIPT, viewed) as port:
        upstreams = {"fake": f"http://127.0.0.1:{port}/v1"}
        settings = {"upstreams": upstreams, "tenants": "one"}
        with proxy(tmp_path / "proxy", f"http://127.0.0.1:{port}", proxy=settings) as running:
            run(agent, home, f"{running.url}/fake")
    (tmp_path / "proxy" / "home").rename(home / ".keepwhole")
    (kept,) = record(home).values()
    check(agent, plain, viewed, kept)
