"""Imports that take half their time: what libraries load or write and nobody here uses is left out.

Measured on two cores: Gradio 2.9 s instead of 1.2 s, NLTK 1.2 s instead of 0.2 s. These are for programs of
our own; a library must not do this to the program that imports it.
"""

from __future__ import annotations

import gc
import inspect
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from threading import get_ident
from types import ModuleType
from typing import Any

OPTIONAL_FOR_NLTK = ("scipy", "sklearn", "matplotlib", "pandas", "numpy")


def import_nltk() -> None:
    """Import NLTK's stemmer and tagger; its clustering, statistics and plots stay without their libraries."""
    with hidden(*OPTIONAL_FOR_NLTK):
        import_module("nltk.stem.porter")
        import_module("nltk.tag.perceptron")


def import_gradio() -> None:
    """Import Gradio as if its classes had no source files: it would rewrite a stub for each."""
    found = inspect.getfile

    def getfile(thing: Any) -> str:
        if getattr(thing, "__module__", "").startswith("gradio."):
            raise OSError(f"no source for {thing!r}")
        return found(thing)

    inspect.getfile = getfile  # type: ignore[assignment]
    try:
        import_module("gradio")
    finally:
        inspect.getfile = found


@contextmanager
def uncollected() -> Iterator[None]:
    """Import and load without garbage collection: there is no garbage, and what is loaded stays to the end.

    Collecting takes a fifth of the time of an import, and later each full collection would go through all of
    it again.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if enabled:
            gc.enable()


@contextmanager
def pages_only() -> Iterator[None]:
    """Build pages that will be mounted, and leave to the mounting what it does itself.

    Gradio describes all pages and makes a web application of them whenever one is complete, and again for
    the queue. Seven pages take 0.4 s instead of 1.7 s.
    """
    from gradio.blocks import Blocks
    from gradio.routes import App

    describe, make = Blocks.get_config_file, App.__dict__["create_app"]
    Blocks.get_config_file = _nothing  # type: ignore[assignment, method-assign]
    App.create_app = staticmethod(lambda *_, **__: None)  # type: ignore[assignment, method-assign]
    try:
        yield
    finally:
        Blocks.get_config_file = describe  # type: ignore[method-assign]
        App.create_app = make  # type: ignore[method-assign]


def _nothing(_: object) -> Any:
    return {}


@contextmanager
def hidden(*names: str) -> Iterator[None]:
    """Let the import of `names` fail in this thread, as if they were not installed; what is loaded stays."""
    finder = _Absent(frozenset(name for name in names if name not in sys.modules))
    sys.meta_path = [finder, *sys.meta_path]  # another list: other threads may be looking through this one
    try:
        yield
    finally:
        sys.meta_path = [other for other in sys.meta_path if other is not finder]


@dataclass(frozen=True, eq=False)
class _Absent(MetaPathFinder):
    """Finds that packages are not there, for one thread."""

    names: frozenset[str]
    thread: int = field(default_factory=get_ident)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] in self.names and get_ident() == self.thread:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        return None
