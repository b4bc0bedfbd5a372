"""`keepwhole`: find the command, import only that one, and turn errors into messages and exit codes."""

import os
import sys

from keepwhole.errors import KeepwholeError, NotFound, StoreError
from keepwhole.install import POSIX_HINT, is_posix

COMMANDS: dict[str, str] = {
    "demo": "see what it does, in under ten seconds",
    "replay": "what policies would have cost and kept on the logs you already have",
    "import": "take logs that agents wrote into the record, to search and show past runs",
    "run": "run a command, keep all its output, print what fits",
    "keep": "keep what comes in on standard input, print what fits",
    "cut": "what a model would see of a file, what is left out and why",
    "view": "what would be sent of a conversation, beside what is kept",
    "show": "what a tool really returned, and what was shown of it",
    "trace": "one call of a tool, how it ended, and its raw output in pages",
    "sent": "what was sent to a provider, any request again byte for byte, and what came back",
    "search": "what was kept that has to do with a question, and how to read more",
    "explain": "which rule edited what, when, what it saved, how to undo it",
    "undo": "show a result whole again",
    "status": "how full the context window is, the three thresholds, and what the input cost and saved",
    "rolling-context": "switch ageing by steps on or off; remembered",
    "wrap": "run an agent with what it sends viewed and kept, and say at its end what that came to",
    "report": "sessions that were viewed beside those held out: tokens, cache, cost",
    "proxy": "stand between agents and their providers: any agent gets it without a change",
    "inspect": "a local page: what was kept, shown and sent, step by step and live",
    "serve": "the proxy and the page in one process; with `--sample` there is something to see at once",
    "mcp": "serve the recall tools and `keep` to MCP clients",
    "mcp-gateway": "stand in front of other MCP servers, keep what their tools return, pass on what fits",
    "artifacts": "list, show, search and clean results that were cut",
    "sessions": "list, show, verify, purge, export and import sessions",
    "forget": "remove one result, or a string wherever it was kept, for good",
    "config": "show the settings and where they come from, or check them",
    "store": "copy, back up and restore a whole record; make the schema of one on a server",
    "doctor": "check that the record is safe here",
    "hook": "let coding agents keep their results here, by their own hooks",
    "trust": "approve what the files of a folder decide: where requests go, where the record is",
    "init": "give this folder a record of its own",
}
EXIT_USAGE = 2
EXIT_NOT_FOUND = 3
EXIT_STORE = 4
EXIT_INTERRUPTED = 130
EXIT_PIPE = 141


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
    from keepwhole.apps.cli.parser import parser_for  # takes longer than a hook may

    parser = parser_for(next((word for word in argv if word in COMMANDS), None), COMMANDS)
    args = parser.parse_args(argv)
    if args.command is None:
        parser.print_help()
        return EXIT_USAGE
    try:
        return args.act(args)
    except KeepwholeError as error:
        print(f"keepwhole: {_printable(str(error))}", file=sys.stderr)
        return _exit_code(error)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_PIPE


def _exit_code(error: KeepwholeError) -> int:
    if isinstance(error, NotFound):
        return EXIT_NOT_FOUND
    return EXIT_STORE if isinstance(error, StoreError) else EXIT_USAGE


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() or char == "\n" else "?" for char in text)
