"""`keepwhole run -- CMD…`: run it, keep all its output as it streams, print what fits, exit with its code."""

import argparse
import os
import shlex
import signal
import sys

from keepwhole.apps.cli import screen
from keepwhole.apps.cli.command_context import CommandContext, add_options
from keepwhole.errors import StoreError, UsageError
from keepwhole.record.kept_result import KeptResult, unstored_chunks
from keepwhole.session import Session
from keepwhole.store.feed import pipe

DEFAULT_TOOL = "execute_command"
_ONE_WORD = "The quotes make it one word: give `keepwhole run -- {command}`."
_OUR_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    add_options(parser)
    parser.add_argument("--tool", default=DEFAULT_TOOL, help=f"name of the tool to record (default: {DEFAULT_TOOL})")
    parser.add_argument("argv", nargs=argparse.REMAINDER, metavar="-- CMD…", help="the command and its arguments")
    parser.set_defaults(act=run)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    argv: list[str] = args.argv[1:] if args.argv[:1] == ["--"] else args.argv
    if not argv or not argv[0]:
        raise UsageError("Say what to run: `keepwhole run -- ls -l`.")
    context = CommandContext(args)
    session = context.shell_session()
    try:
        child = _Child(argv)
    except OSError as error:
        advice = _ONE_WORD.format(command=argv[0]) if argv[0].split()[1:] else "Check its name, or give its path."
        screen.warn(f"keepwhole: `{argv[0]}` cannot be run ({error.strerror}). {advice}")
        return 127 if isinstance(error, FileNotFoundError) else 126
    try:
        return _keep(session, args, argv, child)
    finally:
        context.close()


def _keep(session: Session, args: argparse.Namespace, argv: list[str], child: "_Child") -> int:
    output = pipe(child.output)
    try:
        shown = session.keep(args.tool, {"command": shlex.join(argv)}, output, exit_code=child.wait, on_trouble="raise")
    except StoreError as error:
        screen.pass_on(unstored_chunks(output, error))
        screen.warn(f"keepwhole: {error}")
        return child.wait()
    code = child.wait()
    if args.json:
        screen.print_json({"exit_code": code, **result_as_dict(shown)})
    else:
        screen.show(shown.content)
    return code


def result_as_dict(shown: KeptResult) -> dict[str, object]:
    """The output of `run` and `keep` for programs."""
    metadata = shown.metadata
    return {
        "content": shown.content,
        "trace_id": shown.trace_id,
        "artifact_id": shown.artifact_id,
        "chars": metadata.original_size,
        "shown_chars": metadata.truncated_size,
        "strategy": metadata.strategy_used,
        "is_cut": metadata.was_truncated,
    }


class _Child:
    """A running command whose output, both streams in the order written, comes through one pipe."""

    def __init__(self, argv: list[str]) -> None:
        self.output, writing = os.pipe()
        sys.stdout.flush()
        restored = (signal.SIGPIPE, signal.SIGINT)
        previous = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            actions = ((os.POSIX_SPAWN_DUP2, writing, 1), (os.POSIX_SPAWN_DUP2, writing, 2))
            self._pid = os.posix_spawnp(argv[0], argv, os.environ, file_actions=actions, setsigdef=restored)
        except OSError:
            signal.signal(signal.SIGINT, previous)
            os.close(self.output)
            raise
        finally:
            os.close(writing)
        self._code: int | None = None
        for number in _OUR_SIGNALS:
            signal.signal(number, self._pass_on)

    def wait(self) -> int:
        """The command's exit code, as a shell reports it."""
        if self._code is None:
            _, status = os.waitpid(self._pid, 0)
            code = os.waitstatus_to_exitcode(status)
            self._code = code if code >= 0 else 128 - code
        return self._code

    def _pass_on(self, number: int, frame: object) -> None:
        """Pass a signal on, so that the command ends first and its output until then is kept."""
        if self._code is None:
            os.kill(self._pid, number)
