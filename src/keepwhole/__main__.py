"""`keepwhole` and `python -m keepwhole`: the command line, which Ctrl-C ends without a traceback from the start."""

import os
import sys


def start() -> int:
    """Run the command line; the imports take long enough to be interrupted."""
    try:
        open_missing_streams()
        from keepwhole.apps.cli.main import main

        return main()
    except KeyboardInterrupt:
        return 130


def open_missing_streams() -> None:
    """Open `/dev/null` for a standard stream that the caller has closed, as in `keepwhole status >&-`.

    Otherwise the next file that is opened gets its number, and what is printed would be written into that file.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_RDWR)  # the lowest free number: the one of the closed stream
            setattr(sys, name, os.fdopen(opened, "w" if number else "r", encoding="utf-8"))


if __name__ == "__main__":
    sys.exit(start())
