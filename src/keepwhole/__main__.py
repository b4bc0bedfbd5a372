"""`keepwhole` and `python -m keepwhole`: the command line, which Ctrl-C ends without a traceback from the start."""

import sys


def start() -> int:
    """Run the command line; the imports take long enough to be interrupted."""
    try:
        from keepwhole.apps.cli.main import main

        return main()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(start())
