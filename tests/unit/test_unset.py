"""Modules that are built without weights."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import torch
from torch import nn

from kpdemo.simckp.storage import unset_weights

ROOT = Path(__file__).parents[2]


def build() -> nn.Module:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    return nn.Sequential(
        nn.Embedding(10, 8), nn.TransformerEncoder(layer, 2), nn.Linear(8, 3), nn.LayerNorm(3)
    )


def test_a_module_with_the_weights_of_another_computes_the_same():
    other = build().eval()
    with unset_weights():
        module = build().eval()
    assert {weight.device.type for weight in module.parameters()} == {"meta"}
    module.load_state_dict(other.state_dict(), assign=True)
    words = torch.tensor([[1, 2, 3]])
    assert torch.equal(module(words), other(words))


def test_afterwards_weights_are_drawn_again():
    with unset_weights():
        pass
    assert len(nn.Linear(8, 3).weight.unique()) > 1


def test_what_predicts_is_imported_and_reads_without_the_compiler_and_transformers():
    code = (
        "import sys, torch\n"
        "import kpdemo.ramkg.predictor, kpdemo.simckp.predictor\n"
        "from kpdemo.simckp.bert import BertConfig, BertEncoder\n"
        "encoder = BertEncoder(BertConfig(9, 8, 2, 2, 16, 9, 2, 1e-12)).eval().lower(1)\n"
        "encoder(torch.zeros(1, 3).long(), torch.ones(1, 3).long())\n"
        "print(*{'sympy', 'torch._dynamo', 'transformers'} & set(sys.modules))"
    )
    assert imported_by(code) == []


def test_building_does_not_import_the_compiler():
    code = (
        "import sys\n"
        "from torch import nn\n"
        "from kpdemo.simckp.storage import unset_weights\n"
        "with unset_weights(): nn.Sequential(nn.Embedding(10, 8), nn.TransformerEncoderLayer(8, 2, 16))\n"
        "print(*{'sympy', 'torch._dynamo'} & set(sys.modules))"
    )
    assert imported_by(code) == []


def imported_by(code: str) -> list[str]:
    """What it prints, in a process of its own."""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.split()
