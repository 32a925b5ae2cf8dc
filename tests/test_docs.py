"""What README and docs promise exists: commands, options, make targets, files and links."""

from __future__ import annotations

import contextlib
import doctest
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from functools import cache, partial
from pathlib import Path
from unittest import mock

import pytest
import yaml

import app
import db.cli
import kpdemo
import kpdemo.cli
import tests.commands
from db.migrations import MIGRATIONS, UPGRADES_OLDER
from kpdemo.predictors import load_predictor, model_folder, model_identity, shipped_models
from kpdemo.types import Predictor
from tools.reference import settings_table

ROOT = Path(__file__).parent.parent
PAGES = [
    *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY")),
    *sorted((ROOT / "docs").glob("*.md")),
]
TOP_FOLDERS = ("kpdemo", "annotation", "db", "tests", "docs", "configs", "tools", "deploy")

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CODE_SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
PROGRAM = re.compile(r"\S*python\S* (?:-m (?P<module>kpdemo|annotation|db)\b|(?P<script>app\.py))")
OPTION = re.compile(r"^--?[a-z][a-z-]*$")
SUBCOMMAND = re.compile(r"^[a-z]+$")
MAINS = {
    "app.py": app.main,
    "kpdemo": kpdemo.cli.main,
    "annotation": tests.commands.main,
    "db": db.cli.main,
}
SPACE_COLOURS = ("red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray")


def code_of(page: Path) -> list[str]:
    """Lines of shell code and inline code spans of `page`."""
    text = page.read_text(encoding="utf-8")
    lines = [
        line
        for language, block in FENCE.findall(text)
        if language in ("", "bash", "sh", "console")
        for line in block.replace("\\\n", " ").splitlines()
    ]
    return [*lines, *CODE_SPAN.findall(FENCE.sub("", text))]


def split_command(line: str) -> list[str] | None:
    """The words of the kpdemo command in `line`: "-m kpdemo" or "app.py", subcommands and arguments."""
    found = PROGRAM.search(line)
    if found is None:
        return None
    program = ["-m", found["module"]] if found["module"] else [found["script"]]
    rest = re.split(r"[|>;&]| < ", line[found.end() :])[0]
    return [*program, *shlex.split(rest, comments=True)]


def commands() -> list[tuple[str, ...]]:
    found = {tuple(words) for page in PAGES for line in code_of(page) if (words := split_command(line))}
    return sorted(found)


def targets_named() -> set[str]:
    lines = [line for page in PAGES for line in code_of(page)]
    return {match[1] for line in lines if (match := re.match(r"make ([a-z-]+)", line))}


@cache
def help_of(program: tuple[str, ...]) -> str:
    """What `python PROGRAM --help` prints, wide enough to cut no option short."""
    name, *subcommands = program[1:] if program[0] == "-m" else program
    wide = {"COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"}
    printed = io.StringIO()
    with mock.patch.dict(os.environ, wide), contextlib.redirect_stdout(printed):
        try:
            status: object = MAINS[name]([*subcommands, "--help"])
        except SystemExit as end:  # of argparse
            status = end.code
    assert not status, f"python {' '.join(program)} --help: {status}"
    return printed.getvalue()


def split_subcommands(words: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(program and its subcommands, the arguments)."""
    start = 2 if words[0] == "-m" else 1
    end = start
    while end < len(words) and SUBCOMMAND.match(words[end]) and "COMMAND" in help_of(words[:end]):
        end += 1
    return words[:end], words[end:]


def check_command(words: tuple[str, ...]) -> None:
    program, arguments = split_subcommands(words)
    first = 2 if program[0] == "-m" else 1
    for end in range(first, len(program)):
        assert re.search(rf"\b{program[end]}\b", help_of(program[:end])), (
            f"no {program[end]} in {program[:end]}"
        )
    for argument in arguments:
        option = argument.strip("[]").split("=")[0]
        if OPTION.match(option) and option != "--help":
            assert re.search(rf"(?<![\w-]){option}(?![\w-])", help_of(program)), f"no {option} in {program}"


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_a_command_and_its_options_exist(words):
    check_command(words)


def test_the_check_sees_a_wrong_command():
    with pytest.raises(AssertionError, match="no predicto"):
        check_command(("-m", "kpdemo", "predicto"))
    with pytest.raises(AssertionError, match="no --top-kk"):
        check_command(("-m", "kpdemo", "predict", "paper.txt", "--top-kk", "5"))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            ".venv/bin/python -m kpdemo predict - --top-k 5 < a.txt",
            ["-m", "kpdemo", "predict", "-", "--top-k", "5"],
        ),
        ("cat a.txt | python -m kpdemo predict - | head", ["-m", "kpdemo", "predict", "-"]),
        ("python app.py --port 8000  # elsewhere", ["app.py", "--port", "8000"]),
        ("python -m pytest", None),
    ],
)
def test_a_command_is_found_in_a_line(line, words):
    assert split_command(line) == words


PASTED = [
    ROOT / "README.md",
    *(
        ROOT / f"docs/{name}.md"
        for name in ("index", "evaluation", "models", "predict", "retrieval", "scoring")
    ),
]
"""Pages whose commands are run as they stand there, those of a page one after another."""

NOT_RUN = {
    r"\bapp\.py": "serves until it is stopped",
    r" (sentence-transformers|intfloat|taln-ls2n|ml6team)/": "needs a model of the Hub",
    r"\b(kp20k_small|inspec|clss)\.": "needs data that are not part of the repository",
}


def pasted_lines(page: Path) -> list[str]:
    """The commands of kpdemo in the shell code of `page`, each on one line."""
    blocks = [
        code for language, code in FENCE.findall(page.read_text(encoding="utf-8")) if language == "bash"
    ]
    lines = [line for block in blocks for line in re.sub(r"\\\n\s*", "", block).splitlines()]
    return [line for line in lines if PROGRAM.search(line)]


def why_not_run(line: str) -> str:
    return next((reason for what, reason in NOT_RUN.items() if re.search(what, line)), "")


def run_pasted(line: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """Run a line of shell, with a text or a file for standard input; the exit status."""
    words = shlex.shlex(line, posix=True, punctuation_chars=True)
    words.whitespace_split = True
    given, stdin = list(words), b""
    if given[0] == "echo":
        stdin, given = f"{given[1]}\n".encode(), given[3:]
    if "<" in given:
        given, (file,) = given[: given.index("<")], given[given.index("<") + 1 :]
        stdin = Path(file).read_bytes()
    assert given[:2] == ["python", "-m"], line
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
    return MAINS[given[2]](given[3:])


opened = cache(load_predictor)


def open_model(model: str, *, index: Path | None = None, **options: str) -> Predictor:
    """As a command opens it; one without an index of its own stays open for the next."""
    return opened(model, **options) if index is None else load_predictor(model, index=index, **options)


def test_the_table_of_settings_is_that_of_the_code():
    page = ROOT / "docs/operations.md"
    text = page.read_text(encoding="utf-8")
    before, mark, rest = text.partition("writes it anew -->\n")
    after = rest[rest.index("## Several processes") :]
    current = f"{before}{mark}{settings_table()}\n{after}"
    if os.environ.get("KPDEMO_REWRITE"):
        page.write_text(current, encoding="utf-8")
    else:
        assert text == current, "KPDEMO_REWRITE=1 writes it anew"


def test_every_variable_that_the_code_reads_is_in_the_table_of_settings():
    read = re.compile(r"environ(?:ment)?\.get\(\"((?:KPDEMO|FORWARDED)_\w+)\"")
    files = [
        ROOT / "app.py",
        *(file for name in ("kpdemo", "annotation", "db") for file in (ROOT / name).rglob("*.py")),
    ]
    names = {name for file in files for name in read.findall(file.read_text(encoding="utf-8"))}
    assert len(names) >= 4
    assert [name for name in sorted(names) if f"`{name}`" not in settings_table()] == []


def test_every_promise_of_security_names_a_test_that_there_is():
    text = (ROOT / "docs/security.md").read_text(encoding="utf-8")
    rows = [row for row in re.findall(r"^\| .*\|$", text, re.MULTILINE) if not row.endswith("| Test |")]
    assert len(rows) > 20
    for row in rows:
        [(file, name)] = re.findall(r"`(tests/\S+\.py)::(\w+)`", row)
        assert f"def {name}(" in (ROOT / file).read_text(encoding="utf-8"), row


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.name, marks=[pytest.mark.slow] if page.stem == "retrieval" else [])
        for page in PASTED
    ],
)
def test_commands_run_as_they_stand_there(page, tmp_path, monkeypatch):
    shutil.copytree(ROOT / "docs" / "examples", tmp_path / "docs" / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KPDEMO_DATABASE_URL", raising=False)
    monkeypatch.setattr("kpdemo.predictors.load_predictor", open_model)
    run = [line for line in pasted_lines(page) if not why_not_run(line)]
    assert run
    assert [line for line in run if run_pasted(line, monkeypatch)] == []


def test_the_first_passage_found_for_the_french_example_says_the_same(tmp_path, monkeypatch, capsys):
    examples, index = ROOT / "docs" / "examples", str(tmp_path / "index")
    build = ["index", "build", "--input", str(examples / "passages.jsonl"), "--output", index]
    assert kpdemo.cli.main([*build, "--model", "multilingual"]) == 0
    capsys.readouterr()
    line = f"python -m kpdemo index search --index {index} --json - < {examples / 'these.txt'}"
    assert run_pasted(line, monkeypatch) == 0
    [first, second, *_] = json.loads(capsys.readouterr().out)["hits"]
    assert (first["id"], first["related"]) == ("meadow", True)
    assert first["score"] > second["score"] + 0.05


def test_only_commands_that_cannot_run_are_left_out():
    left_out = {reason for page in PASTED for line in pasted_lines(page) if (reason := why_not_run(line))}
    assert left_out == set(NOT_RUN.values())


def test_the_readme_names_commands():
    assert {("-m", "kpdemo", "predict"), ("-m", "kpdemo", "evaluate")} <= {words[:3] for words in commands()}


@pytest.mark.parametrize("target", sorted(targets_named()))
def test_a_make_target_exists(target):
    assert re.search(rf"^{target}:.*## \w", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


def test_developers_are_told_what_the_tests_need():
    told = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").partition("## Tests")[2]
    assert [name for name in ("`POSTGRESQL_URL`", "127.0.0.1:5432/test", "`CI`") if name not in told] == []


@pytest.mark.slow
def test_the_documentation_builds_as_a_site_with_every_link_checked(tmp_path):
    build = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(tmp_path / "site")]
    subprocess.run(build, cwd=ROOT, check=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})
    commands = (tmp_path / "site" / "commands.html").read_text(encoding="utf-8")
    assert "python -m annotation project create" in commands
    python = (tmp_path / "site" / "python.html").read_text(encoding="utf-8")
    assert [
        name for name in kpdemo.__all__ if name != "__version__" and f'id="kpdemo.{name}"' not in python
    ] == []
    assert re.findall(r'(?:src|href)="(https?://[^"]+\.(?:js|css|woff2?))"', commands) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page):
    links = [link.split("#")[0] for link in LINK.findall(page.read_text(encoding="utf-8"))]
    local = [link for link in links if link and "://" not in link]
    assert [link for link in local if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_of_this_repository_named_in_code_exist(page):
    words = {word.strip("`:,").rstrip("/") for line in code_of(page) for word in line.split()}
    named = {word for word in words if re.fullmatch(rf"(?:{'|'.join(TOP_FOLDERS)})/[\w./-]+", word)}
    assert sorted(word for word in named if not (ROOT / word).exists()) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_examples_are_valid_python(page):
    for language, block in FENCE.findall(page.read_text(encoding="utf-8")):
        if language == "python":
            compile(block, page.name, "exec")


def front_matter() -> dict[str, object]:
    head = (ROOT / "README.md").read_text(encoding="utf-8").split("---\n")
    assert head[0] == ""
    return yaml.safe_load(head[1])


def test_the_readme_is_the_card_of_a_space():
    card = front_matter()
    assert card["sdk"] == "gradio"
    assert (
        f"gradio=={card['sdk_version']}"
        in (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    )
    assert (ROOT / str(card["app_file"])).is_file()
    assert {card["colorFrom"], card["colorTo"]} <= set(SPACE_COLOURS)
    assert len(str(card["short_description"])) <= 60
    assert isinstance(card["python_version"], str), "YAML reads 3.10 as 3.1: quote the version"


def test_the_changelog_names_the_newest_revision_of_the_database():
    text = " ".join((ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split())
    assert f"PostgreSQL, revision {MIGRATIONS.revisions[-1]}." in text
    assert f"of revisions before {MIGRATIONS.revisions[0]} are upgraded with commit {UPGRADES_OLDER}" in text


def test_the_changelog_has_the_version_of_the_package():
    headings = re.findall(
        r"^## \[?([\w.]+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert kpdemo.__version__ in headings


RESULTS = sorted((ROOT / "docs").glob("results*/*.json"))


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_results_of_a_shipped_model_were_measured_with_its_weights(path):
    result = json.loads(path.read_text(encoding="utf-8"))
    if result.get("model") in shipped_models():
        assert result["identity"] == model_identity(result["model"])


FIGURES = ROOT / "docs" / "figures.md"


@pytest.mark.parametrize("kind", ["present", "absent"])
def test_the_intervals_told_are_those_measured(kind):
    result = json.loads((ROOT / "docs/results/evaluate-default.json").read_text(encoding="utf-8"))
    bounds = [result["datasets"][name]["interval"][kind]["skip_empty"]["F1@5"] for name in MEASURED.values()]
    first, second, third = (f"±{(high - low) / 2:.3f}".replace("0.", ".") for low, high in bounds)
    assert f"{first}, {second} and {third} for {kind} F1@5" in FIGURES.read_text(encoding="utf-8")


def test_that_published_figure_is_called_alike_which_the_interval_holds():
    page = FIGURES.read_text(encoding="utf-8")
    told = " ".join(page.split())
    result = json.loads((ROOT / "docs/results/evaluate-default.json").read_text(encoding="utf-8"))
    intervals = result["datasets"][MEASURED["SemEval-2010"]]["interval"]
    present, absent = map(float, PUBLISHED.findall(page))
    for kind, published in (("present", present), ("absent", absent)):
        low, high = intervals[kind]["skip_empty"]["F1@5"]
        assert low <= published <= high
    assert "neither its present nor its absent F1@5 differs significantly from the published figure" in told


MODELS = {
    "first phrases": "first",
    "TF-IDF": "tfidf",
    "YAKE": "yake",
    "TextRank": "textrank",
    "MultipartiteRank": "multipartite",
}
"""Rows that are named otherwise than on the command line."""

MEASURED = {"KP20k": "kp20k_small.valid", "SemEval-2010": "semeval2010.test", "Inspec": "inspec.test"}
"""What the label of a row or column begins with, and the file that was measured."""

FIGURES_TABLE = re.compile(
    r"^(Present|Absent) keyphrases, (\S+) / ([^\s,:]+).*?\n\n((?:\|[^\n]*\n)+)", re.M | re.S
)
HALVES = re.compile(
    r"\b(?:the other|those)\s([\d,]+)\b[^\d.]*([.\d]+) / ([.\d]+)(?: present)?\s+and ([.\d]+) / (\.\d+)"
)
"""Of the documents of KP20k, those that chose nothing and those that chose."""

CARD_TABLE = re.compile(r"^((?:\|.*R@50 \|\n)(?:\|.*\n)+)", re.M)

PUBLISHED = re.compile(r"^\| SimCKP as published.*?\|[^|]*\| (\S+) / ", re.M)
"""F1@5 of present, then of absent keyphrases on the test documents of SemEval-2010."""

Told = tuple[str, str, str, str, float]
"""File, kind and measure, the figure that a page tells, and that of the committed result."""


def cells_of(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]


def file_of(label: str) -> str:
    return MEASURED.get(re.split(r"[ ,]", label)[0], label)


def result_of(model: str, file: str, documents: str) -> dict[str, dict]:
    """The committed figures of a model by kind, on exactly so many documents of a file."""
    folder = ROOT / "docs" / "results"
    for path in (folder / f"main-{model}.json", *sorted(folder.glob(f"evaluate-{model}*.json"))):
        datasets = json.loads(path.read_text(encoding="utf-8"))["datasets"] if path.is_file() else {}
        found = datasets.get(file)
        if found is not None and f"{found['documents']:,}" == documents:
            return {kind: found[kind]["skip_empty"] for kind in ("present", "absent")}
    raise AssertionError(f"no committed result of {model} on {documents} documents of {file}")


def told_by_the_figures() -> list[Told]:
    page = FIGURES.read_text(encoding="utf-8")
    told = told_of_the_halves(page)
    documents: dict[str, str] = {}  # the second table has the columns of the first
    for side, *measures, table in FIGURES_TABLE.findall(page):
        header, _, *rows = cells_of(table)
        kind = side.lower()
        for column, file in enumerate(map(file_of, header[1:]), start=1):
            if counted := re.search(r"\(([\d,]+)\)|first ([\d,]+)", header[column]):
                documents[file] = counted[1] or counted[2]
            for row in rows:
                label = row[0].strip("*")
                if row[column] and not label.startswith("SimCKP"):
                    found = result_of(MODELS.get(label, label), file, documents[file])
                    figures = zip(measures, row[column].split(" / "), strict=True)
                    told += [
                        (file, kind, measure, figure, found[kind][measure]) for measure, figure in figures
                    ]
    return told


def told_of_the_halves(page: str) -> list[Told]:
    file, told = MEASURED["KP20k"], []
    asked = (("present", "F1@5"), ("present", "F1@M"), ("absent", "F1@5"), ("absent", "R@50"))
    halves = HALVES.findall(page)
    assert [documents for documents, *_ in halves] == ["700", "300"]
    for documents, *figures in halves:
        found = result_of("default", file, documents)
        for (kind, measure), figure in zip(asked, figures, strict=True):
            told.append((file, kind, measure, figure, found[kind][measure]))
    return told


def told_by_the_card(model: str) -> list[Told]:
    card = (model_folder(model) / "MODEL_CARD.md").read_text(encoding="utf-8")
    [table] = CARD_TABLE.findall(card)
    (_, _, *names), _, *rows = cells_of(table)
    told = told_of_the_halves(card) if model == "default" else []
    for label, documents, *figures in rows:
        found = result_of(model, file_of(label), documents)
        for name, figure in zip(names, figures, strict=True):
            kind, measure = name.split(" ")
            told.append((file_of(label), kind, measure, figure, found[kind][measure]))
    return told


@pytest.mark.parametrize(
    "page", [told_by_the_figures, partial(told_by_the_card, "default"), partial(told_by_the_card, "indexer")]
)
def test_figures_are_those_of_the_committed_results(page):
    wrong = [told for told in page() if f"{told[-1]:.3f}".removeprefix("0") != told[-2]]
    assert wrong == []


def test_the_check_of_figures_sees_those_of_the_default_model():
    for told in (told_by_the_figures(), told_by_the_card("default")):
        for file in MEASURED.values():
            assert {(kind, measure) for name, kind, measure, *_ in told if name == file} == {
                ("present", "F1@5"), ("present", "F1@M"), ("absent", "F1@5"), ("absent", "R@50"),
            }  # fmt: skip


def test_the_readme_shows_the_figures_of_its_own_page():
    documents = {"kp20k_small.valid": "1,000", "semeval2010.test": "100", "inspec.test": "500"}
    found = [result_of("default", file, documents[file])["present"]["F1@5"] for file in MEASURED.values()]
    *first, last = (f"{figure:.3f}".removeprefix("0") for figure in found)
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert f"KP20k, SemEval-2010 and Inspec reach an F1@5 of {', '.join(first)} and {last};" in readme


def test_the_share_of_keyphrases_among_the_candidates_is_that_of_the_committed_result():
    found = json.loads((ROOT / "docs" / "results" / "candidates.json").read_text(encoding="utf-8"))
    recall = 100 * found[MEASURED["Inspec"]]["recall"]
    assert f"hold {recall:.1f} % of Inspec's" in FIGURES.read_text(encoding="utf-8")


def test_figures_in_other_languages_are_those_of_the_committed_results():
    path = ROOT / "docs" / "results_multilingual" / "retrieval-multilingual.json"
    datasets = json.loads(path.read_text(encoding="utf-8"))["datasets"]
    wanted = {
        "French theses": datasets["papyrus_fr.valid.first200"]["languages"]["fr"],
        "French news": datasets["wikinews_fr.test"]["languages"]["fr"],
        "Chinese abstracts": datasets["csl_zh.valid.first300"]["languages"]["zh"],
    }
    page = FIGURES.read_text(encoding="utf-8")
    told = {
        label: re.findall(r"^\| " + label + r".*? \| ([\d.]+).* \| ([\d.]+).*\|$", page, re.M)
        for label in wanted
    }
    assert told == {
        label: [tuple(f"{100 * found[way]['pooled']['F1@M']:.1f}" for way in ("with", "without"))]
        for label, found in wanted.items()
    }
    alone = json.loads(path.with_name("ramkg-multilingual.json").read_text(encoding="utf-8"))["datasets"]
    figure = 100 * alone["academicmkp_zh_ko.valid"]["languages"]["ko"]["pooled"]["F1@M"]
    assert re.findall(r"^\| Korean abstracts \| \| ([\d.]+) \|$", page, re.M) == [f"{figure:.1f}"]


def test_the_worked_example_comes_out_as_written():
    result = doctest.testfile(str(ROOT / "docs" / "evaluation.md"), module_relative=False, encoding="utf-8")
    assert result.attempted > 0
    assert result.failed == 0
