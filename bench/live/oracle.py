"""Scripted models that know the plan of a task, and answer only from what the request contains.

Owns: the oracles. Must not know: how a proxy hides things, but for the grammar of its notices.

Theory of operation. An oracle gets the body of a request, in any dialect, and nothing else. It finds the task by its
id, and the step by its own words (`Step 7.`). Where the next call or the answer needs a fact, it looks for it in the
results that the request shows. What none shows it reads back, for all facts of the step at once, as models do:

    PlanOracle     knows which call told it, and makes the calls that the notice in that result prints, as printed, one
                   after another, then those that their answers print; a bare `[Artifact: id]` is read whole. The
                   peers' ways to read something back are in `notices.py` too
    BlindOracle    does not know which: it does the same only for results whose call, text or notice names what it looks
                   for, as a request for `report-3` or a line with `INC-4471` does
    PatternOracle  is the first, but searches what is hidden for these words before it reads whole gaps

Where nothing leads on, the answer is "unknown". Neither runs a tool of the task again, and neither tires, misreads or
forgets: what they solve is an upper bound of what a model solves, and what they spend a lower bound.
"""

import base64
import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import NamedTuple

from bench.live.families import make_task
from bench.live.notices import RECALL_TOOLS, calls_in, name_of, names_in, pointers_in
from bench.live.picture import read_comment
from bench.live.task import Fact, Task
from bench.live.wires.wire import Json
from keepwhole.recall.names import GET_ARTIFACT
from keepwhole.testing import PrintedCall
from tests.apps.proxy.agent_model import Turn, offered, turns_of
from tests.upstream.pictures import pictures_in
from tests.upstream.prompt import strings_in
from tests.upstream.spelling import Part, Text, Tool

_TASK = re.compile(r"\bTask (\w+-\d+-\w+)\.")
_STEP = re.compile(r"Step (\d+)\.$")
_SUMMARY = "<keepwhole-summary>"
_SAID = re.compile(r", said: Step (\d+)\.$", re.M)
_LISTED = re.compile(r"^- step \d+: (\w+) (\{.*?\}) (.*)$", re.M)
"""A call in a summary, or in the list of those that it folds: the tool, its arguments, what is told of its result."""
_FOLDED = re.compile(r" are folded\. The list: ([^\n]*?\))")
_MOST_READS = 40
"""Reads for the facts of one step, after which an oracle gives up."""


class _Shown(NamedTuple):
    """A call and what the request shows of its result."""

    tool: str
    arguments: Json
    text: str


class PlanOracle:
    """Knows the plan, and which result tells each fact."""

    def __call__(self, body: Json) -> list[Part]:
        """Return what the model says to a request."""
        task = _task_in(body)
        turns = turns_of(body)
        steps = [int(found[1]) for turn in turns if (found := _STEP.search(turn.text))]
        at = max([*steps, *_steps_summarized(body)], default=-1) + 1
        shown = [*_summarized(body), *_shown_in(turns)]
        step = task.plan[at] if at < len(task.plan) else None
        needed = step.needs(task.facts) if step else task.needed
        pictures = "\n".join(_pictured(body)) if any(task.facts[name].is_pictured for name in needed) else ""
        facts = {name: task.facts[name] for name in needed}
        values = {
            name: fact.read(pictures) if fact.is_pictured else self.find(task, shown, fact)
            for name, fact in facts.items()
        }
        missing = [fact for name, fact in facts.items() if values[name] is None]
        if missing:
            lists = [call for call in _folded_lists(body) if (call.name, call.arguments) not in _made(shown)]
            reads = [self._next_read(task, shown, fact, offered(body), lists) for fact in missing]
            if None in reads or _reads(turns) >= _MOST_READS:
                return [Text("ANSWER: unknown")]
            calls = {json.dumps(read): read for read in reads if read is not None}
            return [Text(f"I need {', '.join(dict.fromkeys(fact.sought for fact in missing))}."), *calls.values()]
        return self._go_on(task, at, {name: value for name, value in values.items() if value is not None})

    def _go_on(self, task: Task, at: int, values: dict[str, str]) -> list[Part]:
        """Return the next step of the plan, or the answer after the last."""
        step = task.plan[at] if at < len(task.plan) else None
        if step is None:
            return [Text(f"ANSWER: {task.answer(values)}")]
        return [Text(f"Step {at}."), Tool(step.tool, step.filled(values))]

    def find(self, task: Task, shown: list[_Shown], fact: Fact) -> str | None:
        """Return a fact from the newest result of the call that tells it, or from what was read back of it."""
        return next(filter(None, (fact.read(one.text) for one in _sources(shown, _teller(task, fact)))), None)

    def _next_read(
        self, task: Task, shown: list[_Shown], fact: Fact, tools: set[str], lists: list[PrintedCall]
    ) -> Tool | None:
        """Return the next call that may show a fact: one that is printed, offered, and not made before; where no call
        is known to tell it, the list of those that a summary folds."""
        made = _made(shown)
        for source in _sources(shown, self.leads_to(task, fact)):
            for name, arguments in self.calls_to_read(source.text, fact):
                if name in tools and name in RECALL_TOOLS and (name, arguments) not in made:
                    return Tool(name, arguments)
        return next((Tool(name, arguments) for name, arguments in lists if name in tools), None)

    def calls_to_read(self, text: str, fact: Fact) -> list[PrintedCall]:
        """Return the calls that a text prints, or that read back what it only names."""
        return calls_in(text)

    def leads_to(self, task: Task, fact: Fact) -> Callable[[_Shown], bool]:
        """Return what tells whether a fact is to be looked for in what a result hides: it is the one that told it."""
        return _teller(task, fact)


class BlindOracle(PlanOracle):
    """Knows the plan, but reads back only where a call, a text or a notice names what it looks for."""

    def leads_to(self, task: Task, fact: Fact) -> Callable[[_Shown], bool]:
        """Return what tells whether a call, or what is shown of its result, names what is looked for."""
        named = re.compile(rf"(?<![\w-]){re.escape(fact.sought)}(?![\w-])")
        return lambda shown: any(map(named.search, (shown.text, *map(str, shown.arguments.values()))))


class PatternOracle(PlanOracle):
    """Knows the plan, and asks first for the lines with the words that it looks for: what a notice prints only
    where it knows the question, or where the call names it."""

    def calls_to_read(self, text: str, fact: Fact) -> list[PrintedCall]:
        """Return a search in each artifact that a text names, then the calls that it prints."""
        searches = [PrintedCall(GET_ARTIFACT, {"id": name, "pattern": fact.sought}) for name in pointers_in(text)]
        return searches + super().calls_to_read(text, fact)


ORACLES: dict[str, Callable[[Json], list[Part]]] = {
    "plan": PlanOracle(),
    "blind": BlindOracle(),
    "pattern": PatternOracle(),
}


def _task_in(body: Json) -> Task:
    found = next(filter(None, map(_TASK.search, strings_in(body.get("messages", body.get("input"))))), None)
    if found is None:
        raise LookupError("no task is named in the request")
    return make_task(found[1])


def _shown_in(turns: list[Turn]) -> Iterator[_Shown]:
    """Yield every call with what is shown of its result, the oldest first."""
    for turn in turns:
        for call_id, tool, arguments in turn.calls:
            yield _Shown(tool, arguments, turn.results.get(call_id, ""))


def _summarized(body: Json) -> Iterator[_Shown]:
    """Yield the calls that a summary of earlier steps lists, and the list that it folds once that was read back, each
    with the line that says how to read its result."""
    has_summary = False
    for text in strings_in(body.get("messages", body.get("input"))):
        has_summary = has_summary or _SUMMARY in text
        if has_summary and "- step " in text:
            for found in _LISTED.finditer(text):
                with suppress(ValueError):
                    yield _Shown(found[1], json.loads(found[2]), found[3])


def _steps_summarized(body: Json) -> Iterator[int]:
    """Yield the steps of which a summary tells that they were taken."""
    for text in strings_in(body.get("messages", body.get("input"))):
        if _SUMMARY in text:
            yield from map(int, _SAID.findall(text))


def _folded_lists(body: Json) -> list[PrintedCall]:
    """Return the calls that read back the lists which summaries fold."""
    texts = strings_in(body.get("messages", body.get("input")))
    return [call for text in texts if _SUMMARY in text for found in _FOLDED.findall(text) for call in calls_in(found)]


def _made(shown: list[_Shown]) -> list[tuple[str, Json]]:
    """Return the recalls that were made."""
    return [(one.tool, one.arguments) for one in shown if one.tool in RECALL_TOOLS]


def _reads(turns: list[Turn]) -> int:
    """Return how many turns were taken since the last step."""
    return len(turns) - 1 - max((at for at, turn in enumerate(turns) if _STEP.search(turn.text)), default=-1)


def _teller(task: Task, fact: Fact) -> Callable[[_Shown], bool]:
    """Return what tells whether a call is the one of the plan that tells a fact."""
    step = task.plan[fact.step]
    fixed = {key: given for key, given in step.arguments.items() if "{" not in given}
    return lambda shown: shown.tool == step.tool and all(shown.arguments.get(key) == fixed[key] for key in fixed)


def _sources(everything: list[_Shown], is_wanted: Callable[[_Shown], bool]) -> Iterator[_Shown]:
    """Yield the results that are wanted, the newest first, and after each what was read back of it."""
    for shown in reversed(everything):
        if shown.tool not in RECALL_TOOLS and is_wanted(shown):
            named = names_in(shown.text)
            yield shown
            yield from (one for one in everything if one.tool in RECALL_TOOLS and name_of(one.arguments) in named)


def _pictured(body: Json) -> Iterator[str]:
    """Yield what the images in a request say."""
    for _, data in pictures_in(body.get("messages", body.get("input"))):
        yield read_comment(base64.b64decode(data))
