"""WordNet by word and by sense key, from a folder of its files."""

from __future__ import annotations

import os

import pytest

from annotation.errors import WordNetError
from annotation.wordnet import SYSTEM_FOLDER, WordNet, open_wordnet
from tests.tiny_wordnet import Sense, write_wordnet

RODENT = Sense("mouse", "n", 'a small rodent; "the cat chased the mouse"', lexicographer=5)
POINTER = Sense("mouse", "n", "a hand-operated device for pointing")
CREAM = Sense("ice_cream", "n", "a frozen dessert", lexicographer=13)
STALK = Sense("mouse", "v", "go stealthily", lexicographer=38)


@pytest.fixture(scope="module")
def wordnet(tmp_path_factory) -> WordNet:
    return WordNet(write_wordnet(tmp_path_factory.mktemp("tiny") / "dict", [RODENT, POINTER, CREAM, STALK]))


def test_a_word_has_the_whole_gloss_of_each_sense(wordnet):
    assert wordnet.of_word("mouse", "n") == [RODENT.gloss, POINTER.gloss]
    assert wordnet.of_word("Mouse") == [RODENT.gloss, POINTER.gloss, STALK.gloss]
    assert wordnet.of_word("mice", "n") == [RODENT.gloss, POINTER.gloss]
    assert wordnet.of_word("ice cream", "n") == [CREAM.gloss]
    assert wordnet.of_word("butthurt") == []


@pytest.mark.parametrize("sense", [RODENT, POINTER, CREAM, STALK])
def test_a_sense_key_has_its_gloss(wordnet, sense):
    assert wordnet.of_key(sense.key) == sense.gloss


@pytest.mark.parametrize("key", ["rat%1:05:00::", "mouse%1:05:07::", "mouse", "mouse%1:05", ""])
def test_an_unknown_sense_key_has_none(wordnet, key):
    assert wordnet.of_key(key) is None


def test_a_folder_without_wordnet_is_explained(tmp_path):
    with pytest.raises(
        WordNetError, match=r"There is no WordNet in .* \(no data.adj\): .*apt install wordnet"
    ):
        open_wordnet(tmp_path)


def test_damaged_files_are_explained(tmp_path):
    folder = write_wordnet(tmp_path / "dict", [RODENT])
    (folder / "index.noun").write_text("mouse n many\n")
    with pytest.raises(WordNetError, match=r"cannot be read \(file index.noun, line 1"):
        open_wordnet(folder)


@pytest.mark.skipif(os.name != "posix", reason="files have no owners")
def test_a_file_that_others_may_write_is_explained(tmp_path):
    folder = write_wordnet(tmp_path / "dict", [RODENT])
    (folder / "data.noun").chmod(0o666)
    with pytest.raises(WordNetError, match=r"cannot be read \(.*chmod go-w"):
        open_wordnet(folder)


@pytest.mark.skipif(
    not (SYSTEM_FOLDER / "index.sense").is_file(), reason=f"no whole WordNet in {SYSTEM_FOLDER}"
)
def test_the_real_one_resolves_sense_keys():
    wordnet = open_wordnet(None)
    assert wordnet.of_key("passive%3:00:02::") in wordnet.of_word("passive", "a")
