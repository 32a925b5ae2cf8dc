"""Retriever and generator in turns: what is kept, when it stops, and that a stopped run loses nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kpdemo.errors import TrainingError
from kpdemo.evaluation.metrics import CUT_OFFS
from kpdemo.ramkg.rgit import (
    RESULT,
    Augmented,
    Pair,
    Pseudo,
    Retrieved,
    RgitConfig,
    RgitData,
    Round,
    best_round,
    has_stopped_rising,
    iterate,
    mine,
    outcome_as_json,
    pseudo_table,
    recall_of,
    recall_table,
)
from kpdemo.training.cards import round_rows
from kpdemo.types import Document

OTHERS = 10


def paper(number: int) -> Document:
    return Document(f"Texte {number}", id=f"fr{number}", keyphrases=(f"mot {number}", "thèse"), language="fr")


def data() -> RgitData:
    return RgitData(
        parallel=[Pair(paper(number), f"en{number}") for number in range(3)],
        others=[paper(number) for number in range(10, 10 + OTHERS)],
        validation=[Pair(paper(number), f"en{number}") for number in range(90, 100)],
        truth={f"fr{number}": f"en{number}" for number in range(10, 10 + OTHERS)},
    )


class StoppedError(Exception):
    """Somebody pulled the plug."""


class Plug:
    """Lets so many calls through and stops at the next, once."""

    def __init__(self, calls: float = float("inf")) -> None:
        self.left = calls

    def count(self) -> None:
        if self.left == 0:
            self.left = float("inf")
            raise StoppedError
        self.left -= 1


class FakeRetriever:
    """Finds the right passage for as many documents out of ten as its pairs allow."""

    def __init__(self, plug: Plug, skills: Sequence[int] = ()) -> None:
        self._plug = plug
        self._skills = skills
        self.trained: list[tuple[str, int, str | None]] = []

    def train(self, pairs: Sequence[Pair], into: Path, *, start: Path | None) -> None:
        into.mkdir(parents=True, exist_ok=True)
        (into / "half-done").touch()
        self._plug.count()
        self.trained.append((f"{into.parent.name}/{into.name}", len(pairs), start and start.name))
        number = int(into.parent.name.removeprefix("round-"))
        skill = self._skills[number - 1] if self._skills else min(2 + 3 * number, 9)
        (into / "model.json").write_text(json.dumps(skill))

    def search(self, model: Path, documents: Sequence[Document], count: int) -> list[list[Retrieved]]:
        self._plug.count()
        skill = json.loads((model / "model.json").read_text())
        return [self._passages(document, skill)[:count] for document in documents]

    def _passages(self, document: Document, skill: int) -> list[Retrieved]:
        number = int(document.id.removeprefix("fr"))
        right = Retrieved(f"en{number}", (f"mot {number}",))
        return [right] if number % 10 < skill else [Retrieved("en-other", ("noise",)), right]


class FakeGenerator:
    """Writes "thèse", and after it the retrieved keyphrases where it was trained with such."""

    def __init__(self, plug: Plug) -> None:
        self._plug = plug

    def train(self, examples: Sequence[Augmented], into: Path, *, retriever: Path | None) -> None:
        self._plug.count()
        into.mkdir(parents=True, exist_ok=True)
        (into / "model.json").write_text(json.dumps(any(example.retrieved for example in examples)))

    def predict(self, model: Path, inputs: Sequence[Augmented]) -> list[list[str]]:
        self._plug.count()
        augmented = json.loads((model / "model.json").read_text())
        return [["thèse", *(sum(given.retrieved, ()) if augmented else ())] for given in inputs]


def run(folder: Path, plug: Plug | None = None, skills: Sequence[int] = (), **settings: Any) -> Any:
    plug = plug or Plug()
    retriever = FakeRetriever(plug, skills)
    config = RgitConfig(**{"recall_at": 1} | settings)
    outcome = iterate(retriever, FakeGenerator(plug), data(), config, folder)
    return outcome, retriever


def test_a_pair_is_kept_only_where_retrieval_helps_by_more_than_tau():
    documents = [Document("t", id=str(number), keyphrases=("a", "b")) for number in range(4)]
    documents.append(Document("t", id="without gold"))
    found = [[Retrieved(f"en{number}"), Retrieved("second")] for number in range(3)] + [[], [Retrieved("x")]]
    base = [["a"], ["a"], ["a", "b"], ["a"], []]
    augmented = [["a", "b"], ["b"], ["a"], ["a", "b"], ["a"]]
    pseudo = mine(documents, found, base, augmented, tau=0.05, truth={"0": "en0"})
    assert pseudo.pairs == (("0", "en0"),)
    assert (pseudo.checked, pseudo.right, pseudo.label_accuracy) == (1, 1, 1.0)
    exactly = 1 - 2 / 3
    assert mine(documents, found, base, augmented, tau=exactly, truth={}).pairs == ()
    assert mine(documents, found, base, augmented, tau=exactly, truth={}).label_accuracy is None


def test_a_gain_of_exactly_tau_is_not_more_than_tau_whatever_floats_say():
    document = Document("t", id="d", keyphrases=("a", "b", "c", "d"))
    base = ["a", "b", "c", "x"]  # F1 0.75
    augmented = ["a", "b", "c", "d", "x", "y"]  # F1 0.8, and 0.8 - 0.75 > 0.05 in floating point
    mined = mine([document], [[Retrieved("p")]], [base], [augmented], tau=0.05, truth={})
    assert (mined.base_f1, mined.f1, mined.pairs) == (0.75, 0.8, ())


def test_recall_counts_each_pair_by_the_place_of_its_passage():
    pairs = [Pair(paper(0), "a"), Pair(paper(1), "b")]
    found = [[Retrieved("a")], [Retrieved("x"), Retrieved("y"), Retrieved("b")]]
    assert recall_of(pairs, found) == {1: 0.5, 2: 0.5, 5: 1.0, 10: 1.0, 20: 1.0}


@pytest.mark.parametrize("variant", ["union", "pretrain"])
def test_each_round_learns_from_what_the_one_before_mined(tmp_path, variant):
    outcome, retriever = run(tmp_path, variant=variant, rounds=2)
    assert [entry.recall[1] for entry in outcome.rounds] == [0.5, 0.8, 0.9]
    assert [entry.trained_on for entry in outcome.rounds] == [0, 5, 8]
    assert (outcome.best, outcome.stopped) == (3, False)
    first = ("round-1/retriever", 3, None)
    expected = {
        "union": [first, ("round-2/retriever", 8, None), ("round-3/retriever", 11, None)],
        "pretrain": [
            first,
            ("round-2/retriever-on-pseudo", 5, None),
            ("round-2/retriever", 3, "retriever-on-pseudo"),
            ("round-3/retriever-on-pseudo", 8, None),
            ("round-3/retriever", 3, "retriever-on-pseudo"),
        ],
    }
    assert retriever.trained == expected[variant]
    mined = outcome.rounds[0].pseudo
    assert mined.pairs == tuple((f"fr{number}", f"en{number}") for number in range(10, 15))
    assert (mined.checked, mined.right) == (5, 5)
    assert (mined.base_f1, mined.f1) == (pytest.approx(2 / 3), pytest.approx(0.75))


def test_it_stops_when_recall_no_longer_rises_and_gives_the_best_retriever(tmp_path):
    outcome, _ = run(tmp_path, skills=(5, 8, 7), rounds=6)
    assert (len(outcome.rounds), outcome.best, outcome.stopped) == (3, 2, True)
    assert outcome.rounds[-1].pseudo is None
    assert outcome.retriever == tmp_path / "round-2" / "retriever"
    assert outcome.generator == tmp_path / "round-2" / "last-generator"


@pytest.mark.parametrize(
    ("rounds", "told"),
    [
        (2, "3, the last after all rounds; that of round 2 was kept"),
        (6, "3, the last when recall rose no more; that of round 2 was kept"),
    ],
)
def test_a_card_tells_the_setting_and_the_retrievers(tmp_path, rounds, told):
    outcome, _ = run(tmp_path, skills=(5, 8, 7), rounds=rounds)
    rows = round_rows(RgitConfig(rounds=rounds), outcome)
    assert rows == f"| rounds at most | {rounds} |\n| retrievers | {told} |"


def test_a_run_that_is_stopped_anywhere_comes_to_the_same_end(tmp_path):
    whole, _ = run(tmp_path / "whole", rounds=2)
    calls = 0
    while True:
        folder, plug = tmp_path / str(calls), Plug(calls)
        try:
            run(folder, plug, rounds=2)
        except StoppedError:
            assert not (folder / RESULT).exists()
            again, _ = run(folder, rounds=2)
            assert outcome_as_json(again) == outcome_as_json(whole)
            assert again.rounds == whole.rounds
            calls += 1
        else:
            break
    assert calls > 15


def test_what_is_done_is_not_done_again(tmp_path):
    first, _ = run(tmp_path, rounds=1)
    again, retriever = run(tmp_path, rounds=1)
    assert again == first
    assert retriever.trained == []
    longer, _ = run(tmp_path, rounds=2)
    assert longer.rounds[:1] == first.rounds[:1]


def test_a_folder_of_another_run_is_refused(tmp_path):
    run(tmp_path)
    with pytest.raises(TrainingError, match="other data or settings"):
        run(tmp_path, tau=0.1)
    own = data()
    moved = replace(own, parallel=own.parallel[:2], validation=[own.parallel[2], *own.validation])
    with pytest.raises(TrainingError, match="other data or settings"):
        iterate(FakeRetriever(Plug()), FakeGenerator(Plug()), moved, RgitConfig(recall_at=1), tmp_path)


def test_documents_without_ids_of_their_own_and_validation_that_is_trained_on_are_refused(tmp_path):
    twice = replace(data(), others=[paper(0)])
    with pytest.raises(TrainingError, match="'fr0'"):
        iterate(FakeRetriever(Plug()), FakeGenerator(Plug()), twice, RgitConfig(), tmp_path)
    for other in (paper(10), replace(paper(10), id="fr95")):
        seen = replace(data(), validation=[Pair(other, "en10")])
        with pytest.raises(TrainingError, match=f"'{other.id}' has the (id|text) of a training document"):
            iterate(FakeRetriever(Plug()), FakeGenerator(Plug()), seen, RgitConfig(), tmp_path)
    empty = replace(data(), validation=[])
    with pytest.raises(TrainingError, match="no validation pair"):
        iterate(FakeRetriever(Plug()), FakeGenerator(Plug()), empty, RgitConfig(), tmp_path)


def test_the_paper_s_tables_come_out_of_its_rounds():
    recall = dict(zip(CUT_OFFS, (0.264, 0.368, 0.501, 0.592, 0.673), strict=True))
    better = dict(zip(CUT_OFFS, (0.458, 0.583, 0.724, 0.795, 0.852), strict=True))
    pseudo = Pseudo((("a", "b"),) * 20_288, 1000, 280, 0.4, 0.42)
    rounds = [Round(1, 0, recall, pseudo), Round(2, 20_288, better)]
    assert recall_table(rounds).splitlines()[2:] == [
        "| Round 1 | 26.4 | 36.8 | 50.1 | 59.2 | 67.3 |",
        "| Round 2 | 45.8 | 58.3 | 72.4 | 79.5 | 85.2 |",
    ]
    assert pseudo_table(rounds).splitlines() == [
        "| Iteration | 1 |",
        "| --- | ---: |",
        "| Pseudo passages | 20,288 |",
        "| Label accuracy | 28.0 |",
    ]
    assert best_round(rounds, 5).number == 2
    assert not has_stopped_rising(rounds, 5)
    assert has_stopped_rising([*rounds, Round(3, 1, better)], 5)
