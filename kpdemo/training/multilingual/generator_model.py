"""The encoder-decoder that RAMKG's training begins with: a pretrained one, or a new one of chosen sizes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokenizers import SentencePieceUnigramTokenizer
from tokenizers.processors import TemplateProcessing
from transformers import BartConfig, BartForConditionalGeneration, PreTrainedTokenizerFast

from kpdemo.errors import ModelLoadError
from kpdemo.ramkg.frames import Ends, added_languages, form_of, own_languages
from kpdemo.ramkg.generator_checkpoint import build_writer
from kpdemo.ramkg.iterate import Augmented
from kpdemo.ramkg.vocabulary import MARKS, WriterSettings
from kpdemo.ramkg.writer import Writer
from kpdemo.simckp.backbone import add_tokens, load_encoder_decoder, longest_reading
from kpdemo.storage import replace_file
from kpdemo.training.freezing import set_dropout
from kpdemo.training.multilingual.generator_config import ScratchConfig, WriterTraining
from kpdemo.training.run_files import LAST
from kpdemo.types import Document

SAMPLED = 3_000
_VOCABULARY_FILE = "vocabulary.json"
_SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")


@dataclass(frozen=True)
class FoundBy:
    """The encoder that found the retrieved keyphrases: a hash of it, and its name; both empty if unknown."""

    identity: str = ""
    name: str = ""


def new_writer(
    config: WriterTraining, examples: Sequence[Augmented], folder: Path, found_by: FoundBy
) -> tuple[Writer, Any, Ends]:
    """The model as training begins, its tokenizer of Transformers, and its ends.

    Args:
        examples: of the training; a new vocabulary is learnt from their documents, whose languages are those
            that the model is made for.
        folder: where the vocabulary of a new model is kept, so that a resumed run has the same one.

    Raises:
        ModelLoadError: the backbone cannot be loaded, or does not say how its sequences begin and end.
    """
    if config.scratch:
        documents = [given.document for given in examples]
        model, tokenizer = _from_scratch(config, config.scratch, documents, folder)
    else:
        model, tokenizer = load_encoder_decoder(config.backbone, attention=config.attention)
    set_dropout(model, config.dropout)
    form = form_of(model.config.model_type, tokenizer)
    languages = own_languages(tokenizer) if form != "plain" else added_languages(config.languages)
    special = tuple(tokenizer("")["input_ids"])
    add_tokens(model, tokenizer, [*MARKS, *languages.values()])
    settings = WriterSettings(
        form=form,
        languages=dict(languages),
        made_for=tuple(sorted({given.document.language for given in examples} - {""})),
        window=min(config.window, longest_reading(model.config, tokenizer)),
        longest=config.longest,
        beams=config.beams,
        deduplicate=config.deduplicate,
        passages=config.passages,
        retrieves=any(given.retrieved for given in examples),
        retriever=found_by.identity,
        retriever_name=found_by.name,
    )
    ends = Ends(special, *_ends(config.backbone, model, tokenizer))
    return build_writer(config.name, model, tokenizer.backend_tokenizer, settings, ends), tokenizer, ends


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


def _from_scratch(
    config: WriterTraining, sizes: ScratchConfig, documents: Sequence[Document], folder: Path
) -> tuple[Any, Any]:
    tokenizer = _vocabulary(folder / _VOCABULARY_FILE, sizes.vocabulary, documents)
    bos, padding, end, _ = range(len(_SPECIAL))
    bart = BartConfig(
        vocab_size=len(tokenizer),
        d_model=sizes.width,
        encoder_layers=sizes.layers,
        decoder_layers=sizes.layers,
        encoder_attention_heads=sizes.heads,
        decoder_attention_heads=sizes.heads,
        encoder_ffn_dim=4 * sizes.width,
        decoder_ffn_dim=4 * sizes.width,
        max_position_embeddings=max(config.window, config.longest + 8),
        bos_token_id=bos,
        pad_token_id=padding,
        eos_token_id=end,
        decoder_start_token_id=end,
        forced_eos_token_id=None,
    )
    return BartForConditionalGeneration(bart), tokenizer


def _vocabulary(path: Path, size: int, documents: Sequence[Document]) -> Any:
    """A unigram vocabulary (Kudo 2018) with the characters that are frequent.

    One that is there is that of the run, or was left by one that never began, of whatever documents.
    """
    if not (path.is_file() and (path.parent / LAST).is_file()):
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
