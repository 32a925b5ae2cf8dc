"""The one training loop: schedule, mixed precision, evaluation, early stopping, checkpoints, exact resume."""

from __future__ import annotations

import logging
import math
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.utils.data import DataLoader
from tqdm import tqdm

from kpdemo.errors import TrainingError
from kpdemo.training.batching import epoch_batches
from kpdemo.training.loop_config import LoopConfig, uses_bf16
from kpdemo.training.part import DrawnAnew, Metrics, Part
from kpdemo.training.progress import Progress, processor
from kpdemo.training.run_files import LAST, cut_log, load_state, log_line, save_state
from kpdemo.training.run_identity import run_fingerprint
from kpdemo.training.schedule import count_steps, learning_rate

logger = logging.getLogger(__name__)


def train(part: Part, config: LoopConfig, folder: Path, device: torch.device, *, identity: str) -> Progress:
    """Train `part`, leaving its best weights in it and in `folder/best.pt`.

    An interrupted run resumes exactly where it stopped when called again with the same `folder`. Only one run
    at a time may write to it: `kpdemo.training.run` sees to that.

    Args:
        identity: everything else that decides the outcome; another one refuses to resume.

    Raises:
        TrainingError: `folder` holds another run, loss or metric is not finite, a stored state is damaged, or
            SIGTERM came.
    """
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(config.seed)
    part.module.to(device)
    run = _TrainingRun(part, config, folder, device, identity)
    run.resume()
    with _sigterm() as stopping:
        run.go(stopping)
    part.module.load_state_dict(load_state(folder / "best.pt"))
    return run.progress


class _TrainingRun:
    def __init__(
        self, part: Part, config: LoopConfig, folder: Path, device: torch.device, identity: str
    ) -> None:
        self._part, self._config, self._folder, self._device = part, config, folder, device
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
        _restore_chance(state, self._device)
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
        bar = tqdm(total=config.documents, initial=progress.documents, unit="doc")
        recent: list[float] = []
        if self._over():
            if not progress.best_step:  # fewer visits are asked for than came before the first evaluation
                self._evaluate()
            return
        progress.goes_on_with(processor(self._device))
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
                raise TrainingError(f"Stopped at step {progress.step}: run the same command to continue.")
            if time.monotonic() - self._saved > config.checkpoint_minutes * 60:
                self.save()

    def _over(self) -> bool:
        return self._finished() or self.progress.since_best >= self._config.patience

    def _finished(self) -> bool:
        return self.progress.step >= self._steps

    def _batches(self) -> Iterator[tuple[Any, int]]:
        """Batches from the run's current step to its last, over as many epochs as that takes.

        Yields:
            Each with the number of its documents.
        """
        while not self._finished():
            if isinstance(self._part, DrawnAnew):
                self._part.begin_epoch(self.progress.epoch)
            batches = epoch_batches(self._part, self._config, self.progress.epoch)[self.progress.batch :]
            loader: DataLoader[Any] = DataLoader(
                self._part,  # type: ignore[arg-type]
                batch_sampler=batches,
                collate_fn=self._part.collate,
                num_workers=self._config.workers,
                generator=torch.Generator(),  # not the global one: resuming draws again
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
            self.save()  # or a run resumed after a crash might not know whose weights `best.pt` has
        logger.info(
            "step %d: %s", progress.step, ", ".join(f"{name} {value:.4f}" for name, value in metrics.items())
        )

    def _log(self, values: Metrics) -> None:
        progress = self.progress
        line = {"step": progress.step, "documents": progress.documents} | values
        log_line(self._folder, line | {"seconds": round(progress.seconds, 1)})

    def save(self) -> None:
        state = {
            "fingerprint": run_fingerprint(self._config, self.progress.precision, self._identity),
            "documents": self._config.documents,
            "module": self._part.module.state_dict(),
            "optimizer": self._optimizer.state_dict(),
            "schedule": self._schedule.state_dict(),
            "progress": asdict(self.progress),
            "rng": torch.get_rng_state(),
        }
        if self._device.type == "cuda":
            state["cuda_rng"] = torch.cuda.get_rng_state(self._device)
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
