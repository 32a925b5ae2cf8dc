"""Tokens, tags and Algorithm 1 of SimCKP."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk import RegexpParser, Tree

from kpdemo.candidates.chunks import CandidateConfig, _chunks, candidate_key, surface
from kpdemo.candidates.mining import mine_candidates
from kpdemo.candidates.noun_phrases import noun_ngrams, noun_phrases
from kpdemo.candidates.tagger import load_tagger, tokenize
from kpdemo.candidates.word_runs import run_key
from kpdemo.errors import ModelLoadError
from kpdemo.text import PhraseFinder, StemmedText
from kpdemo.types import Document

# The released code's, in NLTK's notation.
INSIDE = "IN|CD|DT|FW|GW|AFX|POS|HYPH|LS|ADD|:|NN.*|VB.*|JJ.*|RB.*"
CHUNK_GRAMMAR = f"PHRASE: {{<{INSIDE}>+<CC|RP|{INSIDE}>*}}"

TAGS = [
    "IN",
    "CD",
    "DT",
    "FW",
    "GW",
    "AFX",
    "POS",
    "HYPH",
    "LS",
    "ADD",
    ":",
    "NN",
    "NNPS",
    "VBZ",
    "JJR",
    "RB",
]
OTHER_TAGS = [
    "CC",
    "RP",
    "TO",
    "MD",
    "PRP",
    "PRP$",
    "WDT",
    "WP",
    "EX",
    "PDT",
    "UH",
    "SYM",
    "$",
    ",",
    ".",
    "-LRB-",
]


class FixedTagger:
    """Tags by a word list, nouns otherwise."""

    def __init__(self, tags: dict[str, str]) -> None:
        self._tags = tags

    def tag(self, words):
        return [self._tags.get(word.lower(), "NN") for word in words]


def keys(text: str, tags: dict[str, str], **options) -> list[str]:
    return [c.key for c in mine_candidates(Document(text), FixedTagger(tags), CandidateConfig(**options))]


def test_no_candidate_holds_a_picture():
    document = Document(
        "We study emoji 😀 features ❤️ of graph kernels ☕️ and 🚀 neural networks 👩\u200d💻, "
        "play ▶ buttons, star ⭐ ratings and alarm ⏰ clocks."
    )
    found = [
        document.text[slice(*candidate.spans[0])] for candidate in mine_candidates(document, load_tagger())
    ]
    assert {"graph kernels", "neural networks", "emoji", "features"} <= set(found)
    assert all(phrase.isascii() for phrase in found)


def test_the_worked_example_of_the_paper():
    assert set(keys("applications of machine learning", {"of": "IN"})) == {
        "applic",
        "machin",
        "learn",
        "applic of machin",
        "machin learn",
        "applic of machin learn",
    }


def test_the_shipped_tagger_reads_the_worked_example():
    found = mine_candidates(Document("Applications of machine learning."), load_tagger())
    assert "applic of machin learn" in [candidate.key for candidate in found]


@given(st.lists(st.sampled_from(TAGS + OTHER_TAGS), max_size=30))
def test_chunks_are_those_of_nltks_parser(tags):
    tree = RegexpParser(CHUNK_GRAMMAR).parse([(str(position), tag) for position, tag in enumerate(tags)])
    expected = [(int(child[0][0]), int(child[-1][0]) + 1) for child in tree if isinstance(child, Tree)]
    assert list(_chunks(tags)) == expected


def test_a_phrase_has_at_most_six_words():
    found = keys("one two three four five six seven", {})
    assert max(key.count(" ") + 1 for key in found) == 6


def test_a_hyphenated_compound_counts_as_one_word():
    found = keys("long-term one two three four five six", {"-": "HYPH"})
    assert "long term one two three four five" in found
    assert "long term one two three four five six" not in found


def test_hyphenated_and_open_spelling_are_one_candidate():
    [candidate] = [
        c
        for c in mine_candidates(
            Document("long-term memory. Long term memories"), FixedTagger({"-": "HYPH", ".": "."})
        )
        if c.key == "long term memori"
    ]
    assert len(candidate.spans) == 2


def test_a_compound_may_start_with_a_preposition():
    assert "in hous system" in keys("in-house system", {"in": "IN", "-": "HYPH"})
    assert "in hous system" not in keys("in house system", {"in": "IN"})


@pytest.mark.parametrize(
    ("text", "whole", "cut"),
    [
        ("search and n-grams", ["search and n grams", "n grams"], ["search and n", "n", "grams"]),
        ("p‐values and the k‐NN rule", ["p values and the k NN", "k NN rule"], ["p values and the k"]),
        ("a state-of-the-art model", ["state of the art model"], ["the art model", "art model"]),
        ("use state-of-the-art models", ["use state of the art"], ["use state", "use state of the"]),
        ("graph kernels - a survey", ["graph kernels"], []),
        ("text search and n grams, text search and n-grams", ["search and n", "grams"], []),
        ("Wi-Fi access", ["Wi Fi", "Wi Fi access", "access"], ["Wi", "Fi", "Fi access"]),
        ("Wi-Fi access at home and the Fi", ["Fi"], ["Wi", "Fi access"]),
    ],
)
def test_no_candidate_is_a_piece_of_a_hyphenated_compound_wherever_it_stands(text, whole, cut):
    tags = {"and": "IN", "the": "DT", "of": "IN", "a": "DT", ",": ",", "-": "HYPH", "‐": "HYPH"}
    found = keys(text, tags)
    assert {candidate_key(phrase) for phrase in whole} <= set(found)
    assert not {candidate_key(phrase) for phrase in cut} & set(found)


@pytest.mark.parametrize("joiner", ["/", "-"])
def test_a_chain_without_end_has_few_candidates(joiner):
    chain = joiner.join(f"w{number}x" for number in range(600))
    found = mine_candidates(Document(chain), load_tagger())
    assert len(found) <= 600 * 12
    assert max((candidate.key.count(" ") for candidate in found), default=0) < 12


def test_bare_marks_are_no_candidates_and_end_none():
    found = mine_candidates(Document("😀 smiley 🎉 in % of # chats \u200b"), load_tagger())
    assert all(key[0].isalnum() and key[-1].isalnum() for key in (candidate.key for candidate in found))


def test_determiners_start_candidates_only_on_request():
    assert "the model" not in keys("the model", {"the": "DT"})
    assert "the model" in keys("the model", {"the": "DT"}, determiner_starts=True)


def test_a_particle_ends_but_does_not_start_a_candidate():
    found = keys("set up cost", {"up": "RP"})
    assert "set up" in found
    assert "up cost" not in found


def test_candidates_do_not_cross_title_and_body_or_commas():
    document = Document(title="graph kernels", body="compare molecules, proteins")
    found = [c.key for c in mine_candidates(document, FixedTagger({",": ","}))]
    assert "kernel compar" not in found
    assert "molecul protein" not in found


@given(st.text(st.sampled_from("abcé .,-'/😀<>\n的"), max_size=60))
def test_every_span_reads_as_its_candidate(text):
    document = Document(text, title="Ünïcode title-words")
    for candidate in mine_candidates(document, load_tagger()):
        for start, end in candidate.spans:
            assert candidate_key(document.text[start:end]) == candidate.key


def test_spans_are_all_places_whatever_their_tags():
    text = "Learning is fun. They are learning. LEARNING!"
    document = Document(text)
    [candidate] = [c for c in mine_candidates(document, load_tagger()) if c.key == "learn"]
    assert [text[start:end].lower() for start, end in candidate.spans] == ["learning"] * 3


def test_gold_in_plain_sentences_is_found():
    text = (
        "We propose a boundary integral equation method for the scalar potential of eddy currents. "
        "The fast multipole method's cost grows linearly, and peer-to-peer networks solve it in parallel."
    )
    document = Document(text)
    found = {candidate.key for candidate in mine_candidates(document, load_tagger())}
    for gold in (
        "boundary integral equation",
        "scalar potential",
        "fast multipole method",
        "peer to peer networks",
    ):
        assert candidate_key(gold) in found
    assert StemmedText(document).contains("eddy current")


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("don't", ["do", "n't"]),
        ("users’ models", ["users", "’", "models"]),
        ("state-of-the-art", ["state", "-", "of", "-", "the", "-", "art"]),
        ("C++ and C#.", ["C++", "and", "C#", "."]),
        ("see www.example.org/a, e.g. 2.5GHz", ["see", "www.example.org/a", ",", "e.g.", "2.5GHz"]),
        ("<digit> nodes", ["<digit>", "nodes"]),
        ("E. coli and C.\nelegans", ["E. coli", "and", "C.\nelegans"]),
        ("group B. The end", ["group", "B", ".", "The", "end"]),
        ("by Smith J. and others", ["by", "Smith", "J", ".", "and", "others"]),
        ("St. John’s wort, Mt. Everest", ["St. John’s wort", ",", "Mt. Everest"]),
        ("Node.js, ASP.NET, .NET.", ["Node.js", ",", "ASP.NET", ",", ".NET", "."]),
        ("A Ph.D. thesis", ["A", "Ph.D.", "thesis"]),
        ("O'Reilly’s rock'n'roll by d’Alembert", ["O'Reilly", "’s", "rock'n'roll", "by", "d’Alembert"]),
        ("I/O and A/B tests, and/or", ["I/O", "and", "A/B", "tests", ",", "and", "/", "or"]),
        ("Fe(III) oxides, f(x)", ["Fe(III)", "oxides", ",", "f", "(", "x", ")"]),
        ("Poly(ethylene glycol) (PEG)", ["Poly(ethylene glycol)", "(", "PEG", ")"]),
    ],
)
def test_tokens(text, tokens):
    assert [token.text for token in tokenize(text)] == tokens


@given(st.text())
def test_tokens_lose_nothing_but_white_space(text):
    tokens = tokenize(text)
    assert all(text[token.start : token.end] == token.text for token in tokens)
    assert "".join("".join(token.text.split()) for token in tokens) == "".join(text.split())


@pytest.mark.parametrize(
    ("name", "piece"),
    [
        ("E. coli", "coli"), ("C. elegans", "elegans"), ("ASP.NET", "NET"), ("Node.js", "Node"),
        ("O'Reilly", "Reilly"), ("Ph.D. thesis", "D"), ("Mt. Everest", "Everest"), ("rock'n'roll", "n"),
        ("I/O scheduling", "O scheduling"), ("Fe(III) oxides", "III"),
        ("Poly(ethylene glycol)", "glycol"), ("Crohn’s disease", "s"), ("Wi-Fi", "Wi"),
        ("St. John's wort", "wort"), ("T-cell receptor", "cell receptor"),
    ],
)  # fmt: skip
def test_a_name_with_a_mark_inside_is_a_candidate_and_its_piece_is_none(name, piece):
    document = Document(f"The {name} is our subject.")
    for mine in (mine_candidates, noun_phrases, noun_ngrams):
        found = {document.text[slice(*span)] for one in mine(document, load_tagger()) for span in one.spans}
        assert name in found
        assert piece not in found


def test_addresses_are_no_candidates():
    document = Document("See https://example.org/kernels or write to jane@example.org for kernels.")
    for mine in (mine_candidates, noun_phrases, noun_ngrams):
        found = [document.text[slice(*span)] for one in mine(document, load_tagger()) for span in one.spans]
        assert "kernels" in found
        assert not any("example" in phrase for phrase in found)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Berry curvature diverges", ["Berry curvature"]),
        ("Graph kernels compare molecules.", ["Graph kernels", "molecules"]),
        ("Superconductivity vanishes at high pressure.", ["Superconductivity", "high pressure"]),
    ],
)
def test_a_verb_that_the_tagger_takes_for_a_noun_is_in_no_noun_phrase(text, found):
    assert [text[slice(*one.spans[0])] for one in noun_phrases(Document(text), load_tagger())] == found


@pytest.mark.parametrize(
    ("language", "text", "has", "has_not"),
    [
        ("fr", "Le diabète de type 2 et le langage C++.", ["diabète de type 2", "langage C++"], []),
        (
            "fr",
            "Un relevé à partir de photographies.",
            ["photographies"],
            ["partir", "partir de photographies"],
        ),
        ("fr", "Le bruit au cours de la nuit.", ["nuit", "bruit"], ["cours de la nuit", "cours"]),
        ("es", "Mapas a partir de fotos aéreas.", ["fotos aéreas"], ["partir de fotos"]),
        ("de", "Vitamin D und die Industrie 4.0.", ["Vitamin D", "Industrie 4.0"], []),
        ("de", "Ein Nahwärmenetz kostet viel.", ["Nahwärmenetz"], ["Nahwärmenetz kostet", "kostet"]),
        ("de", "Ein Netz kostet Gemeinden viel.", ["Netz", "Gemeinden"], ["Netz kostet Gemeinden"]),
        ("de", "Es zeigt Wärmenetze.", ["Wärmenetze"], ["zeigt Wärmenetze"]),
        ("de", "Wir untersuchen kommunale Wärmenetze.", ["kommunale Wärmenetze"], []),
        ("de", "Die TEI-Standards.", ["TEI-Standards", "TEI"], []),
        ("fr", "Le test de Mann-Whitney.", ["test de Mann-Whitney"], ["Mann", "Whitney", "test de Mann"]),
        ("de", "Neuronale Netze lernen schnell.", ["Neuronale Netze"], ["Neuronale Netze lernen", "lernen"]),
    ],
)
def test_phrases_of_other_languages_neither_begin_in_an_idiom_nor_end_in_a_verb(language, text, has, has_not):
    document = Document(text, language=language)
    found = {text[slice(*span)] for one in mine_candidates(document, load_tagger()) for span in one.spans}
    assert found.issuperset(has)
    assert found.isdisjoint(has_not)
    phrases = {text[slice(*span)] for one in noun_phrases(document, load_tagger()) for span in one.spans}
    assert phrases.isdisjoint(has_not)


def test_a_piece_of_a_name_is_a_candidate_where_the_text_has_it_alone_too():
    document = Document("Le serveur Node.js. Le test de Mann-Whitney et celui de Whitney.", language="fr")
    keys = {one.key for one in mine_candidates(document, load_tagger())}
    assert run_key("Whitney", "fr") in keys
    assert not {run_key(piece, "fr") for piece in ("Mann", "Node", "js", "serveur Node")} & keys


def test_the_shipped_tagger_knows_the_tags_of_the_grammar():
    tags = load_tagger().tag(["A", "well", "-", "known", "model", "(", "pre", "-", "trained", ")"])
    assert tags == ["DT", "RB", "HYPH", "VBN", "NN", "-LRB-", "AFX", "HYPH", "VBN", "-RRB-"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no gzip",
        b"\x1f\x8b\x08\x00broken",
        gzip.compress(b"{" * 9)[:10] + b"\xff" * 9,
        gzip.compress(b"[" * 100_000),
    ],
    ids=["empty", "plain", "broken", "cut off", "nested"],  # compressed bytes hold the time
)
def test_a_damaged_tagger_is_explained(tmp_path, content):
    path = tmp_path / "tagger.json.gz"
    path.write_bytes(content)
    with pytest.raises(ModelLoadError, match="damaged"):
        load_tagger(path)


def test_in_another_language_a_phrase_stands_wherever_its_snowball_stems_do():
    title = "Planung kommunaler Nahwärmenetze"
    body = "Wir planen die Kosten von Nahwärmenetzen in einer Stadt mit kommunalen Häusern und ihrem Haus."
    document = Document(body, title=title, language="de")
    found = {one.key: one for one in mine_candidates(document, load_tagger())}
    spans = found[candidate_key("Nahwärmenetz", "de")].spans
    assert [document.text[start:end] for start, end in spans] == ["Nahwärmenetze", "Nahwärmenetzen"]
    places = PhraseFinder(document)
    for candidate in found.values():
        assert candidate.spans == places.of(surface(document, candidate))
