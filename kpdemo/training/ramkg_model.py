"""The encoder-decoder that RAMKG's training begins with: a pretrained one, or a new one of chosen sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field
from tokenizers import SentencePieceUnigramTokenizer
from tokenizers.processors import TemplateProcessing
from transformers import BartConfig, BartForConditionalGeneration, PreTrainedTokenizerFast

from kpdemo.errors import ConfigError, ModelLoadError
from kpdemo.ramkg.frames import Form, added_languages, form_of, own_languages
from kpdemo.ramkg.generator_checkpoint import Ends, build_writer
from kpdemo.ramkg.vocabulary import MARKS, WriterSettings
from kpdemo.ramkg.writer import Writer
from kpdemo.simckp.backbone import load_encoder_decoder, longest_reading
from kpdemo.storage import replace_file
from kpdemo.training.freezing import set_dropout
from kpdemo.types import Document

SAMPLED = 3_000
_VOCABULARY_FILE = "vocabulary.json"
_SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")


@dataclass(frozen=True)
class ScratchConfig:
    """The paper's baseline "Transformer": an encoder and a decoder of equal size, as in BART.

    Attributes:
        vocabulary: subwords of a unigram vocabulary learnt from the training documents.
        width, layers, heads: D, and layers of the encoder and of the decoder.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    vocabulary: Annotated[int, Field(ge=200)] = 16_000
    width: Annotated[int, Field(ge=8)] = 256
    layers: Annotated[int, Field(ge=1)] = 3
    heads: Annotated[int, Field(ge=1)] = 4

    def __post_init__(self) -> None:
        if self.width % self.heads:
            raise ConfigError(f"A width of {self.width} cannot be shared by {self.heads} heads: change one.")


@dataclass(frozen=True)
class StartSettings:
    """See `kpdemo.training.ramkg.RamkgTraining`.

    Attributes:
        folder: where the vocabulary of a new model is kept, so that a run that goes on has the same.
    """

    name: str
    backbone: str
    scratch: ScratchConfig | None
    languages: Sequence[str]
    window: int
    longest: int
    beams: int
    passages: int
    deduplicate: bool
    dropout: float | Literal["pretrained"]
    attention: str
    folder: Path
    retrieves: bool
    retriever: str
    retriever_name: str


def new_writer(settings: StartSettings, documents: Sequence[Document]) -> tuple[Writer, Any, Ends]:
    """The model as training begins, its tokenizer of Transformers, and its ends.

    Args:
        documents: of the training; a new vocabulary is learnt from them, and their languages are those
            that the model is made for.

    Raises:
        ModelLoadError: the backbone cannot be loaded, or does not say how its sequences begin and end.
    """
    if settings.scratch:
        model, tokenizer = _from_scratch(settings, settings.scratch, documents)
    else:
        model, tokenizer = load_encoder_decoder(settings.backbone, attention=settings.attention)
    set_dropout(model, settings.dropout)
    form = form_of(model.config.model_type, tokenizer)
    languages = own_languages(tokenizer) if form != "plain" else added_languages(settings.languages)
    special = tuple(tokenizer("")["input_ids"])
    _add_tokens(model, tokenizer, [*MARKS, *languages.values()])
    writer = _writer_settings(settings, form, languages, documents, longest_reading(model.config, tokenizer))
    ends = Ends(special, *_ends(settings.backbone, model, tokenizer))
    return build_writer(settings.name, model, tokenizer.backend_tokenizer, writer, ends), tokenizer, ends


def _writer_settings(
    settings: StartSettings,
    form: Form,
    languages: Mapping[str, str],
    documents: Sequence[Document],
    readable: int,
) -> WriterSettings:
    return WriterSettings(
        form=form,
        languages=dict(languages),
        made_for=tuple(sorted({document.language for document in documents} - {""})),
        window=min(settings.window, readable),
        longest=settings.longest,
        beams=settings.beams,
        deduplicate=settings.deduplicate,
        passages=settings.passages,
        retrieves=settings.retrieves,
        retriever=settings.retriever,
        retriever_name=settings.retriever_name,
    )


def _ends(name: str, model: Any, tokenizer: Any) -> tuple[int, int, int]:
    """The decoder's first token, the last one, and padding."""
    starts = (
        getattr(model.generation_config, "decoder_start_token_id", None),
        getattr(model.config, "decoder_start_token_id", None),
        model.generation_config.bos_token_id,
        tokenizer.eos_token_id,  # mBART begins with the language, whatever is said here
    )
    start = next((token for token in starts if token is not None), None)
    if start is None or tokenizer.eos_token_id is None or tokenizer.pad_token_id is None:
        raise ModelLoadError(
            f"The model {name!r} does not say how its sequences begin and end: set decoder_start_token_id, "
            "eos_token and pad_token in its configuration."
        )
    return int(start), int(tokenizer.eos_token_id), int(tokenizer.pad_token_id)


def _add_tokens(model: Any, tokenizer: Any, tokens: Sequence[str]) -> None:
    known = tokenizer.get_vocab()
    tokenizer.add_tokens([token for token in tokens if token not in known], special_tokens=True)
    if len(tokenizer) > model.get_input_embeddings().num_embeddings:
        model.resize_token_embeddings(len(tokenizer), mean_resizing=False)


def _from_scratch(
    settings: StartSettings, sizes: ScratchConfig, documents: Sequence[Document]
) -> tuple[Any, Any]:
    tokenizer = _vocabulary(settings.folder / _VOCABULARY_FILE, sizes.vocabulary, documents)
    bos, padding, end, _ = range(len(_SPECIAL))
    config = BartConfig(
        vocab_size=len(tokenizer),
        d_model=sizes.width,
        encoder_layers=sizes.layers,
        decoder_layers=sizes.layers,
        encoder_attention_heads=sizes.heads,
        decoder_attention_heads=sizes.heads,
        encoder_ffn_dim=4 * sizes.width,
        decoder_ffn_dim=4 * sizes.width,
        max_position_embeddings=max(settings.window, settings.longest + 8),
        bos_token_id=bos,
        pad_token_id=padding,
        eos_token_id=end,
        decoder_start_token_id=end,
        forced_eos_token_id=None,
    )
    return BartForConditionalGeneration(config), tokenizer


def _vocabulary(path: Path, size: int, documents: Sequence[Document]) -> Any:
    """A unigram vocabulary (Kudo 2018) with the characters that are frequent."""
    if not path.is_file():
        trainer = SentencePieceUnigramTokenizer()
        trainer.train_from_iterator(
            _texts(documents),
            vocab_size=size,
            special_tokens=list(_SPECIAL),
            unk_token="<unk>",
            show_progress=False,
        )
        trainer.post_processor = TemplateProcessing(
            single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
        )
        replace_file(path, trainer.to_str().encode())
    names = {
        f"{name}_token": token for name, token in zip(("bos", "pad", "eos", "unk"), _SPECIAL, strict=True)
    }
    return PreTrainedTokenizerFast(tokenizer_file=str(path), **names)  # type: ignore[no-untyped-call]


def _texts(documents: Sequence[Document]) -> Iterator[str]:
    """Of at most `SAMPLED` documents, spread evenly: more change few subwords and take long."""
    for document in documents[:: -(-len(documents) // SAMPLED)]:
        yield document.text
        yield " ".join(document.keyphrases)
