"""The Evaluate page: what is measured of uploaded files, what is shown, and what is refused."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from types import SimpleNamespace

import gradio as gr
import pytest

from kpdemo import cli
from kpdemo.evaluation.measuring import measure_file, missing_message, without_gold_message
from kpdemo.evaluation.report import caption_of_f1
from kpdemo.io.documents import read_gold
from kpdemo.translation import use_language
from kpdemo.ui import evaluate
from kpdemo.ui.evaluate import STOPPED, EvaluateHandlers
from kpdemo.ui.models import ModelShelf
from tests.fakes import FakePredictor

PAGE = SimpleNamespace(session_hash="a page")
GOLD = [
    {
        "id": "a",
        "title": "Graph kernels",
        "abstract": "We train a kernel machine on molecules.",
        "keyphrases": ["graph kernels", "kernel machines", "drug discovery"],
    },
    {"id": "b", "abstract": "Speech is noisy.", "keyphrases": ["noise reduction"]},
]
"""The worked example of docs/evaluation.md."""

FOUND = [
    {
        "id": "a",
        "present": [
            {"text": text, "score": 0.5} for text in ("graph kernels", "molecules", "kernel machine")
        ],
        "absent": [{"text": "drug discovery"}],
    },
    {"id": "b", "present": [{"text": "speech"}], "absent": []},
]
FIGURES = {
    "skip_empty": ["0.571", "0.800", "0.167", "0.500", "0.500", "0.286", "2"],
    "count_empty": ["0.286", "0.400", "0.167", "0.500", "0.500", "0.286", "2"],
}


@pytest.fixture
def handlers():
    return EvaluateHandlers(ModelShelf({"default": ""}, FakePredictor))


@pytest.fixture
def write(tmp_path):
    """Write rows as JSON Lines into a folder of their own, as uploads lie."""

    def writing(name, rows, folder="0"):
        path = tmp_path / folder / name
        path.parent.mkdir(exist_ok=True)
        lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return str(path)

    return writing


def run(handlers, gold, *predictions, at=""):
    """What the page shows, and the lines of the download, which is gone afterwards."""
    html, files = run_with_files(handlers, gold, *predictions, at=at)
    return html, lines_of(files["figures.jsonl"])


def run_with_files(handlers, gold, *predictions, at=""):
    """What the page shows, and the text of each download by its name."""
    steps = handlers.evaluate_files(gold, list(predictions), at, PAGE)
    html, *downloads = next(steps)
    assert all(download["interactive"] for download in downloads)
    files = [Path(download["value"]) for download in downloads]
    texts = {file.name: file.read_text(encoding="utf-8") for file in files}
    assert list(steps) == []
    assert not any(file.exists() for file in files)
    return html, texts


def lines_of(text):
    return [json.loads(line) for line in text.splitlines()]


def cells_of(html, convention):
    """Of each table, the rows with the lines of each cell."""
    section = html.partition(f'<section class="by-{convention}">')[2].partition("</section>")[0]
    return [
        [
            (
                re.sub("<.*?>", "", row[0]),
                [
                    re.sub("<.*?>", "", cell.replace("<br>", "\n")).split("\n")
                    for cell in re.findall(r'<td class="number[^"]*">(.*?)</td>', row[1])
                ],
            )
            for row in re.findall(r'<th scope="row" dir="auto">(.*?)</th>(.*?)</tr>', table)
        ]
        for table in section.split("</table>")[:-1]
    ]


def rows_of(html, convention):
    """The figures without their intervals."""
    figures = cells_of(html, convention)[0]
    return [(name, [lines[0] for lines in cells]) for name, cells in figures]


@pytest.mark.parametrize("convention", FIGURES)
def test_each_convention_has_its_table_and_its_sentence(handlers, write, convention):
    html, _ = run(handlers, write("gold.jsonl", GOLD), write("found.jsonl", FOUND))
    assert "Measured on 2 documents of gold." in html
    assert rows_of(html, convention) == [("found.jsonl", FIGURES[convention])]
    assert caption_of_f1(convention).partition(" (`")[0] in html
    assert "F1 of the mean precision and the mean recall over" in html  # which the table does not give apart
    assert "precision / recall" not in html
    assert f"(<code>{convention}</code>)." in html
    assert "as in RAMKG." in html


def test_the_table_without_empty_gold_tells_how_many_documents_have_gold_of_each_kind(handlers, write):
    html, _ = run(handlers, write("gold.jsonl", GOLD), write("found.jsonl", FOUND))
    skipping, counting = html.split('<section class="by-')[1:3]
    assert "Documents with gold of the kind: present 1, absent 2, pooled 2." in skipping
    assert "Documents with gold" not in counting
    html, _ = run(handlers, write("gold.jsonl", GOLD[:1]), write("found.jsonl", FOUND[:1]))
    assert "Documents with gold" not in html


def test_each_column_names_its_kind_and_measure_by_itself(handlers, write):
    html, _ = run(handlers, write("gold.jsonl", GOLD), write("found.jsonl", FOUND))
    table = html.partition('<section class="by-count_empty">')[2].partition("</section>")[0]
    heads = re.findall(r'<th scope="col"[^>]*>(.*?)</th>', table)
    assert [head.replace("<br>", " ") for head in heads] == [
        "Model or file", "Present F1@5", "Present F1@M", "Absent F1@5", "Absent F1@M", "Absent R@50",
        "Pooled F1@M", "Documents",
    ]  # fmt: skip
    assert "gold, documents without gold counted as zero" in table
    assert "R@50 is the share of the gold keyphrases that are among the first 50." in html


def test_a_figure_stands_over_its_interval_and_a_single_document_is_told(handlers, write):
    gold = [*GOLD, {"id": "c", "abstract": "Kernels learn.", "keyphrases": ["drug design", "molecules"]}]
    found = [*FOUND, {"id": "c", "absent": ["drug design"]}]
    html, [line] = run(handlers, write("gold.jsonl", gold), write("found.jsonl", found))
    [[(_, cells)]] = cells_of(html, "skip_empty")
    low, high = line["datasets"]["gold"]["interval"]["absent"]["skip_empty"]["R@50"]
    assert (low, high) == (0.0, 1.0)  # .5 ±1.242
    assert cells[4] == ["0.500", "±1.000"]
    assert cells[0] == ["0.571"]
    assert "gold: 1 document has present gold keyphrases; from one there is no interval." in html
    assert "Differences" not in html


def test_figures_have_a_decimal_comma_where_the_language_has_one(handlers, write):
    nothing = [{**row, "present": [], "absent": []} for row in FOUND]
    files = write("gold.jsonl", GOLD), write("found.jsonl", FOUND), write("nothing.jsonl", nothing)
    with use_language("fr"):
        html, _ = run(handlers, *files)
    figures = [figure for table in cells_of(html, "count_empty") for _, cells in table for figure in cells]
    assert ["0,286"] in figures
    assert ["-0,286", "p=1,000"] in figures
    assert "F1@5</small> 0,571" in html
    assert not any("." in line for lines in figures for line in lines)


def test_each_further_file_is_compared_with_the_first(handlers, write):
    nothing = [{**row, "present": [], "absent": []} for row in FOUND]
    files = [
        write("found.jsonl", FOUND, "1"),
        write("nothing.jsonl", nothing),
        write("same.jsonl", FOUND, "2"),
    ]
    html, lines = run(handlers, write("gold.jsonl", GOLD), *files)
    [_, rows] = cells_of(html, "count_empty")
    assert [name for name, _ in rows] == ["nothing.jsonl", "same.jsonl"]
    # one document differs: as likely as not; of two comparisons by Holm
    assert rows[0][1][0] == ["-0.286", "p=1.000"]
    assert rows[1][1][0] == ["0.000", "p=1.000"]
    assert "Difference from found.jsonl, paired by document" in html
    assert "Holm&#x27;s method for the 2 comparisons" in html
    assert "difference" not in lines[0]["datasets"]["gold"]
    assert lines[2]["datasets"]["gold"]["difference"]["absent"]["skip_empty"]["R@50"] == {
        "value": 0.0, "interval": None, "p": 1.0, "p_holm": 1.0,
    }  # fmt: skip


def test_the_download_of_one_file_is_what_the_command_prints(handlers, write, capsys):
    gold, found = write("gold.jsonl", GOLD), write("found.jsonl", FOUND)
    _, [row] = run(handlers, gold, found)
    assert cli.main(["evaluate", "--gold", gold, "--predictions", found, "--json"]) == 0
    assert row.pop("predictions") == "found.jsonl"
    assert row == json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("at", ["", " 10, o,1 "])
def test_the_downloads_are_what_the_command_prints_and_writes(handlers, write, tmp_path, capsys, at):
    gold, files = write("gold.jsonl", GOLD), [write("found.jsonl", FOUND), write("other.jsonl", FOUND[:1])]
    _, texts = run_with_files(handlers, gold, *files, at=at)
    details = tmp_path / "details.jsonl"
    call = ["evaluate", "--gold", gold, *(part for file in files for part in ("--predictions", file))]
    call += ["--details", str(details), *(["--at", at] if at else [])]

    def printed(*form):
        assert cli.main([*call, *form]) == 1  # a document has no prediction
        return capsys.readouterr().out

    assert lines_of(texts["figures.jsonl"]) == json.loads(printed("--json"))["runs"]
    assert texts["details.jsonl"] == details.read_text(encoding="utf-8")
    told = [(row["predictions"], row["id"]) for row in lines_of(texts["details.jsonl"])]
    assert told[1:3] == [("found.jsonl", "b"), ("other.jsonl", "a")]
    for convention in FIGURES:
        command = f"% python -m kpdemo evaluate --latex --convention {convention}, version "
        expected = printed("--latex", "--convention", convention)
        assert expected.count(command) == 2
        latex = texts[f"figures-{convention}.tex"]
        assert latex == expected.replace(command, "% The page Evaluate of kpdemo, version ")
        assert ("F1@10 & F1@O & F1@M" in latex) == bool(at)


def test_further_cuts_have_columns_with_their_meaning(handlers, write):
    files = [write("found.jsonl", FOUND, "1"), write("same.jsonl", FOUND, "2")]
    html, _ = run(handlers, write("gold.jsonl", GOLD), *files, at="1,O")
    [figures, differences] = re.findall("<thead>.*?</thead>", html.partition('"by-count_empty"')[2])
    names = ["F1@1", "F1@5", "F1@O", "F1@M"]
    heads = [f"{kind}<br>{name}" for kind in ("Present", "Absent") for name in names]
    heads += ["Absent<br>R@50", "Pooled<br>F1@M"]
    for table, more in ((figures, ["Documents"]), (differences, [])):
        assert re.findall('<th scope="col"[^>]*>(.*?)</th>', table) == ["Model or file", *heads, *more]
    assert 'title="F1 of the predicted keyphrases up to rank 1">Absent<br>F1@1<' in figures
    meaning = "F1@O is F1 of as many predicted keyphrases as there are gold ones of that kind; "
    assert meaning in html
    # of 2 gold phrases the first prediction is one: P 1, R 1/2; of the first 2 one: 1/2 and 1/2
    assert rows_of(html, "skip_empty")[0][1][:4] == ["0.667", "0.571", "0.500", "0.800"]
    assert meaning not in run(handlers, write("gold.jsonl", GOLD), *files, at=None)[0]


@pytest.mark.parametrize("at", ["0", "-1", "ten", "10,,15", "50", "1.5", "1000000", "١", "<b>", "9" * 99])
def test_what_the_command_refuses_to_measure_at_the_page_refuses_too(handlers, write, capsys, at):
    gold, found = write("gold.jsonl", GOLD), write("found.jsonl", FOUND)
    told = unescape(refused(handlers, gold, found, at=at))
    assert cli.main(["evaluate", "--gold", gold, "--predictions", found, f"--at={at}"]) == 2
    assert f"{told}\n" == capsys.readouterr().err.replace("--at", "Also F1 at")
    assert len(told) < 140


def test_the_page_measures_at_ten_further_numbers_but_not_at_eleven(handlers, write):
    gold, found = write("gold.jsonl", GOLD), write("found.jsonl", FOUND)
    ten = ",".join(map(str, range(6, 16)))
    assert "F1@15" in run(handlers, gold, found, at=f"{ten},5,M,6")[0]
    told = refused(handlers, gold, found, at=f"{ten},o")
    assert told.startswith("Also F1 at 11 numbers: the page measures at most 10 besides 5 and M; ")


def documents_of(html):
    """Of each folded table its name, and its rows with their cells."""
    return {
        re.sub("<.*?>", "", name): [
            [
                re.sub("<.*?>", "", re.sub("<br>|</div>", "|", cell))
                for cell in re.findall("<t[hd].*?>(.*?)</t[hd]>", row)
            ]
            for row in table.partition("<tbody>")[2].split("</tr>")[:-1]
        ]
        for name, table in re.findall("<details><summary>(.*?)</summary>(.*?)</details>", html)
    }


def test_the_documents_with_the_lowest_f1_are_shown_with_right_wrong_and_missed(handlers, write):
    gold = [{**GOLD[0], "id": id} for id in ("a", "b", "<c>")]
    gold[1]["keyphrases"] = ["molecules", "train", "kernel"]
    phrases = ["graph kernels", "machine", "molecules", "on", "we", "train"]
    found = [{**FOUND[0], "id": "a"}, {"id": "b", "present": phrases}, {"id": "<c>", "present": []}]
    html, _ = run(handlers, write("gold.jsonl", [*gold, GOLD[1] | {"id": "d"}]), write("found.jsonl", found))
    assert documents_of(html) == {
        "Documents with the lowest F1@5": [
            ["Graph kernels|&lt;c&gt;", "0.000", "Missed graph kernels · kernel machines|"],
            [
                "Graph kernels|b",
                "0.250",
                "Right molecules|Wrong graph kernels · machine · on · we|Missed kernel · train (rank 6)|",
            ],
            ["Graph kernels|a", "0.571", "Right graph kernels · kernel machine|Wrong molecules|"],
        ]
    }
    assert '<mark class="kp kp-1"><bdi>kernel machine</bdi></mark>' in html


def test_of_several_files_the_documents_are_shown_where_each_differs_most_from_the_first(
    handlers, write, monkeypatch
):
    gold = [{**GOLD[0], "id": id} for id in "abc"]
    ours = [{"id": id, "present": ["graph kernels"], "model": "ours"} for id in "abc"]
    other = [{"id": "a", "present": []}, {"id": "b", "present": ["graph kernels", "kernel machine"]}, ours[2]]
    files = [write("ours.jsonl", ours), write("other.jsonl", other), write("same.jsonl", ours)]
    html, _ = run(handlers, write("gold.jsonl", gold), *files)
    first = "F1@5 0.286|Right graph kernels|Missed kernel machines|"
    name = "Documents where other.jsonl differs most from ours, ours.jsonl"
    right = "F1@5 0.571|Right graph kernels · kernel machine|"
    assert documents_of(html) == {
        name: [
            ["Graph kernels|a", "-0.286", first, "F1@5 0.000|Missed graph kernels · kernel machines|"],
            ["Graph kernels|b", "+0.286", first, right],
        ]
    }
    assert "differs most from ours, ours.jsonl: none differs in F1@5." in html
    monkeypatch.setattr(evaluate, "MOST_ROWS", 1)
    html, _ = run(handlers, write("gold.jsonl", gold), *files)
    assert len(documents_of(html)[name]) == 1


def test_details_that_are_too_many_leave_the_figures(handlers, write, monkeypatch):
    monkeypatch.setattr(evaluate, "MOST_BYTES", 100)
    steps = handlers.evaluate_files(write("gold.jsonl", GOLD), [write("found.jsonl", FOUND)], "", PAGE)
    html, figures, details, *latex = next(steps)
    assert (figures["interactive"], details["interactive"], details["value"]) == (True, False, None)
    assert [one["interactive"] for one in latex] == [True, True]
    assert "use the command line" in html
    assert "<details>" not in html


def test_documents_without_present_gold_are_in_no_table(handlers, write):
    html, _ = run(handlers, write("gold.jsonl", GOLD[1:]), write("found.jsonl", FOUND[1:]))
    assert "<details>" not in html


def test_a_table_of_keyphrases_is_gold_too(handlers, write):
    gold = write("gold.csv", ["id,abstract,keyphrases", "b,Speech is noisy.,noise reduction;speech"])
    html, _ = run(handlers, gold, write("found.jsonl", FOUND[1:]))
    assert rows_of(html, "skip_empty")[0][1][:2] == ["0.333", "1.000"]


def test_a_row_is_called_by_the_model_that_the_file_names(handlers, write):
    named = [{**row, "model": "ours"} for row in FOUND]
    mixed = [{**FOUND[0], "model": "ours"}, {**FOUND[1], "model": "theirs"}]
    files = [write("one.jsonl", named), write("two.jsonl", mixed)]
    html, rows = run(handlers, write("gold.jsonl", GOLD), *files)
    assert [name for name, _ in rows_of(html, "skip_empty")] == ["ours", "two.jsonl"]
    assert [row["model"] for row in rows] == ["ours", None]


def test_a_model_that_is_no_name_is_none(write):
    odd = [{**row, "model": ["ours"]} for row in FOUND]
    datasets = {"gold": read_gold(write("gold.jsonl", GOLD))}
    assert measure_file(datasets, Path(write("odd.jsonl", odd)), on_missing=lambda *_: None).model is None


def test_the_name_of_a_file_may_be_broken_after_an_underscore():
    assert ">my_<wbr>own_<wbr>run.jsonl<" in evaluate._row_html("my_own_run.jsonl", [], [])


def test_rows_of_one_name_are_told_apart(handlers, write):
    named = [{**row, "model": "ours"} for row in FOUND]
    files = [
        write("p.jsonl", named, "1"),
        write("q.jsonl", named, "1"),
        *(write("found.jsonl", FOUND, folder) for folder in "23"),
    ]
    html, _ = run(handlers, write("gold.jsonl", GOLD), *files)
    names = ["ours, p.jsonl", "ours, q.jsonl", "found.jsonl, no. 3", "found.jsonl, no. 4"]
    assert [name for name, _ in rows_of(html, "count_empty")] == names


def test_each_language_of_the_gold_has_a_row(handlers, write):
    gold = [{**GOLD[0], "language": "en"}, {**GOLD[1], "language": "fr"}]
    html, _ = run(handlers, write("gold.jsonl", gold), write("found.jsonl", FOUND))
    rows = dict(rows_of(html, "skip_empty"))
    assert list(rows) == ["found.jsonl", "found.jsonl, English", "found.jsonl, French"]
    assert rows["found.jsonl, French"][:2] == ["–", "–"]
    told = "Documents with gold of the kind, all languages together: present 1, absent 2, pooled 2."
    assert told in html


def test_what_a_file_says_is_shown_as_text(handlers, write):
    named = [{**row, "model": "<img src=x onerror=alert(1)>"} for row in FOUND]
    html, _ = run(handlers, write("<b>gold.jsonl", GOLD), write("found.jsonl", named))
    assert "<img" not in html
    assert "<b>" not in html


def test_a_document_without_a_prediction_counts_as_empty_and_is_named(handlers, write):
    html, _ = run(handlers, write("gold.jsonl", GOLD), write("found.jsonl", FOUND[:1]))
    assert "found.jsonl: gold, document &quot;b&quot;: no prediction; counted as empty." in html
    assert rows_of(html, "skip_empty")[0][1][-1] == "2"


@pytest.mark.parametrize(
    ("count", "told"), [(2, '"a", "b"'), (3, '"a", "b", "c"'), (5, '"a", "b", "c" and others')]
)
def test_documents_without_a_prediction_are_told_in_one_sentence(count, told):
    message = missing_message("gold", list("abcde")[:count])
    assert message == f"gold: no prediction for {count} documents, {told}; counted as empty."


@pytest.mark.parametrize(
    ("ids", "told"),
    [
        ("b", '1 of 9 documents has no gold keyphrases, "b"; skip_empty leaves it out, '),
        ("abcd", '4 of 9 documents have no gold keyphrases, "a", "b", "c" and others; skip_empty leaves '),
    ],
)
def test_documents_without_gold_are_told_in_one_sentence(ids, told):
    assert without_gold_message("gold", list(ids), 9).startswith(f"gold: {told}")


def test_a_document_without_gold_keyphrases_is_named(handlers, write):
    gold = [GOLD[0], {"id": "b", "abstract": "Speech is noisy."}]
    html, [line] = run(handlers, write("gold.jsonl", gold), write("found.jsonl", FOUND))
    assert "gold: 1 of 2 documents has no gold keyphrases, &quot;b&quot;; " in html
    assert line["datasets"]["gold"]["without_gold"] == ["b"]


def refused(handlers, gold, *predictions, at=""):
    with pytest.raises(gr.Error) as refusal:
        run(handlers, gold, *predictions, at=at)
    return refusal.value.message


@pytest.mark.parametrize(
    ("gold", "found", "reason"),
    [
        ([{"abstract": "Speech."}], FOUND, "gold.jsonl: no document has gold &quot;keyphrases&quot;"),
        (["{broken"], FOUND, "gold.jsonl, line 1: not JSON"),
        ([*GOLD, GOLD[0]], FOUND, "Two gold documents have the id"),
        (GOLD, [FOUND[0], "{broken"], "found.jsonl, line 2: not JSON"),
        (GOLD, [{"id": "a", "present": 5}], "found.jsonl, line 1: &quot;present&quot; is not a list"),
        (
            GOLD,
            [{"id": "a", "phrases": ["speech"]}],
            "found.jsonl, line 1: neither &quot;present&quot; nor",
        ),
        (
            GOLD,
            [FOUND[0], {"id": "c", "present": []}],
            "found.jsonl: &quot;c&quot; is not the id of a gold document",
        ),
        (GOLD, [], "found.jsonl: no prediction in the file"),
    ],
)
def test_a_file_that_cannot_be_measured_is_a_sentence_without_our_paths(handlers, write, gold, found, reason):
    told = refused(handlers, write("gold.jsonl", gold), write("found.jsonl", found))
    assert told.startswith(reason)
    assert "/" not in told


def test_files_that_are_not_chosen_are_asked_for(handlers, write):
    assert "No gold file is chosen" in refused(handlers, None, write("found.jsonl", FOUND))
    assert "No predictions file is chosen" in refused(handlers, write("gold.jsonl", GOLD))


def test_too_many_documents_are_refused_with_their_number(handlers, write, monkeypatch):
    monkeypatch.setattr(evaluate, "MOST_DOCUMENTS", 1)
    told = refused(handlers, write("gold.jsonl", GOLD), write("found.jsonl", FOUND))
    assert told.startswith("gold.jsonl has 2 documents, and the page measures at most 1: ")


def test_files_of_another_kind_are_refused_when_they_are_chosen(handlers):
    told = handlers.check_evaluated("/tmp/gold.txt", None)
    assert "gold.txt cannot be read here: use one of .jsonl, .json, .csv, .tsv" in told
    assert 'class="note refusal" role="alert"' in told
    assert "found.csv cannot be read here" in handlers.check_evaluated(None, ["/tmp/found.csv"])
    assert handlers.check_evaluated("/tmp/gold.csv", ["/tmp/found.jsonl"]) == gr.skip()
    assert handlers.check_evaluated(None, None) == gr.skip()


def test_a_stop_ends_the_measuring(handlers, write, monkeypatch):
    measure_file = evaluate.measure_file

    def stop_then_measure(*arguments, **options):
        handlers.stops.ask(PAGE.session_hash)
        return measure_file(*arguments, **options)

    monkeypatch.setattr(evaluate, "measure_file", stop_then_measure)
    assert refused(handlers, write("gold.jsonl", GOLD), write("found.jsonl", FOUND)) == STOPPED


def test_comparing_tells_how_far_it_is_and_can_be_stopped(handlers, write):
    seen = []

    def progress(done_of, *, desc, **_):
        seen.append((desc, done_of))
        if len(seen) == 3:
            handlers.stops.ask(PAGE.session_hash)

    files = [write("found.jsonl", FOUND, folder) for folder in "1234"]
    steps = handlers.evaluate_files(write("gold.jsonl", GOLD), files, "", PAGE, progress=progress)
    with pytest.raises(gr.Error, match=STOPPED):
        next(steps)
    assert seen == [("Measuring", (0, 8)), ("Comparing", (0, 3)), ("Comparing", (1, 3))]


def test_files_of_others_come_first_and_the_wait_can_be_stopped(handlers, write):
    def stop(*_, desc, **__):
        assert desc == "Other files are read first"
        handlers.stops.ask(PAGE.session_hash)

    steps = handlers.evaluate_files(
        write("gold.jsonl", GOLD), [write("found.jsonl", FOUND)], "", PAGE, progress=stop
    )
    with handlers.shelf.turn_of_files, pytest.raises(gr.Error, match=STOPPED):
        next(steps)


def test_a_stop_counts_before_the_question_has_left_the_queue(handlers, write):
    handlers.stops.ask(PAGE.session_hash)
    assert refused(handlers, write("gold.jsonl", GOLD), write("found.jsonl", FOUND)) == STOPPED


def test_a_figure_that_is_missing_where_documents_count_as_zero_is_explained(handlers, write):
    rows = [{**row, "language": code} for row, code in zip(GOLD, ("en", "fr"), strict=True)]
    html, _ = run(handlers, write("gold.jsonl", rows), write("ours.jsonl", FOUND, "1"))
    shown = re.search('<section class="by-count_empty">.*?</section>', html, re.DOTALL)[0]
    assert "–" in re.search("French</th><td[^>]*>(.)", shown)[1]
    assert "Where no document has gold of the kind, there is no figure: –." in shown
    html, _ = run(handlers, write("gold.jsonl", GOLD), write("ours.jsonl", FOUND, "1"))
    assert "there is no figure" not in html
