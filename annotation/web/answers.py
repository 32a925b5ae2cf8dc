"""What the addresses for programs answer, as their description tells it; nothing else is in an answer."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict


class Answer(BaseModel):
    """A JSON object; a field that has a default may be missing."""

    model_config = ConfigDict(extra="forbid")


class Nothing(Answer):
    """It is done."""


class ProjectLine(Answer):
    id: int
    name: str
    roles: list[str]
    pairs: int
    finished: int
    to_adjudicate: int


class Projects(Answer):
    projects: list[ProjectLine]


class Scale(Answer):
    lowest: float
    highest: float
    step: float


class Project(Answer):
    """Its settings; without `grades` the scale is that of CLSS, without `language` the pages are English."""

    id: int
    name: str
    types: list[str]
    guidelines: str
    raters_per_pair: int
    threshold: float | None
    average: str
    step: float
    grades: Scale | None = None
    order: str
    seed: int
    may_revise: bool
    lease_minutes: int
    most_per_rater: int | None
    repeat_percent: int
    consent: str
    scale_words: str
    language: str | None = None
    created_at: str


class Counts(Answer):
    pairs: int
    ratings: int
    finished: int
    flagged: int
    to_adjudicate: int
    withdrawn: int


class CountedProject(Project):
    counts: Counts


class LeftOutRating(Answer):
    id: str
    rater: str
    grade: float
    kept: float


class Import(Answer):
    """What became of a file; `notes` are sentences on how it was read."""

    project: str
    pairs: int
    ratings: int
    duplicates: list[str]
    made_ids: int
    joined: list[str]
    without_definitions: int
    equal_texts: list[dict[str, str]]
    merged: list[dict[str, str]]
    ratings_left_out: list[LeftOutRating]
    notes: list[str]


class MeasuredGold(Answer):
    id: int
    pairs: int
    sha256: str


class Interval(Answer):
    value: float | None
    low: float | None
    high: float | None
    reason: str | None = None


class AsRater(Answer):
    """What becomes of α when the system is one more rater of a type."""

    system: str
    type: str
    pairs: int
    alpha_people: Interval
    alpha_with_system: Interval
    bias: float | None
    distance: float | None
    pearson: float | None
    spearman: float | None
    reason: str | None = None


class AddedSystem(Answer):
    gold: MeasuredGold
    system: str
    scores: int
    without_score: dict[str, int]
    left_out: int
    as_rater: list[AsRater]


class Pair(Answer):
    id: str
    type: str
    genre: str | None
    left: str
    right: str
    grades: int
    state: str


class Pairs(Answer):
    total: int
    offset: int
    pairs: list[Pair]


class Rating(Answer):
    id: str
    type: str
    rater: str
    grade: float
    seconds: float | None
    at: str | None
    revisions: int


class Ratings(Answer):
    total: int
    offset: int
    ratings: list[Rating]


class Entry(Answer):
    id: str
    type: str
    spread: float
    ratings: int
    flagged: bool
    open: bool
    decision: float | None
    ratings_changed_since: bool
    beginning: str


class Adjudications(Answer):
    project: str
    which: str
    counts: dict[str, int]
    held_back: int
    pairs: list[Entry]


class Alpha(BaseModel):
    """Null with a reason where it is undefined."""

    value: float | None
    low: float | None
    high: float | None
    pairs: int
    ratings: int
    nominal: float | None
    ordinal: float | None
    reason: str | None


class Alphas(Answer):
    all: Alpha
    unadjudicated: Alpha


class Agreement(BaseModel):
    """What `agreement --json` prints, of which these are the main figures."""

    project: str
    alpha: Alphas
    by_type: dict[str, Any]
    by_genre: dict[str, Any]
    pairs: int
    ratings: int
    resamples: int
    seed: int


class Meaning(Answer):
    """What a word or a sense means."""

    note: str
    definition: str
    groups: list[dict[str, Any]]


class RaterPair(Answer):
    """A pair as its rater sees it; `id` is a name that only they can use."""

    id: str
    type: str
    type_label: str
    larger_label: str
    smaller_label: str
    question: str
    left: str
    right: str
    grade: float | None
    comment: str
    flagged: bool
    rated_at: str | None
    left_meaning: Meaning | None = None
    right_meaning: Meaning | None = None
    training: int | None = None


class RaterPairs(Answer):
    pairs: list[RaterPair]


class RaterProject(Answer):
    id: int
    name: str
    step: float
    may_revise: bool


class Progress(Answer):
    rated: int
    total: int


class Consent(Answer):
    """A text to agree to first, by POST …/consent with its `sha256`."""

    html: str
    sha256: str
    changed: bool


class Completion(Answer):
    outcome: str
    code: str | None
    address: str | None
    contact: str | None


class Training(Answer):
    attempt: int
    phase: str
    graded: int
    pairs: int
    accepted: int
    distance: float
    pass_percent: int
    tries_left: int | None


class Queue(Answer):
    """The next pairs; where there is something to agree to first, that alone."""

    project: RaterProject | None = None
    progress: Progress | None = None
    pairs: list[RaterPair] | None = None
    waiting: bool | None = None
    share_graded: bool | None = None
    training: Training | None = None
    consent: Consent | None = None
    completion: Completion | None = None


class SavedMoment(Answer):
    saved_at: str


class Saved(Queue):
    """The queue after an answer; with `ended` there is nothing more for the rater."""

    saved_at: str
    ended: bool | None = None


class Feedback(Answer):
    grade: float
    known: float
    accepted: bool
    explanation: str


class Trained(Saved):
    feedback: Feedback
