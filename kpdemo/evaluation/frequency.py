"""How many documents of a collection use a term: the table behind TF-IDF."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from kpdemo.errors import ModelLoadError
from kpdemo.packed_json import read_json_gz

FREQUENCY_ASSET = Path(__file__).parent.parent / "assets" / "document_frequency.json.gz"


@dataclass(frozen=True)
class DocumentFrequency:
    """Terms as stems joined by spaces; those in fewer than `minimum` documents are not kept."""

    documents: int
    minimum: int
    terms: dict[str, int]

    def idf(self, key: str) -> float:
        """Inverse document frequency, smoothed; an unlisted term counts as in a quarter of `minimum`."""
        frequency = self.terms.get(key, self.minimum / 4)
        return math.log((1 + self.documents) / (1 + frequency))


@lru_cache(maxsize=1)
def load_document_frequency(path: Path = FREQUENCY_ASSET) -> DocumentFrequency:
    """Read a table written by `kpdemo.training.frequency`; kept for the life of the process.

    Raises:
        ModelLoadError: the file is missing or damaged.
    """
    try:
        stored = read_json_gz(path)
        return DocumentFrequency(int(stored["documents"]), int(stored["minimum"]), dict(stored["terms"]))
    except FileNotFoundError as error:
        raise ModelLoadError(
            f"No term frequencies at {path}: run `python -m kpdemo train frequency`."
        ) from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelLoadError(
            f"The term frequencies {path} are damaged ({error}): restore the file."
        ) from error
