"""The tables. Grades are whole numbers of steps of their project's scale, counted from 0.

The columns are called after the steps of the usual one, quarters: 0 to 16 stand for 0 to 4 in steps of 0.25.
"""

from __future__ import annotations

from db.models.accounts import (
    AccessToken,
    AuditEvent,
    Invitation,
    ServerKey,
    SignInAttempt,
    User,
    UserSession,
)
from db.models.base import MOST_STEPS, ROLES, Base, UtcDateTime
from db.models.crowds import Arrival, CrowdSettings, SharedLink
from db.models.gold import Export, GoldGrade, GoldSet, RaterNumber, ScoredSystem, SystemScore
from db.models.predictions import HandOver, SentDocument, SentOrder, SentPhrase, SentPrediction, SentRun
from db.models.projects import Consent, Membership, Pair, Project
from db.models.quality import QualitySettings, RaterState, TrainingAttempt, TrainingGrade, TrainingPair
from db.models.ratings import (
    Adjudication,
    AdjudicationChange,
    Assignment,
    Comment,
    KeptAgreement,
    Rating,
    RatingChange,
    Repeat,
    RepeatChange,
    SetAside,
    SetAsideRating,
    Skip,
)
from db.models.writing import GradeViewer, LargerItem, Writing, WritingChange, WritingPlan

__all__ = [
    "APPEND_ONLY",
    "GRADES",
    "MOST_STEPS",
    "ROLES",
    "AccessToken",
    "Adjudication",
    "AdjudicationChange",
    "Arrival",
    "Assignment",
    "AuditEvent",
    "Base",
    "Comment",
    "Consent",
    "CrowdSettings",
    "Export",
    "GoldGrade",
    "GoldSet",
    "GradeViewer",
    "HandOver",
    "Invitation",
    "KeptAgreement",
    "LargerItem",
    "Membership",
    "Pair",
    "Project",
    "QualitySettings",
    "RaterNumber",
    "RaterState",
    "Rating",
    "RatingChange",
    "Repeat",
    "RepeatChange",
    "ScoredSystem",
    "SentDocument",
    "SentOrder",
    "SentPhrase",
    "SentPrediction",
    "SentRun",
    "ServerKey",
    "SetAside",
    "SetAsideRating",
    "SharedLink",
    "SignInAttempt",
    "Skip",
    "SystemScore",
    "TrainingAttempt",
    "TrainingGrade",
    "TrainingPair",
    "User",
    "UserSession",
    "UtcDateTime",
    "Writing",
    "WritingChange",
    "WritingPlan",
]

APPEND_ONLY = (
    "rating_history",
    "repeat_history",
    "adjudication_history",
    "writing_history",
    "consents",
    "audit_events",
)
GRADES = {
    "pairs": ("intended_quarters",),
    "ratings": ("quarters",),
    "rating_history": ("quarters", "previous_quarters"),
    "set_aside_ratings": ("quarters",),
    "adjudications": ("quarters",),
    "adjudication_history": ("quarters",),
    "training_pairs": ("quarters",),
    "training_grades": ("quarters",),
    "repeats": ("first_quarters", "quarters"),
    "repeat_history": ("quarters", "previous_quarters"),
}
"""Columns with a grade of the project's scale."""
