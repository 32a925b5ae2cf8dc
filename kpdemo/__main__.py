"""`python -m kpdemo`."""

import sys

from kpdemo.cli import main

if __name__ == "__main__":
    sys.exit(main())
