"""Predictions that the public page hands over, kept for a while until an administrator has confirmed them.

Whoever pasted the texts may be nobody that this server knows, so nothing of them goes to the database before.
What is kept here is small and short-lived, and only who has the address, and is signed in, gets it.
"""

from __future__ import annotations

import json
import secrets
import zlib
from collections.abc import Callable, Mapping
from threading import Lock
from time import monotonic
from typing import Any

from annotation.errors import HandOverError
from annotation.prediction_files import read_bundle
from annotation.predictions import PredictedDocument

KEPT_MINUTES = 60
LARGEST = 32 * 1024 * 1024
"""Bytes of JSON of one bundle."""
MOST_KEPT = 64 * 1024 * 1024
"""Bytes of all bundles as they are kept, compressed; the oldest go first."""
PATH = "/annotate/send/"
_TOKEN_BYTES = 24


class HandOvers:
    """Keeps bundles under addresses that nobody can guess; used from many threads."""

    def __init__(self, *, seconds: Callable[[], float] = monotonic) -> None:
        self._seconds = seconds
        self._kept: dict[str, tuple[float, bytes]] = {}
        self._lock = Lock()

    def keep(self, bundle: Mapping[str, Any]) -> str:
        """The address where `bundle` can be sent on to a project, for `KEPT_MINUTES`.

        Raises:
            ImportFileError: it is no bundle of predictions.
            HandOverError: it is too large.
        """
        read_bundle(bundle)
        content = json.dumps(bundle, ensure_ascii=False).encode()
        if len(content) > LARGEST:
            raise HandOverError(
                f"The predictions have {len(content):,} bytes, and the page sends at most {LARGEST:,}: send "
                "fewer documents, or use the command line (python -m annotation send), which has no limit."
            )
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        with self._lock:
            self._kept[token] = (self._seconds(), zlib.compress(content))
            self._drop_old()
        return f"{PATH}{token}"

    def documents(self, token: str) -> tuple[PredictedDocument, ...]:
        """What was handed over under `token`; it stays.

        Raises:
            HandOverError: there is nothing, or it was too long ago.
        """
        with self._lock:
            self._drop_old()
            found = self._kept.get(token)
        if found is None:
            raise HandOverError(
                f"These predictions are not kept any more, after {KEPT_MINUTES} minutes or a restart: "
                "predict and send them again."
            )
        return read_bundle(json.loads(zlib.decompress(found[1])))

    def drop(self, token: str) -> None:
        """Forget what was handed over; it arrived."""
        with self._lock:
            self._kept.pop(token, None)

    def _drop_old(self) -> None:
        oldest_first = list(self._kept)
        size = sum(len(content) for _, content in self._kept.values())
        for token in oldest_first:
            since, content = self._kept[token]
            if size <= MOST_KEPT and self._seconds() - since < KEPT_MINUTES * 60:
                break
            del self._kept[token]
            size -= len(content)
