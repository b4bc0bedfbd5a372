"""Does what pages say, block after block, and says how long it took: `python visit.py [--stand-in make-test=…] PAGE…`.

Runs in an empty folder of a user who has only what the page asks for, so it needs nothing but Python. Every command
gets a terminal, as a person has one: a question is answered with yes, and a server is visited and ended with Ctrl-C.
Python blocks are one program, the YAML of a page is the user's settings. Text blocks are commands that need an agent or
a server of the reader's; only the lines that begin with `keepwhole` or a variable are commands.
"""

import argparse
import http.cookiejar
import os
import pty
import re
import select
import shlex
import signal
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.M | re.S)
_COMMANDS = {
    "sh": re.compile(r"(.+)"),
    "console": re.compile(r"\$ (.+)"),
    "text": re.compile(r"((?:keepwhole |KEEPWHOLE_).+)"),
}
"""Which lines of a block are commands."""
_PROMISE = re.compile(r"^\*(One minute|Five minutes|Half an hour)\.", re.M)
_SECONDS = {"One minute": 60, "Five minutes": 300, "Half an hour": 1800}
_ADDRESS = re.compile(rb"http://127\.0\.0\.1:\d+/[^\s\x1b]*")
_QUESTION = re.compile(rb"\[[Yy]/[Nn]\] ?$")
_LONGEST = 1_200.0
_INTERRUPTED = (0, 2, 130, -signal.SIGINT)
"""How a server ends after Ctrl-C: by itself, and below make."""


@dataclass(frozen=True)
class Step:
    """One thing to do: a command line, a program in Python or settings."""

    kind: str
    code: str


@dataclass(frozen=True)
class Outcome:
    """How a step ended."""

    code: int
    seconds: float
    output: str


def steps(page: str) -> Iterator[Step]:
    """What a page says to do, in order.

    >>> [step.code for step in steps("```sh\\nmake run  # look\\n```\\n```text\\nkeepwhole status\\nx = 1\\n```\\n")]
    ['make run', 'keepwhole status']
    """
    program = ""
    for kind, code in _BLOCK.findall(page):
        if kind == "python":
            program += code
            yield Step(kind, program)
        elif kind == "yaml":
            yield Step(kind, code)
        for line in code.splitlines():
            if kind in _COMMANDS and (found := _COMMANDS[kind].match(line)):
                yield Step("command", found[1].split("  #")[0].strip())


def promised(page: str) -> int | None:
    """The seconds that a page says it takes, where it says so."""
    found = _PROMISE.search(page)
    return _SECONDS[found[1]] if found else None


def do(step: Step) -> Outcome:
    """Do one step."""
    if step.kind == "yaml":
        settings = Path.home() / ".keepwhole/keepwhole.yaml"
        settings.parent.mkdir(exist_ok=True)
        settings.write_text(step.code, encoding="utf-8")
        return Outcome(0, 0.0, "")
    if step.kind == "python":
        program = Path.home() / "page.py"
        program.write_text(step.code, encoding="utf-8")
        return in_terminal(f"python3 {shlex.quote(str(program))}")
    return in_terminal(step.code)


def in_terminal(command: str) -> Outcome:
    """Run a command line in a terminal of its own."""
    started, output, asked = time.monotonic(), b"", 0
    process, terminal = pty.fork()
    if process == 0:
        os.execv("/bin/sh", ["/bin/sh", "-c", command])
    visited = interrupted = False
    while time.monotonic() - started < _LONGEST:
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                piece = os.read(terminal, 1 << 16)
            except OSError:  # the terminal is closed: the command has ended
                piece = b""
            if not piece:
                break
            output += piece
        if _QUESTION.search(output[asked:]):
            asked = len(output)
            os.write(terminal, b"y\n")
        if _serves(command) and not visited and (found := _ADDRESS.search(output)):
            visited = True
            visit(found[0].decode())
            os.write(terminal, b"\x03")
            interrupted = True
    else:
        os.kill(process, signal.SIGKILL)
    ended = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    os.close(terminal)
    text = output.decode("utf-8", "replace")
    seconds = time.monotonic() - started
    well = interrupted and ended in _INTERRUPTED and "Traceback" not in text
    return Outcome(0 if well else ended, seconds, text)


def _serves(command: str) -> bool:
    """Whether a command goes on until somebody ends it."""
    return command in ("make run", "keepwhole inspect", "keepwhole serve --sample")


def visit(address: str) -> None:
    """Open a page as a browser does, which keeps the cookie that its address brings."""
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
    )
    with opener.open(address, timeout=60) as answer:
        if b"<html" not in answer.read().lower():
            raise SystemExit(f"{address} is no page")


def visit_page(path: Path, stand_ins: dict[str, str]) -> int:
    """Do all of one page; return how many of its steps failed."""
    page, total, failed = path.read_text(encoding="utf-8"), 0.0, 0
    for step in steps(page):
        wanted = stand_ins.get(step.code, step.code)
        outcome = do(Step(step.kind, wanted)) if wanted else None
        shown = step.code.splitlines()[-1] if step.kind == "python" else step.code.splitlines()[0]
        if outcome is None:
            print(f"       – {shown}  (left out)", flush=True)
            continue
        total += outcome.seconds
        failed += outcome.code != 0
        instead = f"  (as `{wanted}`)" if wanted != step.code else ""
        print(f"{outcome.seconds:6.1f} s {'✓' if outcome.code == 0 else '✗'} {shown}{instead}", flush=True)
        if outcome.code:
            print(outcome.output[-4_000:], flush=True)
    limit = promised(page)
    late = limit is not None and total > limit
    said = f", {limit} s promised{': TOO LONG' if late else ''}" if limit else ""
    print(f"{total:6.1f} s = {path}{said}\n", flush=True)
    return failed + late


def main() -> int:
    """Visit the pages named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", nargs="+", type=Path)
    parser.add_argument("--stand-in", action="append", default=[], metavar="LINE=COMMAND", help="nothing: left out")
    args = parser.parse_args()
    stand_ins = dict(pair.split("=", 1) for pair in args.stand_in)
    return 1 if sum(visit_page(page, stand_ins) for page in args.pages) else 0


if __name__ == "__main__":
    sys.exit(main())
