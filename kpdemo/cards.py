"""What a model is and how far to trust it, in Markdown."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

from kpdemo.identity import CARD, PAGE
from kpdemo.predictors import (
    ENGLISH_MODEL,
    factory_docstring,
    hub_models,
    is_factory_name,
    is_hub_name,
    model_folder,
)
from kpdemo.routing import DEFAULT_MODEL

CARDS = (CARD, PAGE)
"""Where a folder has its card: ours, and that of the Hugging Face Hub."""

LONGEST_CARD = 100_000
"""Characters of a card that are read."""

_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_TEN_BEST = (
    "It returns present keyphrases only: the ten best, unless you ask for another number. Scores are "
    "relative to the best keyphrase of the document, so they cannot be compared between documents."
)
_BASELINE_CARDS = {
    "first": f"""# first: the first noun phrases

The longest runs of adjectives and nouns, in the order of the text: titles and opening sentences name the
subject. Nothing is learnt.

{_TEN_BEST}
""",
    "tfidf": f"""# tfidf: TF-IDF over noun phrases

The frequency of a phrase of at most three words in the document, times its inverse document frequency in a
fixed collection. Phrases that are frequent here and rare elsewhere come first.

{_TEN_BEST}
""",
    "yake": f"""# yake: YAKE

The method of Campos et al. 2020 in its authors' package: the position of a word, its frequency, the number of
sentences with it, and the words around it. Phrases of at most three words; nothing is learnt.

{_TEN_BEST}
""",
    "textrank": f"""# textrank: TextRank

The method of Mihalcea and Tarau 2004: adjacent words are linked, PageRank weights them, and the score of a
noun phrase is the sum over its words. This favours long phrases.

{_TEN_BEST}
""",
    "positionrank": f"""# positionrank: PositionRank

The method of Florescu and Caragea 2017: words that occur near each other are linked, PageRank weights them
with a bias towards early and frequent ones, and the score of a noun phrase of at most three words is their
sum.

{_TEN_BEST}
""",
    "multipartite": f"""# multipartite: MultipartiteRank

The method of Boudin 2018: noun phrases that share words form a topic, phrases of different topics are linked
by their distance in the text, and the first of each topic is promoted before PageRank weights them.

{_TEN_BEST}
""",
    "embedding": """# embedding: similarity of phrase and document

Like KeyBERT: each noun phrase is encoded on its own with the default model's encoder and compared with the
document; maximal marginal relevance (Carbonell and Goldstein 1998) keeps ten that differ from each other. The
encoder was trained to compare phrases in context: one trained on phrases alone does better.

It returns present keyphrases only. Scores are cosines.
""",
}

_ENGLISH_CARD = """# english: the default model for every language

It also reads the languages that `default` passes to `multilingual`, as if they were English. Its card:

"""


def model_card(model: str | Path) -> str:
    """The card of a model by name or folder; a line that says so where there is none."""
    name, hub = str(model), hub_models()
    if name in _BASELINE_CARDS:
        return _BASELINE_CARDS[name]
    if name == ENGLISH_MODEL:
        return _ENGLISH_CARD + model_card(DEFAULT_MODEL)
    if name in hub:
        return f"# {name}: from the Hugging Face Hub\n\n{hub[name]}.\n"
    folder = model_folder(name)
    for card in CARDS:
        with suppress(OSError), (folder / card).open(encoding="utf-8", errors="replace") as file:
            return _FRONT_MATTER.sub("", file.read(LONGEST_CARD))
    if is_factory_name(name) and not folder.is_dir():
        return _factory_card(name)
    if is_hub_name(name) and not folder.is_dir():
        return "This model has not been downloaded yet: its card is available after the first prediction.\n"
    return f"This model has no card: there is no {CARD} in its folder.\n"


SUMMARY_SENTENCES = 3

_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")


def card_summary(card: str) -> str:
    """The first sentences of a card under its heading, `SUMMARY_SENTENCES` at most, in Markdown.

    >>> card_summary("# a: b\\n\\nOne\\nline. Two (Choi et al. 2023). Three. Four.\\n\\n## Use")
    'One line. Two (Choi et al. 2023). Three.'
    """
    paragraphs = (part for part in re.split(r"\n\s*\n", card) if not part.lstrip().startswith(("#", "|")))
    sentences = _SENTENCE.split(" ".join(next(paragraphs, "").split()))
    return " ".join(sentences[:SUMMARY_SENTENCES])


def _factory_card(name: str) -> str:
    module, _, factory = name.partition(":")
    told = factory_docstring(name) or (
        f"It has no description: `{module}` itself does not define `{factory}` with a docstring. Write one "
        "there, or name the module that defines it."
    )
    return f"# {name}: a model in Python\n\n{told}\n"
