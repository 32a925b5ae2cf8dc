"""A ranker with its retriever, trained in a second on French sentences about five subjects."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch

from kpdemo.ramkg.index_building import build_index
from kpdemo.ramkg.ranker import RankerModel, save_ranker
from kpdemo.ramkg.retriever import load_encoder
from kpdemo.ramkg.rgit import Augmented
from kpdemo.ramkg.settings import EncoderConfig, IndexConfig
from kpdemo.ramkg.subwords import SubwordEncoder, SubwordReader, read_bags, train_tokenizer
from kpdemo.training.multilingual.ranker import RankerTraining, mine_documents, train_ranker
from kpdemo.types import Document

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
    reader = _reader([document.text for document in (*documents, *PASSAGES)], seed)
    mined = mine_documents(documents, workers=1)
    config = RankerTraining(epochs=5, minimum=1)
    helped = [Augmented(one, ((SUBJECTS[one.keyphrases[0]],),), (0.9,)) for one in documents]
    ranker, knowledge, _ = train_ranker(mined, helped, reader, config, folder / "with", retrieval=True)
    alone = [Augmented(one) for one in documents]
    base, _, _ = train_ranker(mined, alone, reader, config, folder / "without", retrieval=False)
    model = RankerModel(knowledge, ranker, base, 2, frozenset({"fr", "zh", "ko"}), near=0.4)
    save_ranker(folder / "model", model, name="tiny", card="# tiny\n")
    return folder / "model"


def build_tiny_index(folder: Path, model: Path, passages: Sequence[Document] = PASSAGES) -> Path:
    """An index of `passages`, by the retriever of `model`."""
    encoder = load_encoder(EncoderConfig(str(model)), device="cpu")
    build_index(enumerate(passages, start=1), folder, encoder, IndexConfig(), name="passages")
    return folder


def _reader(texts: Sequence[str], seed: int) -> SubwordReader:
    tokenizer = train_tokenizer(list(texts) * 3, 400)
    torch.manual_seed(seed)
    module = SubwordEncoder(tokenizer.get_vocab_size(), 32)
    module.start_from_rarity(read_bags(tokenizer, texts, 100))
    return SubwordReader(module.eval().requires_grad_(False), tokenizer, 100)
