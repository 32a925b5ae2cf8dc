"""A tiny multilingual-e5-small in the form of its package."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from transformers import BertConfig, BertModel

from kpdemo.simckp.e5 import E5_FILE

MARKS = ("<s>", "<pad>", "</s>", "<unk>")
PIECES = {
    "▁": -3.0,
    ",": -3.5,
    "s": -4.0,
    **dict.fromkeys(("▁graph", "▁fix", "▁kernels"), -6.0),
    **dict.fromkeys(("▁Graph", "▁kernel", "核", "函", "数"), -7.0),
    **dict.fromkeys(("核函数", "▁그래프", "▁noyaux"), -8.0),
    **dict.fromkeys("abcdefghijklmnopqrtuvwxyz그래프", -9.0),
}
WIDTH = 32  # one block


def tiny_e5(folder: Path) -> tuple[Path, dict[str, Tensor]]:
    """The file, and the weights that are to be read from it, by Transformers' names."""
    pieces = [*((mark, 0.0) for mark in MARKS), *PIECES.items(), ("<mask>", 0.0)]
    torch.manual_seed(1)
    config = BertConfig(
        vocab_size=len(pieces) + 3,  # the real one has spare rows too
        hidden_size=WIDTH,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=2 * WIDTH,
        max_position_embeddings=40,
        initializer_range=0.5,
    )
    state = BertModel(config, add_pooling_layer=False).state_dict()
    wide = {name for name in state if name.endswith("weight") and _is_wide(name)}
    blocks = {name: _in_blocks(state[name]) for name in wide}
    sizes = (WIDTH, 2, 2, 2 * WIDTH, config.vocab_size, 40, 2)
    head = struct.pack("<4sI7ifi", b"E5S1", 1, *sizes, config.layer_norm_eps, 32)
    texts = [piece.encode() for piece, _ in pieces]
    ends = np.cumsum([0, *map(len, texts)])
    head += struct.pack("<5iQ", len(pieces), 0, 2, 1, 3, ends[-1]) + ends.astype("<u4").tobytes()
    head += np.array([score for _, score in pieces], "<f4").tobytes() + b"".join(texts)
    head += struct.pack("<iI9s", 1, 9, b"\x09\0\0\0\x01 \0\0\0")  # a tab is read as a blank
    contents = {name: blocks[name][0] if name in wide else state[name].numpy().tobytes() for name in state}
    content = _with_directory(head, {_short(name): (name in wide, contents[name]) for name in state})
    (folder / E5_FILE).write_bytes(content)
    return folder / E5_FILE, {name: blocks[name][1] if name in wide else state[name] for name in state}


def _is_wide(name: str) -> bool:
    return "LayerNorm" not in name and "position" not in name and "token_type" not in name


def _in_blocks(weight: Tensor) -> tuple[bytes, Tensor]:
    """A weight in four bits, and what is left of it."""
    rows = weight.numpy().reshape(-1, 32)
    scales = np.maximum(np.abs(rows).max(axis=1, keepdims=True) / 7, 1e-3).astype("<f2")  # padding is 0
    steps = np.clip(np.round(rows / scales.astype(np.float32)), -8, 7)
    low, high = np.split((steps + 8).astype(np.uint8), 2, axis=1)
    content = b"".join(s.tobytes() + p.tobytes() for s, p in zip(scales, low | high << 4, strict=True))
    return content, torch.from_numpy(steps * scales.astype(np.float32)).float().view(weight.shape)


def _short(name: str) -> str:
    """The name of a weight in the file."""
    for long, short in {
        "embeddings.word_embeddings.weight": "emb.word",
        "embeddings.position_embeddings.weight": "emb.pos",
        "embeddings.token_type_embeddings.weight": "emb.type",
        "embeddings.LayerNorm": "emb.ln",
        "encoder.layer.": "l",
        "attention.self.query": "q",
        "attention.self.key": "k",
        "attention.self.value": "v",
        "attention.output.dense": "ao",
        "attention.output.LayerNorm": "aln",
        "intermediate.dense": "fi",
        "output.dense": "fo",
        "output.LayerNorm": "oln",
        ".weight": ".w",
        ".bias": ".b",
    }.items():
        name = name.replace(long, short)
    return name


def _with_directory(head: bytes, tensors: Mapping[str, tuple[bool, bytes]]) -> bytes:
    start = len(head) + 4 + sum(2 + len(name) + 21 for name in tensors)
    directory, body = struct.pack("<i", len(tensors)), b""
    for name, (in_blocks, content) in tensors.items():
        count = len(content) * 32 // 18 if in_blocks else len(content) // 4
        directory += struct.pack(f"<H{len(name)}s", len(name), name.encode())
        directory += struct.pack("<BIQQ", in_blocks, count, start + len(body), len(content))
        body += content
    return head + directory + body
