"""Scenarios of a session's life: restarts, other processes, forks, summaries, sub-agents, undo, faults, purges."""

import copy
import json
from collections.abc import Callable
from typing import Any

from tests.golden import doors
from tests.golden.conversations import DIALECTS, Call, Step, Talk, steps
from tests.golden.recorder import Recorder
from tests.golden.setups import Work
from tests.golden.texts import text

Scenario = Callable[[Recorder], None]
_SETTINGS = ("default", "eager", "tight", "truncation")


def _grow(talk: Talk, seed: object, count: int) -> list[Step]:
    found = steps(seed, count)
    for step in found:
        talk.take(step)
    return found


def _pairs(names: tuple[str, ...] = _SETTINGS) -> list[tuple[str, str]]:
    """Dialects with settings: two dialects for each setting, each dialect with most of them."""
    return [(one, given) for at, given in enumerate(names) for n, one in enumerate(DIALECTS) if (at + n) % 3 != 2]


def restarts(out: Recorder) -> None:
    """A new session object over the same store midway, and a pause after which caches are cold."""
    for dialect, given in _pairs():
        work = Work(out, f"life/restart-{dialect}-{given}", given)
        talk = Talk(dialect)
        for number, step in enumerate(steps(f"restart/{given}", 9)):
            talk.take(step)
            if number % 3 == 2:
                work.restart()
            if number == 6:
                work.clock.tick(4_000)
            work.view(copy.deepcopy(talk.messages) if number % 2 else talk.request())
        work.end()


def others(out: Recorder) -> None:
    """A second process over the same store that decides meanwhile."""
    for dialect, given in _pairs():
        work = Work(out, f"life/other-{dialect}-{given}", given)
        other, talk = work.again(), Talk(dialect)
        for number, step in enumerate(steps(f"other/{given}", 8)):
            talk.take(step)
            own = talk.copy()
            if number % 3 == 1:
                own.ask(f"Something of my own {number}.")
                work.view(own.messages, "other", session=other, policy="truncation" if number == 4 else None)
            elif number % 3 == 2:
                doors.keep(other, "bash", {}, text("log", 9_000, number), call_id=step.calls[0].id)
            work.view(talk.messages)
            work.view(talk.messages, "other-after", session=other)
        work.end()


def forks(out: Recorder) -> None:
    """The history is edited in the middle, cut back, and gone on with."""
    for dialect, given in _pairs(("default", "eager", "tight")):
        work = Work(out, f"life/fork-{dialect}-{given}", given)
        talk = Talk(dialect)
        for step in steps(f"fork/{given}", 5):
            talk.take(step)
            work.view(talk.messages)
        fork = talk.copy()
        del fork.messages[len(fork.messages) // 2 :]
        work.view(fork.messages, "half")
        fork.ask("Try it another way.")
        for step in steps(f"fork/{given}/again", 3):
            renamed = tuple(call._replace(id=f"again_{call.id}") for call in step.calls)
            fork.take(step._replace(calls=renamed))
            work.view(fork.messages, "fork")
        work.view(talk.messages, "first")
        changed = talk.copy()
        changed.messages[0 if dialect != "openai_chat" else 1]["content"] = "Something else was asked."
        work.view(changed.messages, "asked-otherwise")
        work.end()


def compactions(out: Recorder) -> None:
    """A client replaces its history by a summary, and goes on."""
    for dialect, given in _pairs(("default", "tight")):
        work = Work(out, f"life/client-summary-{dialect}-{given}", given)
        talk = Talk(dialect)
        for step in steps(f"client/{given}", 6):
            talk.take(step)
            work.view(talk.request())
        work.view(talk.request(), "for-summary", restored=True)
        after = Talk(dialect, words="Summary: six steps were made, and it is nearly done.")
        for step in steps(f"client/{given}/after", 5):
            renamed = tuple(call._replace(id=f"after_{call.id}") for call in step.calls)
            after.take(step._replace(calls=renamed))
            work.view(after.request(), "after")
        work.end()


def summaries(out: Recorder) -> None:
    """Our own compaction in small windows: without a summarizer, with good, forgetful and failing ones."""

    def failing(_: str) -> str:
        raise RuntimeError("no model today")

    async def later(_: str) -> str:
        return "An asynchronous summary of the work so far."

    makers: dict[str, Any] = {
        "none": None,
        "words": lambda told: f"Much was done. {len(told)} characters were told. {told[:200]}",
        "failing": failing,
        "later": later,
        "long": lambda told: told,
    }
    for dialect in DIALECTS:
        for label, summarizer in makers.items():
            given = "tight" if label in ("none", "words") else "summed"
            work = Work(out, f"life/summary-{dialect}-{label}", given, summarizer=summarizer)
            talk = Talk(dialect, "blocks" if label == "words" else "plain")
            for number, step in enumerate(steps(f"summary/{label}", 16, 0.8)):
                talk.take(step)
                if given == "tight":  # words of people do not age, so that only a summary makes room
                    talk.say(text("plain", 1_500, f"said/{number}"))
                    talk.ask(text("plain", 1_800, f"asked/{number}"))
                if number == 10:
                    work.restart()
                if number >= 4:
                    work.view(talk.messages if number % 2 else talk.request())
            work.record(doors.projection(work.session, talk.messages), "projection")
            work.end()


def branches(out: Recorder) -> None:
    """Two agents in one session, interleaved."""
    for dialect, given in _pairs():
        work = Work(out, f"life/branches-{dialect}-{given}", given)
        main, helper = Talk(dialect), Talk(dialect, words="You are a helper. Look around.")
        for number, step in enumerate(steps(f"branches/{given}", 7)):
            main.take(step)
            work.view(main.messages, "main")
            renamed = tuple(call._replace(id=f"h_{call.id}") for call in step.calls)
            helper.take(step._replace(calls=renamed if number % 2 else step.calls))
            work.view(helper.messages, "helper")
        work.end()


def repeats(out: Recorder) -> None:
    """The same result again and again, whole and in part, by the same call and by others."""
    for dialect, given in _pairs(("default", "eager", "truncation")):
        work = Work(out, f"life/repeats-{dialect}-{given}", given)
        talk = Talk(dialect)
        code = text("code", 7_000)
        for number in range(7):
            words = code if number % 3 != 2 else code[: 3_000 + number]
            call = Call(f"r{number}", "read_file", {"path": "/srv/a.py"}, words)
            talk.take(Step("Again.", (call, call._replace(id=f"x{number}", tool="bash"))))
            work.view(talk.messages)
        work.end()


def undone(out: Recorder) -> None:
    """Results that are shown in full again, and pinned ones."""
    for dialect, given in _pairs():
        work = Work(out, f"life/undo-{dialect}-{given}", given)
        talk = Talk(dialect)
        _grow(talk, f"undo/{given}", 8)
        work.view(talk.messages)
        for at, known in enumerate(work.session.artifacts()[:6]):
            act = work.session.undo if at % 2 else work.session.pin
            work.tried("undo" if at % 2 else "pin", lambda act=act, known=known: act(known.artifact_id))
            work.view(talk.messages)
        work.tried("unknown", lambda work=work: work.session.undo("art_1700000000_nobodyknowsthisresult0"))
        for step in steps(f"undo/{given}/more", 3):
            talk.take(step._replace(calls=tuple(call._replace(id=f"u{call.id}") for call in step.calls)))
            work.view(talk.messages)
        work.record(doors.projection(work.session, talk.messages), "projection")
        work.end()


def settled(out: Recorder) -> None:
    """Results that are put on record after they were sent."""
    for dialect, given in _pairs(("default", "eager")):
        work = Work(out, f"life/settles-{dialect}-{given}", given)
        talk = Talk(dialect)
        for number, step in enumerate(steps(f"settles/{given}", 7)):
            talk.take(step)
            work.clock.tick()
            shown = doors.view(work.session, talk.request(), settles=True)
            before = [work.session.is_unsettled, len(doors.record(work.store))]
            if number % 3 != 1:
                work.session.settle()
            work.record([shown, before, work.session.is_unsettled, len(doors.record(work.store))])
        work.end()


def faults(out: Recorder) -> None:
    """A store that fails while it reads or writes, and recovers."""
    ways = (("append",), ("rows",), ("open",), ("take",), ("append", "rows"), ("open_session",), ("find", "decision"))
    for dialect, given in _pairs(("truncation", "eager", "tight")):
        store = doors.FaultyStore()
        work = Work(out, f"life/faults-{dialect}-{given}", given, store=store)
        talk = Talk(dialect)
        for number, step in enumerate(steps(f"faults/{given}", 9)):
            talk.take(step)
            store.broken = set(ways[number // 2 % len(ways)]) if number % 2 else set()
            work.tried(
                "broken" if number % 2 else "works",
                lambda work=work, talk=talk: doors.projection(work.session, talk.messages),
            )
            if number == 5:
                work.restart()
                work.tried("restarted", lambda work=work, talk=talk: doors.view(work.session, talk.request()))
        store.broken = set()
        work.view(talk.messages, "recovered")
        work.end()


def purges(out: Recorder) -> None:
    """The session is purged in the middle; quotas run out."""
    for dialect, given in _pairs(("truncation", "eager", "quota")):
        work = Work(out, f"life/purge-{dialect}-{given}", given)
        talk = Talk(dialect)
        for number, step in enumerate(steps(f"purge/{given}", 7)):
            talk.take(step)
            if number == 3:
                doors.purge(work.store, "s")
            work.record(doors.projection(work.session, talk.messages))
        work.end()


def kept_first(out: Recorder) -> None:
    """Results are kept, their views put into a conversation, and the conversation viewed."""
    for dialect, given in _pairs():
        work = Work(out, f"life/kept-{dialect}-{given}", given)
        talk = Talk(dialect)
        for step in steps(f"kept/{given}", 6):
            talk.call(step)
            shown = [
                call._replace(
                    text=doors.kept(
                        work.session, call.tool, call.arguments, call.text, call_id=call.id, is_error=call.is_error
                    ).content
                )
                for call in step.calls
            ]
            talk.give(step._replace(calls=tuple(shown)))
            work.view(talk.messages)
        work.record(work.session.hydrate(talk.messages), "hydrated")
        artifacts = work.session.artifacts()
        for known in artifacts[:2]:
            answer = doors.recall(work.session, "get_artifact", {"id": known.artifact_id, "lines": "1-40"})
            recalled = Call(f"g{known.artifact_id}", "get_artifact", {"id": known.artifact_id}, json.dumps(answer))
            talk.take(Step("I read it back.", (recalled,)))
            work.view(talk.messages, "recalled")
        work.end()


GROUPS: dict[str, list[Scenario]] = {
    "life-processes": [restarts, others, settled],
    "life-histories": [forks, compactions, branches, repeats],
    "life-summaries": [summaries],
    "life-changes": [undone, kept_first],
    "life-faults": [faults, purges],
}
