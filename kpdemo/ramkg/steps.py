"""The steps of a run: each is computed once, and its result kept in a file."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from kpdemo.errors import TrainingError
from kpdemo.json_text import parse_json
from kpdemo.ramkg.iterate import Retrieved
from kpdemo.storage import replace_file

logger = logging.getLogger(__name__)

FoundPassages = list[list[Retrieved]]


def begin_run(folder: Path, fingerprint: str) -> None:
    """Raises:
    TrainingError: the folder holds a run of another fingerprint.
    """
    if once(folder, "run", lambda: {"fingerprint": fingerprint}) != {"fingerprint": fingerprint}:
        raise TrainingError(
            f"{folder} holds a run with other data or settings: give another folder or delete it."
        )


def once(folder: Path, name: str, work: Callable[[], Any]) -> Any:
    """What `work()` gave the first time, as JSON; its file is written whole when the step is over."""
    path = folder / f"{name}.json"
    if not path.is_file():
        logger.info("%s", name)
        replace_file(path, json.dumps(work(), ensure_ascii=False).encode())
    try:
        return parse_json(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise TrainingError(
            f"{path} cannot be read ({error}): delete it to have its step done again."
        ) from error


def found_once(folder: Path, name: str, search: Callable[[], FoundPassages]) -> FoundPassages:
    """What `search()` found the first time: another number of threads gives other last digits.

    Args:
        folder: of a run that `iterate` has begun there, and knows from others.
        name: of the step.
    """

    def work() -> list[list[dict[str, Any]]]:
        return [[asdict(passage) for passage in passages] for passages in search()]

    return [
        [Retrieved(passage["id"], tuple(passage["keyphrases"]), passage["score"]) for passage in passages]
        for passages in once(folder, name, work)
    ]
