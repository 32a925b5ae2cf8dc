"""Paths without their symbolic links."""

from __future__ import annotations

import errno
import os
from pathlib import Path


def resolved(path: Path) -> Path:
    """Where the path leads.

    Raises:
        OSError: links lead in a circle, for which Python before 3.13 has a RuntimeError.
    """
    try:
        return path.resolve()
    except RuntimeError:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path)) from None
