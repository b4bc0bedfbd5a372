"""`keepwhole`: find the command, import only that one, and turn errors into messages and exit codes."""

import errno
import io
import os
import sys
from typing import TextIO

from keepwhole.errors import KeepwholeError, NotFound, StoreError
from keepwhole.install import POSIX_HINT, is_posix

GROUPS: dict[str, dict[str, str]] = {
    "look first": {
        "demo": "see what it does, in under ten seconds",
        "replay": "compare policies on your own logs: what each would have cost and hidden",
        "inspect": "open a local page that shows what was kept, shown and sent, step by step, live",
    },
    "run an agent": {
        "wrap": "run an agent once, shorten and keep what it sends, and print what that saved",
        "proxy": "run a proxy between agents and their providers; the agents need no change",
        "serve": "run the proxy and the page in one process; `--sample` adds a made-up session",
        "hook": "keep the results of a coding agent through its own hooks",
        "mcp": "serve the recall tools and `keep` to MCP clients",
        "mcp-gateway": "run other MCP servers, keep what their tools return, and pass on what fits",
    },
    "read": {
        "sessions": "list, show, verify, purge, export and import sessions",
        "artifacts": "list, show, search and clean results that were shortened",
        "show": "show one result: what the tool returned, and what the model saw of it",
        "trace": "show one call: its arguments, how it ended, and its output in pages",
        "search": "find kept results that are relevant to a question, and how to read more",
        "sent": "list requests and answers, or print one byte for byte",
        "explain": "say which rule shortened what, when, what it saved, and how to undo it",
        "status": "say how full the context window is, and what the input cost and saved",
        "report": "compare sessions with Keepwhole to those held out: tokens, cache, cost",
    },
    "keep": {
        "run": "run a command, keep all its output, and print what fits",
        "keep": "keep standard input, and print what fits",
        "import": "add logs that agents wrote to the record, to search and show past runs",
        "cut": "show what a model would see of a file, what is left out, and why",
        "view": "show what would be sent of a conversation, next to what is kept",
        "undo": "show a result in full again",
    },
    "look after": {
        "doctor": "check that the record is safe here",
        "config": "show the settings and where they come from, or check them",
        "store": "copy, back up and restore a record; set one up on a server",
        "init": "give this folder a record of its own",
        "trust": "approve what a folder's files decide: where requests go, where the record is",
        "forget": "permanently delete one result, or a string wherever it was kept",
        "rolling-context": "turn aging by steps on or off, for all later commands",
        "completion": "print a script that completes commands and options in bash, zsh or fish",
    },
}
COMMANDS: dict[str, str] = {name: summary for group in GROUPS.values() for name, summary in group.items()}
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_NOT_FOUND = 3
EXIT_STORE = 4
EXIT_INTERRUPTED = 130
EXIT_PIPE = 141
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit code."""
    argv = sys.argv[1:] if argv is None else argv
    if not is_posix():
        print(f"keepwhole: {POSIX_HINT}", file=sys.stderr)
        return EXIT_USAGE
    if argv[:2] == ["hook", "run"]:
        from keepwhole.apps.hooks.run import CLIENTS, run_and_leave

        if len(argv) == 3 and argv[2] in CLIENTS:
            run_and_leave(argv[2])
    try:
        return _run(argv)
    except KeepwholeError as error:
        from keepwhole.apps.cli.advice import without_own_advice

        print(f"keepwhole: {_printable(without_own_advice(str(error), argv))}", file=sys.stderr)
        return _exit_code(error)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        _drop_output()
        return EXIT_PIPE
    except OSError as error:
        print(f"keepwhole: {_printable(_about_system(error, argv))}", file=sys.stderr)
        return EXIT_FAILED


def _drop_output() -> None:
    """Send what is still to be printed nowhere, so that the end of the process does not fail at it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _about_system(error: OSError, words: list[str]) -> str:
    """What the system refused, and the next step."""
    why = error.strerror or str(error)
    if error.filename is not None:
        return f"`{os.fsdecode(error.filename)}` cannot be used ({why}). Check the path and its permissions."
    if isinstance(error, FileNotFoundError):
        return "The current folder no longer exists. Change to another one with `cd`."
    if error.errno in _FULL:
        _drop_output()
        return f"The output cannot be written ({why}). Free some space, or send it somewhere else."
    next_step = "Try again later." if words[:1] == ["doctor"] else "`keepwhole doctor` checks the record."
    return f"The system refused what this command needs ({why}). {next_step}"


def _run(argv: list[str]) -> int:
    from keepwhole.apps.cli.parser import parser_for  # takes longer than a hook may

    _replace_unknown_characters(sys.stdout)
    first = next((word for word in argv if not word.startswith("-")), None)
    parser = parser_for(first if first in COMMANDS else None, GROUPS)
    parser.check_first(argv)
    args = parser.parse_args(argv)
    args.words = argv
    if args.command is None:
        parser.print_help()
        return EXIT_USAGE
    code = args.act(args)
    sys.stdout.flush()
    return code


def _replace_unknown_characters(output: TextIO) -> None:
    """Let what the locale has no character for be printed as `?`, help included."""
    if isinstance(output, io.TextIOWrapper) and (output.errors == "strict" or not _is_unicode(output.encoding)):
        output.reconfigure(errors="replace")


def _is_unicode(encoding: str) -> bool:
    return encoding.lower().startswith("utf")


def _exit_code(error: KeepwholeError) -> int:
    if isinstance(error, NotFound):
        return EXIT_NOT_FOUND
    return EXIT_STORE if isinstance(error, StoreError) else EXIT_USAGE


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() or char == "\n" else "?" for char in text)
