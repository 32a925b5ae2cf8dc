"""Predictions that the public page hands over, kept for a while until an administrator has confirmed them.

Whoever pasted the texts may be nobody that this server knows, so nothing of them goes to the database before.
What is kept here is small and short-lived, and only who has the address, and is signed in, gets it.
"""

from __future__ import annotations

import json
import secrets
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock
from time import monotonic
from typing import Any

from annotation.errors import HandOverError
from annotation.files.predictions import read_bundle
from annotation.predictions.pool import PredictedDocument
from annotation.services.access.attempts import address_key

KEPT_MINUTES = 60
REMEMBERED_HOURS = 24
"""Where a bundle was sent, for whoever comes back to its address."""
LARGEST = 32 * 1024 * 1024
"""Bytes of JSON of one bundle."""
MOST_OF_ONE = LARGEST
"""Bytes of the bundles of one sender as they are kept, compressed."""
MOST_KEPT = 8 * LARGEST
"""The same of all senders. What is too much is refused: nothing that is kept goes before its time."""
PATH = "/annotate/send/"
_TOKEN_BYTES = 24


@dataclass(frozen=True, slots=True)
class _Kept:
    sender: str
    since: float
    content: bytes


class HandOvers:
    """Keeps bundles under addresses that nobody can guess; used from many threads."""

    def __init__(self, *, seconds: Callable[[], float] = monotonic) -> None:
        self._seconds = seconds
        self._kept: dict[str, _Kept] = {}
        self._sent: dict[str, tuple[float, int]] = {}
        self._lock = Lock()

    def keep(self, bundle: Mapping[str, Any], sender: str = "") -> str:
        """The address where `bundle` can be sent on to a project, for `KEPT_MINUTES`.

        Args:
            sender: the network address that it comes from.

        Raises:
            ImportFileError: it is not a bundle of predictions.
            HandOverError: it is too large, or there are too many.
        """
        read_bundle(bundle)
        content = json.dumps(bundle, ensure_ascii=False).encode()
        if len(content) > LARGEST:
            raise HandOverError(
                f"The predictions have {len(content):,} bytes, and the page sends at most {LARGEST:,}: send "
                "fewer documents, or use the command line (python -m annotation send), which has no limit."
            )
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        kept = _Kept(address_key(sender), self._seconds(), zlib.compress(content))
        with self._lock:
            self._drop_old()
            self._check_room(kept)
            self._kept[token] = kept
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
                f"These predictions are no longer kept (after {KEPT_MINUTES} minutes, or a restart): predict "
                "and send them again; pairs that a project has already do not come twice."
            )
        return read_bundle(json.loads(zlib.decompress(found.content)))

    def arrived(self, token: str, project_id: int) -> None:
        """Forget what was handed over, and remember for a day to which project it went."""
        with self._lock:
            self._drop_old()
            self._kept.pop(token, None)
            self._sent[token] = (self._seconds(), project_id)

    def project_of(self, token: str) -> int | None:
        """The project that was sent to from here, if any was of late."""
        with self._lock:
            self._drop_old()
            return self._sent.get(token, (0.0, None))[1]

    def _check_room(self, new: _Kept) -> None:
        mine = sum(len(kept.content) for kept in self._kept.values() if kept.sender == new.sender)
        if mine + len(new.content) > MOST_OF_ONE:
            raise HandOverError(
                "Too many predictions from your address are already waiting: choose projects for those, come "
                f"back in {KEPT_MINUTES} minutes, or use the command line (python -m annotation send)."
            )
        if sum(len(kept.content) for kept in self._kept.values()) + len(new.content) > MOST_KEPT:
            raise HandOverError(
                f"The server cannot keep more predictions for now: come back in {KEPT_MINUTES} minutes, or "
                "use the command line (python -m annotation send)."
            )

    def _drop_old(self) -> None:
        now = self._seconds()
        last, last_sent = now - KEPT_MINUTES * 60, now - REMEMBERED_HOURS * 3600
        self._sent = {token: sent for token, sent in self._sent.items() if sent[0] > last_sent}
        self._kept = {token: kept for token, kept in self._kept.items() if kept.since > last}
