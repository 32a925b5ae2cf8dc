"""WordNet 3.0 from a folder of its database files, by NLTK's reader.

NLTK is imported with this module; import it when WordNet is needed.
"""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import Any

import nltk.data
from nltk.corpus.reader.wordnet import WordNetCorpusReader
from nltk.corpus.reader.wordnet import WordNetError as NltkWordNetError

from annotation.errors import WordNetError

SYSTEM_FOLDER = Path("/usr/share/wordnet")
"""Where Debian's packages put it."""
_PARTS = ("adj", "adv", "noun", "verb")
NEEDED = (
    *(f"data.{part}" for part in _PARTS),
    *(f"index.{part}" for part in (*_PARTS, "sense")),
    *(f"{part}.exc" for part in _PARTS),
)
ADVICE = (
    "on Debian and Ubuntu `apt install wordnet-base wordnet-sense-index` puts it into /usr/share/wordnet, "
    "elsewhere unpack WordNet 3.0 of wordnet.princeton.edu and name its folder dict with --wordnet"
)
# lexnames(5WN): the lexicographer files in the order of their numbers. Debian's package leaves the file out.
_LEXICOGRAPHER_FILES = (
    "adj.all adj.pert adv.all noun.Tops noun.act noun.animal noun.artifact noun.attribute noun.body "
    "noun.cognition noun.communication noun.event noun.feeling noun.food noun.group noun.location "
    "noun.motive noun.object noun.person noun.phenomenon noun.plant noun.possession noun.process "
    "noun.quantity noun.relation noun.shape noun.state noun.substance noun.time verb.body verb.change "
    "verb.cognition verb.communication verb.competition verb.consumption verb.contact verb.creation "
    "verb.emotion verb.motion verb.perception verb.possession verb.social verb.stative verb.weather adj.ppl"
)


class WordNet:
    """Definitions by word and by sense key. A definition is the whole gloss: its examples belong to it."""

    def __init__(self, folder: Path) -> None:
        """Read the indices of `folder`; takes a few seconds.

        Raises:
            WordNetError: the folder has no WordNet, or one that cannot be read.
        """
        missing = [name for name in NEEDED if not (folder / name).is_file()]
        if missing:
            raise WordNetError(f"There is no WordNet in {folder} (no {missing[0]}): {ADVICE}.")
        try:
            self._reader = _Reader(folder.resolve())
        except (OSError, ValueError, AssertionError, StopIteration, NltkWordNetError) as error:
            reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
            raise WordNetError(
                f"WordNet in {folder} cannot be read ({reason}): mend that, or name another with --wordnet."
            ) from error

    def of_word(self, word: str, part_of_speech: str | None = None) -> list[str]:
        """The definition of each sense of a word or one of its forms, the most frequent sense first.

        Args:
            word: spaces or underscores between its parts.
            part_of_speech: n, v, a or r; None is any.
        """
        found = self._reader.synsets(word.strip().replace(" ", "_"), part_of_speech)
        return [self._reader.gloss(synset) for synset in found]

    def of_key(self, sense_key: str) -> str | None:
        """The definition of the sense with this key, such as "top%2:38:04::"; None of an unknown one."""
        try:
            return self._reader.gloss(self._reader.synset_from_sense_key(sense_key))
        except (NltkWordNetError, ValueError, KeyError):
            return None


class _Reader(WordNetCorpusReader):  # type: ignore[misc]  # NLTK has no types
    """NLTK's, for a folder that needs no other corpus beside it."""

    def __init__(self, folder: Path) -> None:
        if str(folder) not in nltk.data.path:
            nltk.data.path.append(str(folder))  # NLTK reads nowhere else
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that other languages are missing
            super().__init__(nltk.data.FileSystemPathPointer(str(folder)), None)
        for name in NEEDED:  # some are opened only when they are asked
            self.open(name).close()

    def open(self, file: str) -> Any:
        if file == "lexnames":
            names = enumerate(_LEXICOGRAPHER_FILES.split())
            return io.StringIO("".join(f"{number:02}\t{name}\t0\n" for number, name in names))
        return super().open(file)

    def map_wn(self, version: str = "wordnet") -> None:
        """No map to the numbers of another WordNet, which NLTK would look for among its own corpora."""

    def gloss(self, synset: Any) -> str:
        """What stands behind the bar in the line of a synset."""
        file = self._data_file(synset.pos())
        file.seek(synset.offset())
        return str(file.readline()).partition("|")[2].strip()


def open_wordnet(folder: Path | None) -> WordNet:
    """WordNet in `folder`, by default the system's.

    Raises:
        WordNetError: see `WordNet`.
    """
    return WordNet(folder or SYSTEM_FOLDER)
