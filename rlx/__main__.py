"""``python -m rlx``: the command line without the installed script."""

import sys

from rlx.cli import main

if __name__ == "__main__":
    sys.exit(main())
