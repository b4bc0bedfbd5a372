"""A sub-agent's window is not the session's, also where the client does not name its sub-agents."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from keepwhole import MemoryStore, config
from keepwhole.apps.conversations import current_request
from keepwhole.apps.inspector import answers
from keepwhole.apps.inspector.answers import PageRequest
from keepwhole.apps.inspector.services import InspectorServices
from keepwhole.apps.undo_figures import foresee_undo
from keepwhole.errors import Damaged
from keepwhole.exchange.request_log import AnswerFacts, LoggedAnswer, RequestFacts, RequestLog
from keepwhole.models.tokens import estimate
from keepwhole.session import Session
from tests.apps.cli.cli import Cli

NAME, MODEL = "agents", "claude-sonnet-4-5"
MAIN = "You are a careful agent. Ask before you write. Today is {}. Work in small steps. Say what you did."
OTHER = "You search. Give paths only. Never write. Today is {}. Be quick."
TOOLS = [{"name": "Bash", "description": "Run a command. " * 40, "input_schema": {"type": "object"}}]


class Agent:
    """An agent's conversation."""

    def __init__(self, system: str, said: str, rows: int = 120) -> None:
        self._system, self._said, self._rows = system, said, rows
        self.messages: list[Any] = [{"role": "user", "content": said}]

    def begin_anew(self, said: str) -> None:
        """Forget everything, as after a summary."""
        self.messages = [{"role": "user", "content": said}]

    def work(self, number: int) -> None:
        """Make a call; its result comes back."""
        call = {"type": "tool_use", "id": f"{self._said}_{number}", "name": "Bash", "input": {"command": "ls"}}
        text = "".join(f"row {row} of part {number} of {self._said}\n" for row in range(self._rows))
        result = {"type": "tool_result", "tool_use_id": call["id"], "content": text}
        self.messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]

    def request(self, day: int) -> bytes:
        system = self._system.format(day)
        return json.dumps({"model": MODEL, "tools": TOOLS, "system": system, "messages": self.messages}).encode()


class Story(NamedTuple):
    """A session in which several agents take turns, and the size of each request by its agent."""

    session: Session
    log: RequestLog
    agents: dict[str, Agent]
    sizes: list[tuple[str, int]]

    def play(self, turns: str, branch: str = "main") -> None:
        """One request for each letter: of the main agent `m`, which `c`ompacts or begins `n`ew, or of another one."""
        for turn in turns:
            name = "m" if turn in "mcn" else turn
            agent = self.agents.setdefault(name, Agent(MAIN if name in "mM" else OTHER, f"task of {name}"))
            if turn == "n":
                agent.begin_anew(f"Go on with what was said {len(self.sizes)}.")
            body = agent.request(len(self.sizes))
            size = estimate(body.decode())
            purpose = "compaction" if turn == "c" else "turn"
            about = RequestFacts("anthropic", MODEL, branch, purpose, tokens_whole=size, tokens_sent=size, mode="on")
            usage = AnswerFacts(2 * size, 0, 2 * size, output=9)
            self.log.add(body, about, LoggedAnswer(b"{}", 200, usage=usage))
            self.sizes.append((turn, 2 * size))
            agent.work(len(self.sizes))


def story(**stored: Any) -> Story:
    session = Session(NAME, **(stored or {"store": MemoryStore()}))
    return Story(session, RequestLog(session), {}, [])


CASES = {
    "an agent alone": ("mmm", 2),
    "a sub-agent works": ("mmmoo", 2),
    "one that makes more requests than the agent that called it": ("mmoooooooo", 1),
    "two at once": ("mmopop", 1),
    "one after the other": ("mmooopp", 1),
    "the agent goes on": ("mmmoom", 5),
    "the agent has compacted": ("mmmcnm", 5),
    "its client compacts in a way that nobody knows": ("mmmnm", 4),
    "it goes on after a sub-agent and compacts": ("mmoomcnoo", 6),
    "it compacts twice": ("mmmcnmmcnm", 9),
    "it asked for a summary and goes on": ("mmmcm", 4),
    "a sub-agent with the same instructions has ended": ("mmmMMm", 5),
    "one works after the agent began anew": ("mmmnmoo", 4),
}


@pytest.mark.parametrize("name", CASES)
def test_the_window_is_that_of_the_main_agents_newest_request(name: str) -> None:
    turns, expected = CASES[name]
    told = story()
    told.play(turns)
    log = RequestLog(told.session)
    steps = log.all()
    current = current_request(steps, log.body)
    assert current is not None
    assert steps.index(current) == expected


@pytest.mark.parametrize("name", CASES)
def test_it_is_the_same_for_an_inspector_that_looks_after_every_request(name: str) -> None:
    turns, expected = CASES[name]
    told = story()
    services = InspectorServices(config.load(environ={}), told.session.store)
    for turn in turns:
        told.play(turn)
        summary: Any = answers.one_session(services, PageRequest((NAME,)))
    services.close()
    assert summary["indicator"]["used"] == told.sizes[expected][1]


def test_an_agent_goes_on_after_a_restart() -> None:
    told = story()
    told.play("mmmoo")
    told = told._replace(log=RequestLog(told.session))
    told.play("mo")
    steps = told.log.all()
    assert steps[5].request.base is None, "nobody remembers what it goes on with"
    assert current_request(steps, told.log.body) == steps[5]


def test_what_is_named_by_its_client_is_never_the_main_agent() -> None:
    told = story()
    told.play("mm")
    told.play("oooooo", "agent-7")
    log = RequestLog(told.session)
    current = current_request(log.all(), log.body)
    assert current is not None
    assert current.request.branch == "main"


def test_where_no_request_can_be_read_the_newest_counts() -> None:
    def damaged(_: str) -> bytes:
        raise Damaged("gone")

    told = story()
    told.play("mmo")
    steps = RequestLog(told.session).all()
    assert current_request(steps, damaged) == steps[-1]
    assert current_request([], damaged) is None


@pytest.fixture(scope="module")
def with_sub_agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Cli, Story]]:
    """A session that ends while a sub-agent works that has made more requests than the main agent."""
    cli = Cli(tmp_path_factory.mktemp("agents"))
    settings = config.load(folder=str(cli.folder), environ=cli.environ)
    store = config.open_record(settings)
    told = story(store=store, settings=settings)
    told.agents["m"] = Agent(MAIN, "task of m", rows=2_000)
    told.play("mm")
    told.session.view(told.agents["m"].messages, policy="truncation")
    told.play("moooooo")
    yield cli, told
    store.close()


def test_every_place_shows_the_main_agents_window(with_sub_agent: tuple[Cli, Story]) -> None:
    cli, told = with_sub_agent
    size = told.sizes[2][1]
    status = cli.json("status", "--session", NAME)
    assert status["tokens_shown"] == size == sum(item["tokens"] for item in status["items"])
    assert f"{size:,} of 200,000 tokens" in cli.said("status", "--session", NAME)
    services = InspectorServices(config.load(folder=str(cli.folder), environ=cli.environ), told.session.store)
    summary: Any = answers.one_session(services, PageRequest((NAME,)))
    step: Any = answers.window_of_step(services, PageRequest((NAME, "5")))
    services.close()
    assert summary["indicator"]["used"] == size
    assert summary["course"]["sent"] == [size for turn, size in told.sizes if turn == "m"]
    assert step["used"] == told.sizes[5][1], "a step of the sub-agent has its own window"


def test_an_undo_reads_the_main_agents_request_anew(with_sub_agent: tuple[Cli, Story]) -> None:
    _, told = with_sub_agent
    row = next(iter(told.session.store.rows(NAME, kind="result")))
    undo = foresee_undo(told.session, row)
    assert undo.changed
    assert 0 < undo.reread < told.sizes[2][1]
