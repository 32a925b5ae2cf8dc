"""The keyphrases of every file of a folder, as a CSV table: a row for each keyphrase.

A file that cannot be read is named, and the others are read.
"""

import argparse
import csv
import sys
from pathlib import Path

import kpdemo
from kpdemo.io.documents import read_whole

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("folder", type=Path, help="of texts, Markdown, PDF, DOCX, ODT, HTML, EPUB and so on")
parser.add_argument("--model", default="default")
arguments = parser.parse_args()

predictor = kpdemo.load_predictor(arguments.model)
table = csv.writer(sys.stdout, lineterminator="\n")
table.writerow(["file", "keyphrase", "score", "present", "times"])
for path in sorted(path for path in arguments.folder.rglob("*") if path.is_file()):
    try:
        [prediction] = predictor.predict([read_whole(path)])
    except kpdemo.KpdemoError as error:
        told = str(error)
        print(told if str(path) in told else f"{path}: {told}", file=sys.stderr)
        continue
    for keyphrase in (*prediction.present, *prediction.absent):
        name = path.relative_to(arguments.folder)
        table.writerow([name, keyphrase.text, keyphrase.score, bool(keyphrase.spans), len(keyphrase.spans)])
