"""Facts written as logs."""

import random

from bench.probes.language import Language
from bench.probes.recipe import Fact


def log(facts: list[Fact], chance: random.Random, language: Language) -> str:
    """A log in which needles are errors with a stack; some other lines only say that there are no errors."""
    return "".join(_event(at, fact, chance, language.error) for at, fact in enumerate(facts))


def _event(at: int, fact: Fact, chance: random.Random, error: str) -> str:
    level = error if fact.secret else chance.choice(("INFO", "INFO", "DEBUG", "WARN"))
    words = f"{fact.words}, {chance.choice(('0 errors', 'in time', 'no failures'))}" if at % 97 == 0 else fact.words
    line = f"{_time(at)} {level} [{chance.randint(1, 9)}] "
    stack = "    at run (main.ts:12)\n    at start (boot.ts:7)\n" if fact.secret else ""
    return f"{line}{fact.words if fact.secret else words}\n{stack}"


def _time(at: int) -> str:
    return f"2026-02-03 {at // 3600 % 24:02d}:{at // 60 % 60:02d}:{at % 60:02d}"


def noisy(facts: list[Fact], chance: random.Random, language: Language) -> str:
    """A log in which every twentieth line is an irrelevant error."""
    return "".join(
        _event(at, fact, chance, language.error)
        if at % 20 or fact.secret
        else f"2026-02-03 00:00:{at % 60:02d} ERROR [3] heartbeat failed: {language.sentence(chance, 2, 4)}\n"
        for at, fact in enumerate(facts)
    )


_AGAIN = (
    "ERROR [http-nio-8080-exec-{n}] c.a.pool.Watcher - Exception while leasing connection {h}: pool exhausted",
    "ERROR [http-nio-8080-exec-{n}] c.a.web.Filter - user {w} failed to sign in from 10.0.{n}.7",
    "CRITICAL [timer-{n}] c.a.jobs.Beat - job {h} failed, attempt {n} of 5",
)


def flood(facts: list[Fact], chance: random.Random, language: Language) -> str:
    """A log in which half of the lines are the same three errors with other ids, and the needle has no stack."""
    lines: list[str] = []
    for at, fact in enumerate(facts):
        n = chance.randint(1, 99)
        if fact.secret:
            lines.append(f"{_time(at)} {language.error} [http-nio-8080-exec-{n}] c.a.web.Task - {fact.words}\n")
        elif chance.random() < 0.5:
            again = chance.choice(_AGAIN).format(
                n=n, h=f"{chance.getrandbits(48):012x}", w=chance.choice(language.words)
            )
            lines.append(f"{_time(at)} {again}\n")
        else:
            lines.append(f"{_time(at)} INFO [http-nio-8080-exec-{n}] c.a.web.Task - {fact.words}\n")
    return "".join(lines)


def exits(facts: list[Fact], chance: random.Random, language: Language) -> str:
    """The output of many processes; only the needle's has an exit code other than 0, and none prints "error"."""
    lines: list[str] = []
    for at, fact in enumerate(facts):
        code = chance.choice((1, 2, 137, 139)) if fact.secret else 0
        how = chance.choice(("exited with code {}", "exit status {}", "exit code: {}"))
        words = f"{fact.secret} {how.format(code)}" if fact.secret or at % 9 == 0 else fact.words
        lines.append(f"{_time(at)} worker-{at % 7} {words}\n")
    return "".join(lines)
