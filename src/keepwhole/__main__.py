"""`python -m keepwhole`: the command line."""

import sys

from keepwhole.apps.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
