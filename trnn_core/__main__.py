"""`python -m trnn_core VERB ...`: the same verbs as the pages, without a browser."""

import sys

from trnn_core.cli import main

if __name__ == "__main__":
    sys.exit(main())
