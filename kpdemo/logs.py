"""What commands that take long tell of their progress on standard error."""

from __future__ import annotations

import logging


def tell_progress() -> None:
    """Show our own lines from INFO on, and of the libraries only their warnings.

    As with `logging.basicConfig`, a process that shows its logs already goes on as it does.
    """
    if not logging.getLogger().handlers:
        logging.basicConfig(format="%(message)s")
        logging.getLogger("kpdemo").setLevel(logging.INFO)
