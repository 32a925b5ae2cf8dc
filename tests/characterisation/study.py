"""A study from its first account to its gold set: made by commands and by what the pages' scripts send."""

from __future__ import annotations

import csv
import io
import json
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from tests.characterisation.commands import done
from tests.characterisation.serving import Visitor
from tests.tiny_wordnet import KEYBOARD, NETWORK, POINTER, RODENT, write_wordnet

PASSWORD = "correct horse battery"
PEOPLE = ("root", "Ana", "Ben", "Cleo", "Judith", "Wim", "Edda", "Tess")
SCALE = """0 Wrong: Has nothing to do with the document.
1 Same field: Only the field is the document's.
2 Side issue: The document mentions it in passing.
3 Good: An important idea, too narrow or too wide.
4 Exact: Whoever looks for this document would type it.
"""
ITEMS = """id\ttype\ttext\tgenre\tsource
l1\tsentence2phrase\tThe harbour froze over for the first time in forty years.\tnews\tpaper
l2\tsentence2phrase\tA choir of retired miners sings in the old power station.\tnews\tpaper
l3\tsentence2phrase\tThe last lighthouse keeper of the coast moved out in spring.\tnews\tpaper
l4\tsentence2phrase\tThe bakery gives its bread to the shelter every evening.\tnews\tpaper
l5\tsentence2phrase\tTwo rivers meet under the bridge that nobody crosses.\tnews\tpaper
"""
RATED = [
    {"id": "r1", "type": "phrase2word", "left": "a cup of hot tea", "right": "drink", "genre": "kitchen",
     "ratings": [{"rater": "Ana", "grade": 3}, {"rater": "Ben", "grade": 3.25}]},
    {"id": "r2", "type": "phrase2word", "left": "a loud brass band", "right": "silence", "intended": 0,
     "ratings": [{"rater": "Ana", "grade": 0}, {"rater": "Dora", "grade": 2.5}]},
    {"id": "r3", "type": "phrase2word", "left": "to mend a torn sleeve", "right": "sew", "source": "own",
     "ratings": [3.5, 4]},
    {"id": "r4", "type": "phrase2word", "left": "=the first snow, “of” the year", "right": "winter"},
    {"id": "r5", "type": "phrase2word", "left": "a wrong row", "right": "mistake"},
]  # fmt: skip
GRADES = {
    "Ana": {"1": 3.25, "2": 3.5, "3": 0.25, "4": 4, "5": 3.5, "r4": 2, "r5": 1},
    "Ben": {"1": 3, "2": 1.75, "3": 1.5, "4": 3.75, "5": 3.25, "r4": 2.25, "r5": 1},
}
DECISIONS = {"2": ("3", "scale", "bees, after all"), "3": ("0.5", "misunderstood", "")}
SENSES = [
    {"id": "s1", "type": "word2sense", "left": "mouse#n", "right": KEYBOARD.key, "word_key": POINTER.key,
     "ratings": [2, 2.5]},
    {"id": "s2", "type": "word2sense", "left": "moggy#n", "right": RODENT.key, "word_flag": "oov",
     "word_key": RODENT.key, "word_definition": "a mouse of the house", "ratings": [3, 3.25]},
]  # fmt: skip
PHRASE_GRADES = ("4", "3.5", "3", "2.25", "1", "0")


@dataclass
class Study:
    folder: Path
    printed: dict[str, Any] = field(default_factory=dict)
    """What --json printed, by a name for the file."""
    files: dict[str, bytes] = field(default_factory=dict)
    """Exports, by a name for the file."""
    answers: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """What the routes answered, by a name for the file."""
    downloads: dict[str, Any] = field(default_factory=dict)
    """Answers that are files, by the name in the address."""
    ids: dict[str, set[str]] = field(default_factory=dict)
    """`api_name` and `elem_id` of what the pages are made of, by the page."""

    @property
    def url(self) -> str:
        return f"sqlite:///{self.folder / 'study.db'}"

    def do(self, line: str, stdin: str = "", name: str = "", **given: str) -> bytes:
        """Run a command of annotation; its --json is kept under `name`.

        Words with blanks stand in quotation marks.
        """
        words = [word.strip('"') for word in re.findall(r'"[^"]*"|\S+', line)]
        given = {"KPDEMO_DATABASE_URL": self.url} | given
        out = done(self.folder, ["annotation", *words], stdin.encode(), **given).out
        if name:
            assert name not in self.printed
            self.printed[name] = {"line": f"python -m annotation {line}", "json": json.loads(out)}
        return out

    def execute(self, statement: str, values: tuple[str, ...] = ()) -> None:
        """Set in the database what is drawn by lot."""
        with closing(sqlite3.connect(self.folder / "study.db")) as connection, connection:
            connection.execute(statement, values)

    def id_of(self, project: str) -> int:
        return json.loads(self.do(f"project show {project} --json"))["id"]

    def path(self, project: str) -> str:
        """Where the routes of a project are."""
        return f"/annotate/api/projects/{self.id_of(project)}"

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text, encoding="utf-8")

    def write_rows(self, name: str, rows: list[dict[str, Any]]) -> None:
        self.write(name, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def open_study(folder: Path) -> Study:
    """Its database, with keys that are the same each time, and all accounts."""
    study = Study(folder)
    done(folder, ["db", "upgrade", "--database-url", study.url])
    for name in ("pairs", "raters"):
        key = (name, sha256(name.encode()).hexdigest(), "2026-03-01 12:00:00.000000")
        study.execute("INSERT INTO server_keys (name, value, created_at) VALUES (?, ?, ?)", key)
    for person in PEOPLE:
        administrator = " --administrator" if person == "root" else ""
        study.do(f"user add {person} --password-stdin{administrator}", f"{PASSWORD}\n")
    return study


def prepare_projects(study: Study) -> None:
    """Everything that comes before the first grade."""
    study.write("guide.md", "# Grade\n\nHow much of the *larger* text does the smaller one carry?\n")
    study.write("consent.md", "Your grades are published without your name.\n")
    study.write("scale.txt", SCALE)
    study.write("items.tsv", ITEMS)
    study.write_rows("rated.jsonl", RATED)
    study.do(
        "project create news --types sentence2phrase,phrase2word --raters 2 --seed 7 --guidelines guide.md "
        "--order file --json",
        name="project-create",
    )
    study.do("import news docs/examples/pairs.tsv --json", name="import")
    study.do("import news rated.jsonl --json", name="import-rated")
    study.do("import news docs/examples/pairs.tsv --json", name="import-again")
    for person, role in (("Ana", "rater"), ("Ben", "rater"), ("Cleo", "rater"), ("Judith", "adjudicator")):
        study.do(f"project add-member news {person} --role {role}")

    study.do("project create careful --types sentence2phrase --raters 1 --seed 3 --consent consent.md")
    study.do("import careful docs/examples/pairs.tsv")
    study.do("training import careful docs/examples/training.tsv")
    study.do("checks import careful docs/examples/checks.tsv")
    study.execute("UPDATE projects SET seed = 1 WHERE checks_of_id IS NOT NULL")
    study.do(
        "quality careful --pass-mark 80 --training-distance 0.5 --check-every 2 --check-distance 1 --json",
        name="quality-change",
    )
    study.do("project add-member careful Cleo --role rater")

    study.do("project create texts --types sentence2phrase --raters 1 --seed 5")
    study.do("items import texts items.tsv --json", name="items-import")
    study.do("items withdraw texts l5")
    study.do("project add-member texts Wim --role writer")
    study.do("project add-member texts Edda --role editor")
    study.do(
        "writing bounds texts --type sentence2phrase --smaller-words 1-8 --zeros --json",
        name="writing-bounds-change",
    )

    study.do("project create bees --types document2keyphrase --raters 2 --seed 1 --scale scale.txt")
    for model in ("first", "tfidf"):
        predict = f"kpdemo predict --input docs/examples/docs.jsonl --output {model}.jsonl --model {model}"
        done(study.folder, f"{predict} --top-k 3")
    study.do(
        "send bees --documents docs/examples/docs.jsonl --predictions first.jsonl "
        "--predictions ours=tfidf.jsonl --order mixed --json",
        name="send",
    )

    write_wordnet(study.folder / "wordnet", NETWORK)
    study.write_rows("senses.jsonl", SENSES)
    study.do("project create senses --types word2sense --raters 2 --seed 2")
    study.do("import senses senses.jsonl --wordnet wordnet --json", name="import-senses")


def grade(study: Study, address: str) -> None:
    """Two raters grade all pairs, a third one skips; what is wrong is refused."""
    ids = {pair["left"]: pair["id"] for pair in _pairs(study, "news")}
    ana, ben, cleo, tess, nobody = _visitors(address, "Ana", "Ben", "Cleo", "Tess", "")
    project = study.path("news")
    queue = f"{project}/queue"
    nobody.ask("GET", queue)
    tess.ask("GET", queue)
    ana.ask("GET", "/annotate/api/projects/99/queue")
    ana.ask("GET", "/annotate/api/projects/first/queue")
    ana.ask("GET", "/annotate/api/nothing")
    ana.ask("GET", queue, headers={"x-rater": "1"})
    ana.ask("GET", f"{project}/history")

    pair = ana.ask("GET", queue)["pairs"][0]
    path = f"/annotate/api/pairs/{pair['id']}"
    ana.ask("GET", path)
    ana.ask("GET", "/annotate/api/pairs/nothing")
    for body in ({}, {"grade": "4", "seconds": 1}, {"grade": 4.1, "seconds": 1}, {"grade": 5, "seconds": 1},
                 {"grade": 4, "seconds": -1}, {"grade": 4, "seconds": 1, "more": 1}, []):  # fmt: skip
        ana.ask("PUT", f"{path}/rating", body)
    ana.ask("PUT", f"{path}/rating", content=b"{", headers={"content-type": "application/json"})
    elsewhere = {"origin": "https://elsewhere.example.org"}
    ana.ask("PUT", f"{path}/rating", {"grade": 4, "seconds": 1}, headers=elsewhere)
    tess.ask("PUT", f"{path}/rating", {"grade": 4, "seconds": 1})
    ana.ask("PUT", f"{path}/comment", {"text": "The ferry, or the trip?", "flagged": False})
    ana.ask("PUT", f"{path}/comment", {"text": "The ferry, or the trip?", "flagged": "no"})
    ana.ask("POST", f"{path}/skip", {"reason": "bored", "note": ""})
    _grade_all(ana, project, lambda pair: GRADES["Ana"][ids[pair["left"]]])
    ana.ask("PUT", f"{path}/rating", {"grade": 3.75, "seconds": 2.5})
    ana.ask("PUT", f"{path}/rating", {"grade": 3.25, "seconds": 1})
    ana.ask("GET", f"{project}/history")
    first = ben.ask("GET", queue)["pairs"][0]
    ben.ask("PUT", f"/annotate/api/pairs/{first['id']}/comment", {"text": "Cut off.", "flagged": True})
    skipped = cleo.ask("GET", queue)["pairs"][-1]
    cleo.ask(
        "POST", f"/annotate/api/pairs/{skipped['id']}/skip", {"reason": "broken_text", "note": "no verb"}
    )
    cleo.ask("POST", f"{project}/stop")
    _grade_all(ben, project, lambda pair: GRADES["Ben"][ids[pair["left"]]])
    _keep(study, "rating", nobody, tess, ana, ben, cleo)


def train(study: Study, address: str) -> None:
    """Consent, training that is not passed and then passed, and pairs with checks among them."""
    known = {row["left"]: float(row["gold"]) for row in _table(study, "docs/examples/training.tsv")}
    (cleo,) = _visitors(address, "Cleo")
    project = study.path("careful")
    asked = cleo.ask("GET", f"{project}/queue")["consent"]
    cleo.ask("POST", f"{project}/consent", {"sha256": "0" * 64})
    cleo.ask("POST", f"{project}/consent", {"sha256": asked["sha256"]})

    def grade_training(grade: Callable[[dict[str, Any]], float]) -> None:
        queue = cleo.ask("GET", f"{project}/queue")
        while queue["pairs"] and queue["training"]["phase"] == "open":
            pair = queue["pairs"][0]
            body = {"grade": grade(pair), "seconds": 4}
            queue = cleo.ask("PUT", f"/annotate/api/training/{pair['training']}/rating", body)

    grade_training(lambda pair: 4 - known[pair["left"]])
    cleo.ask("POST", f"{project}/training")
    grade_training(lambda pair: known[pair["left"]])
    checks = {row["left"]: float(row["grade"]) for row in _table(study, "docs/examples/checks.tsv")}
    _grade_all(cleo, project, lambda pair: checks.get(pair["left"], 2.5))
    _keep(study, "training", cleo)


def write_pairs(study: Study, address: str) -> None:
    """A writer leaves an item, writes texts for others, and is told what is wrong."""
    wim, ana = _visitors(address, "Wim", "Ana")
    project = study.path("texts")
    ana.ask("GET", f"{project}/writing")
    task = wim.ask("GET", f"{project}/writing")["task"]
    path = f"/annotate/api/writings/{task['id']}"
    task = wim.ask("POST", f"{path}/blank", {"note": "I do not know what a choir is."})["task"]
    texts = iter(("ice in the port", "an old lamp", "free bread", "bridge"))
    while task is not None:
        path = f"/annotate/api/writings/{task['id']}"
        wim.ask("GET", path)
        draft = {"text": "a long text " * 4, "version": task["version"], "seconds": 3}
        kept = wim.ask("PUT", f"{path}/draft", draft)
        wim.ask("POST", f"{path}/submit", draft | {"version": kept["version"]})
        wim.ask("PUT", f"{path}/draft", draft | {"version": -1})
        text = {"text": next(texts), "version": kept["version"], "seconds": 9}
        task = wim.ask("POST", f"{path}/submit", text).get("task")
    wim.ask("GET", f"{project}/written")
    wim.ask("GET", "/annotate/api/writings/99")
    _keep(study, "writing", wim, ana)


def adjudicate(study: Study, address: str) -> None:
    """The flagged pairs in a table, filled in and read; a system of the leaderboard; grades set aside."""
    judith, ana = _visitors(address, "Judith", "Ana")
    project = study.path("news")
    judith.ask("GET", f"{project}/adjudication")
    judith.ask("GET", f"{project}/adjudication?type=phrase2word")
    ana.ask("GET", f"{project}/adjudication")
    _keep(study, "adjudication", judith, ana)
    study.do("agreement news --resamples 200 --seed 1 --json", name="agreement-before-decisions")
    study.do("adjudications news --json", name="adjudications-open")
    study.do("adjudications news --output flagged.csv")
    study.files["flagged.csv"] = (study.folder / "flagged.csv").read_bytes()
    rows = list(csv.DictReader(io.StringIO((study.folder / "flagged.csv").read_text(encoding="utf-8-sig"))))
    for row in rows:
        row["grade"], row["cause"], row["note"] = DECISIONS.get(row["id"], ("", "", ""))
    study.write_rows("decided.jsonl", rows)
    study.do("adjudicate news decided.jsonl --as Judith --json", name="adjudicate")
    study.do("pairs withdraw news r5 --reason twice --json", name="pairs-withdraw")
    study.do("pairs withdraw news r1 --json", name="pairs-withdraw-without-reason")
    study.do("pairs restore news r1 --json", name="pairs-restore")
    study.do("leaderboard add news --system lcs --system ours=docs/examples/run.tsv --json "
             "--gold docs/examples/gold.tsv", name="leaderboard-add")  # fmt: skip
    study.do("leaderboard add news --system gst --json --gold docs/examples/gold.tsv")
    study.do("leaderboard add news --system longest=lcs --json", name="leaderboard-add-own-gold")
    study.do("leaderboard remove news gst --gold-set 861688 --json", name="leaderboard-remove")
    study.do("project create aside --types phrase2word --raters 3 --threshold 1 --seed 4")
    study.do("import aside rated.jsonl")
    study.do('user set-aside Ana --project aside --reason "always the same" --json', name="user-set-aside")
    study.do("user bring-back Ana --project aside --json", name="user-bring-back")
    study.do('user set-aside Ben --project aside --reason "too fast"')
    study.do("project change aside --threshold 1.5 --raters 4 --json", name="project-change")
    study.do("pairs remove aside r4 --json", name="pairs-remove")
    study.do("writing zeros texts --json", name="writing-zeros")
    for number, pair in enumerate(_pairs(study, "bees")):
        for rater, shift in (("Ana", 0), ("Ben", number % 2)):
            grade = PHRASE_GRADES[(number + shift) % len(PHRASE_GRADES)]
            row = {"id": pair["id"], "type": pair["type"], "rater": rater, "grade": grade}
            with (study.folder / "bees.jsonl").open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
    study.do("import bees bees.jsonl --json", name="import-long-form")
    study.do("user pause Cleo --project careful")
    study.do('user invite --project news --role rater --note "for Zoe"')
    study.do("user rename Tess Tessa")
    study.do("user disable Edda")


def look_at_pages(study: Study, address: str) -> None:
    """The names of the events and of the parts of both applications."""
    for page, path in (("public", "/config"), ("annotation", "/annotate/config")):
        visitor = Visitor(address, "root", PASSWORD)
        config = visitor.fetch(path).json()
        visitor.close()
        events, parts = config["dependencies"], config["components"]
        study.ids[f"{page}-events"] = {str(event["api_name"]) for event in events if event["api_name"]}
        study.ids[f"{page}-elements"] = {
            part["props"]["elem_id"] for part in parts if part["props"].get("elem_id")
        }


def _visitors(address: str, *names: str) -> list[Visitor]:
    return [Visitor(address, name, PASSWORD) for name in names]


def _keep(study: Study, name: str, *visitors: Visitor) -> None:
    """Keep what was answered; a pair that looks as before is named only."""
    known: dict[str, Any] = {}

    def shortened(value: Any) -> Any:
        if isinstance(value, list):
            return [shortened(part) for part in value]
        if not isinstance(value, dict):
            return value
        if "left" in value and "id" in value:
            if known.get(value["id"]) == value:
                return f"<{value['id']} as before>"
            known[value["id"]] = value
            return value
        return {key: shortened(part) for key, part in value.items()}

    study.answers[name] = [shortened(entry) for visitor in visitors for entry in visitor.record]
    for visitor in visitors:
        visitor.close()


def _grade_all(visitor: Visitor, project: str, grade: Callable[[dict[str, Any]], float]) -> None:
    queue = visitor.ask("GET", f"{project}/queue")
    while queue["pairs"]:
        pair = queue["pairs"][0]
        body = {"grade": grade(pair), "seconds": 12.5}
        queue = visitor.ask("PUT", f"/annotate/api/pairs/{pair['id']}/rating", body)


def _pairs(study: Study, project: str) -> list[dict[str, Any]]:
    printed = json.loads(study.do(f"pairs list {project} --json"))
    return printed["pairs"] if isinstance(printed, dict) else printed


def _table(study: Study, file: str) -> list[dict[str, str]]:
    with (study.folder / file).open(encoding="utf-8") as lines:
        return list(csv.DictReader(lines, delimiter="\t"))


EXPORTS = (
    ("news-jsonl", "export news --format jsonl --unfinished list"),
    ("news-named", "export news --format jsonl --unfinished leave-out --raters named --comments"),
    ("news-csv", "export news --format csv --unfinished list --comments"),
    ("news-parquet", "export news --format parquet --unfinished list"),
    ("news-semeval", "export news --format semeval --unfinished list"),
    ("bees-csv", "export bees --format csv --unfinished list --raters none"),
    ("senses-jsonl", "export senses --format jsonl"),
    ("senses-csv", "export senses --format csv"),
    ("senses-semeval", "export senses --format semeval"),
    ("aside-jsonl", "export aside --format jsonl --unfinished list"),
)
"""Folders of gold sets, and the commands that write them."""

PRINTED = (
    ("gold-printed.jsonl", "export news --format jsonl --unfinished leave-out"),
    ("gold-printed.csv", "export news --format csv --unfinished leave-out --raters named --output -"),
    ("ratings.jsonl", "ratings news"),
    ("ratings-named.jsonl", "ratings news --raters named"),
    ("leaderboard.csv", "leaderboard show news --csv"),
    ("leaderboard-examples.csv", "leaderboard show news --csv --gold-set 861688"),
    ("leaderboard.tex", "leaderboard show news --latex"),
    ("leaderboard-examples.tex", "leaderboard show news --latex --gold-set 861688"),
    ("agreement.tex", "agreement news --resamples 200 --seed 1 --latex"),
    ("score.tex", "score --gold docs/examples/gold.tsv --system docs/examples/run.tsv --system lcs --latex"),
)
"""Files that commands print."""

READ = (
    ("project-list", "project list --json"),
    ("project-show-news", "project show news --json"),
    ("project-show-careful", "project show careful --json"),
    ("project-show-texts", "project show texts --json"),
    ("project-show-bees", "project show bees --json"),
    ("user-list", "user list --json"),
    ("user-invitations", "user invitations --json"),
    ("agreement-news", "agreement news --resamples 200 --seed 1 --json"),
    ("agreement-bees", "agreement bees --resamples 200 --seed 1 --json"),
    ("agreement-aside", "agreement aside --resamples 200 --seed 1 --json"),
    ("plan", "plan news --width 0.05 --resamples 200 --seed 1 --json"),
    ("raters-news", "raters news --json"),
    ("raters-careful", "raters careful --json"),
    ("remarks", "remarks news --json"),
    ("adjudications-all", "adjudications news --which all --json"),
    ("events-news", "events news --json"),
    ("events-careful", "events careful --json"),
    ("events-texts", "events texts --limit 5 --json"),
    ("events-server", "events --json"),
    ("pairs-list", "pairs list news --json"),
    ("pairs-list-flagged", "pairs list news --state flagged --json"),
    ("pairs-list-search", "pairs list news --search ferry --json"),
    ("items-list", "items list texts --json"),
    ("writing-report", "writing report texts --json"),
    ("writing-bounds", "writing bounds texts --json"),
    ("quality", "quality careful --json"),
    ("leaderboard-show", "leaderboard show news --json"),
    ("leaderboard-show-examples", "leaderboard show news --gold-set 861688 --json"),
    ("bridge", "bridge bees --threshold 3 --k 5 --json"),
    ("bridge-skip", "bridge bees --threshold 2 --unjudged skip --json"),
    ("score", "score --gold docs/examples/gold.tsv --system docs/examples/run.tsv --system lcs --system gst "
     "--resamples 200 --seed 1 --json"),
    ("score-task", "score --gold docs/examples/phrase2word.test.input.tsv --resamples 200 --seed 1 --json "
     "--system ours=docs/examples/phrase2word.test.output.tsv --system lcs"),
    ("score-calibrated", "score --gold docs/examples/gold.tsv --system lcs --system gst --resamples 200 "
     "--seed 1 --calibrate-on docs/examples/training.tsv --json"),
    ("score-embedding", "score --gold docs/examples/gold.tsv --system embedding --resamples 200 --seed 1 "
     "--json"),
    ("score-exported", "score --gold news-jsonl --system lcs --resamples 200 --seed 1 --json"),
)  # fmt: skip
"""What --json prints of a finished study."""


def export(study: Study, address: str) -> None:
    """Every file that commands and downloads give."""
    for folder, line in EXPORTS:
        printed = json.loads(study.do(f"{line} --output {folder} --json"))
        manifest = (study.folder / folder / "manifest.json").read_bytes()
        more = {"output": folder, "manifest_sha256": sha256(manifest).hexdigest()}
        assert printed == json.loads(manifest) | more
        for path in sorted((study.folder / folder).iterdir()):
            study.files[f"{folder}/{path.name}"] = path.read_bytes()
    for name, line in PRINTED:
        study.files[name] = study.do(line)
    for name in ("ratings.csv", "ratings.tsv"):
        study.do(f"ratings news --output {name}")
        study.files[name] = (study.folder / name).read_bytes()
    study.do("adjudications news --which all --output decided.tsv")
    study.files["decided.tsv"] = (study.folder / "decided.tsv").read_bytes()
    study.do("bridge bees --threshold 3 --gold keyphrases.jsonl --qrels bees.qrels --runs runs")
    for path in (Path("keyphrases.jsonl"), Path("bees.qrels"), *sorted((study.folder / "runs").iterdir())):
        study.files[f"bridge/{path.name}"] = (study.folder / path).read_bytes()
    root, ana = _visitors(address, "root", "Ana")
    news, bees = study.id_of("news"), study.id_of("bees")
    for path in (
        f"{news}/gold.zip?format=jsonl&unfinished=list",
        f"{news}/leaderboard.csv?gold=1",
        f"{news}/leaderboard.json?gold=1",
        f"{bees}/gold-keyphrases.jsonl?threshold=3",
        f"{bees}/keyphrases.qrels",
        f"{bees}/keyphrases.run?model=first",
    ):
        answer = root.fetch(f"/annotate/download/{path}")
        assert answer.status_code == 200, path
        study.downloads[path.partition("/")[2].partition("?")[0]] = answer
    for path in ("gold.zip", "gold.zip?format=xml", "leaderboard.csv?gold=99", "leaderboard.xml",
                 "keyphrases.qrels", "keyphrases.run?model=none",
                 "gold-keyphrases.jsonl?threshold=9"):  # fmt: skip
        root.ask("GET", f"/annotate/download/{news}/{path}")
    for path in ("gold.zip", "leaderboard.csv?gold=1", "keyphrases.qrels"):
        ana.ask("GET", f"/annotate/download/{news}/{path}")
    root.ask("GET", "/annotate/download/99/gold.zip")
    _keep(study, "downloads", root, ana)


def read(study: Study) -> None:
    for name, line in READ:
        study.do(line, name=name)
