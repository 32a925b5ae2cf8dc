"""The one training loop: schedule, mixed precision, evaluation, early stopping, checkpoints, exact resume."""

from __future__ import annotations

import hashlib
import json
import logging
import math
import platform
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from itertools import accumulate, takewhile
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils.data import DataLoader
from tqdm import tqdm

from kpdemo.errors import TrainingError
from kpdemo.identity import TRAINING, stored_config, write_sums
from kpdemo.io.files import lock_folder, parse_json, replacing
from kpdemo.simckp.checkpoint import content_hash, write_config
from kpdemo.training.data import AboveZero, Count, Positive, Share, Source, source_hashes
from kpdemo.training.processes import Processes, ShareDone, join_processes

Metrics = dict[str, float]


class Part(Protocol):
    """What is trained: the loop knows nothing of documents or phrases."""

    selected: str
    """The metric of `evaluate` to maximise."""

    @property
    def module(self) -> nn.Module: ...

    def parameter_groups(self) -> list[dict[str, Any]]: ...

    @property
    def lengths(self) -> Sequence[int] | NDArray[np.int32]:
        """Of each item; those of a batch are of like length."""

    @property
    def repeats(self) -> Sequence[int] | NDArray[np.int32]:
        """How often each item occurs in an epoch."""

    def __getitem__(self, index: int) -> Any: ...

    def collate(self, items: Sequence[Any]) -> Any: ...

    def loss(self, batch: Any) -> Tensor | None:
        """None where the batch teaches nothing: the weights stay as they are."""

    def evaluate(self) -> Metrics: ...


@runtime_checkable
class DrawnAnew(Protocol):
    """A part that draws its items again in every epoch."""

    def begin_epoch(self, epoch: int) -> None:
        """Items are those of this epoch from now on."""


Precision = Literal["auto", "bf16", "fp32"]


@dataclass(frozen=True)
class LoopConfig:
    """Attributes:
    documents: document visits in all; N epochs are N times the documents of one, and so N visits of each. A
        run ends with the last whole batch that they allow. A run may go on with more or fewer.
    warmup, decay: shares of the run in which the learning rate rises from and falls to zero; with
        decay = 1 - warmup it is SimCKP's linear decay, with less it stays at its peak in between. A run
        resumed with another `documents` follows the schedule of the new total from then on, so its learning
        rate may rise again; no single run has that schedule.
    clip: largest gradient norm.
    precision: "auto" is bf16 on a GPU and fp32 on a CPU, many of which are slower in bf16; a run resumes
        in the one it was started with.
    evaluate_every: document visits between two evaluations.
    patience: evaluations without a better one before the run stops.
    workers: processes that prepare batches; 0 for none.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    documents: Positive
    batch_size: Positive = 8
    warmup: Share = 0.05
    decay: Share = 0.95
    clip: AboveZero = 1.0
    precision: Precision = "auto"
    evaluate_every: Positive = 5_000
    checkpoint_minutes: AboveZero = 5.0
    patience: Positive = 10
    log_every: Positive = 50
    workers: Count = 0
    seed: Count = 42


def uses_bf16(precision: str, device: torch.device) -> bool:
    """Whether a setting `precision` means bf16 on that device."""
    return precision == "bf16" or (precision == "auto" and device.type == "cuda")


_POOL = 64  # batches sorted by length together: wide enough to pad little, narrow enough to stay random


def epoch_batches(part: Part, config: LoopConfig, epoch: int) -> list[list[int]]:
    """Indices into `part`, a function of the epoch alone; as many in every epoch, in as many batches."""
    return length_bucketed(
        part.lengths, part.repeats, batch_size=config.batch_size, seed=config.seed, epoch=epoch
    )


def length_bucketed(
    lengths: Sequence[int] | NDArray[np.int32],
    repeats: Sequence[int] | NDArray[np.int32],
    *,
    batch_size: int,
    seed: int,
    epoch: int,
) -> list[list[int]]:
    """Split an epoch into batches.

    Args:
        lengths: tokens of each example.
        repeats: how often each example occurs in an epoch.

    Returns:
        Indices of the examples of each batch; a last, smaller batch is kept.
    """
    random = np.random.default_rng([seed, epoch])
    order = random.permutation(np.repeat(np.arange(len(lengths)), repeats))
    length = np.asarray(lengths)
    batches: list[list[int]] = []
    for first in range(0, len(order), batch_size * _POOL):
        pool = order[first : first + batch_size * _POOL]
        pool = pool[np.argsort(length[pool], kind="stable")]
        groups = [pool[start : start + batch_size].tolist() for start in range(0, len(pool), batch_size)]
        batches.extend(groups[number] for number in random.permutation(len(groups)))
    return batches


def count_steps(part: Part, config: LoopConfig) -> int:
    """The batches of the document visits asked for, over as many epochs as that takes; at least one."""
    sizes = _sizes(part, config, 0)
    epochs, rest = divmod(config.documents, max(sum(sizes), 1))
    visited = accumulate(_sizes(part, config, epochs)) if rest else ()
    last = sum(1 for _ in takewhile(lambda visits: visits <= rest, visited))
    return max(epochs * len(sizes) + last, 1)


def _sizes(part: Part, config: LoopConfig, epoch: int) -> list[int]:
    return [len(batch) for batch in epoch_batches(part, config, epoch)]


def learning_rate(config: LoopConfig, steps: int) -> Callable[[int], float]:
    """The factor on the peak learning rate at each of that many steps."""

    def factor(step: int) -> float:
        done = step / steps
        rising = (step + 1) / max(config.warmup * steps, 1)
        falling = (1 - done) / config.decay if config.decay else 1.0
        return max(min(1.0, rising, falling), 0.0)

    return factor


@dataclass
class Progress:
    """The progress of a run; stored with every checkpoint.

    Attributes:
        documents: visited so far; an epoch's last batch has fewer than the others.
        planned: document visits the learning rate was planned for before, if the run was resumed with others.
        precision: "bf16" or "fp32".
        processors: what its steps were made on, in order.
    """

    step: int = 0
    documents: int = 0
    epoch: int = 0
    batch: int = 0
    seconds: float = 0.0
    best: float = -math.inf
    best_step: int = 0
    since_best: int = 0
    planned: list[int] = field(default_factory=list)
    precision: str = ""
    processors: list[str] = field(default_factory=list)

    def goes_on_with(self, processor: str) -> None:
        """Note what the next steps are made on."""
        if self.processors[-1:] != [processor]:
            self.processors.append(processor)

    def time(self) -> str:
        """How long the steps took, on what and in which precision."""
        on = f" on {', then '.join(self.processors)}" if self.processors else ""
        return f"{self.seconds / 60:.0f} minutes{on}, {self.precision}"


def processor(device: torch.device) -> str:
    """The name of a GPU, or the number of threads on a CPU."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{torch.get_num_threads()} {platform.machine()} CPU threads"


LAST = "last.pt"
"""The state of a run: without it the run has not begun."""


def run_lock(folder: Path) -> AbstractContextManager[None]:
    """Keep other trainings out of the folder, which is made where it is not there.

    Raises:
        TrainingError: another one is in it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    busy = f"Another training run is writing to {folder}: wait until it is done, or give another --output."
    return lock_folder(folder, TrainingError(busy))


@contextmanager
def memory_errors() -> Iterator[None]:
    """Raises:
    TrainingError: the memory of the machine or of its GPU was not enough.
    """
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        is_of_gpu = isinstance(error, torch.OutOfMemoryError)
        if not (is_of_gpu or isinstance(error, MemoryError) or "allocate memory" in str(error)):
            raise
        raise TrainingError(
            "The training needs more memory than there is: give a smaller `batch_size`, or a smaller model, "
            "and another output."
        ) from error


def save_state(state: Any, path: Path) -> None:
    with replacing(path) as partial, partial.open("wb") as stream:
        torch.save(state, stream)


def load_state(path: Path) -> Any:
    """What `save_state` wrote.

    Raises:
        TrainingError: the file is missing or damaged.
    """
    try:
        return torch.load(path, map_location="cpu", weights_only=True)  # the caller moves it
    except MemoryError:
        raise
    except PermissionError as error:
        raise TrainingError(f"{path} may not be read: fix its permissions and run it again.") from error
    except Exception as error:  # a damaged file makes torch raise nearly anything
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise TrainingError(
            f"{path} cannot be read ({reason}): delete {path.parent} to train from the beginning, or give "
            "another --output."
        ) from error


def log_line(folder: Path, values: Mapping[str, float]) -> None:
    """Add to the log of the run in that folder."""
    with (folder / "log.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(values) + "\n")


def cut_log(folder: Path, step: int) -> None:
    """Remove what a crash left in the log after the checkpoint of that step: later steps are run again.

    A damaged line goes too: the log is for people to read, and no run resumes from it.
    """
    path = folder / "log.jsonl"
    if path.is_file():
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(line for line in lines if _step_of(line) <= step))


def _step_of(line: bytes) -> float:
    """Of a line of the log; infinite where it is damaged, even if only its end is missing."""
    try:
        return float(parse_json(line)["step"]) if line.endswith(b"\n") else math.inf
    except (ValueError, TypeError, LookupError, OverflowError):
        return math.inf


_INDECISIVE = ("loop", "output", "cache", "data", "device", "name", "style", "storage", "vectors")
"""Settings that do not affect what is learnt, or enter otherwise: data by its content, the loop's settings in
`run_fingerprint`."""

_MAY_CHANGE = ("documents", "evaluate_every", "checkpoint_minutes", "patience", "workers", "log_every")
"""Settings of the loop that may change when a run is resumed."""


def run_identity(settings: Mapping[str, Any], *free: str, **content: object) -> str:
    """All that decides what is learnt, except the loop's own settings.

    Args:
        free: further settings that do not decide it.
        content: identifies data and models, such as by hashes; it replaces the setting of that name, if any.
    """
    told = {**settings, **content}
    return str(sorted((name, value) for name, value in told.items() if name not in (*_INDECISIVE, *free)))


def run_fingerprint(config: LoopConfig, precision: str, identity: str) -> str:
    """A hash of what must not change when a run is resumed.

    Args:
        identity: see `run_identity`.
    """
    settings = asdict(config) | {"precision": precision}
    fixed = {name: value for name, value in settings.items() if name not in _MAY_CHANGE}
    return hashlib.sha256(f"{sorted(fixed.items())} {identity}".encode()).hexdigest()


def note_training(folder: Path, settings: Any) -> None:
    """Note in a part's checkpoint which training made it: `train model` tells models of one name apart by it.

    A longer run of the same training is noted as the same.

    Args:
        settings: of the part.
    """
    told = repr(_decisive(settings, settings.data))
    write_config(folder, stored_config(folder) | {TRAINING: hashlib.sha256(told.encode()).hexdigest()})
    write_sums(folder)


def _decisive(value: Any, data: Path) -> Any:
    """A setting with all settings in it that decide what is learnt; data and checkpoints by their content."""
    if isinstance(value, Source):
        return source_hashes([value], data)
    if isinstance(value, tuple):
        return [_decisive(one, data) for one in value]
    if isinstance(value, Path):
        return stored_config(value).get(TRAINING) or content_hash(value)
    if is_dataclass(value):
        free = {*_INDECISIVE, *_MAY_CHANGE} - {"loop"}
        told = [setting.name for setting in fields(value) if setting.name not in free]
        return [(name, _decisive(getattr(value, name), data)) for name in told]
    return value


logger = logging.getLogger(__name__)


def train(
    part: Part,
    config: LoopConfig,
    folder: Path,
    device: torch.device,
    *,
    identity: str,
    processes: Processes | None = None,
) -> Progress:
    """Train `part`, leaving its best weights in it and in `folder/best.pt`.

    An interrupted run resumes exactly where it stopped when called again with the same `folder`. Only one run
    at a time may write to it: `kpdemo.training.run` sees to that.

    Args:
        identity: everything else that decides the outcome; another one refuses to resume.
        processes: that share the work; by default those that `torchrun` started.

    Raises:
        TrainingError: `folder` holds another run, loss or metric is not finite, a stored state is damaged, or
            SIGTERM came.
        ShareDone: the run is over, and this process is not the first of several.
    """
    folder.mkdir(parents=True, exist_ok=True)
    processes = processes or join_processes()
    torch.manual_seed(config.seed + processes.rank)
    part.module.to(device)
    processes.copy_weights(part.module)
    run = _TrainingRun(part, config, folder, device, identity, processes)
    run.resume()
    with _sigterm() as stopping:
        run.go(stopping)
    if not processes.is_first:
        raise ShareDone
    part.module.load_state_dict(load_state(folder / "best.pt"))
    return run.progress


class _TrainingRun:
    def __init__(
        self,
        part: Part,
        config: LoopConfig,
        folder: Path,
        device: torch.device,
        identity: str,
        processes: Processes,
    ) -> None:
        self._part, self._config, self._folder, self._device = part, config, folder, device
        self._processes = processes
        self._identity = identity
        self._steps = count_steps(part, config)
        self._optimizer = torch.optim.AdamW(part.parameter_groups(), fused=True)
        self._schedule = torch.optim.lr_scheduler.LambdaLR(
            self._optimizer, learning_rate(config, self._steps)
        )
        self._saved = time.monotonic()
        self.progress = Progress(precision="bf16" if uses_bf16(config.precision, device) else "fp32")

    def resume(self) -> None:
        path = self._folder / LAST
        if not path.is_file():
            return
        state = load_state(path)
        begun_with = self._precision_of(state["fingerprint"])
        self._part.module.load_state_dict(state["module"])
        self._optimizer.load_state_dict(state["optimizer"])
        self._schedule.load_state_dict(state["schedule"])
        self.progress = Progress(**state["progress"] | {"precision": begun_with})
        chances = [state, *state.get("others", [])]
        if self._processes.rank < len(chances):
            _restore_chance(chances[self._processes.rank], self._device)
        if self._processes.is_first:
            cut_log(self._folder, self.progress.step)
        logger.info("resumed at step %d of %d", self.progress.step, self._steps)
        self._tell_other_schedule(state["documents"])

    def _precision_of(self, fingerprint: str) -> str:
        """What a stored run was begun with, which is this one but for a precision that is left open."""
        precisions = ("bf16", "fp32") if self._config.precision == "auto" else (self._config.precision,)
        for precision in precisions:
            if fingerprint == run_fingerprint(self._config, precision, self._identity):
                return precision
        raise TrainingError(
            f"{self._folder} holds a run with other settings or data: give another --output or delete it."
        )

    def _tell_other_schedule(self, documents: int) -> None:
        """Args:
        documents: for which the run was planned until now.
        """
        config, made = self._config, self.progress.documents
        constant = not config.warmup and not config.decay
        if made > config.documents:
            logger.warning(
                "has made %d document visits, more than the %d asked for, and stays as it is; for a run of "
                "%d start again with another --output",
                made,
                config.documents,
                config.documents,
            )
        elif documents != config.documents and not constant and not self._over():
            self.progress.planned.append(documents)
            logger.warning(
                "planned for %d document visits and extended to %d: its learning rate is not that of one "
                "run of %d; for that start again with another --output",
                documents,
                config.documents,
                config.documents,
            )

    def go(self, stopping: Callable[[], bool]) -> None:
        config, progress = self._config, self.progress
        is_first = self._processes.is_first
        bar = tqdm(total=config.documents, initial=progress.documents, unit="doc", disable=not is_first)
        recent: list[float] = []
        if self._over():
            if not progress.best_step:  # fewer visits are asked for than came before the first evaluation
                self._evaluate()
            return
        times = f"{self._processes.count} × " if self._processes.count > 1 else ""
        progress.goes_on_with(times + processor(self._device))
        before = progress.seconds
        began = time.monotonic()
        for batch, own, size in self._batches():
            if (loss := self._update(batch, own)) is not None:
                recent.append(loss)
            progress.step += 1
            progress.documents += size
            progress.seconds = before + time.monotonic() - began
            bar.update(size)
            if progress.step % config.log_every == 0:
                self._log_loss(recent, bar)
                recent = []
            turns = progress.documents // config.evaluate_every
            if turns > (progress.documents - size) // config.evaluate_every or self._is_finished():
                self._evaluate()
            if self._over():
                self.save()
                return
            is_due = time.monotonic() - self._saved > config.checkpoint_minutes * 60
            stops, is_due = self._processes.any(stopping(), is_due)
            if stops:
                self.save()
                raise TrainingError(f"Stopped at step {progress.step}: run the same command to continue.")
            if is_due:
                self.save()

    def _over(self) -> bool:
        return self._is_finished() or self.progress.since_best >= self._config.patience

    def _is_finished(self) -> bool:
        return self.progress.step >= self._steps

    def _batches(self) -> Iterator[tuple[Any, int, int]]:
        """Batches from the run's current step to its last, over as many epochs as that takes.

        Yields:
            This process' share of each, None where it has none; how many documents share and batch have.
        """
        while not self._is_finished():
            if isinstance(self._part, DrawnAnew):
                self._part.begin_epoch(self.progress.epoch)
            batches = epoch_batches(self._part, self._config, self.progress.epoch)[self.progress.batch :]
            shares = [self._processes.share(indices) for indices in batches]
            loader: DataLoader[Any] = DataLoader(
                self._part,  # type: ignore[arg-type]
                batch_sampler=[share for share in shares if share],
                collate_fn=self._part.collate,
                num_workers=self._config.workers,
                generator=torch.Generator(),  # not the global one: resuming draws again
            )
            loaded = iter(loader)
            for share, indices in zip(shares, batches, strict=True):
                batch = next(loaded).to(self._device) if share else None
                self.progress.batch += 1
                yield batch, len(share), len(indices)
                if self._is_finished():
                    return
            self.progress.epoch += 1
            self.progress.batch = 0

    def _update(self, batch: Any, own: int) -> float | None:
        """The loss; None where the part skips the batch.

        Args:
            own: documents of the batch that this process has.
        """
        module = self._part.module
        module.train()
        with torch.autocast(self._device.type, torch.bfloat16, enabled=self.progress.precision == "bf16"):
            loss = self._part.loss(batch) if own else None
        self._optimizer.zero_grad(set_to_none=True)
        if loss is not None:
            loss.backward()  # type: ignore[no-untyped-call]
        value = self._processes.average(module.parameters(), loss, own)
        if value is None:
            self._schedule.step()
            return None
        if not math.isfinite(value):
            raise TrainingError(f"The loss is {value} at step {self.progress.step}: lower the learning rate.")
        norm = nn.utils.clip_grad_norm_(module.parameters(), self._config.clip).item()
        if not math.isfinite(norm):
            raise TrainingError(
                f"The gradients are {norm} at step {self.progress.step}: lower the learning rate."
            )
        self._optimizer.step()
        self._schedule.step()
        return value

    def _log_loss(self, recent: Sequence[float], bar: Any) -> None:
        loss = sum(recent) / len(recent) if recent else 0.0
        speed = self.progress.documents / self.progress.seconds
        bar.set_postfix_str(f"loss {loss:.3f}, {speed:.1f} documents/s")
        self._log(
            {
                "loss": round(loss, 4),
                "lr": float(self._schedule.get_last_lr()[0]),
                "documents_per_second": round(speed, 2),
            }
        )

    def _evaluate(self) -> None:
        self._part.module.eval()
        with torch.no_grad():
            metrics = self._processes.of_first(self._part.evaluate)
        progress, selected = self.progress, self._part.selected
        value = metrics[selected]
        if not math.isfinite(value):
            raise TrainingError(
                f"{selected} is {value} at step {progress.step}: lower the learning rate, or check the "
                "validation documents."
            )
        progress.since_best += 1
        if value > progress.best:
            progress.best, progress.best_step, progress.since_best = value, progress.step, 0
            if self._processes.is_first:
                save_state(self._part.module.state_dict(), self._folder / "best.pt")
        self._log(metrics)
        if progress.best_step == progress.step:
            self.save()  # or a run resumed after a crash might not know whose weights `best.pt` has
        logger.info(
            "step %d: %s", progress.step, ", ".join(f"{name} {value:.4f}" for name, value in metrics.items())
        )

    def _log(self, values: Metrics) -> None:
        progress = self.progress
        if not self._processes.is_first:
            return
        line = {"step": progress.step, "documents": progress.documents} | values
        log_line(self._folder, line | {"seconds": round(progress.seconds, 1)})

    def save(self) -> None:
        chance = {"rng": torch.get_rng_state()}
        if self._device.type == "cuda":
            chance["cuda_rng"] = torch.cuda.get_rng_state(self._device)
        first, *others = self._processes.of_each(chance)
        if self._processes.is_first:
            state = {
                "fingerprint": run_fingerprint(self._config, self.progress.precision, self._identity),
                "documents": self._config.documents,
                "module": self._part.module.state_dict(),
                "optimizer": self._optimizer.state_dict(),
                "schedule": self._schedule.state_dict(),
                "progress": asdict(self.progress),
                "others": others,
                **first,
            }
            save_state(state, self._folder / LAST)
        self._saved = time.monotonic()


def _restore_chance(state: Mapping[str, Any], device: torch.device) -> None:
    """Restore the random states; a run begun on a CPU has stored none of a GPU."""
    torch.set_rng_state(state["rng"].cpu())
    if device.type == "cuda" and "cuda_rng" in state:
        torch.cuda.set_rng_state(state["cuda_rng"].cpu(), device)


@contextmanager
def _sigterm() -> Iterator[Callable[[], bool]]:
    """Yields a question: has SIGTERM come since?"""
    received: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: received.append(number))
    try:
        yield lambda: bool(received)
    finally:
        signal.signal(signal.SIGTERM, before)
