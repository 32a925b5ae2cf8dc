"""Variants of SimCKP's extractor, trained alike and measured alike (its Tables 4 and 5 and Figure 3)."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from kpdemo.errors import ConfigError
from kpdemo.experiments.measuring import figures, machine, measure, without
from kpdemo.experiments.results import Result, Results
from kpdemo.identity import SUMS, content_identity, sha256_of
from kpdemo.training.data import Source
from kpdemo.types import Document

if TYPE_CHECKING:
    from kpdemo.terminal import ProgressLine
    from kpdemo.training.fine_tuning import ExtractorTraining


DEFAULT_CONFIG = Path(__file__).parents[2] / "configs" / "experiments.toml"

Table = Literal["ablation", "negatives", "ngrams"]

DOMAINS = ("in-domain", "out-of-domain")
"""What the paper calls the documents it measures variants on."""


@dataclass(frozen=True)
class Variant:
    """Attributes:
    part: which section of the configuration it is trained by, as `train PART` does.
    tables: where it is shown.
    set: settings of that section that differ, such as {"model.head": "classifier"}.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    name: str
    tables: tuple[Table, ...]
    part: Literal["extractor", "labeller", "one2seq"] = "extractor"
    set: Mapping[str, str | int | float | bool] = field(default_factory=dict)


@dataclass(frozen=True)
class ExperimentsConfig:
    """Attributes:
    measured: documents to measure on, by the names `DOMAINS`; those that validation holds are left out.
    runs: a folder for the training of each variant.
    seeds: every variant is trained with each.
    lengths: most words of a candidate, for Figure 3.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    variants: tuple[Variant, ...]
    measured: Mapping[str, Source]
    runs: Path = Path("runs/variants")
    seeds: tuple[int, ...] = (42,)
    lengths: tuple[int, ...] = (1, 2, 3, 4, 5, 6)

    def __post_init__(self) -> None:
        if self.measured.keys() != set(DOMAINS):
            raise ConfigError(
                f"`measured` has the names {', '.join(self.measured) or 'none'}: give it "
                f"{' and '.join(DOMAINS)}, which the page of results shows."
            )

    def of(self, table: Table) -> list[Variant]:
        """The variants that a table shows."""
        return [variant for variant in self.variants if table in variant.tables]


def as_toml(value: Any) -> str:
    """A single value as `kpdemo.config.load_section` takes it in its overrides."""
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)


logger = logging.getLogger(__name__)

_PLACES = ("name", "data", "output", "cache", "device")


def validation_texts(path: Path, overrides: Mapping[str, str]) -> set[str]:
    """The texts that choose weights and threshold by the configuration; none without its file."""
    from kpdemo.config import load_section
    from kpdemo.training.data import read_source
    from kpdemo.training.fine_tuning import ExtractorTraining

    config = load_section(path, "extractor", ExtractorTraining, overrides)
    if not (config.data / config.validation.path).is_file():
        return set()
    return {document.text for document in read_source(config.validation, config.data)}


@dataclass(frozen=True)
class VariantRuns:
    """Trains and measures variants that have no results yet.

    Attributes:
        path: the configuration file, which `config` is a section of.
        overrides: settings of every variant's training, as `train --set` takes them.
    """

    path: Path
    config: ExperimentsConfig
    results: Results
    overrides: Mapping[str, str]

    def run(self, table: Table) -> None:
        """Every variant of a table with every seed.

        Raises:
            ConfigError, InputError, TrainingError: a setting is wrong, documents are missing, results of
                other settings or data are there, or training was stopped.
        """
        for seed in self.config.seeds:
            for variant in self.config.of(table):
                run = _VariantRun(self, variant, seed)
                if table == "ngrams":
                    run.by_length()
                else:
                    run.measured()


@dataclass(frozen=True)
class _VariantRun:
    """One variant with one seed."""

    runs: VariantRuns
    variant: Variant
    seed: int

    def measured(self) -> Result:
        """Its figures, stored or made now."""
        return self._figures("variant", {}, self._measure)

    def by_length(self) -> Result:
        """Its figures over candidates of that many words at most."""
        return self._figures("ngrams", {"lengths": list(self.runs.config.lengths)}, self._measure_lengths)

    def _figures(self, kind: str, settings: Mapping[str, Any], make: Any) -> Result:
        name = f"{kind}-{self.variant.name}-{self.seed}"
        identity = self._identity(settings)
        data = self._content([*self._read, *self.runs.config.measured.values()])
        known = self.runs.results.read(name, identity)
        if known is not None:
            told = known.get("data")  # figures of earlier versions lack it
            if told and data and told != data:
                raise ConfigError(
                    f"{name} in {self.runs.results.folder} was measured with other data: give another "
                    "--output, or delete it."
                )
            logger.info("%s is there already", name)
            return known
        origin = {"kind": kind, "variant": self.variant.name, "seed": self.seed, "identity": identity}
        result: Result = origin | {"data": data} | make()
        self.runs.results.write(name, result)
        return result

    def _measure(self) -> Result:
        from kpdemo.predictors import load_predictor

        predictor = load_predictor(self._train(), device=self._training.device)
        with _progress(f"Measuring {self.variant.name}", self._documents) as progress:
            datasets = self._datasets(predictor, progress)
        return {"training": self._description(predictor.device), "datasets": datasets}

    def _measure_lengths(self) -> Result:
        from kpdemo.simckp.checkpoint import load_checkpoint
        from kpdemo.training.extractor import ScoredDocuments, predict_up_to

        predictor = load_checkpoint(self._train(), device=self._training.device)
        chosen_on = ScoredDocuments.of(predictor, self._validation)
        asked = {
            name: ScoredDocuments.of(predictor, documents) for name, documents in self._documents.items()
        }
        lengths = {
            str(longest): {
                name: self._origin(name)
                | figures(scored.documents, predict_up_to(longest, chosen_on, scored))
                for name, scored in asked.items()
            }
            for longest in self.runs.config.lengths
        }
        return {"training": self._description(predictor.device), "lengths": lengths}

    def _datasets(self, predictor: Any, progress: ProgressLine) -> dict[str, Any]:
        return {
            name: self._origin(name) | measure(documents, predictor, progress.advance)
            for name, documents in self._documents.items()
        }

    def _origin(self, name: str) -> dict[str, str]:
        """The file of the documents that are measured on under a name."""
        return {"file": self.runs.config.measured[name].path.name}

    def _train(self) -> Path:
        """The variant's checkpoint; trained first, or as far as that is left to do."""
        from kpdemo.training import run
        from kpdemo.training.parts import CHECKPOINT

        output = self._training.output
        if not (output / CHECKPOINT / SUMS).is_file():  # written last: a crash may leave a folder without it
            run(self.variant.part, self.runs.path, output=output, overrides=self._overrides)
        return output / CHECKPOINT

    @property
    def _overrides(self) -> dict[str, str]:
        changed = {key: as_toml(value) for key, value in self.variant.set.items()}
        own = {"name": as_toml(self.variant.name), "loop.seed": str(self.seed)}
        return dict(self.runs.overrides) | changed | own

    @cached_property
    def _config(self) -> ExtractorTraining:
        from kpdemo.config import load_section
        from kpdemo.training.fine_tuning import ExtractorTraining
        from kpdemo.training.generator import One2SeqTraining
        from kpdemo.training.labeller import LabellerTraining

        kinds = {"extractor": ExtractorTraining, "labeller": LabellerTraining, "one2seq": One2SeqTraining}
        part = self.variant.part
        return load_section(self.runs.path, part, kinds[part], self._overrides)

    @cached_property
    def _training(self) -> ExtractorTraining:
        """In a folder named by its settings and data, so that others are trained in another."""
        config = self._config
        decisive = {name: value for name, value in vars(config).items() if name not in _PLACES}
        data = self._content(self._read) or str(config.data)
        identity = content_identity([self.variant.part, sorted(decisive.items()), data])
        folder = f"{self.variant.name}-{self.seed}-{identity[:12]}"
        return replace(config, output=self.runs.config.runs / folder)

    @property
    def _read(self) -> list[Source]:
        """What it learns from, and what chooses its weights."""
        return [*self._config.train, self._config.validation]

    def _content(self, sources: Sequence[Source]) -> str:
        """A hash of the files of some sources; empty where one is not at hand."""
        files = [self._config.data / source.path for source in sources]
        return content_identity(map(sha256_of, files)) if all(file.is_file() for file in files) else ""

    @cached_property
    def _validation(self) -> list[Document]:
        from kpdemo.training.data import read_source

        return list(read_source(self._training.validation, self._training.data))

    @cached_property
    def _documents(self) -> dict[str, list[Document]]:
        from kpdemo.training.data import read_source

        chose = {document.text for document in self._validation}
        return {
            name: without(read_source(source, self._training.data), chose)
            for name, source in self.runs.config.measured.items()
        }

    def _identity(self, settings: Mapping[str, Any]) -> str:
        """A hash of every setting that decides the figures; paths and devices may change."""
        from kpdemo.config import section_values

        section = section_values(self.runs.path, self.variant.part, self._overrides)
        decisive = {key: value for key, value in section.items() if key not in _PLACES}
        measured = section_values(self.runs.path, "experiments")["measured"]
        text = json.dumps([self.variant.part, decisive, measured, settings], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def _description(self, device: str) -> dict[str, Any]:
        """What it was trained on and how long."""
        from kpdemo.training.cards import source_list

        config = self._training
        last = json.loads((config.output / "log.jsonl").read_text(encoding="utf-8").splitlines()[-1])
        return {
            "backbone": config.backbone,
            "sources": source_list(config.train).splitlines(),
            "pool": config.pool,
            "visits": last["documents"],
            "seconds": last["seconds"],
            "validation": f"{config.validation.path.name}, {len(self._validation):,} documents",
            "machine": machine(device),
        }


def _progress(description: str, documents: Mapping[str, list[Document]]) -> ProgressLine:
    from kpdemo.terminal import ProgressLine

    return ProgressLine(description, sum(map(len, documents.values())))
