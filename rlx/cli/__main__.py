"""``python -m rlx.cli``: the command line without the installed script."""

import sys

from rlx.cli import main

sys.exit(main())
