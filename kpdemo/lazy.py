"""A predictor that is loaded when it is first asked."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from functools import lru_cache
from threading import Lock

from kpdemo.errors import ModelLoadError
from kpdemo.forking import keep_forks_going
from kpdemo.forwarding import Forwarding
from kpdemo.types import Predictor


class LazyPredictor(Forwarding):
    """A predictor that is loaded when it is first needed, once, however many threads ask.

    It pickles as what loads it, so `load` must pickle too, and is loaded again where it is unpickled.
    """

    def __init__(self, name: str, load: Callable[[], Predictor]) -> None:
        self._name = name
        self._load = load
        self._loaded: Predictor | None = None
        self._process = 0  # which loaded it
        self._lock = Lock()

    def __reduce__(self) -> tuple[Callable[[bytes], LazyPredictor], tuple[bytes]]:
        return _received, (pickle.dumps((self._name, self._load)),)

    @property
    def name(self) -> str:
        return self._name

    def _predictor(self) -> Predictor:
        with self._lock:
            if self._loaded is None:
                self._loaded = self._load()
                self._process = os.getpid()
                keep_forks_going()
            elif self._process != os.getpid() and _on_gpu(self._loaded):
                raise ModelLoadError(
                    f"The model {self._name!r} was loaded onto the GPU before this process was forked, and a "
                    "forked process cannot use it: start processes with spawn, or before the first "
                    "prediction."
                )
            return self._loaded


@lru_cache(maxsize=4)
def _received(pickled: bytes) -> LazyPredictor:
    """The same object each time: a pool's worker is sent the predictor again with each piece of its work."""
    return LazyPredictor(*pickle.loads(pickled))


def _on_gpu(loaded: Predictor) -> bool:
    """Whether the model itself is on a GPU; one that delegates is not asked: that would load others."""
    return not isinstance(loaded, Forwarding) and loaded.device == "cuda"
