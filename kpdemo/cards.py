"""What a model is and how far to trust it, in Markdown."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

from kpdemo.languages.routing import DEFAULT_MODEL
from kpdemo.predictors import ENGLISH_MODEL, hub_models, is_hub_name, model_folder
from kpdemo.sums import CARD, PAGE

CARDS = (CARD, PAGE)
"""Where a folder has its card: ours, and that of the Hugging Face Hub."""

LONGEST_CARD = 100_000
"""Characters of a card that are read."""

_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_TEN_BEST = (
    "It gives the ten best unless another number is asked for, and present keyphrases only. A score is the "
    "share of the best one's, so scores of two documents do not compare."
)
_BASELINE_CARDS = {
    "first": f"""# first: the first noun phrases

The longest runs of adjectives and nouns, in the order of the text: titles and opening sentences name the
subject. Nothing is learnt.

{_TEN_BEST}
""",
    "tfidf": f"""# tfidf: TF-IDF over noun phrases

How often a phrase of at most three words stands in the document, times the logarithm of how rare it is in a
fixed collection of documents. What is frequent here and rare elsewhere comes first.

{_TEN_BEST}
""",
    "yake": f"""# yake: YAKE

The method of Campos et al. 2020 in its authors' package: where a word stands, how often, in how many
sentences, and in what company. Phrases of at most three words; nothing is learnt.

{_TEN_BEST}
""",
    "textrank": f"""# textrank: TextRank

The method of Mihalcea and Tarau 2004: words that stand side by side are linked, PageRank weighs them, and a
noun phrase counts as the sum of its words. It favours long phrases.

{_TEN_BEST}
""",
    "positionrank": f"""# positionrank: PositionRank

The method of Florescu and Caragea 2017: words that stand near each other are linked, PageRank weighs them and
is drawn to those that come early and often, and a noun phrase of at most three words counts as their sum.

{_TEN_BEST}
""",
    "multipartite": f"""# multipartite: MultipartiteRank

The method of Boudin 2018: noun phrases that share words make a topic, phrases of different topics are linked
by their distance in the text, and the first of each topic is promoted before PageRank weighs them.

{_TEN_BEST}
""",
    "embedding": """# embedding: vectors by themselves

In the manner of KeyBERT: each noun phrase is encoded by itself with the default model's encoder and compared
with the document; maximal marginal relevance (Carbonell and Goldstein 1998) keeps ten that are unlike each
other. The encoder was trained to compare phrases in their context: one made for phrases alone does better.

It gives present keyphrases only. A score is a cosine.
""",
}

_ENGLISH_CARD = """# english: the default model for every language

What `default` leaves to the model `multilingual` this reads too, as if it were English. Its card:

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
    if is_hub_name(name) and not folder.is_dir():
        return "This model is not on this machine yet: its card comes with its first prediction.\n"
    return f"This model has no card: there is no {CARD} in its folder.\n"
