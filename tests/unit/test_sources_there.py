"""Files that a training asks for are looked for before anything is loaded."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from kpdemo.errors import ConfigError
from kpdemo.training.data import Source, check_sources
from kpdemo.training.multilingual.retriever import ParallelSource


@dataclass(frozen=True)
class Inner:
    train: tuple[Source, ...]


@dataclass(frozen=True)
class Settings:
    train: tuple[Source, ...]
    validation: Source | ParallelSource
    refinement: Inner | None = None


@pytest.mark.parametrize("missing", ["train.jsonl", "validation.jsonl", "inner.jsonl"])
def test_a_missing_file_is_named_wherever_the_settings_name_it(tmp_path, missing):
    names = ("train.jsonl", "validation.jsonl", "inner.jsonl")
    for name in names:
        (tmp_path / name).write_text("")
    first, second, inner = (Source(path=name) for name in names)
    settings = Settings((first,), second, Inner((inner,)))
    check_sources(settings, tmp_path)
    (tmp_path / missing).unlink()
    with pytest.raises(ConfigError, match=f"No training data at .*{missing}"):
        check_sources(settings, tmp_path)


def test_a_missing_file_of_translations_is_named_too(tmp_path):
    settings = Settings((), ParallelSource("pairs.jsonl", "fr"))
    with pytest.raises(ConfigError, match=r"No training data at .*pairs\.jsonl"):
        check_sources(settings, tmp_path)
