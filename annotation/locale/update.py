"""Bring the catalogues of annotation up to the marked sentences: `python -m annotation.locale.update`.

See `kpdemo.locale.update`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from annotation.changes import SETTING_WORDS
from annotation.comparison import COMPARISON_TYPES
from annotation.crowds import Outcome
from annotation.guidelines import STARTERS
from annotation.scale import named_points
from annotation.senses import PARTS_OF_SPEECH, Relation
from annotation.services.pairs import PairState
from annotation.services.quality import KnownKind
from annotation.types import Average, ProjectSettings, Role
from db.errors import DamagedError, UnreachableError, UnwritableError
from kpdemo.locale.update import Domain, Message


def _unmarked() -> Iterator[tuple[Message, str]]:
    for point in named_points():
        for text in (point.name, point.summary, point.description):
            yield text, "annotation/scale.py"
    for kind in COMPARISON_TYPES.values():
        for text in (kind.label, *kind.headings, kind.question):
            yield text, "annotation/comparison.py"
    for name in ("pair", "project", "writing"):
        yield name, "annotation/web/api.py"
    for starter in STARTERS:
        yield starter, "annotation/guidelines.py"
    for role in Role:
        yield role.value, "annotation/types.py"
    for name in (*PARTS_OF_SPEECH.values(), *Relation):
        yield str(name), "annotation/senses.py"
    for error in (UnreachableError, UnwritableError, DamagedError):
        yield error.for_users, "db/errors.py"


def _unmarked_of_project() -> Iterator[tuple[Message, str]]:
    for average in Average:
        yield average.value, "annotation/types.py"
    for state in (
        "unwritten",
        "held",
        "submitted",
        "sent back",
        "blank",
        "handed on",
        "returned",
        "withdrawn",
    ):
        yield state, "annotation/ui/writing.py"
    for field in ProjectSettings.__slots__:
        if field not in SETTING_WORDS:
            yield field, "annotation/types.py"
    for state in PairState:
        yield state.value, "annotation/services/pairs.py"
    for kind in KnownKind:
        yield kind.value, "annotation/services/quality.py"
    for state in ("open", "full", "ended", "revoked"):
        yield state, "annotation/ui/crowds.py"
    for state in ("removed", "blocked", "paused", "in training", "at work", "not begun", *Outcome):
        yield state.replace("_", " "), "annotation/ui/crowds.py"
    yield "larger item", "annotation/services/project_rows.py"
    for name in ("note", "comment", "name", "reason"):
        yield name, "annotation/wording.py"


RATER = Domain(
    "rater",
    Path(__file__).parent,
    "What raters meet",
    (
        "annotation/ui/rate.py",
        *(f"annotation/{name}.py" for name in ("crowds", "errors", "passwords", "wording")),
        "annotation/senses.py",
        *(f"annotation/services/{name}.py" for name in ("ratings", "rater_queue", "assignment", "repeats")),
        *(f"annotation/services/{name}.py" for name in ("accounts", "crowds", "sign_in", "tokens", "users")),
        *(f"annotation/web/{name}.py" for name in ("api", "guard", "routes", "sign_in")),
    ),
    (
        *(f"annotation/assets/scripts/{name}.js" for name in ("page", "parts", "consent")),
        *(
            f"annotation/assets/scripts/rate/{name}.js"
            for name in ("page", "session", "view", "training", "sender", "tabs", "keys", "form", "store")
        ),
        *(f"annotation/assets/scripts/write/{name}.js" for name in ("page", "view", "consent", "copies")),
    ),
    tuple(
        f"annotation/web/templates/{name}.html"
        for name in (
            *("account", "base", "closed", "failed", "invitation", "join", "missing", "parts", "sign_in"),
        )
    ),
    _unmarked,
)
"""The files whose sentences raters read; the writing form carries them along too, for its scripts."""

PROJECT = Domain(
    "project",
    Path(__file__).parent,
    "What adjudicators, writers and leads meet besides",
    (
        *(
            f"annotation/ui/{name}.py"
            for name in (
                "accounts",
                "adjudicate",
                "agreement",
                "crowds",
                "figures",
                "leaderboard",
                "pages",
                "pairs",
                "predictions",
                "projects",
                "quality",
                "senses",
                "wording",
                "writing",
                "widgets",
            )
        ),
        *(
            f"annotation/{name}.py"
            for name in (
                "adjudication",
                "agreement",
                "authoring",
                "changes",
                "comparison",
                "consent",
                "exchange",
                "predictions",
                "projects",
                "quality",
                "relevance",
                "scale",
                "types",
                "sense_pairs",
                "system_report",
                "systems",
                "wordnet",
            )
        ),
        "annotation/files/scores.py",
        "annotation/scoring.py",
        "annotation/web/downloads.py",
        "annotation/web/sending.py",
        *(
            f"annotation/reliability/{name}.py"
            for name in ("planning", "raters", "repeats", "report", "upper_bound")
        ),
        *(f"annotation/services/{name}.py" for name in ("project_rows",)),
        *(
            f"annotation/services/{name}.py"
            for name in (
                *("adjudication", "audit", "writing", "editing", "excluded_ratings", "larger_items"),
                *("leaderboard", "senses"),
            )
        ),
        *(
            f"annotation/services/{name}.py"
            for name in ("gold", "known_pairs", "pairs", "predictions", "projects", "quality")
        ),
    ),
    tuple(f"annotation/assets/scripts/{name}.js" for name in ("adjudicate", "export", "senses")),
    tuple(f"annotation/web/templates/{name}.html" for name in ("send", "sent")),
    more=_unmarked_of_project,
    beside=RATER,
)
"""The files of the other pages that are in the reader's language."""

if __name__ == "__main__":
    RATER.update()
    PROJECT.update()
