"""Texts sorted into subjects by their keyphrases: a classifier whose reasons can be read.

It learns from a dozen sentences, and prints for each new one its subject and the keyphrases that tell it.
"""

import argparse

from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from kpdemo.sklearn import KeyphraseVectorizer

LEARNT = {
    "bees": [
        "A hive of honey bees swarms when the colony grows.",
        "Wild bees and honey bees share the flowers of a meadow.",
        "The colony keeps its hive warm through the winter.",
        "Beekeepers weigh the hive to know how much honey there is.",
    ],
    "trains": [
        "A railway timetable needs slack for late trains.",
        "Late trains miss their connections at the junction.",
        "The railway signals let two trains pass at the junction.",
        "A night train crosses three borders without a change.",
    ],
    "pipes": [
        "A leak in a water pipe is heard by a microphone.",
        "Old water pipes lose a tenth of their water.",
        "The pressure in the pipe falls when there is a leak.",
        "A water main of cast iron breaks in the frost.",
    ],
}
NEW = [
    "How many honey bees leave the hive in an hour?",
    "The last train waits at the junction.",
    "A microphone on the hydrant finds the leak.",
]

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--model", default="default")
vectorizer = KeyphraseVectorizer(model=parser.parse_args().model, top_k=5)
classifier = LogisticRegression(C=100)
texts = [text for group in LEARNT.values() for text in group]
subjects = [subject for subject, group in LEARNT.items() for _ in group]
pipeline = make_pipeline(vectorizer, classifier).fit(texts, subjects)

names = vectorizer.get_feature_names_out()
for text, subject, row in zip(NEW, pipeline.predict(NEW), vectorizer.transform(NEW), strict=True):
    weights = classifier.coef_[list(classifier.classes_).index(subject)]
    reasons = [names[column] for column in row.nonzero()[1] if weights[column] > 0]
    print(f"{subject}: {text} ({', '.join(reasons) or 'no keyphrase that was learnt'})")
