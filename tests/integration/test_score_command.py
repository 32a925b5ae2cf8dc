"""`python -m annotation score`, as scripts call it."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import pearsonr

from annotation.__main__ import encoder as named_encoder
from annotation.files import gold_folder
from annotation.files.scores import gold_digest, read_gold
from tests.commands import main
from tests.latex_tables import read_tables
from tests.tiny_wordnet import Sense, write_wordnet

WORDS = ["boat", "train", "snow", "roof", "book", "egg", "road", "river", "tower", "bread"]


def pairs(first: int, count: int = 20) -> list[dict[str, object]]:
    """Pairs whose right text is the longer a piece of the left, the higher their grade."""
    rows: list[dict[str, object]] = []
    for number in range(first, first + count):
        left = " ".join(WORDS[(number * step) % 10] for step in (1, 3, 7)) + f" {number}"
        grade = (number * 7) % 17 / 4
        right = left[: round(len(left) * grade / 4)] + f" zz{number}"
        genre = ("Travel", "News")[number % 2]
        row = {"type": "phrase2word", "id": f"{genre}-{number}", "left": left, "right": right}
        rows.append({**row, "gold": grade, "genre": genre})
    return rows


SENSES = [Sense("boat", "n", "a small vessel"), Sense("boat", "n", "a dish for sauce", number=1)]
SENSE_PAIRS = [
    {"type": "word2sense", "id": f"w2s-{number}", "left": left, "right": right, "gold": gold}
    for number, (left, right, gold) in enumerate(
        [
            ("boat#n", SENSES[0].key, 4.0),
            ("boat#n", "a dish for fish", 2.5),
            ("boat#n", "zzz", 0.0),
            ("skibidi#n", SENSES[0].key, 1.0),
        ]
    )
]


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Score in a folder of its own, with gold.jsonl and train.jsonl; gives status, output and errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    for name, rows in (("gold.jsonl", pairs(0)), ("train.jsonl", pairs(50, 30))):
        Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))

    def run(*arguments: str, **options: object) -> tuple[int, str, str]:
        status = main(("score", *arguments), **options)
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


def scores_file(name: str, rows: list[dict[str, object]], *, slope: float = 1.0) -> None:
    Path(name).write_text("".join(f"{slope * float(str(row['gold'])) ** 3}\t1\n" for row in rows))


def test_figures_are_printed_as_json(call):
    scores_file("run.tsv", pairs(0))
    status, out, err = call("--gold", "gold.jsonl", "--system", "run.tsv", "--system", "lcs", "--json")
    assert (status, err) == (0, "")
    report = json.loads(out)
    part = report["types"]["phrase2word"]
    assert part["pairs"] == 20
    assert part["spearman"] == pytest.approx(1)
    assert 0.8 < part["pearson"] == report["sum_pearson"] < 1
    assert part["pearson_interval"][0] < part["pearson"] < part["pearson_interval"][1]
    assert set(report["genres"]) == {"News", "Travel"}
    assert report["genres"]["Travel"]["pairs"] == 10
    assert [system["system"] for system in report["systems"]] == ["run", "lcs"]
    assert {system["ranks"]["sum_spearman"] for system in report["systems"]} == {1, 2}
    [difference] = report["differences"]
    assert difference["types"]["phrase2word"]["williams"]["degrees"] == 17
    assert (report["seed"], report["resamples"]) == (2014, 1000)


def test_people_see_ranks_figures_and_differences(call):
    scores_file("run.tsv", pairs(0))
    status, out, _ = call("--gold", "gold.jsonl", "--system", "ours=run.tsv", "--system", "gst")
    assert status == 0
    assert "Pearson (rank); ranked by its sum" in out
    assert "ours – gst, Pearson" in out
    assert "genre Travel" in out
    assert "1,000 resamples, seed 2014" in out


def test_genres_with_too_few_pairs_are_named_once_and_have_no_row_of_dashes(call):
    rows = [
        *({**row, "genre": "Rare"} for row in pairs(0, 2)),
        *pairs(2),
        *({**row, "type": "word_2", "genre": "News"} for row in pairs(30, 1)),
    ]
    Path("rare.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    call_of_rare = ("--gold", "rare.jsonl", "--system", "lcs", "--system", "gst")
    out = call(*call_of_rare)[1]
    said = "Genres with too few pairs, since a correlation takes 3 or more: News, word_2 (1); Rare (2).\n"
    assert out.count(said) == out.count("Rare") == 1
    assert out.count("genre News") == out.count("genre Travel") == 2
    alone = call(*call_of_rare[:4])[1]
    assert [line.split()[0] for line in alone.splitlines() if "–" in line] == ["word_2"]
    part = json.loads(call(*call_of_rare, "--json")[1])["genres"]["Rare"]
    assert (part["pairs"], part["pearson"]) == (2, None)


def test_a_table_for_papers_has_the_figures_of_json_and_the_best_system_first(call):
    rows = [*pairs(0), *({**row, "type": "word_2%", "id": f"w{row['id']}"} for row in pairs(0))]
    Path("both.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    scores_file("phrase2word.x.tsv", pairs(0), slope=-1.0)
    call_of_both = ("--gold", "both.jsonl", "--system", "R&D_{1}=phrase2word.x.tsv", "--system", "gst")
    found = json.loads(call(*call_of_both, "--resamples", "0", "--json")[1])["systems"]
    status, out, err = call(*call_of_both, "--resamples", "0", "--latex")
    assert (status, err) == (0, "")
    [table] = read_tables(out)
    assert table.groups == [("", 1), ("Pearson", 4), ("Spearman", 2)]
    assert table.heads == ["System", "phrase2word", "word_2%", "Sum", "Rank", "Sum", "Rank"]
    assert list(table.rows) == ["gst", "R&D_{1}"]  # the second has a negative sum
    gst, ours = ([cell.replace("$-$", "-") for cell in row] for row in table.rows.values())
    of_ours, of_gst = found
    pearson = f"{of_ours['sum_pearson']:.3f}".replace("-0.", "-.")
    assert ours == [pearson, "--", pearson, "2", "-1.000", "2"]
    expected = [part["pearson"] for part in of_gst["types"].values()]
    expected += [of_gst["sum_pearson"], 1, of_gst["sum_spearman"], 1]
    assert [float(cell) for cell in gst] == pytest.approx(expected, abs=0.0005)
    digest = gold_digest(read_gold([Path("both.jsonl")]))
    assert table.comments[0].startswith(
        f"python -m annotation score --latex, gold from both.jsonl, SHA-256 of its pairs {digest}, version "
    )
    assert "Pairs: phrase2word 20, word_2% 20." in table.comments
    assert "--: R&D_{1}, word_2%: The system does not score these pairs." in table.comments
    assert not any("gst" in comment for comment in table.comments)


def test_ranks_on_few_pairs_are_said_to_be_uncertain_on_the_terminal_and_in_tables(call):
    Path("few.jsonl").write_text("".join(json.dumps(row) + "\n" for row in pairs(0, 6)))
    Path("mixed.tsv").write_text("3\n1\n2\n2\n4\n0\n")
    call_of_few = ("--gold", "few.jsonl", "--system", "mixed.tsv")
    part = json.loads(call(*call_of_few, "--json")[1])["types"]["phrase2word"]
    low, high = part["pearson_interval"]
    assert high - low > 1
    uncertain = (
        f"Uncertain ranks: phrase2word has 6 pairs, and the interval of “mixed” is {high - low:.2f} wide. A "
        "correlation lies between −1 and 1, so that such figures hardly tell systems apart."
    )
    assert call(*call_of_few)[1].startswith(f"{uncertain}\n\n")
    [table] = read_tables(call(*call_of_few, "--latex")[1])
    assert table.comments.count(uncertain) == 1
    scores_file("run.tsv", pairs(0))
    for form in ((), ("--latex",)):
        assert "Uncertain" not in call("--gold", "gold.jsonl", "--system", "run.tsv", *form)[1]
        assert "Uncertain" not in call(*call_of_few, "--resamples", "0", *form)[1]


def test_json_and_latex_exclude_each_other(call):
    assert call("--gold", "gold.jsonl", "--system", "lcs", "--json", "--latex") == (
        2,
        '{"error": "--json and --latex cannot be combined; give one of them."}\n',
        "--json and --latex cannot be combined; give one of them.\n",
    )


def test_a_calibrated_system_is_straightened_and_keeps_its_order(call):
    scores_file("run.tsv", pairs(0))
    scores_file("training.tsv", pairs(50, 30))
    arguments = ("--gold", "gold.jsonl", "--system", "run.tsv", "--system", "lcs", "--json")
    plain = json.loads(call(*arguments)[1])
    status, out, err = call(*arguments, "--calibrate-on", "train.jsonl", "--training-scores", "training.tsv")
    assert status == 0, err
    fitted = json.loads(out)
    assert [system["system"] for system in fitted["systems"]] == ["run (calibrated)", "lcs (calibrated)"]
    assert fitted["sum_pearson"] == pytest.approx(1)
    assert fitted["sum_pearson"] > plain["sum_pearson"]


def test_what_cannot_be_calibrated_is_refused(call):
    scores_file("run.tsv", pairs(0))
    gold = ("--gold", "gold.jsonl", "--system", "run.tsv")
    assert call(*gold, "--calibrate-on", "train.jsonl")[::2] == (
        1,
        "run.tsv cannot be calibrated without the same system's scores of the training pairs; name them with "
        "--training-scores.\n",
    )
    assert call(*gold, "--calibrate-on", "gold.jsonl", "--training-scores", "run.tsv")[::2] == (
        1,
        "gold.jsonl, line 1: the pair is also in the training grades (gold.jsonl, line 1), as are 20 of 20 "
        "in all; calibrate on pairs other than those that are scored.\n",
    )
    assert call(*gold, "--training-scores", "run.tsv")[0] == 2


def test_words_and_senses_are_compared_by_wordnet(call, tmp_path):
    Path("senses.jsonl").write_text("".join(json.dumps(row) + "\n" for row in SENSE_PAIRS))
    folder = write_wordnet(tmp_path / "dict", SENSES)
    status, out, err = call(
        "--gold", "senses.jsonl", "--system", "lcs", "--wordnet", str(folder), "--resamples", "0", "--json"
    )
    assert status == 0, err
    part = json.loads(out)["types"]["word2sense"]
    assert (part["pairs"], part["pearson_interval"]) == (4, None)
    known = [4, 4 * 2 * len("a dish for ") / (16 + 15), 0]  # the fourth has a word that WordNet lacks
    by_hand = np.corrcoef([4, 2.5, 0, 1], [*known, np.mean(known)])[0, 1]
    assert part["pearson"] == pytest.approx(by_hand)


def test_without_wordnet_all_else_is_scored(call, tmp_path, monkeypatch):
    monkeypatch.setattr("annotation.wordnet.SYSTEM_FOLDER", tmp_path / "nowhere")
    Path("both.jsonl").write_text("".join(json.dumps(row) + "\n" for row in [*pairs(0), *SENSE_PAIRS]))
    status, out, _ = call("--gold", "both.jsonl", "--system", "lcs", "--json")
    assert status == 0
    monkeypatch.setenv("KPDEMO_WORDNET", str(tmp_path))  # for all calls: none of them asks for senses
    assert call("--gold", "both.jsonl", "--system", "lcs", "--json")[::2] == (0, "")
    report = json.loads(out)
    assert report["types"]["word2sense"]["pearson"] is None
    assert report["sum_pearson"] == report["types"]["phrase2word"]["pearson"]
    assert report["remark"].startswith("word2sense is left out: There is no WordNet in")
    Path("senses.jsonl").write_text("".join(json.dumps(row) + "\n" for row in SENSE_PAIRS))
    for arguments in (("both.jsonl", "--wordnet", str(tmp_path)), ("senses.jsonl",)):
        status, _, err = call("--system", "lcs", "--gold", *arguments)
        assert (status, err.count("\n")) == (1, 1)
        assert "apt install wordnet-base" in err


@pytest.mark.parametrize(
    ("systems", "message"),
    [
        (["no.tsv"], "'no.tsv': no such file or folder; name one, or a baseline (lcs, gst) with --system.\n"),
        (["lcs", "lcs"], "Two systems are called lcs: leave one out, or name its file as in other=FILE.\n"),
        (["ours="], "ours=: no file is named after the equals sign; give one.\n"),
    ],
)  # fmt: skip
def test_a_wrong_call_is_explained(call, systems, message):
    arguments = [word for system in systems for word in ("--system", system)]
    assert call("--gold", "gold.jsonl", *arguments)[::2] == (2, message)


def shares_of_words(pairs):
    """A stand-in for the models: how many words two texts share."""
    words = [(set(first.split()), set(second.split())) for first, second in pairs]
    return [len(first & second) / len(first | second) for first, second in words]


def test_a_baseline_has_the_name_that_it_is_given_also_beside_a_file_called_so(call):
    scores_file("lcs", pairs(0))
    named = ("--system", "lcs", "--system", "mine=lcs", "--system", "file=./lcs")
    status, out, err = call("--gold", "gold.jsonl", *named, "--resamples", "0", "--json")
    assert (status, err) == (0, "")
    baseline, mine, file = json.loads(out)["systems"]
    assert [one["system"] for one in (baseline, mine, file)] == ["lcs", "mine", "file"]
    assert mine["types"] == baseline["types"] != file["types"]


def test_the_embedding_is_asked_once_for_all_texts_and_compares_words_with_definitions(call, tmp_path):
    write_wordnet(tmp_path / "dict", SENSES)
    Path("senses.jsonl").write_text("".join(json.dumps(row) + "\n" for row in [*pairs(0, 3), *SENSE_PAIRS]))
    asked = []

    def similarities(texts):
        asked.append(list(texts))
        return shares_of_words(texts)

    arguments = ("--gold", "senses.jsonl", "--system", "embedding", "--wordnet", "dict", "--json")
    status, out, err = call(*arguments, embedding=similarities)
    assert (status, err) == (0, "")
    [texts] = asked
    words = [("boat", "a small vessel"), ("boat", "a dish for fish"), ("boat", "zzz")]
    assert texts[3:] == [*words, ("skibidi", "a small vessel")]
    assert json.loads(out)["types"]["word2sense"]["pairs"] == 4


def test_the_embedding_is_calibrated_on_training_grades(call):
    arguments = ("--gold", "gold.jsonl", "--system", "embedding", "--calibrate-on", "train.jsonl", "--json")
    status, out, _ = call(*arguments, embedding=shares_of_words)
    assert (status, json.loads(out)["system"]) == (0, "embedding (calibrated)")


def test_an_encoder_is_asked_by_its_name_and_is_a_system_beside_others(call):
    asked = []

    def encoder(model):
        asked.append(model)
        return shares_of_words

    named = ("embedding:ORG/mini", "other=embedding:mini", "embedding", "embedding:/models/large/")
    options = [part for one in named for part in ("--system", one)]
    arguments = ("--gold", "gold.jsonl", *options, "--resamples", "0", "--json")
    status, out, err = call(*arguments, embedding=shares_of_words, encoder=encoder)
    assert (status, err) == (0, "")
    systems = json.loads(out)["systems"]
    assert [one["system"] for one in systems] == ["mini", "other", "embedding", "large"]
    assert systems[0]["types"] == systems[2]["types"]
    assert set(asked) == {"ORG/mini", "mini", "/models/large/"}


def test_an_encoder_that_is_nowhere_is_one_sentence(call):
    status, out, err = call("--gold", "gold.jsonl", "--system", "embedding:./none", encoder=named_encoder)
    assert (status, out) == (1, "")
    assert err.count("\n") == 1
    assert "none" in err


def test_without_models_there_is_no_embedding(call):
    status, out, err = call("--gold", "gold.jsonl", "--system", "embedding")
    assert (status, out) == (2, "")
    assert "'embedding': no such file or folder" in err


@pytest.mark.parametrize("named", ["gold", "gold/phrase2word.test.input.tsv", "gold/phrase2word.test.gs.tsv"])
def test_a_gold_set_that_was_changed_after_its_export_is_named_and_scored(call, named):
    folder = Path("gold")
    folder.mkdir()
    texts, grades = (folder / f"phrase2word.test.{kind}.tsv" for kind in ("input", "gs"))
    texts.write_text("".join(f"{row['left']}\t{row['right']}\t{row['id']}\n" for row in pairs(0)))
    grades.write_text("".join(f"{row['gold']}\n" for row in pairs(0)))
    files = [{"name": path.name, "sha256": sha256(path.read_bytes()).hexdigest()} for path in (texts, grades)]
    (folder / "manifest.json").write_text(json.dumps({"manifest_format": 1, "files": files}))

    status, out, errors = call("--gold", named, "--system", "lcs", "--json")
    assert (status, errors, json.loads(out)["changed_gold"]) == (0, "", [])
    grades.write_text(grades.read_text().replace("1.75", "1.5"))
    status, out, errors = call("--gold", named, "--system", "lcs", "--json")
    assert (status, json.loads(out)["changed_gold"]) == (0, [str(grades)])
    assert errors == (
        f"{grades}: changed after the export (manifest.json has another SHA-256), so its single ratings are "
        "not used; if the change was not intended, export the gold set again.\n"
    )


@pytest.mark.parametrize(("format", "ending"), [("jsonl", '"grade": 7}'), ("csv", ",7.0")])
def test_of_a_changed_gold_file_no_single_rating_is_read(call, format, ending):
    write_export(Path("gold"), rated(), format)
    file = Path(f"gold/gold.{format}")
    changed = file.read_text().replace({"jsonl": '"grade": 4}', "csv": ",4.0"}[format], ending, 1)
    file.write_text(changed)
    status, out, errors = call("--gold", "gold", "--system", "lcs", "--json")
    assert (status, json.loads(out)["upper_bound"]) == (0, {})
    assert errors.startswith(f"{file}: changed after the export")
    assert call("--gold", "gold", "--system", "lcs")[1].count("People") == 0


def test_an_exported_gold_file_is_hashed_once(call, monkeypatch):
    write_export(Path("gold"), rated(), "jsonl")
    hashed = []
    digest = gold_folder.file_digest
    monkeypatch.setattr(
        gold_folder, "file_digest", lambda stream, name: hashed.append(stream.name) or digest(stream, name)
    )
    assert call("--gold", "gold", "--system", "lcs")[0] == 0
    assert hashed == [str(Path("gold/gold.jsonl"))]


def test_scores_of_pairs_that_the_gold_set_lists_as_unfinished_are_left_out_and_counted(call):
    unfinished = [{**row, "gold": None} for row in pairs(20, 2)]
    Path("unfinished.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in unfinished))
    files = [{"name": name} for name in ("gold.jsonl", "unfinished.jsonl")]
    Path("manifest.json").write_text(json.dumps({"manifest_format": 1, "files": files}))
    scores = [{"id": row["id"], "score": row["gold"]} for row in pairs(0, 22)]
    Path("run.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in scores))
    status, out, errors = call("--gold", "gold.jsonl", "--system", "run.jsonl", "--system", "lcs", "--json")
    assert (status, json.loads(out)["left_out"]) == (0, {"run": 2, "lcs": 0})
    assert json.loads(out)["pairs"] == 20
    assert errors == "run: 2 scores are left out, as their pairs have no gold grade so far.\n"
    _, out, _ = call("--gold", "gold.jsonl", "--system", "run.jsonl", "--latex")
    assert errors.strip() in read_tables(out)[0].comments

    train = [{"id": row["id"], "score": row["gold"]} for row in (*pairs(50, 30), *pairs(20, 1))]
    Path("taught.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in train))
    calibration = ("--calibrate-on", "train.jsonl", "--training-scores", "taught.jsonl")
    status, out, errors = call("--gold", "gold.jsonl", "--system", "run.jsonl", *calibration, "--json")
    assert (status, json.loads(out)["left_out"]) == (0, {"run (calibrated)": 3})

    Path("unfinished.jsonl").unlink()
    status, _, errors = call("--gold", "gold.jsonl", "--system", "run.jsonl")
    assert status == 1
    assert "line 21: the gold grades have no" in errors


GRADES = {
    "rater 1": [4, 2, 1, None, 3, 0],
    "rater 2": [3, 2.5, None, 1, 1, 0],
    "rater 10": [3.25, 3, 0, 1, None, 2],
}


def rated() -> list[dict[str, object]]:
    rows = []
    for place, row in enumerate(pairs(0, 6)):
        given = {rater: column[place] for rater, column in GRADES.items() if column[place] is not None}
        rows.append({**row, "ratings": [{"rater": rater, "grade": grade} for rater, grade in given.items()]})
    return rows


def write_export(folder: Path, rows: list[dict[str, object]], format: str) -> None:
    """A gold set as an export leaves it, as far as its readers look."""
    folder.mkdir()
    file = folder / f"gold.{format}"
    if format == "parquet":
        pd.DataFrame(rows).to_parquet(file)
    elif format == "csv":
        flat = [{f"rating:{one['rater']}": one["grade"] for one in row["ratings"]} for row in rows]
        pd.DataFrame([{**row, **cells} for row, cells in zip(rows, flat, strict=True)]).drop(
            columns="ratings"
        ).to_csv(file, index=False)
    else:
        file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    described = {"name": file.name, "sha256": sha256(file.read_bytes()).hexdigest()}
    (folder / "manifest.json").write_text(json.dumps({"manifest_format": 1, "files": [described]}))


@pytest.mark.parametrize("format", ["jsonl", "csv", "parquet"])
def test_people_of_an_exported_gold_set_stand_beside_the_systems(call, format):
    write_export(Path("gold"), rated(), format)
    status, out, _ = call("--gold", "gold", "--system", "lcs", "--json")
    bound = json.loads(out)["upper_bound"]["phrase2word"]
    table = np.array(list(GRADES.values()), dtype=float)
    expected = {}
    for rater, own in zip(GRADES, table, strict=True):
        others = np.nanmean(np.delete(table, list(GRADES).index(rater), axis=0), axis=0)
        both = ~np.isnan(own) & ~np.isnan(others)
        expected[rater] = pearsonr(own[both], others[both]).statistic
    assert status == 0
    assert {row["rater"]: row["pearson"]["value"] for row in bound["raters"]} == pytest.approx(expected)
    assert [row["rater"] for row in bound["raters"]] == list(GRADES)
    assert bound["pearson"]["value"] == pytest.approx(np.mean(list(expected.values())))

    _, shown, _ = call("--gold", "gold", "--system", "lcs")
    assert "People: each rater against the mean of the others" in shown
    assert f"{bound['pearson']['value']:.3f}" in shown
    assert "mean of 3 raters" in shown


def test_a_language_model_is_measured_as_a_rater_beside_people(call):
    rows = rated()
    write_export(Path("gold"), rows, "jsonl")
    Path("llm.jsonl").write_text("".join(f"{json.dumps({'id': row['id'], 'score': 2})}\n" for row in rows))
    status, out, _ = call("--gold", "gold", "--system", "llm.jsonl", "--as-raters", "--json")
    [found] = json.loads(out)["as_raters"]
    means = [np.mean([one["grade"] for one in row["ratings"]]) for row in rows if row["ratings"]]
    assert (status, found["system"], found["pairs"]) == (0, "llm", len(means))
    assert found["bias"] == pytest.approx(2 - np.mean(means))
    assert found["alpha_with_system"]["value"] < found["alpha_people"]["value"]
    assert "As raters: beside the people" in call("--gold", "gold", "--system", "llm.jsonl", "--as-raters")[1]
    assert call("--gold", "gold.jsonl", "--system", "lcs", "--as-raters")[0] == 2


@pytest.mark.parametrize("named", ["gold", "gold/gold.jsonl"])
def test_flagged_pairs_that_the_gold_set_lacks_are_told_beside_people(call, named):
    """They are those on which raters differ most."""
    write_export(Path("gold"), rated(), "jsonl")
    told = json.loads(Path("gold/manifest.json").read_text())
    said = {
        0: "",
        1: "1 flagged pair without a decision is not in the gold set: people would do worse on it.",
        28: "28 flagged pairs without a decision are not in the gold set: people would do worse on them.",
    }
    for pairs, line in said.items():
        Path("gold/manifest.json").write_text(json.dumps({**told, "counts": {"not_adjudicated": pairs}}))
        _, shown, _ = call("--gold", named, "--system", "lcs")
        assert [text for text in shown.splitlines() if "flagged" in text] == [line] * bool(line)
        _, out, _ = call("--gold", named, "--gold", "train.jsonl", "--system", "lcs", "--json")
        assert json.loads(out)["not_adjudicated"] == pairs

    Path("gold/manifest.json").write_text(json.dumps({**told, "files": [], "counts": {"not_adjudicated": 2}}))
    _, out, _ = call("--gold", named, "--system", "lcs", "--json")
    assert json.loads(out)["not_adjudicated"] == 0


def test_people_are_not_measured_for_a_table_that_does_not_show_them(call, monkeypatch):
    monkeypatch.delattr("annotation.cli.scoring.people_of")
    status, out, _ = call("--gold", "gold.jsonl", "--system", "lcs", "--latex")
    assert (status, "tabular" in out) == (0, True)


def test_people_are_told_apart_by_gold_set_and_read_from_exports_alone(call):
    """Two projects' "rater 1" are two people; a field `ratings` of others may hold anything."""
    write_export(Path("one"), rated(), "jsonl")
    others = [{**row, "id": f"{row['id']}b"} for row in rated()]
    write_export(Path("two"), others, "jsonl")
    _, out, _ = call("--gold", "one", "--gold", "two", "--system", "lcs", "--json")
    bound = json.loads(out)["upper_bound"]["phrase2word"]
    assert (bound["pairs"], len(bound["raters"])) == (12, 6)
    assert {row["rater"] for row in bound["raters"]} >= {"one/gold.jsonl: rater 1", "two/gold.jsonl: rater 1"}

    Path("plain.jsonl").write_text("".join(f"{json.dumps({**row, 'ratings': 'many'})}\n" for row in pairs(0)))
    status, out, _ = call("--gold", "plain.jsonl", "--system", "lcs", "--json")
    assert (status, json.loads(out)["upper_bound"]) == (0, {})
