"""What a wrong call is told: the exit status, and one sentence on standard error."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.characterisation.commands import ROOT, done, environment, run, workplace
from tests.characterisation.comparing import check_text, masked

KPDEMO = """
kpdemo nothing
kpdemo models more
kpdemo predict
kpdemo predict none.txt
kpdemo predict empty.txt
kpdemo predict binary.txt
kpdemo predict docs/examples/paper.txt --model nothing
kpdemo predict docs/examples/paper.txt --model docs.examples.capitals:Nothing
kpdemo predict docs/examples/paper.txt --top-k 0
kpdemo predict docs/examples/paper.txt --threshold 2
kpdemo predict docs/examples/paper.txt --language Klingon
kpdemo predict docs/examples/paper.txt --device tpu
kpdemo predict docs/examples/paper.txt --device cuda --model tfidf --index none.index
kpdemo predict docs/examples/paper.txt --output out.jsonl
kpdemo predict docs/examples/paper.txt --input docs/examples/docs.jsonl
kpdemo predict --input docs/examples/docs.jsonl
kpdemo predict --input none.jsonl --output out.jsonl
kpdemo predict --input docs/examples/docs.jsonl --output out.jsonl --title T
kpdemo predict --input broken.jsonl --output out.jsonl --model first
kpdemo predict --input= --output out.jsonl
kpdemo evaluate
kpdemo evaluate --gold docs/examples/docs.jsonl
kpdemo evaluate --gold none.jsonl --model first
kpdemo evaluate --gold broken.jsonl --model first
kpdemo evaluate --gold docs/examples/docs.jsonl --predictions docs/examples/docs.jsonl
kpdemo evaluate --gold docs/examples/docs.jsonl --model first --predictions docs/examples/docs.jsonl
kpdemo evaluate --gold docs/examples/docs.jsonl --model first --json --latex
kpdemo evaluate --gold docs/examples/docs.jsonl --model first --convention skip_empty
kpdemo evaluate --gold docs/examples/docs.jsonl --model first --at none
kpdemo evaluate --gold docs/examples/docs.jsonl --model first --limit 0
kpdemo candidates
kpdemo candidates --gold none.jsonl
kpdemo train
kpdemo train nothing
kpdemo train extractor --config none.toml
kpdemo train extractor --set loop.seed
kpdemo train extractor --set nothing.seed=1
kpdemo readme
kpdemo readme docs me/model --licence mit
kpdemo readme none me/model --licence mit
kpdemo experiments
kpdemo experiments nothing
kpdemo experiments main
kpdemo experiments main --gold none.jsonl
kpdemo index
kpdemo index build --input docs/examples/passages.jsonl
kpdemo index build --input none.jsonl --output new.index
kpdemo index build --input docs/examples/passages.jsonl --output docs
kpdemo index build --input docs/examples/passages.jsonl --output new.index --type nothing
kpdemo index add --index none.index --input docs/examples/more.jsonl
kpdemo index search --index none.index text
kpdemo index search text
kpdemo index info --index none.index
kpdemo index info --index docs
kpdemo index mine --source docs/examples/more.jsonl --output mined.tsv
kpdemo index mine --source none.jsonl --target none.jsonl --output mined.tsv
kpdemo index evaluate --index none.index --queries docs/examples/queries.jsonl
"""

ANNOTATION = """
annotation nothing
annotation events nowhere
annotation events news --limit 0
annotation import news
annotation import nowhere docs/examples/pairs.tsv
annotation import news none.tsv
annotation import news empty.txt
annotation import news wrong.csv
annotation import news docs/examples/paper.txt
annotation import news docs/examples/pairs.tsv --format nothing
annotation import news ratings.csv
annotation quality nowhere
annotation quality news --pass-mark 101
annotation quality news --check-every -1
annotation quality news --check-distance 9
annotation raters nowhere
annotation agreement nowhere
annotation agreement news --json --latex
annotation plan nowhere
annotation plan news --width 0
annotation remarks nowhere
annotation adjudications nowhere
annotation adjudications news --which some
annotation adjudications news --output flagged.txt
annotation adjudications news --as Nobody
annotation adjudicate news docs/examples/gold.tsv
annotation adjudicate news docs/examples/gold.tsv --as Nobody
annotation adjudicate news docs/examples/gold.tsv --as Ana
annotation adjudicate news none.csv --as Eva
annotation adjudicate news decisions.csv --as Eva
annotation export nowhere
annotation export empty --format jsonl
annotation export news --format jsonl
annotation export news --format nothing
annotation export news --format semeval
annotation export news --format jsonl --unfinished list --output docs
annotation export news --format semeval --comments --output gold
annotation ratings nowhere
annotation ratings news --output ratings.xml
annotation ratings news --raters none
annotation score
annotation score --gold docs/examples/gold.tsv
annotation score --gold none.tsv --system lcs
annotation score --gold docs/examples/gold.tsv --system nothing
annotation score --gold docs/examples/gold.tsv --system docs/examples/phrase2word.test.output.tsv
annotation score --gold docs/examples/gold.tsv --system lcs --system lcs
annotation score --gold docs/examples/pairs.tsv --system lcs
annotation score --gold docs/examples/gold.tsv --system lcs --json --latex
annotation score --gold docs/examples/gold.tsv --system lcs --training-scores docs/examples/run.tsv
annotation send news --documents docs/examples/docs.jsonl --predictions none.jsonl
annotation send news --documents docs/examples/docs.jsonl --predictions docs/examples/gold.tsv
annotation send nowhere --documents docs/examples/docs.jsonl --predictions docs/examples/docs.jsonl
annotation bridge nowhere
annotation bridge news --threshold 5
annotation bridge news --k 0
annotation user
annotation user add
annotation user add Ana
annotation user add Zoe --address nowhere
annotation user rename Nobody Somebody
annotation user rename Ana Eva
annotation user disable Nobody
annotation user enable Nobody
annotation user promote Nobody
annotation user demote Nobody
annotation user password Nobody
annotation user pause Ana
annotation user pause Nobody --project news
annotation user pause Eva --project news
annotation user resume Nobody --project news
annotation user excuse Nobody --project news
annotation user invite Nobody
annotation user invite --role rater
annotation user invite --project nowhere
annotation user revoke 99
annotation user revoke first
annotation user set-aside Ana --project news
annotation user set-aside Nobody --project news --reason r
annotation user set-aside Eva --project news --reason r
annotation user bring-back Nobody --project news
annotation user bring-back Ana --project news
annotation project
annotation project create
annotation project create News
annotation project create other --raters 0
annotation project create other --threshold 9
annotation project create other --step 0.3
annotation project create other --order nothing
annotation project create other --guidelines none.md
annotation project create other --scale docs/examples/paper.txt
annotation project change nowhere --raters 2
annotation project change news
annotation project change news --raters 0
annotation project change news --types phrase2word
annotation project show nowhere
annotation project show new
annotation project delete nowhere --yes
annotation project delete news
annotation project add-member nowhere Ana --role rater
annotation project add-member news Nobody --role rater
annotation project add-member news Ana --role nothing
annotation project remove-member news Ana --role writer
annotation pairs list nowhere
annotation pairs list news --state nothing
annotation pairs remove news 99
annotation pairs remove news 1
annotation pairs remove news
annotation pairs withdraw news 99
annotation pairs withdraw news 1 --type nothing
annotation items import news docs/examples/pairs.tsv
annotation items import nowhere docs/examples/pairs.tsv
annotation items list nowhere
annotation items withdraw news 99
annotation items restore news 99
annotation writing report nowhere
annotation writing bounds nowhere
annotation writing bounds news --larger-words 1-9
annotation writing bounds news --type sentence2phrase --larger-words 9-1
annotation writing bounds news --type nothing --larger-words 1-9
annotation writing zeros nowhere
annotation training import nowhere docs/examples/training.tsv
annotation training import news docs/examples/pairs.tsv
annotation training import news docs/examples/gold.tsv
annotation training clear nowhere
annotation checks import nowhere docs/examples/checks.tsv
annotation checks import news docs/examples/pairs.tsv
annotation leaderboard show nowhere
annotation leaderboard show news --gold-set 0
annotation leaderboard show news --json --csv
annotation leaderboard show news --latex
annotation leaderboard add news
annotation leaderboard add news --system nothing
annotation leaderboard add empty --system lcs
annotation leaderboard add news --system lcs --gold docs/examples/gold.tsv --gold-set 0
annotation leaderboard remove news lcs
annotation project list --database-url mysql://nowhere/x
annotation project list --database-url sqlite:///none.db
annotation project list --database-url=
"""

DB = """
db nothing
db current --database-url sqlite:///none.db
db current --database-url sqlite:///binary.txt
db check --database-url sqlite:///none.db
db upgrade --database-url nothing
db backup
db backup refused.db --database-url sqlite:///none.db
db restore none.db
db restore binary.txt --force
db current --database-url postgresql://127.0.0.1:1/none
"""

APP = (
    "--port many",
    "--port 70000",
    "--device tpu",
    "--model nothing",
    "--index docs",
    "--documentation nowhere",
    "--nothing",
    "--database-url mysql://nowhere/x",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = workplace(tmp_path / "work")
    for name, content in {
        "empty.txt": b"",
        "binary.txt": bytes(range(256)) * 20,
        "broken.jsonl": b'{"id": "1", "abstract": "Snow fell.", "keyphrases": ["snow"]}\n{"id": 2\n',
        "wrong.csv": b"id,type,left,right,rating:Ana\n"
        b"1x,sentence2phrase,,b,2\n2x,nothing,a,b,2\n3x,sentence2phrase,a,b,7\n",
        "ratings.csv": b"id,rater,grade\n99,Ana,1\n",
        "decisions.csv": b"id,grade,cause\n1,3,nothing\n2,5,scale\n4,3,scale\n",
    }.items():
        (folder / name).write_bytes(content)
    return folder


@pytest.fixture
def project(folder: Path) -> Path:
    """A folder with a database in which the project news has pairs and grades, and the project empty none."""
    grades = {"1": (4, 4), "2": (1, 3), "3": (0, 2.5)}
    rows = "".join(f"{pair},Ana,{a}\n{pair},Ben,{b}\n" for pair, (a, b) in grades.items())
    (folder / "grades.csv").write_text(f"id,rater,grade\n{rows}")
    given = {"KPDEMO_DATABASE_URL": "sqlite:///study.db"}
    for line in (
        "user add Ana",
        "user add Ben",
        "user add Eva --administrator",
        "project create news --types sentence2phrase --raters 2 --seed 1",
        "project create empty --types sentence2phrase",
        "import news docs/examples/pairs.tsv grades.csv",
    ):
        done(folder, f"annotation {line}", **given)
    return folder


def check_refusals(folder: Path, name: str, lines: str) -> None:
    """Each line is refused; compare statuses and what is said."""
    told = []
    for line in lines.strip().splitlines():
        words = [word.strip('"') for word in re.findall(r'"[^"]*"|\S+', line)]
        outcome = run(folder, words, given={"KPDEMO_DATABASE_URL": "sqlite:///study.db"})
        assert outcome.status, f"{line} is not refused: {outcome.text}"
        said = outcome.err.replace(str(folder), "<folder>").replace(str(ROOT), "<checkout>")
        told.append(f"$ python -m {line}\n{outcome.status}: {masked(said)}")
    check_text(name, "\n".join(told))


def test_wrong_calls_of_kpdemo(folder):
    check_refusals(folder, "refusals/kpdemo.txt", KPDEMO)


def test_wrong_calls_of_annotation(project):
    check_refusals(project, "refusals/annotation.txt", ANNOTATION)


def test_wrong_calls_of_db(project):
    check_refusals(project, "refusals/db.txt", DB)


def test_wrong_calls_of_the_server(folder):
    told = []
    for options in APP:
        command = [sys.executable, ROOT / "app.py", *options.split()]
        process = subprocess.run(command, cwd=folder, env=environment({}), capture_output=True, text=True)
        told.append(f"$ python app.py {options}\n{process.returncode}: {process.stderr}")
    check_text("refusals/app.txt", "\n".join(told))
