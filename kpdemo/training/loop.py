"""The one training loop: schedule, mixed precision, evaluation, early stopping, checkpoints, exact resume."""

from __future__ import annotations

import hashlib
import json
import logging
import math
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import accumulate, takewhile
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Protocol

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.utils.data import DataLoader
from tqdm import tqdm

from kpdemo.errors import TrainingError
from kpdemo.training.run_files import load_state, save_state

logger = logging.getLogger(__name__)

Metrics = dict[str, float]

Precision = Literal["auto", "bf16", "fp32"]

_MAY_CHANGE = ("documents", "evaluate_every", "checkpoint_minutes", "patience", "workers", "log_every")


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
    precision: "auto" is bf16 on a GPU and fp32 on a CPU, many of which are slower in bf16; a run goes on in
        the one it was begun with.
    evaluate_every: document visits between two evaluations.
    patience: evaluations without a better one before the run stops.
    workers: processes that prepare batches; 0 for none.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    documents: Annotated[int, Field(ge=1)]
    batch_size: Annotated[int, Field(ge=1)] = 8
    warmup: Annotated[float, Field(ge=0, le=1)] = 0.05
    decay: Annotated[float, Field(ge=0, le=1)] = 0.95
    clip: Annotated[float, Field(gt=0)] = 1.0
    precision: Precision = "auto"
    evaluate_every: Annotated[int, Field(ge=1)] = 5_000
    checkpoint_minutes: Annotated[float, Field(gt=0)] = 5.0
    patience: Annotated[int, Field(ge=1)] = 10
    log_every: Annotated[int, Field(ge=1)] = 50
    workers: Annotated[int, Field(ge=0)] = 0
    seed: int = 42


class Part(Protocol):
    """What is trained: the loop knows nothing of documents or phrases."""

    selected: str
    """The metric of `evaluate` to maximise."""

    @property
    def module(self) -> nn.Module: ...

    def parameter_groups(self) -> list[dict[str, Any]]: ...

    def batches(self, epoch: int) -> list[list[int]]:
        """Indices into `self`, a function of the epoch alone; as many in every epoch, in as many batches."""

    def __getitem__(self, index: int) -> Any: ...

    def collate(self, items: Sequence[Any]) -> Any: ...

    def loss(self, batch: Any) -> Tensor | None:
        """None where the batch teaches nothing: the weights stay as they are."""

    def evaluate(self) -> Metrics: ...


@dataclass
class Progress:
    """Where a run stands; stored with every checkpoint.

    Attributes:
        documents: that were visited; an epoch's last batch has fewer than the others.
        planned: document visits that the learning rate was for before, where the run went on with others.
        precision: "bf16" or "fp32".
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


def train(part: Part, config: LoopConfig, folder: Path, device: torch.device, *, identity: str) -> Progress:
    """Train `part`, leaving its best weights in it and in `folder/best.pt`.

    A stopped run goes on exactly where it was when called again with the same `folder`, which one run at a
    time may write to: `kpdemo.training.run` sees to that.

    Args:
        identity: everything else that decides the outcome; another one refuses to resume.

    Raises:
        TrainingError: `folder` holds another run, loss or metric is no number, a stored state is damaged, or
            SIGTERM came.
    """
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(config.seed)
    part.module.to(device)
    run = _Run(part, config, folder, device, identity)
    run.resume()
    with _sigterm() as stopping:
        run.go(stopping)
    part.module.load_state_dict(load_state(folder / "best.pt"))
    return run.progress


def count_steps(part: Part, documents: int) -> int:
    """The batches of that many document visits, over as many epochs as that takes; at least one."""
    sizes = _sizes(part, 0)
    epochs, rest = divmod(documents, max(sum(sizes), 1))
    visited = accumulate(_sizes(part, epochs)) if rest else ()
    last = sum(1 for _ in takewhile(lambda visits: visits <= rest, visited))
    return max(epochs * len(sizes) + last, 1)


def _sizes(part: Part, epoch: int) -> list[int]:
    return [len(batch) for batch in part.batches(epoch)]


def learning_rate(config: LoopConfig, steps: int) -> Callable[[int], float]:
    """The factor on the peak learning rate at each of that many steps."""

    def factor(step: int) -> float:
        done = step / steps
        rising = (step + 1) / max(config.warmup * steps, 1)
        falling = (1 - done) / config.decay if config.decay else 1.0
        return max(min(1.0, rising, falling), 0.0)

    return factor


def uses_bf16(precision: str, device: torch.device) -> bool:
    """Whether a setting `precision` means bf16 on that device."""
    return precision == "bf16" or (precision == "auto" and device.type == "cuda")


class _Run:
    def __init__(
        self, part: Part, config: LoopConfig, folder: Path, device: torch.device, identity: str
    ) -> None:
        self._part, self._config, self._folder, self._device = part, config, folder, device
        self._identity = identity
        self._steps = count_steps(part, config.documents)
        self._optimizer = torch.optim.AdamW(part.parameter_groups(), fused=True)
        self._schedule = torch.optim.lr_scheduler.LambdaLR(
            self._optimizer, learning_rate(config, self._steps)
        )
        self._saved = time.monotonic()
        self.progress = Progress(precision="bf16" if uses_bf16(config.precision, device) else "fp32")

    def resume(self) -> None:
        path = self._folder / "last.pt"
        if not path.is_file():
            return
        state = load_state(path)
        begun_with = self._precision_of(state["fingerprint"])
        self._part.module.load_state_dict(state["module"])
        self._optimizer.load_state_dict(state["optimizer"])
        self._schedule.load_state_dict(state["schedule"])
        self.progress = Progress(**state["progress"] | {"precision": begun_with})
        _restore_chance(state, self._device)
        self._cut_log()
        logger.info("resumed at step %d of %d", self.progress.step, self._steps)
        self._tell_other_schedule(state.get("documents"))

    def _precision_of(self, fingerprint: str) -> str:
        """What a stored run was begun with, which is this one but for a precision that is left open."""
        precisions = ("bf16", "fp32") if self._config.precision == "auto" else (self._config.precision,)
        for precision in precisions:
            if fingerprint == _fingerprint(self._config, precision, self._identity):
                return precision
        raise TrainingError(
            f"{self._folder} holds a run with other settings or data: give another --output or delete it."
        )

    def _tell_other_schedule(self, documents: int | None) -> None:
        """Args:
        documents: for which the run was planned until now; None in a checkpoint that does not tell.
        """
        config, made = self._config, self.progress.documents
        constant = not config.warmup and not config.decay
        if made > config.documents:
            logger.warning(
                "has made %d document visits, more than the %d asked for, and stays as it is; for a run of "
                "%d begin anew with another --output",
                made,
                config.documents,
                config.documents,
            )
        elif documents not in (None, config.documents) and not constant and not self._over():
            self.progress.planned.append(documents)
            logger.warning(
                "planned for %d document visits and goes on for %d: its learning rate is not that of one run "
                "of %d; for that begin anew with another --output",
                documents,
                config.documents,
                config.documents,
            )

    def go(self, stopping: Callable[[], bool]) -> None:
        config, progress = self._config, self.progress
        bar = tqdm(total=config.documents, initial=progress.documents, unit="doc")
        recent: list[float] = []
        if self._over():
            if (
                not progress.best_step
            ):  # fewer visits are asked for than were made before the first evaluation
                self._evaluate()
            return
        before = progress.seconds
        began = time.monotonic()
        for batch, size in self._batches():
            if (loss := self._update(batch)) is not None:
                recent.append(loss)
            progress.step += 1
            progress.documents += size
            progress.seconds = before + time.monotonic() - began
            bar.update(size)
            if progress.step % config.log_every == 0:
                self._log_loss(recent, bar)
                recent = []
            turns = progress.documents // config.evaluate_every
            if turns > (progress.documents - size) // config.evaluate_every or self._finished():
                self._evaluate()
            if self._over():
                self.save()
                return
            if stopping():
                self.save()
                raise TrainingError(f"Stopped at step {progress.step}: run the same command to go on.")
            if time.monotonic() - self._saved > config.checkpoint_minutes * 60:
                self.save()

    def _over(self) -> bool:
        return self._finished() or self.progress.since_best >= self._config.patience

    def _finished(self) -> bool:
        return self.progress.step >= self._steps

    def _batches(self) -> Iterator[tuple[Any, int]]:
        """Batches from where the run stands to its last step, over as many epochs as that takes.

        Yields:
            Each with the number of its documents.
        """
        while not self._finished():
            batches = self._part.batches(self.progress.epoch)[self.progress.batch :]
            loader: DataLoader[Any] = DataLoader(
                self._part,  # type: ignore[arg-type]
                batch_sampler=batches,
                collate_fn=self._part.collate,
                num_workers=self._config.workers,
                generator=torch.Generator(),  # not the global one: resuming draws anew
            )
            for batch, indices in zip(loader, batches, strict=True):
                self.progress.batch += 1
                yield batch.to(self._device), len(indices)
                if self._finished():
                    return
            self.progress.epoch += 1
            self.progress.batch = 0

    def _update(self, batch: Any) -> float | None:
        """The loss; None where the part skips the batch."""
        module = self._part.module
        module.train()
        with torch.autocast(self._device.type, torch.bfloat16, enabled=self.progress.precision == "bf16"):
            loss = self._part.loss(batch)
        if loss is None:
            self._schedule.step()
            return None
        value = loss.item()
        if not math.isfinite(value):
            raise TrainingError(f"The loss is {value} at step {self.progress.step}: lower the learning rate.")
        self._optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
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
            metrics = self._part.evaluate()
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
            save_state(self._part.module.state_dict(), self._folder / "best.pt")
        self._log(metrics)
        if progress.best_step == progress.step:
            self.save()  # or a run that goes on after a crash might not know whose weights `best.pt` has
        logger.info(
            "step %d: %s", progress.step, ", ".join(f"{name} {value:.4f}" for name, value in metrics.items())
        )

    def _log(self, values: dict[str, float]) -> None:
        progress = self.progress
        line = {"step": progress.step, "documents": progress.documents} | values
        with (self._folder / "log.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(line | {"seconds": round(progress.seconds, 1)}) + "\n")

    def _cut_log(self) -> None:
        """Forget what a crash left in the log after the last checkpoint: those steps come again."""
        path = self._folder / "log.jsonl"
        if path.is_file():
            lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
            kept = [
                line
                for line in lines
                if line.endswith("\n") and json.loads(line)["step"] <= self.progress.step
            ]
            path.write_text("".join(kept), encoding="utf-8")

    def save(self) -> None:
        state = {
            "fingerprint": _fingerprint(self._config, self.progress.precision, self._identity),
            "documents": self._config.documents,
            "module": self._part.module.state_dict(),
            "optimizer": self._optimizer.state_dict(),
            "schedule": self._schedule.state_dict(),
            "progress": asdict(self.progress),
            "rng": torch.get_rng_state(),
        }
        if self._device.type == "cuda":
            state["cuda_rng"] = torch.cuda.get_rng_state(self._device)
        save_state(state, self._folder / "last.pt")
        self._saved = time.monotonic()


def _restore_chance(state: Mapping[str, Any], device: torch.device) -> None:
    """Set the random states to those stored; a run begun on a CPU has stored none of a GPU."""
    torch.set_rng_state(state["rng"].cpu())
    if device.type == "cuda" and "cuda_rng" in state:
        torch.cuda.set_rng_state(state["cuda_rng"].cpu(), device)


def _fingerprint(config: LoopConfig, precision: str, identity: str) -> str:
    settings = asdict(config) | {"precision": precision}
    fixed = {name: value for name, value in settings.items() if name not in _MAY_CHANGE}
    return hashlib.sha256(f"{sorted(fixed.items())} {identity}".encode()).hexdigest()


@contextmanager
def _sigterm() -> Iterator[Callable[[], bool]]:
    """Yields a question: has SIGTERM come since?"""
    received: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: received.append(number))
    try:
        yield lambda: bool(received)
    finally:
        signal.signal(signal.SIGTERM, before)
