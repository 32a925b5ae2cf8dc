"""A WordNet of a few senses, in the files of the real one (wndb(5WN))."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

SUFFIXES = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
NUMBERS = {"n": 1, "v": 2, "a": 3, "r": 4}
HEADER = "  1 This is no WordNet 3.0 Copyright 2006 by anyone, but a test.  \n"


@dataclass(frozen=True)
class Sense:
    word: str
    pos: str
    gloss: str
    lexicographer: int = 6
    number: int = 0

    @property
    def key(self) -> str:
        return f"{self.word}%{NUMBERS[self.pos]}:{self.lexicographer:02}:{self.number:02}::"


def write_wordnet(folder: Path, senses: list[Sense]) -> Path:
    """Write the files, each sense a synset of its own; the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    keys = []
    for pos, suffix in SUFFIXES.items():
        data, offsets = HEADER, defaultdict(list)
        for sense in (sense for sense in senses if sense.pos == pos):
            offset = len(data.encode())
            offsets[sense.word].append(offset)
            keys.append(f"{sense.key} {offset:08} {len(offsets[sense.word])} 0\n")
            frames = " 00" if pos == "v" else ""
            numbers = f"{sense.lexicographer:02} {pos} 01 {sense.word} {sense.number:x} 000{frames}"
            data += f"{offset:08} {numbers} | {sense.gloss}  \n"
        index = HEADER + "".join(
            f"{word} {pos} {len(places)} 0 {len(places)} 0 {' '.join(f'{place:08}' for place in places)}  \n"
            for word, places in sorted(offsets.items())
        )
        (folder / f"data.{suffix}").write_text(data, encoding="utf-8")
        (folder / f"index.{suffix}").write_text(index, encoding="utf-8")
        (folder / f"{suffix}.exc").write_text("mice mouse\n" if pos == "n" else "", encoding="utf-8")
    (folder / "index.sense").write_text("".join(sorted(keys)), encoding="utf-8")
    for path in (folder, *folder.iterdir()):
        path.chmod(path.stat().st_mode & ~0o022)  # NLTK reads nothing that others may write
    return folder
