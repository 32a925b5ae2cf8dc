"""The training loop on a small regression: resume, schedule, early stopping."""

import json
import math
import os
import platform
import signal
from contextlib import suppress
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from kpdemo.errors import TrainingError
from kpdemo.training.cards import visits
from kpdemo.training.loop import (
    LoopConfig,
    _restore_chance,
    count_steps,
    learning_rate,
    length_bucketed,
    load_state,
    save_state,
    train,
    uses_bf16,
)

CONFIG = LoopConfig(documents=160, batch_size=4, precision="fp32", evaluate_every=40, log_every=10, seed=3)
CPU = torch.device("cpu")


class Points:
    """y = 2x with dropout, so that the random state matters too."""

    selected = "minus error"

    def __init__(
        self,
        count: int = 40,
        *,
        stop_at: int | None = None,
        broken_at: int | None = None,
        steep_at: int | None = None,
        frozen: bool = False,
    ):
        torch.manual_seed(0)
        self.visits = [0] * count
        self.module = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.3), nn.Linear(8, 1))
        self.inputs = torch.randn(count, 3, generator=torch.Generator().manual_seed(1))
        self.targets = self.inputs.sum(1, keepdim=True) * 2
        self.lengths = self.repeats = [1] * count
        self.calls = 0
        self._stop_at, self._broken_at, self._steep_at = stop_at, broken_at, steep_at
        self._frozen = frozen

    def parameter_groups(self):
        return [{"params": list(self.module.parameters()), "lr": 0.0 if self._frozen else 0.01}]

    def __getitem__(self, index):
        self.visits[index] += 1
        return self.inputs[index], self.targets[index]

    def collate(self, items):
        return torch.cat(
            [torch.stack([value for value, _ in items]), torch.stack([y for _, y in items])], dim=1
        )

    def loss(self, batch):
        self.calls += 1
        if self.calls == self._stop_at:
            os.kill(os.getpid(), signal.SIGTERM)
        loss = nn.functional.mse_loss(self.module(batch[:, :3]), batch[:, 3:])
        if self.calls == self._steep_at:
            return (loss - loss.detach()).sqrt()  # 0, and of no finite slope
        return loss * math.nan if self.calls == self._broken_at else loss

    def evaluate(self):
        return {"minus error": -nn.functional.mse_loss(self.module(self.inputs), self.targets).item()}


def weights(part):
    return torch.cat([value.flatten() for value in part.module.state_dict().values()])


class Redrawn(Points):
    """Its items are others in every epoch."""

    def begin_epoch(self, epoch):
        self.epoch = epoch


def test_a_part_is_told_of_each_epoch_also_by_a_run_that_goes_on(tmp_path):
    for stop_at, epoch in ((15, 1), (10, 2), (None, 3)):  # an epoch has ten batches
        part = Redrawn(stop_at=stop_at)
        with suppress(TrainingError):
            train(part, CONFIG, tmp_path, CPU, identity="a")
        assert part.epoch == epoch


@pytest.mark.parametrize("stop_at", [1, 9, 10, 17, 20, 39])
def test_a_stopped_run_ends_as_an_unbroken_one(tmp_path, stop_at):
    whole = Points()
    train(whole, CONFIG, tmp_path / "whole", CPU, identity="a")
    with pytest.raises(TrainingError, match=f"Stopped at step {stop_at}"):
        train(Points(stop_at=stop_at), CONFIG, tmp_path / "broken", CPU, identity="a")
    resumed = Points()
    progress = train(resumed, CONFIG, tmp_path / "broken", CPU, identity="a")
    assert progress.step == 40
    assert resumed.calls == 40 - stop_at
    assert torch.equal(weights(resumed), weights(whole))


def test_a_run_begun_on_a_cpu_goes_on_on_a_gpu(monkeypatch):
    """Its checkpoint holds no random state of a GPU."""
    restored = []
    monkeypatch.setattr(torch.cuda, "set_rng_state", lambda state, device: restored.append((state, device)))
    own, gpu = torch.get_rng_state(), torch.device("cuda")
    _restore_chance({"rng": own}, gpu)
    assert restored == []
    _restore_chance({"rng": own, "cuda_rng": own}, CPU)
    assert restored == []
    _restore_chance({"rng": own, "cuda_rng": own}, gpu)
    assert [device for _, device in restored] == [gpu]


def test_a_run_that_crashed_after_its_best_weights_were_stored_knows_them(tmp_path):
    class Crashing(Points):
        def evaluate(self):
            return {"minus error": 1.0 if self.calls == 20 else -1.0 / self.calls}

        def loss(self, batch):
            if self.calls == crash_at:
                raise OSError("the power is gone")
            return super().loss(batch)

    crash_at = 24
    with pytest.raises(OSError, match="power"):
        train(Crashing(), CONFIG, tmp_path, CPU, identity="a")
    crash_at = None
    resumed = Points()  # whose figures are all lower
    progress = train(resumed, CONFIG, tmp_path, CPU, identity="a")
    assert (progress.best, progress.best_step) == (1.0, 20)
    assert resumed.calls == 20
    stored = torch.load(tmp_path / "best.pt", weights_only=True)
    assert all(torch.equal(value, stored[name]) for name, value in resumed.module.state_dict().items())


def test_a_batch_that_teaches_nothing_moves_no_weight(tmp_path):
    class Skipping(Points):
        def loss(self, batch):
            return super().loss(batch) if self.calls < 20 else None

    part = Skipping()
    progress = train(part, replace(CONFIG, evaluate_every=1_000), tmp_path, CPU, identity="a")
    assert (progress.step, part.calls) == (40, 20)
    short = Points(stop_at=20)
    with pytest.raises(TrainingError, match="Stopped at step 20"):
        train(short, replace(CONFIG, evaluate_every=1_000), tmp_path / "short", CPU, identity="a")
    assert torch.equal(weights(part), weights(short))


def test_a_crash_leaves_no_step_twice_in_the_log(tmp_path):
    with pytest.raises(TrainingError, match="Stopped"):
        train(Points(stop_at=15), CONFIG, tmp_path, CPU, identity="a")
    with (tmp_path / "log.jsonl").open("a") as file:
        file.write('{"step": 20, "loss": 1}\n{"step": 25, "lo')
    train(Points(), CONFIG, tmp_path, CPU, identity="a")
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines if "loss" in line] == [10, 20, 30, 40]


@pytest.mark.parametrize(
    "damaged", [b'{"step": 1\n', b"[10]\n", b'{"step": null}\n', b'{"step": 1e999}\n', b"\0\xff\n", b"\n"]
)
def test_a_damaged_line_of_the_log_does_not_stop_a_run_from_going_on(tmp_path, damaged):
    with pytest.raises(TrainingError, match="Stopped"):
        train(Points(stop_at=15), CONFIG, tmp_path, CPU, identity="a")
    log = tmp_path / "log.jsonl"
    log.write_bytes(damaged + log.read_bytes())
    train(Points(), CONFIG, tmp_path, CPU, identity="a")
    steps = [json.loads(line)["step"] for line in log.read_text().splitlines()]
    assert steps == [10, 10, 20, 20, 30, 30, 40, 40]


def test_a_run_that_ended_early_does_not_go_on(tmp_path):
    config = replace(CONFIG, patience=2)
    train(Points(frozen=True), config, tmp_path, CPU, identity="a")
    again = Points(frozen=True)
    train(again, config, tmp_path, CPU, identity="a")
    assert again.calls == 0


def test_a_run_that_goes_on_with_other_visits_tells_that_its_rate_is_not_that_of_one_run(tmp_path, caplog):
    train(Points(), CONFIG, tmp_path, CPU, identity="a")
    unchanged = train(Points(), CONFIG, tmp_path, CPU, identity="a")
    assert (unchanged.planned, caplog.messages) == ([], [])
    longer = replace(CONFIG, documents=200)
    with pytest.raises(TrainingError, match="Stopped"):
        train(Points(stop_at=1), longer, tmp_path, CPU, identity="a")
    [told] = caplog.messages
    assert told.startswith(
        "planned for 160 document visits and extended to 200: its learning rate is not that"
    )
    assert train(Points(), longer, tmp_path, CPU, identity="a").planned == [160]
    assert len(caplog.messages) == 1
    progress = train(Points(), replace(CONFIG, documents=240), tmp_path, CPU, identity="a")
    assert visits(progress, CONFIG) == (
        "240 in 60 steps of 4; planned for 160, then 200 before, so that the learning rate was not that of "
        "one run"
    )


def test_a_run_that_has_made_more_visits_than_are_asked_for_says_so(tmp_path, caplog):
    train(Points(), CONFIG, tmp_path, CPU, identity="a")
    again = Points()
    progress = train(again, replace(CONFIG, documents=100), tmp_path, CPU, identity="a")
    assert (again.calls, progress.documents, progress.planned) == (0, 160, [])
    assert caplog.messages == [
        "has made 160 document visits, more than the 100 asked for, and stays as it is; for a run of 100 "
        "start again with another --output"
    ]


def test_a_run_stopped_before_its_first_evaluation_may_go_on_with_fewer_visits(tmp_path):
    config = replace(CONFIG, evaluate_every=80)
    stopped = Points(stop_at=15)
    with pytest.raises(TrainingError, match="Stopped at step 15"):
        train(stopped, config, tmp_path, CPU, identity="a")
    for _ in range(2):
        part = Points()
        progress = train(part, replace(config, documents=50), tmp_path, CPU, identity="a")
        assert (part.calls, progress.documents, progress.best_step) == (0, 60, 15)
        assert torch.equal(weights(part), weights(stopped))
    assert (tmp_path / "log.jsonl").read_text().count("minus error") == 1


def test_a_constant_rate_is_that_of_one_run_however_it_went_on(tmp_path, caplog):
    constant = replace(CONFIG, warmup=0, decay=0)
    train(Points(), constant, tmp_path, CPU, identity="a")
    progress = train(Points(), replace(constant, documents=200), tmp_path, CPU, identity="a")
    assert (progress.planned, caplog.messages) == ([], [])
    assert visits(progress, constant) == "200 in 50 steps of 4"


def test_a_longer_run_goes_on_from_a_finished_one(tmp_path):
    train(Points(), CONFIG, tmp_path, CPU, identity="a")
    longer = Points()
    train(longer, replace(CONFIG, documents=200), tmp_path, CPU, identity="a")
    assert longer.calls == 10


@pytest.mark.parametrize(
    ("precision", "device", "bf16"),
    [("auto", "cuda", True), ("auto", "cpu", False), ("bf16", "cpu", True), ("fp32", "cuda", False)],
)
def test_the_device_decides_on_the_precision_where_nobody_does(precision, device, bf16):
    assert uses_bf16(precision, torch.device(device)) == bf16


def test_a_run_goes_on_in_the_precision_it_was_begun_with(tmp_path):
    left_open = replace(CONFIG, precision=LoopConfig(documents=1).precision)
    for begun in ("bf16", "fp32"):
        config = replace(CONFIG, precision=begun)
        whole, stopped, resumed = Points(), Points(stop_at=15), Points()
        train(whole, config, tmp_path / f"{begun} whole", CPU, identity="a")
        with pytest.raises(TrainingError, match="Stopped at step 15"):
            train(stopped, config, tmp_path / begun, CPU, identity="a")
        progress = train(resumed, left_open, tmp_path / begun, CPU, identity="a")
        assert progress.precision == begun
        assert torch.equal(weights(resumed), weights(whole))
    with pytest.raises(TrainingError, match="other settings"):
        train(Points(), replace(CONFIG, precision="fp32"), tmp_path / "bf16", CPU, identity="a")
    assert train(Points(), left_open, tmp_path / "new", CPU, identity="a").precision == "fp32"


def test_a_run_tells_what_it_was_made_on_and_not_what_its_card_is_written_on(tmp_path, monkeypatch):
    def trained(device: str) -> str:
        monkeypatch.setattr("kpdemo.training.loop.processor", lambda _: device)
        return train(Points(), CONFIG, tmp_path, CPU, identity="a").time()

    with pytest.raises(TrainingError, match="Stopped"):
        train(Points(stop_at=15), CONFIG, tmp_path, CPU, identity="a")
    made = f"{torch.get_num_threads()} {platform.machine()} CPU threads"
    assert trained("a GPU") == f"0 minutes on {made}, then a GPU, fp32"
    assert trained("another GPU") == f"0 minutes on {made}, then a GPU, fp32"


@pytest.mark.parametrize("change", [{"identity": "b"}, {"config": replace(CONFIG, seed=4)}])
def test_another_run_is_not_continued(tmp_path, change):
    train(Points(), CONFIG, tmp_path, CPU, identity="a")
    with pytest.raises(TrainingError, match="other settings"):
        train(Points(), change.get("config", CONFIG), tmp_path, CPU, identity=change.get("identity", "a"))


def test_the_best_weights_are_returned_and_the_log_tells_the_run(tmp_path):
    part = Points()
    progress = train(part, CONFIG, tmp_path, CPU, identity="a")
    part.module.eval()
    assert part.evaluate()["minus error"] == pytest.approx(progress.best)
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines if "minus error" in line] == [10, 20, 30, 40]
    assert all(line["documents_per_second"] > 0 for line in lines if "loss" in line)


def test_a_run_that_no_longer_improves_stops_early(tmp_path):
    part = Points(frozen=True)
    progress = train(part, replace(CONFIG, patience=2), tmp_path, CPU, identity="a")
    assert progress.best_step == 10
    assert progress.step == 30


def test_a_loss_that_is_no_number_is_explained(tmp_path):
    with pytest.raises(TrainingError, match="The loss is nan at step 2"):
        train(Points(broken_at=3), CONFIG, tmp_path, CPU, identity="a")


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_metric_that_is_no_number_is_explained_and_is_not_the_best(tmp_path, value):
    class Measured(Points):
        def evaluate(self):
            return {"minus error": value if self.calls == 20 else 0.5}

    with pytest.raises(TrainingError, match=f"^minus error is {value} at step 20: lower the learning rate"):
        train(Measured(), CONFIG, tmp_path, CPU, identity="a")
    mended = Points()
    train(mended, CONFIG, tmp_path, CPU, identity="a")  # goes on at the last checkpoint
    assert mended.calls == 30


@pytest.mark.parametrize("name", ["best.pt", "last.pt"])
@pytest.mark.parametrize("content", [b"torn", b"", b"\0" * 5_000, None])
def test_a_damaged_checkpoint_is_explained(tmp_path, name, content):
    train(Points(), CONFIG, tmp_path, CPU, identity="a")
    whole = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(whole[: len(whole) // 2] if content is None else content)
    with pytest.raises(TrainingError) as caught:
        train(Points(), CONFIG, tmp_path, CPU, identity="a")
    told = str(caught.value)
    assert told.startswith(f"{tmp_path / name} cannot be read (")
    assert told.endswith(f"): delete {tmp_path} to train from the beginning, or give another --output.")
    assert "\n" not in told


def test_a_checkpoint_is_on_the_disk_before_it_takes_the_place_of_the_last(tmp_path, monkeypatch):
    calls, fsync, replaced = [], os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda number: (calls.append("fsync"), fsync(number)))
    monkeypatch.setattr(os, "replace", lambda *names: (calls.append("replace"), replaced(*names)))
    save_state({"step": 1}, tmp_path / "last.pt")
    assert calls == ["fsync", "replace"]
    assert load_state(tmp_path / "last.pt") == {"step": 1}


def test_gradients_that_are_no_numbers_are_explained_and_spoil_no_weight(tmp_path):
    part = Points(steep_at=3)
    with pytest.raises(TrainingError, match="The gradients are nan at step 2"):
        train(part, CONFIG, tmp_path, CPU, identity="a")
    assert weights(part).isfinite().all()


def test_epochs_are_as_many_visits_of_each_document(tmp_path):
    part, config = Points(10), replace(CONFIG, documents=3 * 10, evaluate_every=10, log_every=2)
    progress = train(part, config, tmp_path, CPU, identity="a")
    assert part.visits == [3] * 10
    assert (progress.step, progress.documents, progress.epoch) == (9, 30, 2)
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    evaluated = [(line["step"], line["documents"]) for line in lines if "minus error" in line]
    assert evaluated == [(3, 10), (6, 20), (9, 30)]
    allowed = replace(CONFIG, documents=10 + 5)
    assert count_steps(Points(10), allowed) == 3 + 1  # the last batch that 15 visits allow


def test_the_rate_rises_stays_and_falls_to_zero():
    factor = learning_rate(replace(CONFIG, warmup=0.1, decay=0.5), 100)
    rates = [factor(step) for step in range(101)]
    assert rates[:10] == pytest.approx([0.1 * (step + 1) for step in range(10)])
    assert rates[10:51] == [1.0] * 41
    assert rates[75] == pytest.approx(0.5)
    assert rates[100] == 0


@given(
    st.lists(st.tuples(st.integers(1, 500), st.integers(1, 3)), min_size=1, max_size=50), st.integers(1, 9)
)
def test_an_epoch_holds_every_example_as_often_as_it_is_repeated(examples, size):
    lengths, repeats = zip(*examples, strict=True)
    batches = length_bucketed(lengths, repeats, batch_size=size, seed=1, epoch=0)
    counts = [0] * len(examples)
    for batch in batches:
        assert 1 <= len(batch) <= size
        for index in batch:
            counts[index] += 1
    assert counts == list(repeats)
    assert batches == length_bucketed(lengths, repeats, batch_size=size, seed=1, epoch=0)


def test_a_state_that_may_not_be_read_is_not_to_be_deleted(monkeypatch, tmp_path):
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError

    monkeypatch.setattr(torch, "load", refuse)
    with pytest.raises(TrainingError, match=r"last\.pt may not be read: fix its permissions"):
        load_state(tmp_path / "last.pt")
