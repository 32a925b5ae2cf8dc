"""Progress of long commands on standard error."""

from __future__ import annotations

import logging


def tell_progress() -> None:
    """Show our own log lines from INFO on, and only the warnings of libraries.

    As with `logging.basicConfig`, nothing changes in a process that has log handlers already.
    """
    if not logging.getLogger().handlers:
        logging.basicConfig(format="%(message)s")
        logging.getLogger("kpdemo").setLevel(logging.INFO)
