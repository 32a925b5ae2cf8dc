"""Senses in their network, and what pairs of a word and a sense say of them."""

from __future__ import annotations

import json
from decimal import Decimal
from io import BufferedReader, BytesIO

import pytest

from annotation.errors import ImportFileError, WordNetError
from annotation.files.gold_files import Extras, open_gold
from annotation.gold import Format, GoldRow, gold_row
from annotation.sense_pairs import Dictionary, add_senses, describe_sense, senses_from_json, senses_to_json
from annotation.senses import (
    PairSenses,
    Relation,
    Sense,
    SenseText,
    WordFlag,
    item_views,
    neighbourhood,
    word_label,
)
from annotation.types import NewPair, ProjectSettings, RatedPair
from annotation.wordnet import WordNet
from kpdemo.io.tables import open_stream
from tests import tiny_wordnet as tiny
from tests.reading import read_items

OWN = PairSenses(WordFlag.OOS, tiny.RODENT.key, 'a bruise, "black" and blue; =1+1')


@pytest.fixture(scope="module")
def wordnet(tmp_path_factory) -> WordNet:
    return WordNet(tiny.write_wordnet(tmp_path_factory.mktemp("tiny") / "dict", tiny.NETWORK))


def sense(wordnet: WordNet, one: tiny.Sense) -> Sense:
    found = wordnet.sense(one.key)
    assert found is not None, one.key
    return found


def test_the_neighbourhood_ends_after_three_edges(wordnet):
    steps = neighbourhood(wordnet.edges, sense(wordnet, tiny.POINTER).synset)
    found = [(wordnet.synset(step.synset).words[0], step.distance, step.relation) for step in steps]
    assert found == [
        ("mouse", 0, None),
        ("device", 1, Relation.MORE_GENERAL),
        ("entity", 2, Relation.MORE_GENERAL),
        ("keyboard", 2, Relation.MORE_SPECIFIC),
        ("mouse", 3, Relation.MORE_SPECIFIC),
        ("key", 3, Relation.PART),
    ]
    assert [wordnet.synset(step.via).words[0] for step in steps[1:]] == [
        *("mouse", "device", "device", "entity", "keyboard")
    ]


def test_edges_between_single_words_count(wordnet):
    steps = neighbourhood(wordnet.edges, sense(wordnet, tiny.SLOW).synset)
    words = {wordnet.synset(step.synset).words[0]: step.distance for step in steps}
    assert words == {"slow": 0, "quick": 1, "rapid": 2, "swift": 2}
    verb = neighbourhood(wordnet.edges, sense(wordnet, tiny.STALK).synset)
    assert [step.relation for step in verb][:2] == [None, Relation.DERIVED]


def test_parents_and_siblings(wordnet):
    def around(one: tiny.Sense) -> tuple[list[str], list[str]]:
        synset = sense(wordnet, one).synset
        parents, siblings = wordnet.parents(synset), wordnet.siblings(synset)
        return [parent.label for parent in parents], [sibling.label for sibling in siblings]

    assert around(tiny.POINTER) == (["device (noun)"], ["keyboard (noun)"])
    assert around(tiny.RAPID) == (["quick (adjective)"], ["swift (adjective)"])
    assert around(tiny.QUICK) == ([], [])


def test_siblings_come_in_the_order_of_the_files_and_the_same_ones_are_kept_each_time(tmp_path):
    children = [tiny.Sense(f"tool{n}", "n", f"tool {n}", pointers=(("@", tiny.DEVICE),)) for n in range(20)]
    wordnet = WordNet(tiny.write_wordnet(tmp_path / "dict", [tiny.ENTITY, tiny.DEVICE, *children]))
    siblings = wordnet.siblings(sense(wordnet, children[0]).synset)
    assert [sibling.words[0] for sibling in siblings] == [f"tool{n}" for n in range(1, 20)]
    kept = describe_sense(children[0].key, wordnet)
    assert [text.definition for text in kept.siblings] == [f"tool {n}" for n in range(1, 13)]


@pytest.mark.parametrize("one", tiny.NETWORK, ids=lambda one: f"{one.word}-{one.pos}")
def test_keys_and_numbers_lead_to_each_other(wordnet, one):
    number = wordnet.number_of(one.key)
    assert number is not None
    word, letter, place = number.split("#")
    assert wordnet.key_of(word, letter, int(place)) == one.key
    assert wordnet.key_of(word, letter, int(place) + 9) is None


def test_a_word_reads_as_people_write_it():
    assert word_label("ice_cream#n") == "ice cream (noun)"
    assert [word_label(text) for text in ("C#", "mouse (noun)", "a#b c", "")] == [
        *("C#", "mouse (noun)", "a#b c", "")
    ]


def read(text: str, wordnet: WordNet | None, name: str = "word2sense.test.input.tsv") -> list[NewPair]:
    source = open_stream(BufferedReader(BytesIO(text.encode())), name)  # type: ignore[arg-type]
    items = list(add_senses(read_items(source), lambda: wordnet))
    for item in items:
        if isinstance(item, ImportFileError):
            raise item
    return items  # type: ignore[return-value]


def test_an_import_takes_the_texts_of_each_sense_from_wordnet(wordnet):
    [pair] = read(f"pointer#n\t{tiny.POINTER.key}\tmouse#n#1\tw-1\n", wordnet)
    assert (pair.right, pair.source) == (tiny.POINTER.key, "mouse#n#1")
    assert pair.senses == PairSenses(
        sense=SenseText("mouse, computer mouse (noun)", tiny.POINTER.gloss),
        parents=(SenseText("device (noun)", tiny.DEVICE.gloss),),
        siblings=(SenseText("keyboard (noun)", tiny.KEYBOARD.gloss),),
        sibling_count=1,
    )
    [number] = read("pointer#n\tmouse#n#1\tw-1\n", wordnet)
    assert (number.right, number.senses) == (pair.right, pair.senses)


@pytest.mark.parametrize(
    ("right", "has_wordnet", "problem"),
    [
        ("mouse%1:6:0", True, "'mouse%1:6:0' is not a sense key; write one such as"),
        ("mouse%1:6:0", False, "'mouse%1:6:0' is not a sense key; write one such as"),
        ("mouse%1:06:07::", True, "WordNet 3.0 has no sense 'mouse%1:06:07::'; fix the key"),
        ("mouse#n#9", True, "WordNet 3.0 has no sense 'mouse#n#9'; fix the number"),
        ("mouse#n#1", False, "'mouse#n#1' is a sense number, which needs WordNet, and there is none here"),
    ],
)
def test_a_sense_that_is_none_is_refused_by_its_line(wordnet, right, has_wordnet, problem):
    lines = f"a#n\t{tiny.KEY.key}\ta-1\n\na#n\t{right}\ta-2\n"
    with pytest.raises(ImportFileError) as refusal:
        read(lines, wordnet if has_wordnet else None)
    assert str(refusal.value).startswith("word2sense.test.input.tsv, line 3, field 'right': ")
    assert problem in str(refusal.value)


def test_without_wordnet_keys_and_definitions_in_words_stay_as_they_are():
    pairs = read(f"a#n\t{tiny.KEY.key}\ta-1\na#n\tmouse (noun): 100 % of it\ta-2\n", None)
    assert [(pair.right, pair.senses) for pair in pairs] == [
        (tiny.KEY.key, None),
        ("mouse (noun): 100 % of it", None),
    ]


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"word_flag": "maybe"}, "field 'word_flag': 'maybe' is not a flag; write oov, oos or nothing"),
        ({"word_flag": "oov"}, "field 'word_definition': is empty; a word with the flag oov needs"),
        ({"word_key": "mouse"}, "field 'word_key': 'mouse' is not a sense key"),
        ({"sense_words": "x", "sense_parents": "[1]"}, "field 'sense_parents': '1' needs"),
        ({"sense_words": "x", "sense_siblings": "{"}, "field 'sense_siblings': is not a list"),
        ({"sense_words": "x", "sense_sibling_count": -1}, "'-1' is not a number of senses"),
        ({"word_definition": "\ud800"}, "holds a character that is not text"),
    ],
)
def test_a_wrong_field_is_named(fields, problem):
    row = {"id": "1", "type": "word2sense", "left": "a#n", "right": tiny.KEY.key, **fields}
    with pytest.raises(ImportFileError, match=r"pairs\.jsonl, line 1, ") as refusal:
        read(json.dumps(row), None, "pairs.jsonl")
    assert problem in str(refusal.value)


@pytest.mark.parametrize("format", [Format.JSONL, Format.CSV])
@pytest.mark.parametrize("has_wordnet", [True, False])
def test_flag_and_definitions_survive_an_export_and_an_import(wordnet, tmp_path, format, has_wordnet):
    senses = describe_sense(
        tiny.POINTER.key, wordnet, flag=OWN.flag, word_key=OWN.word_key, word_definition=OWN.word_definition
    )
    assert senses is not None
    assert senses_from_json(json.loads(json.dumps(senses_to_json(senses)))) == senses
    rows = [gold_of("flagged", senses), gold_of("bare", None)]
    with open_gold(format, tmp_path, ["word2sense"], None, Extras(has_senses=True)) as writer:
        for row in rows:
            writer.add(row)
    text = (tmp_path / f"gold.{format}").read_text(encoding="utf-8")
    flagged, bare = read(text, wordnet if has_wordnet else None, f"gold.{format}")
    assert flagged.senses == senses
    assert (bare.senses is None) is not has_wordnet


def gold_of(id: str, senses: PairSenses | None) -> GoldRow:
    ratings = (("ana", Decimal(3)), ("ben", Decimal(3)))
    pair = RatedPair(
        1, id, "word2sense", "mouse#n", tiny.POINTER.key, None, None, None, ratings, senses=senses
    )
    return gold_row(pair, ProjectSettings("Senses"), None)


def test_raters_see_meanings_and_never_a_key(wordnet):
    senses = describe_sense(
        tiny.POINTER.key, wordnet, flag=WordFlag.OOV, word_definition="what moves a cursor"
    )
    word, shown = item_views("word2sense", "pointy#n", tiny.POINTER.key, senses)
    assert (word.text, word.definition) == ("pointy (noun)", "what moves a cursor")
    assert word.note == "The dictionary does not have this word. It means:"
    assert (shown.text, shown.definition) == ("mouse, computer mouse (noun)", tiny.POINTER.gloss)
    assert [(group.title, [text.words for text in group.texts]) for group in shown.groups] == [
        ("More general", ["device (noun)"]),
        ("Others of the same kind", ["keyboard (noun)"]),
    ]
    _, stored = item_views("word2sense", "pointy#n", tiny.POINTER.key, None)
    assert (stored.text, stored.is_plain) == (tiny.POINTER.key, True)


def test_wordnet_is_looked_for_when_it_is_asked_for(tmp_path):
    dictionary = Dictionary(tmp_path / "dict")
    assert dictionary.open_or_none() is None
    with pytest.raises(WordNetError, match=r"There is no WordNet in .*apt install wordnet-base"):
        dictionary.open()
    tiny.write_wordnet(tmp_path / "dict", tiny.NETWORK)
    assert dictionary.open() is dictionary.open_or_none()
