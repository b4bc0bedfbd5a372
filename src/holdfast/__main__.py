"""`python -m holdfast`: the command line."""

import sys

from holdfast.apps.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
