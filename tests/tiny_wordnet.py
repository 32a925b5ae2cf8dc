"""A WordNet of a few senses, in the files of the real one (wndb(5WN))."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

SUFFIXES = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
NUMBERS = {"n": 1, "v": 2, "a": 3, "r": 4, "s": 5}
HEADER = "  1 This is no WordNet 3.0 Copyright 2006 by anyone, but a test.  \n"
INVERSE = {"@": "~", "#p": "%p", "&": "&", "!": "!", "+": "+"}


@dataclass(frozen=True)
class Sense:
    """A synset, called by its first word; `pointers` are symbols and senses, and lead back by themselves."""

    word: str
    pos: str
    gloss: str
    lexicographer: int = 6
    number: int = 0
    others: tuple[str, ...] = ()
    """Further words of the synset."""
    pointers: tuple[tuple[str, Sense], ...] = ()

    @property
    def file(self) -> str:
        return "a" if self.pos == "s" else self.pos

    @property
    def words(self) -> tuple[str, ...]:
        return (self.word, *self.others)

    @property
    def key(self) -> str:
        return self.key_of(self.word)

    def key_of(self, word: str) -> str:
        head = next((target for symbol, target in self.pointers if symbol == "&"), None)
        end = f"{head.word}:{head.number:02}" if self.pos == "s" and head else ":"
        return f"{word.lower()}%{NUMBERS[self.pos]}:{self.lexicographer:02}:{self.number:02}:{end}"


def write_wordnet(folder: Path, senses: list[Sense]) -> Path:
    """Write the files; the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    links = _links(senses)
    places = _places(senses, links)
    keys: list[str] = []
    for pos, suffix in SUFFIXES.items():
        own = [sense for sense in senses if sense.file == pos]
        data = HEADER + "".join(_line(sense, places, links) for sense in own)
        offsets: dict[str, list[int]] = defaultdict(list)
        for sense in own:
            for word in sense.words:
                offsets[word.lower()].append(places[sense])
                number = len(offsets[word.lower()])
                keys.append(f"{sense.key_of(word)} {places[sense]:08} {number} 0\n")
        index = HEADER + "".join(
            f"{word} {pos} {len(found)} 0 {len(found)} 0 {' '.join(f'{place:08}' for place in found)}  \n"
            for word, found in sorted(offsets.items())
        )
        (folder / f"data.{suffix}").write_text(data, encoding="utf-8")
        (folder / f"index.{suffix}").write_text(index, encoding="utf-8")
        (folder / f"{suffix}.exc").write_text("mice mouse\n" if pos == "n" else "", encoding="utf-8")
    (folder / "index.sense").write_text("".join(sorted(keys)), encoding="utf-8")
    for path in (folder, *folder.iterdir()):
        path.chmod(path.stat().st_mode & ~0o022)  # NLTK reads nothing that others may write
    return folder


def _links(senses: list[Sense]) -> dict[Sense, list[tuple[str, Sense]]]:
    links: dict[Sense, list[tuple[str, Sense]]] = defaultdict(list)
    for sense in senses:
        for symbol, target in sense.pointers:
            links[sense].append((symbol, target))
            links[target].append((INVERSE[symbol], sense))
    return links


def _places(senses: list[Sense], links: dict[Sense, list[tuple[str, Sense]]]) -> dict[Sense, int]:
    """Where each line begins; offsets are as wide as any, so that lines can be measured before."""
    nowhere = dict.fromkeys(senses, 0)
    places: dict[Sense, int] = {}
    ends = dict.fromkeys(SUFFIXES, len(HEADER.encode()))
    for sense in senses:
        places[sense] = ends[sense.file]
        ends[sense.file] += len(_line(sense, nowhere, links).encode())
    return places


def _line(sense: Sense, places: dict[Sense, int], links: dict[Sense, list[tuple[str, Sense]]]) -> str:
    words = " ".join(f"{word} {sense.number:x}" for word in sense.words)
    pointers = "".join(
        f" {symbol} {places[target]:08} {target.pos} {'0101' if symbol in '!+' else '0000'}"
        for symbol, target in links[sense]
    )
    frames = " 00" if sense.pos == "v" else ""
    head = f"{places[sense]:08} {sense.lexicographer:02} {sense.pos} {len(sense.words):02x} {words}"
    return f"{head} {len(links[sense]):03}{pointers}{frames} | {sense.gloss}  \n"


ENTITY = Sense("entity", "n", "whatever is", lexicographer=3)
DEVICE = Sense("device", "n", "a thing made for a purpose", pointers=(("@", ENTITY),))
POINTER = Sense(
    "mouse", "n", "a device that moves a pointer", others=("computer_mouse",), pointers=(("@", DEVICE),)
)
KEYBOARD = Sense("keyboard", "n", 'a device with keys; "type on the keyboard"', pointers=(("@", DEVICE),))
KEY = Sense("key", "n", "a part that is pressed", pointers=(("#p", KEYBOARD),))
CAP = Sense("keycap", "n", "the top of a key", pointers=(("#p", KEY),))
LETTERING = Sense("lettering", "n", "what is printed on a top", pointers=(("#p", CAP),))
RODENT = Sense("mouse", "n", "a small animal with a long tail", lexicographer=5, pointers=(("@", ENTITY),))
STALK = Sense("mouse", "v", "go stealthily", lexicographer=38, pointers=(("+", RODENT),))
QUICK = Sense("quick", "a", "moving in little time", lexicographer=0)
SLOW = Sense("slow", "a", "taking much time", lexicographer=0, pointers=(("!", QUICK),))
RAPID = Sense("rapid", "s", "quick in its course", lexicographer=0, pointers=(("&", QUICK),))
SWIFT = Sense("swift", "s", "quick on its way", lexicographer=0, pointers=(("&", QUICK),))
NETWORK = [
    *(ENTITY, DEVICE, POINTER, KEYBOARD, KEY, CAP, LETTERING, RODENT),
    *(STALK, QUICK, SLOW, RAPID, SWIFT),
]
"""From the mouse that points: device 1; entity and keyboard 2; the animal and the key 3; else further."""
