"""How phrases are written in an answer, and which of them are one."""

import pytest

from kpdemo.text import PhraseFinder
from kpdemo.types import Document, Keyphrase, Kind, Ranking
from kpdemo.variants import WrittenForms, find_acronyms, merge_variants, variant_key


def written(phrase, body, *, title="", language="en"):
    document = Document(body, title=title, language=language)
    return WrittenForms(document).of(PhraseFinder(document).of(phrase))


@pytest.mark.parametrize(
    ("phrase", "title", "body", "expected"),
    [
        ("graph kernels", "GRAPH KERNELS FOR MOLECULES", "We study graph kernels.", "graph kernels"),
        ("molecules", "GRAPH KERNELS FOR MOLECULES", "We study graph kernels.", "Molecules"),
        ("HTTP", "HTTP SERVERS IN TOKYO", "We study servers.", "HTTP"),
        ("protein folding", "Deep Learning for Protein Folding", "It helps.", "Protein folding"),
        ("graph kernels", "", "Graph kernels work. Many graph kernels exist.", "graph kernels"),
        ("Bayesian networks", "", "Bayesian networks learn. We use Bayesian networks.", "Bayesian networks"),
        ("Dijkstra's algorithm", "Dijkstra's Algorithm Made Fast", "It runs.", "Dijkstra's algorithm"),
        ("graph kernel", "Graph kernels in chemistry", "We use a graph kernel.", "graph kernels"),
        ("Navier–Stokes equations", "", "It solves Navier–Stokes equations.", "Navier–Stokes equations"),
        ("Navier–Stokes equations", "Solving Navier–Stokes Equations", "It runs.", "Navier–Stokes equations"),
        ("large graph", "", "It is old – Large graphs are hard. A large – large – graph.", "large graphs"),
        ("delay propagation", "", "Delay propagation spreads. Few delays do.", "delay propagation"),
        ("delay propagation", "", "Delay propagation spreads.", "Delay propagation"),
        ("kernel", "", "Kernels, a kernel and the kernel of it.", "kernel"),
    ],
)
def test_a_phrase_is_written_as_most_often_and_as_in_a_sentence(phrase, title, body, expected):
    assert written(phrase, body, title=title)[0] == expected


def test_german_nouns_keep_their_capitals_and_the_commonest_case():
    body = "In Nahwärmenetzen fließt Wasser. Ein Nahwärmenetz ist kurz. Das Nahwärmenetz spart."
    assert written("Nahwärmenetz", body, language="de")[0] == "Nahwärmenetz"
    assert written("Netz", "In Netzen fließt Wasser, im Netz ist es kalt.", language="de")[0] == "Netz"


def test_the_end_of_a_compound_is_the_whole_compound_unless_it_stands_alone():
    text = "Today some large models have Mixture-of-Experts routing that works well."
    assert written("experts routing", text) == ("Mixture-of-Experts routing", ((29, 55),))
    assert written("linear models", "Non-linear models extend linear models.")[0] == "linear models"


def test_acronyms_are_found_beside_their_long_form():
    text = (
        "Density functional theory (DFT) and CNNs (convolutional neural networks) need time (and money); "
        "wireless sensor networks ( wsn ) do not (see text)."
    )
    assert find_acronyms(text) == {
        "DFT": "Density functional theory",
        "CNN": "convolutional neural networks",
        "wsn": "wireless sensor networks",
    }


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("type 1 diabetes mellitus", "Diabetes mellitus type 1", True),
        ("dijkstra algorithm", "Dijkstra’s algorithm", True),
        ("anomaly detection", "detection of anomalies", True),
        ("adjacency matrices", "adjacency matrix", True),
        ("data structures", "structured data", False),
        ("management information systems", "information management system", False),
        ("system model", "model system", False),
        ("C++", "C", False),
    ],
)
def test_variants_are_one(one, other, same):
    assert (variant_key(one, "en") == variant_key(other, "en")) is same


def test_variants_take_one_place_and_keep_all_places_in_the_text():
    text = "Density functional theory (DFT) is old. DFT is exact. We treat type 1 diabetes."
    finder = PhraseFinder(Document(text))
    phrases = ["DFT", "exact", "density functional theory", "type 1 diabetes"]
    ranked = [Keyphrase(one, 1 - number / 10, finder.of(one)) for number, one in enumerate(phrases)]
    absent = [Keyphrase("diabetes type 1", 0.4, kind=Kind.REORDERED), Keyphrase("insulin", 0.3)]
    present, others = merge_variants(
        Document(text, language="en"), Ranking(tuple(ranked), 3, 1), Ranking(tuple(absent), 2, 2)
    )
    first = present.keyphrases[0]
    assert (first.text, first.score, first.variants) == ("density functional theory", 1.0, ("DFT",))
    assert first.spans == ((0, 25), (27, 30), (40, 43))
    assert [one.text for one in present.keyphrases] == [
        "density functional theory",
        "exact",
        "type 1 diabetes",
    ]
    assert present.keyphrases[2].variants == ("diabetes type 1",)
    assert [one.kind for one in others.keyphrases] == [Kind.PRESENT, None]
