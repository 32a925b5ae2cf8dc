"""The YAML at the head of a gold set's card: by it the Hub lists the set, and `datasets` reads it.

Licence and language are not in it: kpdemo knows neither.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml  # type: ignore[import-untyped]

from annotation.cards.columns import features
from annotation.cards.gold_files import gold_files, stem_of
from annotation.gold import Format

SPLIT = "gold"
"""What `datasets` calls the rows: whether they are to train on or to test with is not known."""
GRADES = ".grades"
"""How the configuration with the grades of a type ends, in the layout of SemEval."""
_SIZES = (
    (1_000, "n<1K"),
    (10_000, "1K<n<10K"),
    (100_000, "10K<n<100K"),
    (1_000_000, "100K<n<1M"),
    (10_000_000, "1M<n<10M"),
)
_LARGEST = "10M<n<100M"
_WIDTH = 2**31
"""No line is broken."""
_LIKE_A_NUMBER = re.compile(r"[-+]?\.?\d[\w.+-]*")
"""In YAML 1.2, as the Hub reads it, more texts are numbers than in PyYAML's 1.1: "1e5", "0o17"."""


class _Dumper(yaml.SafeDumper):  # type: ignore[misc]
    """Quotes also what only YAML 1.2 takes for a number."""

    def represent_str(self, text: str) -> yaml.ScalarNode:
        style = "'" if _LIKE_A_NUMBER.fullmatch(text) else None
        return self.represent_scalar("tag:yaml.org,2002:str", text, style)


_Dumper.add_representer(str, _Dumper.represent_str)


def front_matter(manifest: Mapping[str, Any], pairs: int) -> str:
    """Between two lines of dashes.

    Args:
        manifest: of the gold set.
        pairs: with a gold grade.
    """
    known = {
        "pretty_name": " ".join(manifest["project"].split()),
        "task_categories": ["sentence-similarity"],
        "tags": ["semantic-similarity", "graded-similarity", "human-annotation", "kpdemo"],
        "size_categories": [next((name for limit, name in _SIZES if pairs < limit), _LARGEST)],
        **({"configs": list(_configs(manifest))} if pairs else {"viewer": False}),
    }
    written = yaml.dump(known, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_WIDTH)
    return f"---\n{written}---"


def _configs(manifest: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    format = Format(manifest["options"]["format"])
    for file in gold_files(manifest):
        name = file["name"]
        read = {"data_files": [{"split": SPLIT, "path": name}]}
        typed = {"features": features(file["columns"], with_lists=format is Format.JSONL)}
        match format:
            case Format.SEMEVAL:
                if file["rows"]:  # of an empty file nothing can be read
                    ending = "" if ".input." in name else GRADES
                    tabs = {"sep": "\t", "quoting": 3, "na_filter": False, "names": file["columns"]}
                    yield {"config_name": stem_of(name) + ending, **read, **tabs, **typed}
            case Format.CSV:  # "NA" and "null" are words
                empty = {"keep_default_na": False, "na_values": [""]}
                yield {"config_name": "default", **read, **empty, **typed}
            case Format.JSONL:
                yield {"config_name": "default", **read, **typed}
            case Format.PARQUET:  # tells the kinds of its columns itself
                yield {"config_name": "default", **read}
