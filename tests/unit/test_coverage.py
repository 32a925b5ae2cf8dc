"""Candidate recall, by hand."""

from kpdemo.candidates.chunks import Candidate
from kpdemo.candidates.mining import Coverage, coverage_to_json, measure_coverage, mine_candidates
from kpdemo.candidates.tagger import load_tagger
from kpdemo.types import Document


def test_recall_counts_present_gold_once_and_absent_gold_not_at_all():
    documents = [
        Document(
            "Graph kernels compare molecules.", keyphrases=("graph kernel", "Graph kernels", "drug discovery")
        ),
        Document("Molecules and proteins.", keyphrases=("molecules", "proteins")),
    ]
    mined = {documents[0].text: ["graph kernel", "graph"], documents[1].text: ["molecul"]}

    def mine(document: Document) -> list[Candidate]:
        return [Candidate(key, ((0, 1),)) for key in mined[document.text]]

    coverage = measure_coverage(documents, mine)
    assert coverage == Coverage(documents=2, gold=3, found=2, candidates=3)
    assert coverage.recall == 2 / 3
    assert coverage.candidates_per_document == 1.5


def test_markup_is_read_as_models_read_it():
    document = Document(
        "<i>Escherichia</i> <b>coli</b> binds CO<sub>2</sub>.",
        keyphrases=("CO<sub>2</sub>", "Escherichia coli"),
    )
    coverage = measure_coverage([document], lambda read: mine_candidates(read, load_tagger()))
    assert (coverage.gold, coverage.found) == (2, 2)


def test_recall_without_gold_is_undefined():
    assert coverage_to_json(Coverage(0, 0, 0, 0))["recall"] is None
