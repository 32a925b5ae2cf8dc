"""The tables. Grades are whole numbers of quarters: 0 to 16 stand for 0 to 4 in steps of 0.25."""

from __future__ import annotations

from db.models.accounts import AuditEvent, Invitation, ServerKey, SignInAttempt, User, UserSession
from db.models.base import ROLES, TOP_QUARTERS, Base, UtcDateTime
from db.models.gold import Export, GoldGrade, GoldSet, RaterNumber, ScoredSystem, SystemScore
from db.models.predictions import SentDocument, SentOrder, SentPhrase, SentPrediction, SentRun
from db.models.projects import Consent, Membership, Pair, Project
from db.models.quality import QualitySettings, RaterState, TrainingAttempt, TrainingGrade, TrainingPair
from db.models.ratings import (
    Adjudication,
    AdjudicationChange,
    Assignment,
    Comment,
    Rating,
    RatingChange,
    Repeat,
    SetAside,
    SetAsideRating,
    Skip,
)
from db.models.writing import GradeViewer, LargerItem, Writing, WritingChange, WritingPlan

__all__ = [
    "APPEND_ONLY",
    "ROLES",
    "TOP_QUARTERS",
    "Adjudication",
    "AdjudicationChange",
    "Assignment",
    "AuditEvent",
    "Base",
    "Comment",
    "Consent",
    "Export",
    "GoldGrade",
    "GoldSet",
    "GradeViewer",
    "Invitation",
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
    "ScoredSystem",
    "SentDocument",
    "SentOrder",
    "SentPhrase",
    "SentPrediction",
    "SentRun",
    "ServerKey",
    "SetAside",
    "SetAsideRating",
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

APPEND_ONLY = ("rating_history", "adjudication_history", "writing_history", "consents", "audit_events")
