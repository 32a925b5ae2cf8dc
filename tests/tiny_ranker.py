"""A ranker with its retriever, trained in a second on French sentences about five subjects."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from transformers import AutoTokenizer, BertConfig, BertModel, BertTokenizerFast

from kpdemo.ramkg.index_building import build_index
from kpdemo.ramkg.passage_encoder import PassageReader, ProjectionConfig, new_reader
from kpdemo.ramkg.ranker import Knowledge, RankerModel, save_ranker
from kpdemo.ramkg.retriever import load_encoder
from kpdemo.ramkg.rgit import Augmented
from kpdemo.ramkg.settings import EncoderConfig, IndexConfig
from kpdemo.simckp.bert import BertEncoder
from kpdemo.simckp.calibration import Calibration
from kpdemo.simckp.checkpoint import load_checkpoint, save_checkpoint
from kpdemo.simckp.encoder import load_backbone
from kpdemo.simckp.extractor import ContrastiveExtractor, ExtractorConfig, Selection, SimckpPredictor
from kpdemo.training.multilingual.ranker import (
    RankerTraining,
    learn_lexicon,
    list_documents,
    train_ranker,
)
from kpdemo.training.multilingual.retriever import retrieval_loss
from kpdemo.types import Document
from tests.tiny import train_wordpiece

SUBJECTS = {
    "réseau de neurones": "neural network",
    "traduction automatique": "machine translation",
    "corps humain": "human body",
    "droit pénal": "criminal law",
    "analyse musicale": "musical analysis",
}
SENTENCE = (
    "Cette thèse étudie {0} dans plusieurs cas. La méthode montre que {0} mérite une attention nouvelle."
)
PASSAGES = tuple(
    Document(
        f"{english} and {french}", title=english.title(), id=english, keyphrases=(english,), language="en"
    )
    for french, english in SUBJECTS.items()
)


def save_tiny_ranker(folder: Path, *, seed: int = 0) -> Path:
    """A checkpoint folder at `folder / "model"`; rankers of different seeds have different retrievers."""
    documents = [
        Document(SENTENCE.format(subject), id=str(number), keyphrases=(subject,), language="fr")
        for number, subject in enumerate([*SUBJECTS] * 4)
    ]
    texts = [document.text for document in (*documents, *PASSAGES)]
    extractor, reader = tiny_networks(texts, folder, seed)
    given = [(one, (SUBJECTS[one.keyphrases[0]],)) for one in documents]
    knowledge = Knowledge.of(reader, learn_lexicon(given, workers=1))
    listed = list_documents(extractor, documents)
    config = RankerTraining(epochs=5, minimum=1)
    helped = [Augmented(one, (english,), (0.9,)) for one, english in given]
    ranker, _ = train_ranker(listed, helped, knowledge, config, folder / "with", retrieval=True)
    alone = [Augmented(one) for one in documents]
    base, _ = train_ranker(listed, alone, knowledge, config, folder / "without", retrieval=False)
    model = RankerModel(extractor, knowledge, ranker, base, 2, frozenset({"fr", "zh", "ko"}), near=0.4)
    save_ranker(folder / "model", model, folder / "extractor", name="tiny", card="# tiny\n")
    return folder / "model"


def build_tiny_index(folder: Path, model: Path, passages: Sequence[Document] = PASSAGES) -> Path:
    """An index of `passages`, by the retriever of `model`."""
    encoder = load_encoder(EncoderConfig(str(model)), device="cpu")
    build_index(enumerate(passages, start=1), folder, encoder, IndexConfig(), name="passages")
    return folder


def save_tiny_encoder(folder: Path, texts: Sequence[str], seed: int = 0) -> Path:
    """A BERT with random weights whose vocabulary has the words of the texts, as Transformers saves it."""
    torch.manual_seed(seed)
    tokenizer = BertTokenizerFast(tokenizer_object=train_wordpiece(texts, 400)._tokenizer)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=128,
    )
    bert = BertModel(config, add_pooling_layer=False)
    torch.nn.init.zeros_(bert.embeddings.position_embeddings.weight)  # a text is the mean of its words
    bert.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def save_tiny_extractor(folder: Path, encoder: Path) -> SimckpPredictor:
    """An extractor on a saved encoder, which has learnt nothing; stored in `folder`."""
    torch.manual_seed(0)
    module = ContrastiveExtractor(load_backbone(str(encoder))[0], ExtractorConfig(window=100, overlap=20))
    selection = Selection(0.3, Calibration(4.0, -1.0))
    tokenizer = AutoTokenizer.from_pretrained(encoder)
    save_checkpoint(folder, module, tokenizer, selection, name="tiny", card="# tiny\n")
    return load_checkpoint(folder, device="cpu")


def tiny_networks(texts: Sequence[str], folder: Path, seed: int) -> tuple[SimckpPredictor, PassageReader]:
    """An extractor, stored in `folder / "extractor"`, and a retriever on the same encoder.

    Args:
        texts: first documents on each of `SUBJECTS`, and last the passages that belong to them; the retriever
            learns which.
    """
    extractor = save_tiny_extractor(folder / "extractor", save_tiny_encoder(folder / "encoder", texts, seed))
    settings = ProjectionConfig(layers=1, width=64, length=100)
    encoder = extractor.module.encoder
    assert isinstance(encoder, BertEncoder)
    reader = new_reader(encoder, extractor.tokenizer, extractor.padding, settings)
    queries = torch.from_numpy(reader.pool(texts[: len(SUBJECTS)]))
    passages = torch.from_numpy(reader.pool(texts[-len(SUBJECTS) :]))
    optimizer = torch.optim.Adam(reader.projection.parameters(), lr=1e-3)
    numbers = torch.arange(len(SUBJECTS))
    for _ in range(100):
        vectors = reader.projection(queries), reader.projection(passages)
        optimizer.zero_grad()
        retrieval_loss(*vectors, numbers, temperature=0.2, both_ways=True).backward()
        optimizer.step()
    return extractor, reader
