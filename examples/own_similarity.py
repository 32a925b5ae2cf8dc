"""A similarity of your own, scored against graded gold pairs.

It writes a file of scores for the pairs of a gold file, which `annotation score` compares with the gold and
with the baselines of SemEval-2014 Task 3. Here two texts are as similar as the share of three-letter
sequences that they have in common (Dice's coefficient); put yours in its place.
"""

import argparse
import csv
import sys
from pathlib import Path

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("gold", nargs="?", type=Path, default=Path("docs/examples/gold.tsv"))
parser.add_argument("--output", type=Path, default=Path("own.tsv"))
arguments = parser.parse_args()


def trigrams(text: str) -> set[str]:
    padded = f"  {text.casefold()}  "
    return {padded[start : start + 3] for start in range(len(padded) - 2)}


def similarity(left: str, right: str) -> float:
    one, other = trigrams(left), trigrams(right)
    return 2 * len(one & other) / (len(one) + len(other))


with arguments.gold.open(encoding="utf-8", newline="") as file:
    pairs = list(csv.DictReader(file, delimiter="\t"))
with arguments.output.open("w", encoding="utf-8", newline="") as file:
    scores = csv.writer(file, delimiter="\t", lineterminator="\n")
    scores.writerow(["id", "score"])
    for pair in pairs:
        scores.writerow([pair["id"], round(similarity(pair["left"], pair["right"]), 4)])
print(
    f"{len(pairs)} scores are in {arguments.output}. Now run:\n"
    f"python -m annotation score --gold {arguments.gold} --system {arguments.output} --system lcs",
    file=sys.stderr,
)
