"""Documents that do not tell their language: `experiments` measures them as `evaluate` does."""

import json
from pathlib import Path

import pytest

from kpdemo.cli import main
from kpdemo.types import Keyphrase, Prediction
from tests.fakes import FakePredictor

CHINESE = [
    {
        "id": "1",
        "abstract": "我们比较分子的图核。神经网络用于预测化学性质。",
        "keyphrases": ["图核", "语音 识别"],
    },
    {"id": "2", "abstract": "机器翻译由人工评审评估。", "keyphrases": ["机器翻译", "语音识别"]},
]
FRENCH = [
    {
        "id": "1",
        "abstract": "Les réseaux électriques sont comparés par leurs parties, ce qui prend du temps.",
        "keyphrases": ["réseau électrique", "énergies"],
    },
]


class Writer(FakePredictor):
    """Writes every gold keyphrase of the documents above, in another form of some."""

    def predict(self, documents, **options):
        present = [Keyphrase(text, 0.5) for text in ("图核", "机器翻译", "réseaux électriques", "分子")]
        absent = [Keyphrase(text, 0.5) for text in ("语音识别", "énergie")]
        return [Prediction(tuple(present), tuple(absent)) for _ in documents]


@pytest.mark.parametrize("rows", [CHINESE, FRENCH])
def test_documents_without_a_language_have_the_figures_of_evaluate(tmp_path, monkeypatch, capsys, rows):
    monkeypatch.setattr("kpdemo.predictors.load_predictor", lambda *asked, **options: Writer())
    monkeypatch.setattr("kpdemo.predictors.fetched_folder", Path)
    gold = tmp_path / "papers.jsonl"
    gold.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    asked = ["--gold", str(gold), "--model", "owner/writer"]
    assert main(["evaluate", *asked, "--json"]) == 0
    evaluated = json.loads(capsys.readouterr().out)["datasets"]["papers"]
    assert evaluated["present"]["skip_empty"]["R@M"] == 1.0
    assert evaluated["absent"]["skip_empty"]["R@M"] == 1.0

    for name in ("main", "recall"):
        assert main(["experiments", name, *asked, "--output", str(tmp_path / "results")]) == 0
    main_figures, recall = (
        json.loads(path.read_text(encoding="utf-8"))
        for name in ("main", "recall")
        for path in (tmp_path / "results").glob(f"{name}-*.json")
    )
    for measured in (main_figures["datasets"]["papers"], recall["sources"]["as a whole"]["papers"]):
        assert {kind: measured[kind] for kind in ("present", "absent", "pooled")} == {
            kind: evaluated[kind] for kind in ("present", "absent", "pooled")
        }
