"""The passages near to a document that are not the document itself, whose keyphrases would give it away."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from kpdemo.ramkg.encoder import Encoder
from kpdemo.ramkg.index import Hit, PassageIndex
from kpdemo.types import Document


def retrieve_others(
    index: PassageIndex, encoder: Encoder, documents: Sequence[Document], count: int
) -> list[list[Hit]]:
    """As `PassageIndex.retrieve`, without passages whose text is that of the document: see `fingerprint`."""
    found: list[list[Hit]] = [[] for _ in documents]
    waiting, asked = list(range(len(documents))), count + 1
    while waiting:
        rows = index.retrieve(encoder, [documents[number] for number in waiting], asked)
        short = []
        for number, hits in zip(waiting, rows, strict=True):
            own = fingerprint(documents[number])
            found[number] = [hit for hit in hits if fingerprint(hit.passage) != own][:count]
            if len(found[number]) < count and len(hits) == asked:  # the index holds the text several times
                short.append(number)
        waiting, asked = short, 2 * asked
    return found


def fingerprint(document: Document) -> str:
    """The letters and digits of a text, the same for copies with other capitals, spaces or punctuation.

    Ids do not reveal copies: those of two files may both be line numbers.

    >>> fingerprint(Document("We compare graphs.", "Graph kernels"))
    'graphkernelswecomparegraphs'
    """
    plain = unicodedata.normalize("NFKC", document.text).casefold()
    return "".join(filter(str.isalnum, plain))
