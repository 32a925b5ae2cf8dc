"""Starter guidelines for raters in Markdown, for a new project to begin with.

After the rating scale and the procedure of Jurgens et al. 2014 (Table 1, section 3), in words of our own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from annotation.comparison import types_in_order
from annotation.translation import _
from kpdemo.translation import ENGLISH, LANGUAGES, use_language

_GENERAL = """# How to grade

Each pair has a larger and a smaller text. Ask one question: **how much of the larger text's meaning does
the smaller one carry?**

- Grade meaning, not wording. Two texts without a word in common can mean the same, and two texts that share
  most of their words can mean different things.
- Decide first which ideas of the larger text matter most. The smaller text has less room: that it leaves
  out side issues costs nothing, that it leaves out or changes a main idea does.
- *Very similar* is not *identical*: the highest grade is for a small text that keeps all that matters.
- Go by what people usually mean by the words. Do not look anything up to find a connection, and do not
  grade whether a text is true, polite or well written.
- If a pair lies between two points, take a step between them. Use the whole scale: a 0 is as good an answer
  as a 4.
- Grade each pair by itself, at a steady pace. Do not talk about pairs with other raters before all are
  graded.
- If you do not understand a text, or it is broken, skip the pair and say why rather than guess.
"""
_OF_TYPES = {
    "paragraph2sentence": """
## Paragraph to sentence

Think of the sentence as a summary of the paragraph. It deserves the highest grade if a reader of the
sentence alone would know what the paragraph is chiefly about. Take points off for main ideas that it leaves
out, and for details that differ, such as another place, time or person. A sentence about the same event
that says something else of it stands in the middle; one that might come from the same article, but tells of
other things, is low.
""",
    "sentence2phrase": """
## Sentence to phrase

A phrase cannot say everything: look whether it names what the sentence says, with who does what to whom
where that matters. A phrase that is more general (*an animal* for *my neighbour's dog*) or loses the action
lies a little lower. A phrase about a thing that only occurs in the sentence is related, not similar.
""",
    "phrase2word": """
## Phrase to word

Look whether the word, in any of its usual senses, means what the phrase means. A word that names the same
thing more generally or more narrowly is somewhat similar. A word for a part, a cause, a tool or a place of
it is related. Idioms count as what they mean, not as what their words say.
""",
    "word2sense": """
## Word to sense

The sense is one meaning of another word, with its definition. Read the definition, not only the word above
it. Compare it with the meaning that the word of the pair usually has; if it has several, take the one
nearest to the sense. The same concept is very similar, a kind of it or something of the same kind is
somewhat similar, and something that only occurs together with it is related.
""",
    "document2keyphrase": """
## Document to keyphrase

Ask whether somebody who searched with this phrase would be glad to find the document. The highest grade is
for a phrase that names a main subject of it, exactly. A phrase that is much wider or narrower than the
subject lies lower, one for a side issue lower still. It does not matter whether the phrase stands in the
text in these words.
""",
}


STARTERS = (_GENERAL, *_OF_TYPES.values())
"""Each a message of the catalogues."""


def starter_guidelines(types: Iterable[str], language: str = ENGLISH) -> str:
    """Guidelines in a language for projects with these comparison types; only known ones have any."""
    parts = [_OF_TYPES[name] for name in types_in_order(types) if name in _OF_TYPES]
    with use_language(language):
        return _join_lines("".join(map(_, [_GENERAL, *parts]))) if parts else ""


def is_starter(text: str) -> bool:
    """Whether the text is a starter for some of the known types, as nobody has changed it."""
    text = _join_lines(text.strip())  # older projects have them in short lines
    return not text or any(_is_starter_in(code, text) for code in LANGUAGES)


def _is_starter_in(language: str, text: str) -> bool:
    with use_language(language):
        held = [name for name, part in _OF_TYPES.items() if _join_lines(_(part)).strip() in text]
    return text == starter_guidelines(held, language).strip()


def _join_lines(text: str) -> str:
    """Each paragraph and each point on one line: the field that shows them breaks lines where it ends."""
    return re.sub(r"(?<!\n)\n *(?![\n# -]|\Z)", " ", text)
